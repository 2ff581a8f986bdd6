package p2p

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// handle takes a message of a peer's, which is left after an error. It releases the
// message's room before it waits for the peer itself.
func (n *Node) handle(p *peer, m message, release func()) error {
	switch m.code {
	case codeHandshake:
		return errStatus
	case codeProgress:
		var progress Progress
		if err := decode(m.raw, &progress); err != nil {
			return err
		}
		p.setProgress(progress)
		return nil
	case codeTxs:
		return n.takeTxs(p, m.raw)
	case codeTxHashes:
		return n.takeTxHashes(p, m.raw)
	case codeEvents:
		raws, err := decodeEvents(m.raw)
		if err != nil {
			return err
		}
		return n.takeEvents(p, raws)
	case codeEventIDs:
		ids, err := decodeHashes[inter.EventID](m.raw)
		if err != nil {
			return err
		}
		n.takeIDs(p, ids)
		return nil
	case codeEventsChunk:
		return n.takeChunk(p, m.raw)
	case codeGetTxs, codeGetEvents, codeRequestEvents, codeRequestBlockVotes, codeRequestBlockRecords, codeRequestEpochPacks:
		release()
		select {
		case p.requests <- m:
			return nil
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		}
	case codeBlockVotesChunk, codeBlockRecordsChunk, codeEpochPacksChunk:
		return n.takeRecords(p, m)
	}
	return fmt.Errorf("%w: %d", errCode, m.code)
}

// takeEvents takes events: those that were asked for, and those that are new.
func (n *Node) takeEvents(p *peer, raws [][]byte) error {
	return n.intake.submit(p.ctx, p, raws)
}

// takeIDs asks for announced events that are not too far ahead.
func (n *Node) takeIDs(p *peer, ids []inter.EventID) {
	high := inter.Lamport(n.intake.highest.Load()) + n.limits.highLamport()
	near := make([]inter.EventID, 0, len(ids))
	for _, id := range ids {
		p.events.add(short(id))
		if id.Lamport() <= high {
			near = append(near, id)
		}
	}
	if len(near) < len(ids) {
		n.leecher.force()
	}
	n.events.announce(p, near, n.o.Now())
}

// takeChunk takes a part of a stream of events.
func (n *Node) takeChunk(p *peer, raw []byte) error {
	c, err := decodeEventsChunk(raw)
	if err != nil {
		return err
	}
	var last inter.EventID
	if len(c.IDs) > 0 {
		last = c.IDs[len(c.IDs)-1]
		n.takeIDs(p, c.IDs)
	}
	if len(c.Events) > 0 {
		e, err := inter.DecodePayload(c.Events[len(c.Events)-1])
		if err != nil {
			return fmt.Errorf("%w: %w", errDecode, err)
		}
		last = e.ID()
		if err := n.takeEvents(p, c.Events); err != nil {
			return err
		}
	}
	n.leecher.chunk(p, c.Session, last, c.Done, n.o.Now())
	return nil
}

// synced tells whether transactions are of use: an event was seen that is young.
func (n *Node) synced() bool { return n.txs != nil && n.fresh.Load() }

func (n *Node) takeTxs(p *peer, raw []byte) error {
	if !n.synced() {
		return nil
	}
	txs, err := decodeTxs(raw)
	if err != nil {
		return err
	}
	hashes := hashesOf(txs)
	p.noteTxs(hashes)
	n.txs.received(hashes...)
	n.o.Pool.AddRemotes(txs)
	return nil
}

func (n *Node) takeTxHashes(p *peer, raw []byte) error {
	if !n.synced() {
		return nil
	}
	hashes, err := decodeHashes[common.Hash](raw)
	if err != nil {
		return err
	}
	p.noteTxs(hashes)
	n.txs.announce(p, hashes, n.o.Now())
	return nil
}

// noteTxs notes what the peer has.
func (p *peer) noteTxs(hashes []common.Hash) {
	for _, h := range hashes {
		p.txs.add(short(h))
	}
}

// greet tells a new peer of the pool.
func (n *Node) greet(p *peer) {
	if n.o.Pool != nil {
		n.tellTxs(p, n.o.Pool.Sample(n.limits.FirstTxs))
	}
}

func (n *Node) tellTxs(p *peer, hashes []common.Hash) {
	for part := range slices.Chunk(hashes, softItems) {
		if p.send(codeTxHashes, part) == nil {
			p.noteTxs(part)
		}
	}
}

// sample tells a random peer of some transactions of the pool.
func (n *Node) sample() {
	if peers := n.list(); n.synced() && len(peers) > 0 {
		n.tellTxs(peers[rand.IntN(len(peers))], n.o.Pool.Sample(n.limits.RandomTxs))
	}
}

// answer answers a peer's requests, one after the other, until it is left.
func (n *Node) answer(p *peer) {
	for {
		select {
		case m := <-p.requests:
			if err := n.serve(p, m); err != nil {
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
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := p.queue.wait(ctx, m); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// serve answers a request. The peer is left after an error.
func (n *Node) serve(p *peer, m message) error {
	switch m.code {
	case codeGetTxs:
		hashes, err := decodeHashes[common.Hash](m.raw)
		if err != nil {
			return err
		}
		return n.serveTxs(p, hashes)
	case codeGetEvents:
		ids, err := decodeHashes[inter.EventID](m.raw)
		if err != nil {
			return err
		}
		return n.serveEvents(p, ids)
	case codeRequestEvents:
		r := new(request[[]byte])
		if err := decode(m.raw, r); err != nil {
			return err
		}
		if err := checkEventsRequest(r); err != nil {
			return err
		}
		return p.stream(codeRequestEvents, hardItems-1, events(n.o.Ledger), &n.limits).serve(r, func(c *chunk) error {
			for _, key := range c.keys {
				p.events.add(short(inter.EventID(key)))
			}
			return p.reply(message{codeEventsChunk, c.encodeEvents(r.Type == typeIDs)})
		})
	}
	return n.serveRecords(p, m)
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

// serveTxs sends those of the transactions that wait, each once however often it is named.
func (n *Node) serveTxs(p *peer, hashes []common.Hash) error {
	if n.o.Pool == nil {
		return nil
	}
	var txs types.Transactions
	named := make(map[common.Hash]bool, len(hashes))
	for _, h := range hashes {
		if named[h] {
			continue
		}
		named[h] = true
		if tx := n.o.Pool.Get(h); tx != nil {
			txs = append(txs, tx)
		}
	}
	for len(txs) > 0 {
		batch := txs[:packed(txs)]
		txs = txs[len(batch):]
		raw, err := rlp.EncodeToBytes(batch)
		if err != nil {
			return fmt.Errorf("encode transactions: %w", err)
		}
		p.noteTxs(hashesOf(batch))
		if err := p.reply(message{codeTxs, raw}); err != nil {
			return err
		}
	}
	return nil
}

// serveEvents sends those of the events that there are, until they are enough for one
// message.
func (n *Node) serveEvents(p *peer, ids []inter.EventID) error {
	var list [][]byte
	size := 0
	for _, id := range ids {
		raw, err := n.o.Ledger.Event(id)
		if err != nil {
			n.o.Notice(fmt.Errorf("serve event %v: %w", id, err))
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
