package p2p

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// repeater takes votes and records from peers to the ledger: bounded, one chunk after the other,
// checked on all processors. It is named for go-opera's Lachesis Light Repeater.
type repeater struct {
	limits *Limits
	filler RecordLedger
	budget *budget
	queue  chan *load
	taken  struct{ epochVotes, epochRecords, blockVotes, blockRecords atomic.Uint64 }
	// Told of what happens, on the goroutine that works.
	worked func(l *load, took int)   // a chunk is worked through, so many items of it were taken
	failed func(error)               // the ledger, for good
	blamed func(from *peer, e error) // it sent what no honest peer sends
}

// load is a chunk of votes or records on its way.
type load struct {
	code    uint64
	from    *peer
	session uint32
	items   [][]byte
	weight  int
}

func newRepeater(f RecordLedger, limits *Limits) *repeater {
	return &repeater{filler: f, limits: limits, budget: newBudget(limits.FillChunks, limits.FillBytes),
		queue: make(chan *load, limits.FillChunks)}
}

// submit takes a chunk. It waits for room, so only who reads from that peer may call it.
func (r *repeater) submit(ctx context.Context, l *load) error {
	if err := r.budget.acquire(ctx, l.weight); err != nil {
		return err
	}
	r.queue <- l // it has as much room as the budget
	return nil
}

// busy tells whether so much is under way that no more should be asked for.
func (r *repeater) busy() bool { return r.budget.usedPercent() > 75 }

// serve works until the context ends.
func (r *repeater) serve(ctx context.Context) {
	for {
		select {
		case l := <-r.queue:
			took, err := r.take(ctx, l)
			r.budget.release(l.weight)
			if err != nil {
				if ctx.Err() == nil {
					r.failed(err)
				}
				return
			}
			r.worked(l, took)
		case <-ctx.Done():
			return
		}
	}
}

// take works through a chunk until its peer is left, and tells how many votes and records of it
// were taken.
func (r *repeater) take(ctx context.Context, l *load) (took int, err error) {
	note := func(of *atomic.Uint64, n int, err error) {
		switch {
		case err == nil:
			took++
			of.Add(uint64(n))
		case eventcheck.Bans(err):
			r.blamed(l.from, err)
		}
	}
	length := r.limits.Run
	if l.code == codeEpochPacksChunk {
		length = 1 // which has many votes
	}
	for run := range slices.Chunk(l.items, length) {
		if l.from.ctx.Err() != nil || err != nil {
			break
		}
		switch l.code {
		case codeBlockVotesChunk:
			err = r.takeBlockVotes(ctx, run, note)
		case codeBlockRecordsChunk:
			err = r.filler.AddBlockRecords(ctx, run, func(_ int, err error) { note(&r.taken.blockRecords, 1, err) })
		case codeEpochPacksChunk:
			err = r.takePack(ctx, l.from, run[0], note)
		}
	}
	return took, err
}

// note is told what came of votes or records, and what they are counted among.
type note func(of *atomic.Uint64, n int, err error)

func (r *repeater) takeBlockVotes(ctx context.Context, run [][]byte, note note) error {
	of := &r.taken.blockVotes
	votes, err := decodeAll[inter.SignedBlockVotes](run)
	if err != nil {
		note(of, 0, err)
		return nil
	}
	return r.filler.AddBlockVotes(ctx, votes, func(i int, err error) { note(of, len(votes[i].Val.Votes), err) })
}

// takePack takes an epoch with votes for it. The votes come first: they decide which record is
// the right one.
func (r *repeater) takePack(ctx context.Context, from *peer, raw []byte, note note) error {
	of := &r.taken.epochVotes
	number, list, record, err := splitPack(raw)
	if err != nil {
		note(of, 0, err)
		return nil
	}
	for run := range slices.Chunk(list, r.limits.Run) {
		votes, err := decodeAll[inter.SignedEpochVote](run)
		for i := 0; err == nil && i < len(votes); i++ {
			if e := votes[i].Val.Epoch; e != number {
				err = fmt.Errorf("a vote for epoch %d with the record of epoch %d", e, number)
			}
		}
		if err != nil {
			note(of, 0, err)
			return nil
		}
		err = r.filler.AddEpochVotes(ctx, votes, func(_ int, err error) { note(of, 1, err) })
		if err != nil || from.ctx.Err() != nil {
			return err
		}
	}
	return r.filler.AddEpochRecord(ctx, number, record, func(err error) { note(&r.taken.epochRecords, 1, err) })
}

// splitPack splits an epoch pack into its votes and its record, whose number it returns.
func splitPack(raw []byte) (number inter.Epoch, votes [][]byte, record []byte, err error) {
	items, after, err := rlp.SplitList(raw)
	var list, rest []byte
	if err == nil {
		list, rest, err = rlp.SplitList(items)
	}
	if err == nil {
		record, rest, err = splitItem(rest)
	}
	if err == nil && len(rest)+len(after) > 0 {
		err = rlp.ErrMoreThanOneValue
	}
	if err != nil {
		return 0, nil, nil, fmt.Errorf("%w: an epoch with votes: %w", errDecode, err)
	}
	if len(record) > maxEpochRecord {
		return 0, nil, nil, fmt.Errorf("%w: the record of an epoch has %d bytes", errTooLong, len(record))
	}
	if votes, err = splitItems(list, 0, packVotes); err != nil {
		return 0, nil, nil, err
	}
	number, err = epochOfRecord(record)
	return number, votes, record, err
}

// decodeAll decodes items of a kind that takes about as much memory as its encoding.
func decodeAll[T any](raws [][]byte) ([]*T, error) {
	all := make([]*T, len(raws))
	for i, raw := range raws {
		all[i] = new(T)
		if err := decode(raw, all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}
