package difftest

import "testing"

// Before the upgrade Llr, and where it is switched off, validators vote for nothing. What comes about then is not
// waited for: who votes later would first vote for all of that.
func TestBlocksForWhichNobodyVotesAreNotUndecided(t *testing.T) {
	const validators, seed, most = 1, 14, 12000
	c := newChain(t, t.TempDir(), validators)
	n, err := NewSimulation(c.Chain, seed, validators, func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for step, passed := 0, 0; passed < 30; step++ {
		if step == most {
			t.Fatalf("in %d events only %d such blocks were made", most, passed)
		}
		head, votes := c.Head().Number, c.Epoch().Rules.Upgrades.Llr
		before, _ := c.Votes().Undecided()
		if err := n.Step(); err != nil {
			t.Fatal(err)
		}
		if votes || before != head+1 {
			continue
		}
		if now, _ := c.Votes().Undecided(); now <= c.Head().Number {
			t.Fatalf("block %d waits for votes, of which there are none; the last one is %d", now, c.Head().Number)
		}
		passed += int(c.Head().Number - head)
	}
}
