package p2p_test

import (
	"testing"

	"tarn/antelope/p2p"
)

// What a chain has dropped for want of room is news when a peer sends it again: a branch may need it.
func TestABlockThatTheChainHasDroppedMayComeAgain(t *testing.T) {
	chain := p2p.NewRecentChain(100)
	n := p2p.StartNode(t, chain, nil)
	p := greetedPeer(t, n)
	b := chain.Signed("prod")
	for range 3 {
		must(t, p.Send(b))
		n.Eventually(t, "it is applied", func() bool { return chain.Knows(b.BlockHeader.ID()) && chain.Head() == 101 })
		awaitAnswer(t, p) // it is off its way
		chain.DropHead()
	}
}
