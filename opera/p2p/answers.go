package p2p

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// answers is the part of a node that gives peers what they ask for. It keeps nothing: what a
// peer's streams are at is the peer's.
type answers struct {
	o      *Options
	limits *Limits
	txs    *transactions
}

// answer answers a peer's requests, one after the other, until it is left.
func (a *answers) answer(p *peer) {
	for {
		select {
		case m := <-p.requests:
			if err := a.serve(p, m); err != nil {
				p.leave(err)
				return
			}
		case <-p.ctx.Done():
			return
		}
	}
}

// reply queues an answer as soon as there is room. An answer that the peer does not take
// is lost.
func (p *peer) reply(m message) error {
	ctx, cancel := context.WithTimeout(p.ctx, p.limits.ReplyWait)
	defer cancel()
	if err := p.queue.wait(ctx, m); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// serve answers a request. The peer is left after an error.
func (a *answers) serve(p *peer, m message) error {
	switch m.code {
	case codeGetTxs:
		hashes, err := decodeHashes[common.Hash](m.raw)
		if err != nil {
			return err
		}
		return a.txs.serve(p, hashes)
	case codeGetEvents:
		ids, err := decodeHashes[inter.EventID](m.raw)
		if err != nil {
			return err
		}
		return a.serveEvents(p, ids)
	case codeRequestEvents:
		r := new(request[[]byte])
		if err := decode(m.raw, r); err != nil {
			return err
		}
		if err := checkEventsRequest(r); err != nil {
			return err
		}
		return p.stream(codeRequestEvents, hardItems-1, events(a.o.Ledger), a.limits).serve(r, func(c *chunk) error {
			for _, key := range c.keys {
				p.events.add(short(inter.EventID(key)))
			}
			return p.reply(message{codeEventsChunk, c.encodeEvents(r.Type == typeIDs)})
		})
	}
	return a.serveRecords(p, m)
}

// stream returns who serves the peer's streams of a kind.
func (p *peer) stream(code uint64, items int, records source, limits *Limits) *seeder {
	s := p.streams[code]
	if s == nil {
		s = &seeder{limits: limits, items: items, records: records}
		p.streams[code] = s
	}
	return s
}

// serveEvents sends those of the events that there are, until they are enough for one
// message.
func (a *answers) serveEvents(p *peer, ids []inter.EventID) error {
	var list [][]byte
	size := 0
	for _, id := range ids {
		raw, err := a.o.Ledger.Event(id)
		if err != nil {
			a.o.Notice(fmt.Errorf("serve event %v: %w", id, err))
			return nil
		}
		if raw == nil {
			continue
		}
		list = append(list, raw)
		p.events.add(short(id))
		if size += len(raw); size >= softBytes {
			break
		}
	}
	if len(list) == 0 {
		return nil
	}
	raw, err := rlp.EncodeToBytes(list)
	if err != nil {
		return fmt.Errorf("encode events: %w", err)
	}
	return p.reply(message{codeEvents, raw})
}
