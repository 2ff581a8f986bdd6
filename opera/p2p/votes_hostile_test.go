package p2p

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// signVotes is what validator 4 of a fakenet of four, a quarter of the stake, signs without an event:
// votes for 64 blocks and for an epoch, other ones for each number.
func signVotes(t testing.TB, l *ledger, number int) (blocks inter.SignedBlockVotes, epoch inter.SignedEpochVote) {
	t.Helper()
	at := l.Epoch().Epoch
	votes := inter.BlockVotes{Start: l.First() + inter.BlockNumber(number%7), Epoch: at, Votes: make([][32]byte, 64)}
	for i := range votes.Votes {
		binary.BigEndian.PutUint64(votes.Votes[i][:], uint64(number)<<8+1)
	}
	p := &inter.Payload{
		Event: inter.Event{Version: 1, Epoch: at, Seq: inter.Seq(number + 2), Frame: 1,
			Lamport: inter.Lamport(number + 2), Creator: 4},
		BlockVotes: votes,
	}
	signAs(t, p, 4)
	blocks = p.SignedBlockVotes()
	p = &inter.Payload{Event: inter.Event{Version: 1, Epoch: at + 1, Seq: inter.Seq(number + 2), Frame: 1,
		Lamport: inter.Lamport(number + 2), Creator: 4}}
	p.EpochVote.Epoch = at + 1
	binary.BigEndian.PutUint64(p.EpochVote.Vote[:], uint64(number)+1)
	signAs(t, p, 4)
	return blocks, p.SignedEpochVote()
}

// keptVotes is how many votes of blocks and epochs a chain keeps.
func keptVotes(t testing.TB, l *ledger) (blocks, epochs int) {
	t.Helper()
	v, err := l.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	err = errors.Join(
		v.BlockVotes(nil, func([]byte, *inter.SignedBlockVotes) bool { blocks++; return true }),
		v.EpochVotes(0, func(*inter.SignedEpochVote) bool { epochs++; return true }),
	)
	if err != nil {
		t.Fatal(err)
	}
	return blocks, epochs
}

// A validator may sign any number of votes without an event, for nothing. What it has said already
// of a block, or of an epoch, is not kept a second time, whatever it says now.
func TestAValidatorsOtherVotesAreNotKept(t *testing.T) {
	l := openLedger(t, t.TempDir(), 4)
	defer l.close(t, false)
	f := NewRecordLedger(l.Chain.Chain, l)
	var took, refused int
	note := func(_ int, err error) {
		if err == nil {
			took++
		} else {
			refused++
		}
	}
	const runs, run = 20, 64
	began := time.Now()
	for i := range runs {
		var blocks []*inter.SignedBlockVotes
		var epochs []*inter.SignedEpochVote
		for k := range run {
			b, e := signVotes(t, l, i*run+k)
			blocks, epochs = append(blocks, &b), append(epochs, &e)
		}
		if err := errors.Join(f.AddBlockVotes(t.Context(), blocks, note),
			f.AddEpochVotes(t.Context(), epochs, note)); err != nil {
			t.Fatal(err)
		}
	}
	blocks, epochs := keptVotes(t, l)
	t.Logf("%d are taken, %d refused, in %v; %d and %d are kept",
		took, refused, time.Since(began).Round(time.Millisecond), blocks, epochs)
	// Votes that begin one block later say something of one block more.
	if took != blocks+epochs || blocks > 7 || epochs != 1 {
		t.Errorf("%d sets of votes for blocks and %d for epochs are kept", blocks, epochs)
	}
}

