package p2p

import (
	"bytes"
	"errors"
	"slices"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// Errors of requests for a stream, in go-opera's words (basestreamseeder, dagstreamseeder).
var (
	errSelector = errors.New("session selector mismatch")
	errChunks   = errors.New("too many request chunks")
	errType     = errors.New("wrong request type")
	errKey      = errors.New("wrong event selector length")
)

// source is the records of one kind, each with a key, in the order of their keys. Any
// goroutine may walk it.
type source func(from []byte, each func(key, item []byte) bool) error

// stream is a session of a peer: where it is in its range.
type stream struct {
	id          uint32
	start, next []byte
	stop        []byte
	done        bool
}

// chunk is a part of a stream, as records are encoded.
type chunk struct {
	session uint32
	done    bool
	keys    [][]byte
	items   [][]byte
}

// seeder sends a peer the streams of one kind that it asks for. One goroutine owns it.
type seeder struct {
	limits  *Limits
	items   int // of a chunk, at most
	records source
	streams []*stream // the oldest first
}

// serve answers a request with as many chunks as it asks for, each handed to send. Errors
// of send come back; so do those for which the peer is left.
func (s *seeder) serve(r *request[[]byte], send func(*chunk) error) error {
	if int(r.Limit.Items) > hardItems-1 || r.Limit.Bytes > maxAsked {
		return errTooLong
	}
	if int(r.MaxChunks) > s.limits.Chunks {
		return errChunks
	}
	t, err := s.session(&r.Session)
	if err != nil {
		return err
	}
	for range r.MaxChunks {
		if t.done {
			return nil
		}
		c, err := s.chunk(t, min(int(r.Limit.Items), s.items), min(int(r.Limit.Bytes), s.limits.ChunkBytes))
		if err != nil {
			return err
		}
		if err := send(c); err != nil {
			return err
		}
	}
	return nil
}

// session finds a stream, or begins it. With each request the oldest goes while there are
// as many as a peer may have.
func (s *seeder) session(r *session[[]byte]) (*stream, error) {
	if len(s.streams) >= s.limits.Sessions {
		s.streams = slices.Delete(s.streams, 0, 1)
	}
	for _, t := range s.streams {
		if t.id == r.ID {
			if !bytes.Equal(t.start, r.Start) {
				return nil, errSelector
			}
			return t, nil
		}
	}
	t := &stream{id: r.ID, start: r.Start, next: r.Start, stop: r.Stop}
	s.streams = append(s.streams, t)
	return t, nil
}

// chunk makes the next part: records until there are enough, or too many bytes.
func (s *seeder) chunk(t *stream, items, size int) (*chunk, error) {
	c := &chunk{session: t.id, done: true}
	got := 0
	err := s.records(t.next, func(key, item []byte) bool {
		if bytes.Compare(key, t.stop) >= 0 {
			return false
		}
		c.keys, c.items = append(c.keys, bytes.Clone(key)), append(c.items, item)
		got += len(item)
		c.done = len(c.items) < items && got < size
		return c.done
	})
	if n := len(c.keys); n > 0 {
		t.next = after(c.keys[n-1])
	}
	t.done = c.done
	return c, err
}

// after returns the key after one, of the same length.
func after(key []byte) []byte {
	next := bytes.Clone(key)
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]++; next[i] != 0 {
			return next
		}
	}
	return append([]byte{1}, next...)
}

// events is the stream of a ledger's events, by id.
func events(l Ledger) source {
	return func(from []byte, each func(key, item []byte) bool) error {
		var id inter.EventID
		copy(id[:], from)
		if len(from) > len(id) {
			return nil // beyond the last id that there can be
		}
		var failed error
		err := l.Events(id, func(id inter.EventID, raw []byte) bool {
			var item []byte
			if item, failed = rlp.EncodeToBytes(raw); failed != nil {
				return false
			}
			return each(id[:], item)
		})
		return errors.Join(err, failed)
	}
}

// checkEventsRequest refuses what no stream of events can have.
func checkEventsRequest(r *request[[]byte]) error {
	if most := len(inter.EventID{}); len(r.Session.Start) > most || len(r.Session.Stop) > most {
		return errKey
	}
	if r.Type != typeIDs && r.Type != typeEvents {
		return errType
	}
	return nil
}

// encodeEvents encodes a part of a stream of events: ids, or events.
func (c *chunk) encodeEvents(ids bool) []byte {
	b := rlp.NewEncoderBuffer(nil)
	whole := c.begin(&b)
	list := b.List()
	if ids {
		for _, key := range c.keys {
			b.WriteBytes(key)
		}
	}
	b.ListEnd(list)
	list = b.List()
	if !ids {
		for _, item := range c.items {
			_, _ = b.Write(item) // it is in memory
		}
	}
	b.ListEnd(list)
	b.ListEnd(whole)
	return b.ToBytes()
}

// encodeRecords encodes a part of a stream of other records.
func (c *chunk) encodeRecords() []byte {
	b := rlp.NewEncoderBuffer(nil)
	whole := c.begin(&b)
	list := b.List()
	for _, item := range c.items {
		_, _ = b.Write(item) // it is in memory
	}
	b.ListEnd(list)
	b.ListEnd(whole)
	return b.ToBytes()
}

func (c *chunk) begin(b *rlp.EncoderBuffer) int {
	whole := b.List()
	b.WriteUint64(uint64(c.session))
	b.WriteBool(c.done)
	return whole
}
