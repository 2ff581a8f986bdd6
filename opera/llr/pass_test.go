package llr

import (
	"testing"

	"tarn/opera/inter"
)

// rowsOfTallies counts the rows that are written.
func rowsOfTallies(t *testing.T, l *Ledger) (n int) {
	t.Helper()
	if err := ascend(l.from, l.tables.tallies, nil, func(_, _ []byte) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// A block that is made where nobody votes is not waited for, if it is the lowest: what is decided after it follows,
// what was undecided before it still waits, and its tallies are gone once the chain has it.
func TestWhatNobodyVotesForIsPassedOver(t *testing.T) {
	s := newStore(t)
	l := openLedger(t, s)
	g := group(t, 1, 1, 1, 1) // two of them decide
	vote := func(n byte, by inter.ValidatorID, start inter.BlockNumber, votes ...[32]byte) {
		t.Helper()
		if err := l.AddBlocks(event(n, by), &inter.BlockVotes{Start: start, Epoch: 5, Votes: votes}, g); err != nil {
			t.Fatal(err)
		}
	}
	pass := func(n inter.BlockNumber, begun inter.Epoch, want State) {
		t.Helper()
		if err := l.Pass(n, begun); err != nil {
			t.Fatal(err)
		}
		if err := l.FillBlock(n); err != nil {
			t.Fatal(err)
		}
		write(t, s, l)
		again := openLedger(t, s)
		for _, l := range []*Ledger{l, again} {
			if block, epoch := l.Undecided(); block != want.Block || epoch != want.Epoch {
				t.Errorf("after block %d, begun %d: block %d and epoch %d are undecided, want %+v", n, begun, block, epoch, want)
			}
		}
	}
	vote(1, 1, 11, [32]byte{1})              // one vote does not decide
	vote(2, 1, 13, [32]byte{3}, [32]byte{4}) // ahead
	vote(3, 2, 13, [32]byte{3}, [32]byte{4})
	vote(4, 1, 16, [32]byte{6})
	pass(11, 0, State{12, 6})
	pass(12, 6, State{15, 7})
	pass(13, 0, State{15, 7})
	pass(14, 0, State{15, 7})
	if n := rowsOfTallies(t, l); n != 2 { // of block 16: the tally and who voted
		t.Errorf("%d rows of tallies are left", n)
	}
	pass(16, 8, State{15, 7}) // block 15 and epoch 7 were left by rules with votes
	vote(5, 3, 15, [32]byte{5})
	vote(6, 4, 15, [32]byte{5})
	if block, _ := l.Undecided(); block != 16 {
		t.Errorf("block %d is undecided, want 16", block)
	}
}
