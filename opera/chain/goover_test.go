package chain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/inter"
	"tarn/opera/state"
	"tarn/store/engine"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// bring brings the state that a chain had at the beginning of an epoch into another.
func bring(t testing.TB, original, c *Chain, e inter.Epoch, spoil bool) *state.Incoming {
	t.Helper()
	in, err := c.Incoming()
	if err != nil {
		t.Fatal(err)
	}
	v, err := original.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	record, err := v.EpochRecord(e)
	if err != nil || record == nil {
		t.Fatalf("epoch %d: %v", e, err)
	}
	source, err := v.StateAt(record.State.BlockState.LastBlock.Number)
	if err != nil {
		t.Fatal(err)
	}
	bringAll(t, source, in, spoil)
	return in
}

// bringAll brings a state in; spoiled, its first account is another one.
func bringAll(t testing.TB, source state.Source, in *state.Incoming, spoil bool) {
	t.Helper()
	put := func(err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		return true
	}
	put(source.(state.Walkable).Accounts(common.Hash{}, func(hash common.Hash, a *state.Account) bool {
		if spoil {
			a.Nonce, spoil = a.Nonce+1, false
		}
		put(in.Account(hash, a))
		if code, err := source.Code(a.Code); put(err) && len(code) != 0 {
			put(in.Code(code))
		}
		return put(source.Slots(hash, common.Hash{}, func(s state.Slot) bool { return put(in.Slot(hash, s)) }))
	}))
}

// lastEpoch is the last epoch of a record of events, and its events.
func lastEpoch(t testing.TB, r recorded, original *Chain) (e inter.Epoch, events [][]byte) {
	t.Helper()
	e = original.Epoch().Epoch
	for len(events) == 0 {
		for _, raw := range r.events {
			p, err := inter.DecodePayload(bytes.Clone(raw))
			if err != nil {
				t.Fatal(err)
			}
			if p.Epoch == e {
				events = append(events, raw)
			}
		}
		if len(events) == 0 {
			e--
		}
	}
	return e, events
}

var errStopped = errors.New("stopped")