// checkSucceeded lets a chain know the epoch after its present one, in which the weights of its four
// validators are others: who was last is first. It returns that epoch.
func checkSucceeded(t *testing.T, l *ledger, f RecordLedger) inter.Epoch {
	t.Helper()
	v, err := l.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	r, err := v.EpochRecord(v.Epoch().Epoch)
	if err != nil {
		t.Fatal(err)
	}
	next, list := *r, []inter.Validator{}
	for i := range r.State.EpochState.Validators.Len() {
		one := r.State.EpochState.Validators.At(i)
		one.Weight += inter.Weight(one.ID)
		list = append(list, one)
	}
	if next.State.EpochState.Validators, err = inter.NewValidators(list); err != nil {
		t.Fatal(err)
	}
	next.Epoch++
	next.State.EpochState.Epoch++
	next.State.BlockState.LastBlock.Number += 64
	var votes []*inter.SignedEpochVote
	for by := inter.ValidatorID(1); by <= 2; by++ {
		p := signedBy(t, by, &inter.Payload{Event: inter.Event{Epoch: next.Epoch},
			EpochVote: inter.EpochVote{Epoch: next.Epoch, Vote: next.State.Hash()}})
		vote := p.SignedEpochVote()
		votes = append(votes, &vote)
	}
	done := func(what string) func(error) {
		return func(err error) {
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	voted := done("a vote for an epoch")
	err = errors.Join(
		f.AddEpochVotes(t.Context(), votes, func(_ int, err error) { voted(err) }),
		f.AddEpochRecord(t.Context(), next.Epoch, encode(t, &next), done("an epoch")),
	)
	if err != nil {
		t.Fatal(err)
	}
	return next.Epoch
}

// signedBy makes a payload with votes one of a validator, as its first of the epoch.
func signedBy(t testing.TB, by inter.ValidatorID, p *inter.Payload) *inter.Payload {
	t.Helper()
	p.Version, p.Frame, p.Creator = 1, 1, by
	p.Seq, p.Lamport = max(p.Seq, 1), max(p.Lamport, 1)
	signAs(t, p, by)
	return p
}

// Validators of two epochs vote for the same block, and one index is that of both: each vote is taken
// and passed on, and counts. A second one of either is not, of whatever epoch its signer says to be.
func TestValidatorsOfOtherEpochsShareNoVote(t *testing.T) {
	l := openLedger(t, t.TempDir(), 4)
	defer l.close(t, false)
	f := NewRecordLedger(l.Chain.Chain, l)
	of, block := l.Epoch().Epoch, l.Frontier().Undecided.Block
	next := checkSucceeded(t, l, f)
	right, wrong := [32]byte{1}, [32]byte{2}
	vote := func(by inter.ValidatorID, in inter.Epoch, seq int, hash [32]byte) (came error) {
		t.Helper()
		votes := inter.BlockVotes{Start: block, Epoch: of, Votes: [][32]byte{hash}}
		p := signedBy(t, by, &inter.Payload{Event: inter.Event{Epoch: in, Seq: inter.Seq(seq)}, BlockVotes: votes})
		s := p.SignedBlockVotes()
		if err := f.AddBlockVotes(t.Context(), []*inter.SignedBlockVotes{&s},
			func(_ int, err error) { came = err }); err != nil {
			t.Fatal(err)
		}
		return came
	}
	first := func(by inter.ValidatorID, in inter.Epoch, hash [32]byte) {
		t.Helper()
		if err := vote(by, in, 1, hash); err != nil {
			t.Errorf("the first vote of validator %d, in epoch %d: %v", by, in, err)
		}
	}
	first(1, of, wrong)
	first(4, next, right)
	for i := range 50 {
		for _, by := range []inter.ValidatorID{1, 4} {
			for _, in := range []inter.Epoch{of, next} {
				if err := vote(by, in, 2+i, [32]byte{byte(i)}); !errors.Is(err, eventcheck.ErrAlreadyProcessedBVs) {
					t.Fatalf("vote %d of validator %d, in epoch %d: %v", 2+i, by, in, err)
				}
			}
		}
	}
	if got := l.Frontier().Undecided.Block; got != block {
		t.Errorf("block %d is undecided, want %d: one validator has voted for each of two records", got, block)
	}
	first(2, of, right)
	if blocks, _ := keptVotes(t, l); blocks != 3 {
		t.Errorf("%d votes for the block are passed on, want 3", blocks)
	}
	if got := l.Frontier().Undecided.Block; got != block+1 {
		t.Errorf("block %d is undecided, want %d: two of four validators have voted for one record", got, block+1)
	}
}
