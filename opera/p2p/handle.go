package p2p

import (
	"context"
	"fmt"

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
		return n.txs.take(p, m.raw)
	case codeTxHashes:
		return n.txs.takeHashes(p, m.raw)
	case codeEvents:
		raws, err := decodeEvents(m.raw)
		if err != nil {
			return err
		}
		return n.intake.submit(p.ctx, p, raws)
	case codeEventIDs:
		ids, err := decodeHashes[inter.EventID](m.raw)
		if err != nil {
			return err
		}
		n.takeIDs(p, ids)
		return nil
	case codeEventsChunk:
		return n.takeChunk(p, m.raw)
	case codeGetTxs, codeGetEvents, codeRequestEvents, codeRequestBlockVotes, codeRequestBlockRecords,
		codeRequestEpochPacks:
		release()
		select {
		case p.requests <- m:
			return nil
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		}
	case codeBlockVotesChunk, codeBlockRecordsChunk, codeEpochPacksChunk:
		return n.recordSync.take(p, m)
	}
	return fmt.Errorf("%w: %d", errCode, m.code)
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
		if err := n.intake.submit(p.ctx, p, c.Events); err != nil {
			return err
		}
	}
	n.leecher.chunk(p, c.Session, last, c.Done, n.o.Now())
	return nil
}
