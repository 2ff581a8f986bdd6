package p2p

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/chain"
	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// RecordLedger is what votes and records of peers are added to. Any goroutine may call it. Functions
// that add take items one after the other and tell of each what came of it; their own error is
// the ledger's, which can go on no more, and no item's.
type RecordLedger interface {
	// Frontier is where votes and records end.
	Frontier() chain.Frontier
	// EpochBeyond returns the epoch of a block by what epochs are known.
	EpochBeyond(inter.BlockNumber) (inter.Epoch, error)
	// HasBlock tells whether there is a block or its record.
	HasBlock(inter.BlockNumber) (bool, error)

	// AddBlockVotes checks votes for blocks and counts them.
	AddBlockVotes(ctx context.Context, votes []*inter.SignedBlockVotes, done func(i int, err error)) error
	// AddEpochVotes checks votes for epochs and counts them.
	AddEpochVotes(ctx context.Context, votes []*inter.SignedEpochVote, done func(i int, err error)) error
	// AddEpochRecord takes the RLP of a record if it is the one that is decided.
	AddEpochRecord(ctx context.Context, number inter.Epoch, raw []byte, done func(error)) error
	// AddBlockRecords takes the RLP of those records that are decided.
	AddBlockRecords(ctx context.Context, raws [][]byte, done func(i int, err error)) error
}

// NewRecordLedger returns what fills in a chain, whose writer is reached through w.
func NewRecordLedger(c *chain.Chain, w Writer) RecordLedger {
	return &recordLedger{Chain: c, writer: w}
}

type recordLedger struct {
	*chain.Chain
	writer Writer
}

func (f *recordLedger) HasBlock(n inter.BlockNumber) (has bool, err error) {
	err = view(f.Chain, func(v *chain.View) error {
		has, err = v.HasBlock(n)
		return err
	})
	return has, err
}

// onAll does some work for each of many, on all processors.
func onAll(n int, work func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	all.Wait()
}

// steps are how items are added, by their places. An item whose step has an error takes no further
// ones.
type steps struct {
	// known says what a view tells of an item for nothing: an error of the item, or of the view.
	known func(v *chain.View, i int) (verdict, failed error)
	// check is done on any goroutine.
	check func(i int) error
	// add is done by the writer.
	add func(c *chain.Chain, i int) error
}

