package p2p

import (
	"encoding/binary"
	"fmt"

	"tarn/opera/inter"
)

// Records is what peers may stream that has no events: votes, blocks, and beginnings of
// epochs. Items are RLP. Any goroutine may call it. Keys ascend.
type Records interface {
	// BlockVotes are signed ones: epoch, last block voted for, locator's id; 44 bytes.
	BlockVotes(from []byte, each func(key, item []byte) bool) error
	// BlockRecords are whole blocks by their numbers, 8 bytes.
	BlockRecords(from []byte, each func(key, item []byte) bool) error
	// EpochPacks are epochs with votes for them, by their numbers, 4 bytes. Epochs without
	// votes are not among them.
	EpochPacks(from []byte, each func(key, item []byte) bool) error
}

// none is the records of a node that has none.
type none struct{}

func (none) BlockVotes([]byte, func(key, item []byte) bool) error   { return nil }
func (none) BlockRecords([]byte, func(key, item []byte) bool) error { return nil }
func (none) EpochPacks([]byte, func(key, item []byte) bool) error   { return nil }

// serveRecords answers requests for streams of records.
func (a *answers) serveRecords(p *peer, m message) error {
	r, records, err := a.records(m)
	if err != nil {
		return err
	}
	return p.stream(m.code, recordItems, records, a.limits).serve(r, func(c *chunk) error {
		return p.reply(message{m.code + 1, c.encodeRecords()})
	})
}

// records decodes a request, and finds what it is for. Numbers become keys.
func (a *answers) records(m message) (*request[[]byte], source, error) {
	switch m.code {
	case codeRequestBlockVotes:
		r := new(request[[]byte])
		if err := decode(m.raw, r); err != nil {
			return nil, nil, err
		}
		if len(r.Session.Start) > maxVotesKey || len(r.Session.Stop) > maxVotesKey {
			return nil, nil, errKey
		}
		return r, a.o.Records.BlockVotes, plain(r.Type)
	case codeRequestBlockRecords:
		r := new(request[inter.BlockNumber])
		if err := decode(m.raw, r); err != nil {
			return nil, nil, err
		}
		key := func(b inter.BlockNumber) []byte { return binary.BigEndian.AppendUint64(nil, uint64(b)) }
		return keyRequest(r, key), a.o.Records.BlockRecords, plain(r.Type)
	case codeRequestEpochPacks:
		r := new(request[inter.Epoch])
		if err := decode(m.raw, r); err != nil {
			return nil, nil, err
		}
		return keyRequest(r, epochKey), a.o.Records.EpochPacks, plain(r.Type)
	}
	return nil, nil, fmt.Errorf("%w: %d", errCode, m.code)
}

// plain refuses types of requests for records: there is only one.
func plain(kind uint8) error {
	if kind != 0 {
		return errType
	}
	return nil
}

// keyRequest is a request whose range is of keys.
func keyRequest[K any](r *request[K], key func(K) []byte) *request[[]byte] {
	return &request[[]byte]{
		Session: session[[]byte]{ID: r.Session.ID, Start: key(r.Session.Start), Stop: key(r.Session.Stop)},
		Limit:   r.Limit, Type: r.Type, MaxChunks: r.MaxChunks,
	}
}
