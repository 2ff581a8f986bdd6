package p2p

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"tarn/opera/inter"
)

// signed is what validator 4 of a fakenet of four, a quarter of the stake, signs without an event:
// votes for 64 blocks and for an epoch, other ones for each number.
func signed(t testing.TB, l *ledger, number int) (blocks inter.SignedBlockVotes, epoch inter.SignedEpochVote) {
	t.Helper()
	at := l.Epoch().Epoch
	votes := inter.BlockVotes{Start: l.First() + inter.BlockNumber(number%7), Epoch: at, Votes: make([][32]byte, 64)}
	for i := range votes.Votes {
		binary.BigEndian.PutUint64(votes.Votes[i][:], uint64(number)<<8+1)
	}
	p := &inter.Payload{
		Event:      inter.Event{Version: 1, Epoch: at, Seq: inter.Seq(number + 2), Frame: 1, Lamport: inter.Lamport(number + 2), Creator: 4},
		BlockVotes: votes,
	}
	signAs(t, p, 4)
	blocks = p.SignedBlockVotes()
	p = &inter.Payload{Event: inter.Event{Version: 1, Epoch: at + 1, Seq: inter.Seq(number + 2), Frame: 1, Lamport: inter.Lamport(number + 2), Creator: 4}}
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
	f := NewFiller(l.Chain.Chain, l)
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
			b, e := signed(t, l, i*run+k)
			blocks, epochs = append(blocks, &b), append(epochs, &e)
		}
		if err := errors.Join(f.AddBlockVotes(t.Context(), blocks, note), f.AddEpochVotes(t.Context(), epochs, note)); err != nil {
			t.Fatal(err)
		}
	}
	blocks, epochs := keptVotes(t, l)
	t.Logf("%d are taken, %d refused, in %v; %d and %d are kept", took, refused, time.Since(began).Round(time.Millisecond), blocks, epochs)
	// Votes that begin one block later say something of one block more.
	if took != blocks+epochs || blocks > 7 || epochs != 1 {
		t.Errorf("%d sets of votes for blocks and %d for epochs are kept", blocks, epochs)
	}
}