// add takes items through their steps, and shows what was added.
func (f *recordLedger) add(ctx context.Context, n int, s *steps, done func(i int, err error)) error {
	verdicts := make([]error, n)
	err := view(f.Chain, func(v *chain.View) (failed error) {
		for i := range verdicts {
			if verdicts[i], failed = s.known(v, i); failed != nil {
				return failed
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look which votes and records are known: %w", err)
	}
	onAll(n, func(i int) {
		if verdicts[i] == nil {
			verdicts[i] = s.check(i)
		}
	})
	if slices.Contains(verdicts, nil) {
		err = f.writer.Do(ctx, func(c *chain.Chain) error { return write(c, verdicts, s.add) })
	}
	if err != nil {
		return err
	}
	for i, verdict := range verdicts {
		done(i, verdict)
	}
	return nil
}

// write adds those that have no error, notes theirs, and shows what was added.
func write(c *chain.Chain, verdicts []error, add func(*chain.Chain, int) error) error {
	added := false
	for i, verdict := range verdicts {
		if verdict != nil {
			continue
		}
		verdicts[i] = add(c, i)
		if failed := c.Failed(); failed != nil {
			return failed
		}
		added = added || verdicts[i] == nil
	}
	if !added {
		return nil
	}
	return c.ShowRecords()
}

func (f *recordLedger) AddBlockVotes(
	ctx context.Context, votes []*inter.SignedBlockVotes, done func(i int, err error),
) error {
	return f.add(ctx, len(votes), &steps{
		known: func(v *chain.View, i int) (verdict, failed error) {
			if len(votes[i].Val.Votes) == 0 {
				return eventcheck.ErrEmptyBVs, nil // they have no last block
			}
			has, failed := v.HasBlockVotes(votes[i])
			return when(has, eventcheck.ErrAlreadyProcessedBVs), failed
		},
		check: func(i int) error { return f.Verifier().BlockVotes(votes[i]) },
		add: func(c *chain.Chain, i int) error {
			if counts, err := c.BlockVotesCount(votes[i]); err != nil || !counts {
				return cmp.Or(err, eventcheck.ErrAlreadyProcessedBVs)
			}
			return c.AddBlockVotes(votes[i])
		},
	}, done)
}

func (f *recordLedger) AddEpochVotes(
	ctx context.Context, votes []*inter.SignedEpochVote, done func(i int, err error),
) error {
	return f.add(ctx, len(votes), &steps{
		known: func(v *chain.View, i int) (verdict, failed error) {
			has, failed := v.HasEpochVote(votes[i])
			return when(has, eventcheck.ErrAlreadyProcessedEV), failed
		},
		check: func(i int) error { return f.Verifier().EpochVote(votes[i]) },
		add: func(c *chain.Chain, i int) error {
			if counts, err := c.EpochVoteCounts(votes[i]); err != nil || !counts {
				return cmp.Or(err, eventcheck.ErrAlreadyProcessedEV)
			}
			return c.AddEpochVote(votes[i])
		},
	}, done)
}

// when is an error if something is so.
func when(so bool, err error) error {
	if so {
		return err
	}
	return nil
}

func (f *recordLedger) AddEpochRecord(ctx context.Context, number inter.Epoch, raw []byte, done func(error)) error {
	record := new(inter.EpochRecord)
	return f.add(ctx, 1, &steps{
		known: func(v *chain.View, _ int) (verdict, failed error) {
			known, err := v.EpochRecord(number)
			if err != nil || known != nil {
				return eventcheck.ErrAlreadyProcessedER, err
			}
			decided, err := v.DecidedEpoch(number)
			return when(decided == nil, eventcheck.ErrUndecidedER), err
		},
		check: func(int) error { return decode(raw, record) },
		add:   func(c *chain.Chain, _ int) error { return c.AddEpochRecord(record) },
	}, func(_ int, err error) { done(err) })
}

func (f *recordLedger) AddBlockRecords(ctx context.Context, raws [][]byte, done func(i int, err error)) error {
	sealed, open := make([]inter.SealedBlockRecord, len(raws)), make([]*inter.BlockRecord, len(raws))
	decided := make([][]byte, len(raws))
	return f.add(ctx, len(raws), &steps{
		known: func(v *chain.View, i int) (verdict, failed error) {
			if err := decode(raws[i], &sealed[i]); err != nil {
				return err, nil
			}
			has, err := v.HasBlock(sealed[i].Number)
			if err != nil || has {
				return eventcheck.ErrAlreadyProcessedBR, err
			}
			decided[i], err = v.DecidedBlock(sealed[i].Number)
			return when(decided[i] == nil, eventcheck.ErrUndecidedBR), err
		},
		check: func(i int) error {
			hash, err := sealed[i].Hash()
			if err == nil && !bytes.Equal(hash[:], decided[i]) {
				err = fmt.Errorf("block %d: %w", sealed[i].Number, chain.ErrOtherRecord)
			}
			if err == nil {
				open[i], err = sealed[i].Open()
			}
			return err
		},
		add: func(c *chain.Chain, i int) error { return c.AddBlockRecord(open[i]) },
	}, done)
}

// epochOfRecord is the number of the record of an epoch, by its RLP.
func epochOfRecord(raw []byte) (inter.Epoch, error) {
	items, _, err := rlp.SplitList(raw)
	var number uint64
	if err == nil {
		_, _, items, err = rlp.Split(items) // what it says
	}
	if err == nil {
		number, _, err = rlp.SplitUint64(items)
	}
	if err == nil && number > uint64(^inter.Epoch(0)) {
		err = errors.New("a number above 32 bits")
	}
	if err != nil {
		return 0, fmt.Errorf("%w: the number of an epoch's record: %w", errDecode, err)
	}
	return inter.Epoch(number), nil
}
