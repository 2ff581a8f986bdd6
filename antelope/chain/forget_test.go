package chain_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/finality"
)

// A block comes into the fork database while what was voted for its header is being forgotten, as for want of room:
// votes for it count.
func TestVotesCountForABlockThatComesWhileItsHeaderIsForgotten(t *testing.T) {
	m := maker(t)
	if err := m.Finalise(1); err != nil {
		t.Fatal(err)
	}
	made := m.Chain.Fork()
	s := made.Block(block(t, m).ID())
	c, err := chain.Open(newStore(t), chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fork := c.Fork()
	fork.Reset(consensus.Head{HeaderState: made.HeaderState(s.Header.Previous)})
	var others sync.WaitGroup
	defer others.Wait()
	var over atomic.Bool
	defer over.Store(true)
	others.Go(func() {
		for !over.Load() {
			c.ForgetVotes(s.ID)
		}
	})
	for range 300_000 {
		if err := fork.Add(s, false); err != nil {
			t.Fatal(err)
		}
		c.ExpectVotes(s)
		if r := c.Vote(&finality.Vote{Block: s.ID}); r[0].Result == finality.NoBlock {
			t.Fatal("no votes are counted for a block of the fork database")
		}
		if _, err := fork.Remove(s.ID); err != nil {
			t.Fatal(err)
		}
	}
}