// A chain with nothing but a genesis goes over to an epoch whose
// state and records were brought, on each engine, and makes the same blocks from there on. Another
// state is refused, and a state is never believed before the records are there.
func TestAChainGoesOverToAnEpochWhoseStateWasBrought(t *testing.T) {
	r := record(t)
	original := filledChain(t, r)
	s := send(t, original)
	e, events := lastEpoch(t, r, original)
	for _, o := range everyEngine() {
		t.Run(fmt.Sprint(o.Kind, " ", o.Mode), func(t *testing.T) {
			dir := t.TempDir()
			at := openStore(t, dir, o)
			c := newChain(t, at)
			if err := c.GoOver(context.Background(), e, bring(t, original, c, e, false)); !errors.Is(err, ErrGap) {
				t.Fatalf("without records: %v", err)
			}
			epochs := parcel{epochs: s.epochs, epochVotes: s.epochVotes}
			epochs.take(t, func() *Chain { return c }, func() {})
			if err := c.GoOver(context.Background(), e, bring(t, original, c, e, false)); !errors.Is(err, ErrGap) {
				t.Fatalf("without records of blocks: %v", err)
			}
			rest := parcel{blocks: s.blocks, blockVotes: s.blockVotes}
			rest.take(t, func() *Chain { return c }, func() {})
			if err := c.GoOver(context.Background(), e, bring(t, original, c, e, true)); !errors.Is(err,
				state.ErrOtherState) {
				t.Fatalf("another state: %v", err)
			}
			if err := c.GoOver(context.Background(), c.Epoch().Epoch, bring(t, original, c, e, false)); !errors.Is(err,
				ErrNotAhead) {
				t.Fatalf("the present epoch: %v", err)
			}
			stopped, stop := context.WithCancelCause(context.Background())
			stop(errStopped)
			if err := c.GoOver(stopped, e, bring(t, original, c, e, false)); !errors.Is(err, errStopped) ||
				c.Failed() != nil {
				t.Fatalf("stopped: %v; the chain %v", err, c.Failed())
			}
			if err := c.GoOver(context.Background(), e, bring(t, original, c, e, false)); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Feed(context.Background(), source(r.events), nil); !errors.Is(err, ErrGoesOver) {
				t.Fatalf("events of a chain that goes over: %v", err)
			}
			if err := errors.Join(c.Close(), at.Close()); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				at = openStore(t, dir, o)
				c = openChain(t, at)
				if c.Epoch().Epoch < e {
					t.Fatalf("the chain is in epoch %d", c.Epoch().Epoch)
				}
				feed(t, c, events)
				s.same(t, c, original)
				for n, want := range r.blocks {
					if inter.BlockNumber(n+1) < c.First() {
						continue
					}
					if got, err := lineOf(c, n+1); err != nil || got != want {
						t.Fatalf("block %d is\n%s, %v, go-opera's\n%s", n+1, got, err, want)
					}
				}
				if _, err := c.Check(func(err error) { t.Error(err) }, nil); err != nil {
					t.Fatal(err)
				}
				done, err := c.Checkpoint()
				if err := errors.Join(err, done.Wait(), c.Close(), at.Close()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// goesOver is the life of a chain that goes over to an epoch, and where in the recording of its
// disk it was certain to.
func goesOver(
	t *testing.T, disk *recordfs.FS, s *parcel, original *Chain, e inter.Epoch, events [][]byte,
) (begun, certain int) {
	t.Helper()
	at, err := diskOf(disk)
	if err != nil {
		t.Fatal(err)
	}
	c := newChain(t, at)
	s.take(t, func() *Chain { return c }, func() {})
	done, err := c.Checkpoint()
	if err = errors.Join(err, done.Wait()); err != nil {
		t.Fatal(err)
	}
	begun = disk.Position()
	in := bring(t, original, c, e, false)
	// An image has a state that nobody has compared with its root.
	done, err = c.Checkpoint()
	if err = errors.Join(err, done.Wait()); err != nil {
		t.Fatal(err)
	}
	if err := c.GoOver(context.Background(), e, in); err != nil {
		t.Fatal(err)
	}
	certain = disk.Position()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = openChain(t, at)
	feed(t, c, events[:len(events)/2])
	done, err = c.Checkpoint()
	if err = errors.Join(err, done.Wait(), c.Close(), at.Close()); err != nil {
		t.Fatal(err)
	}
	return begun, certain
}

// goesOn opens a chain from what a power cut left, has it go over if it has not, and compares its
// blocks. It tells whether it had gone over.
func goesOn(
	t *testing.T, disk *memfs.FS, s *parcel, original *Chain, e inter.Epoch, events [][]byte, r recorded,
) (over bool, err error) {
	at, err := diskOf(disk)
	if err != nil {
		return false, err
	}
	defer at.Close()
	c, err := Open(Options{Store: at, History: at.history})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if over = c.Epoch().Epoch >= e; !over {
		if err := c.GoOver(context.Background(), e, bring(t, original, c, e, false)); err != nil {
			return over, err
		}
		if err := c.Close(); err != nil {
			return over, err
		}
		if c, err = Open(Options{Store: at, History: at.history}); err != nil {
			return over, err
		}
	}
	s.same(t, c, original)
	if _, err := c.Feed(context.Background(), source(events), nil); err != nil {
		return over, err
	}
	for n := int(c.First()); n <= len(r.blocks); n++ {
		if got, err := lineOf(c, n); err != nil || got != r.blocks[n-1] {
			return over, fmt.Errorf("block %d is\n%s, %v, go-opera's\n%s", n, got, err, r.blocks[n-1])
		}
	}
	_, bad := c.Check(func(bad error) { err = errors.Join(err, bad) }, nil)
	return over, errors.Join(err, bad)
}

// A power cut at any write leaves a chain that is where it was, or in the epoch to which it goes:
// there for certain once GoOver has returned. Half a state is never taken for one.
func TestAPowerCutWhileAChainGoesOverLeavesOneOrTheOther(t *testing.T) {
	r := record(t)
	original := filledChain(t, r)
	s := send(t, original)
	e, events := lastEpoch(t, r, original)
	seed := crashing(t)
	disk := recordfs.New(memfs.New())
	begun, certain := goesOver(t, disk, &s, original, e, events)
	states, gone := 0, 0
	for _, part := range []recordfs.Options{{From: begun, To: certain - 1}, {From: certain}} {
		part.Count, part.Seed = crashCount()/2, seed
		for state := range disk.Recording().Some(part) {
			states++
			over, err := goesOn(t, state.FS, &s, original, e, events, r)
			if err == nil && state.At >= certain && !over {
				err = errors.New("the chain has not gone over, and had promised to")
			}
			if err != nil {
				t.Fatalf("%v\n%v", err, state)
			}
			if over {
				gone++
			}
		}
	}
	t.Logf("of %d states %d had gone over", states, gone)
	if gone == 0 || gone == states {
		t.Error("not both sides were tried")
	}
}

// later is an epoch after the head of a chain whose state is that of its head, with random blocks
// before it, and votes of the only validator for all of them.
func later(t testing.TB, of *Chain, blocks inter.BlockNumber) (s parcel) {
	t.Helper()
	present, last := of.Epoch().Epoch, of.Head().Number
	record, err := of.EpochRecord(present)
	if err != nil || record == nil {
		t.Fatalf("epoch %d: %v", present, err)
	}
	root, err := of.Root(last)
	if err != nil {
		t.Fatal(err)
	}
	record = again(t, record)
	record.Epoch++
	record.State.EpochState.Epoch++
	record.State.EpochState.Rules.Upgrades.London = !record.State.EpochState.Rules.Upgrades.London
	record.State.BlockState.LastBlock.Number, record.State.BlockState.FinalizedStateRoot = last+blocks, root
	s.epochs = []*inter.EpochRecord{record}
	vote := signVotes(t, record.Epoch, inter.BlockVotes{}, inter.EpochVote{Epoch: record.Epoch,
		Vote: record.State.Hash()}).SignedEpochVote()
	s.epochVotes = map[inter.Epoch][]*inter.SignedEpochVote{record.Epoch: {again(t, &vote)}}
	w := &world{t: t, r: rand.New(rand.NewPCG(1, 2))}
	votes := inter.BlockVotes{Start: last + 1, Epoch: present}
	for n := last + 1; n <= last+blocks; n++ {
		r := w.block(present, n)
		s.blocks, votes.Votes = append(s.blocks, r), append(votes.Votes, r.Block.Hash())
	}
	signedVotes := signVotes(t, present, votes, inter.EpochVote{}).SignedBlockVotes()
	s.blockVotes = []*inter.SignedBlockVotes{again(t, &signedVotes)}
	return s
}

// What a chain has executed before it goes over is shown afterwards as records are, found by the
// same ids, transactions and logs, beside what came as records; its upgrades are known.
func TestBlocksOfItsOwnAreRecordsAfterAChainGoesOver(t *testing.T) {
	r := record(t)
	original := filledChain(t, r)
	s, after := send(t, original), later(t, original, 3)
	dir := t.TempDir()
	at := openStore(t, dir, engine.Options{Kind: engine.Page})
	c := newChain(t, at)
	feed(t, c, r.events)
	after.take(t, func() *Chain { return c }, func() {})
	v, err := original.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	in, err := c.Incoming()
	if err != nil {
		t.Fatal(err)
	}
	bringAll(t, v.State(), in, false)
	e := after.epochs[0]
	if err := errors.Join(c.GoOver(context.Background(), e.Epoch, in), c.Close(), at.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		at = openStore(t, dir, engine.Options{Kind: engine.Page})
		c = openChain(t, at)
		head := e.State.BlockState.LastBlock.Number
		if c.Head().Number != head || c.Epoch().Epoch != e.Epoch || c.First() != head+1 ||
			c.Lowest() != original.Lowest() {
			t.Fatalf("the chain is at block %d of epoch %d, its own begin with %d of %d",
				c.Head().Number, c.Epoch().Epoch, c.First(), c.Lowest())
		}
		s.same(t, c, original)
		for _, r := range after.blocks {
			if got, err := c.BlockRecord(r.Number); err != nil || got == nil || got.Block.Hash() != r.Block.Hash() {
				t.Fatalf("block %d: %v, %v", r.Number, got, err)
			}
		}
		if n := len(c.upgrades); n == 0 || c.upgrades[n-1].Height != head+1 {
			t.Fatalf("upgrades are %v", c.upgrades)
		}
		if _, err := c.Check(func(err error) { t.Error(err) }, nil); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.Close(), at.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
