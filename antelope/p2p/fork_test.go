package p2p

import (
	"slices"
	"testing"
	"time"

	"tarn/antelope/types"
)

// evilFrom makes a chain whose block of that number, and with it all that follow,
// is not valid.
func evilFrom(num, head int) *fakeChain {
	f := newFakeChain(num - 1)
	f.addLocked(f.makeLocked(evil, 0))
	for range head - num {
		f.addLocked(f.makeLocked(types.N("prod"), 0))
	}
	return f
}

func TestABadBlockInARangeCostsOnlyWhoSentIt(t *testing.T) {
	bad := startNode(t, evilFrom(2500, 6000), nil)
	good := startNode(t, newFakeChain(5000), nil)
	client := newFakeChain(1)
	n := startNode(t, client, func(o *Options) {
		o.Peers, o.SyncFetchSpan = []string{bad.address, good.address}, 100
		o.CleanupPeriod = time.Minute
	})
	eventually(t, "the good head", func() bool { return client.Info().HeadID == good.chain.Info().HeadID })
	eventually(t, "the bad peer is gone", func() bool { return len(*n.conns.Load()) == 1 })
	if !n.log.contains("block_validate_exception") && !n.log.contains("does not follow what is irreversible") {
		t.Error("no reason in the log")
	}
	eventually(t, "in sync", func() bool { return n.sync.stage() == inSync })
	good.chain.produce(3, 0)
	eventually(t, "new blocks", func() bool { return client.head() == 5003 })
}

func TestBlocksOutOfOrderWaitForEachOther(t *testing.T) {
	a := startNode(t, newFakeChain(100), nil)
	b := startNode(t, newFakeChain(100), func(o *Options) {
		o.Peers = []string{a.address}
		o.Limits.RejectionWindow = time.Minute // on a busy machine they come too slowly to be forgiven
	})
	awaitSettled(t, a, b)
	donor := newFakeChain(120)
	var list []*Block
	for num := uint32(101); num <= 120; num++ {
		list = append(list, NewBlock(donor.blocks[donor.branch[num]]))
	}
	// a's chain knows nothing of them; its network just sends.
	for i := len(list) - 1; i >= 0; i-- {
		a.broadcastBlock(list[i])
		time.Sleep(time.Millisecond)
	}
	eventually(t, "all in their order", func() bool { return b.chain.head() == 120 })
}

func TestABlockThatOvertakesAnotherWaits(t *testing.T) {
	a := startNode(t, newFakeChain(100), nil)
	b := startNode(t, newFakeChain(100), nil)
	chain, release := newFakeChain(100), make(chan struct{})
	chain.prepare = func(b *Block) {
		if b.Num == 101 {
			<-release
		}
	}
	n := startNode(t, chain, func(o *Options) { o.Peers = []string{a.address, b.address} })
	awaitSettled(t, a, n)
	awaitSettled(t, b, n)
	donor := newFakeChain(102)
	first, second := NewBlock(donor.blocks[donor.branch[101]]), NewBlock(donor.blocks[donor.branch[102]])
	a.broadcastBlock(first)
	eventually(t, "the first block is under way", func() bool { return n.blocks.underWay(first.ID) })
	b.broadcastBlock(second)
	eventually(t, "the second one waits", func() bool {
		n.blocks.mu.Lock()
		defer n.blocks.mu.Unlock()
		return len(n.blocks.unlinkable) == 1
	})
	close(release)
	eventually(t, "both are applied", func() bool { return chain.head() == 102 })
	if n.log.contains("unlinkable_block_exception") {
		t.Error("the second block was refused")
	}
}

// However many follow the block that is slow, all wait, and nobody is to blame.
func TestManyBlocksThatOvertakeAnotherWait(t *testing.T) {
	a := startNode(t, newFakeChain(100), nil)
	b := startNode(t, newFakeChain(100), nil)
	chain, release := newFakeChain(100), make(chan struct{})
	chain.headers = map[types.Checksum256]bool{}
	chain.prepare = func(b *Block) {
		if b.Num == 101 {
			<-release
		}
	}
	n := startNode(t, chain, func(o *Options) { o.Peers = []string{a.address, b.address} })
	awaitSettled(t, a, n)
	awaitSettled(t, b, n)
	last := uint32(101 + 4*DefaultLimits().Unlinkable)
	donor := newFakeChain(int(last))
	block := func(num uint32) *Block { return NewBlock(donor.blocks[donor.branch[num]]) }
	first := block(101)
	a.broadcastBlock(first)
	eventually(t, "the first block is under way", func() bool { return n.blocks.underWay(first.ID) })
	for num := uint32(102); num <= last; num++ {
		b.broadcastBlock(block(num))
	}
	eventually(t, "the others wait", func() bool {
		n.blocks.mu.Lock()
		defer n.blocks.mu.Unlock()
		return len(n.blocks.unlinkable) == int(last)-101
	})
	close(release)
	eventually(t, "all are applied", func() bool { return chain.head() == last })
	if n.log.contains("unlinkable_block_exception") {
		t.Error("some were refused")
	}
}

// A block that gave way to others that wait comes again, from whoever has it, and is
// taken then.
func TestABlockThatGaveWayMayComeAgain(t *testing.T) {
	a := startNode(t, newFakeChain(100), nil)
	b := startNode(t, newFakeChain(100), nil)
	chain := newFakeChain(100)
	n := startNode(t, chain, func(o *Options) {
		o.Peers = []string{a.address, b.address}
		o.Limits.RejectionWindow = time.Minute // on a busy machine they come too slowly to be forgiven
	})
	awaitSettled(t, a, n)
	awaitSettled(t, b, n)
	last := uint32(102 + DefaultLimits().Unlinkable) // one more than may wait
	donor := newFakeChain(int(last))
	block := func(num uint32) *Block { return NewBlock(donor.blocks[donor.branch[num]]) }
	for num := uint32(102); num <= last; num++ {
		a.broadcastBlock(block(num))
	}
	oldest := block(102)
	eventually(t, "the newest wait, and the oldest gave way", func() bool {
		n.blocks.mu.Lock()
		defer n.blocks.mu.Unlock()
		holds := func(id types.Checksum256) bool {
			return slices.ContainsFunc(n.blocks.unlinkable, func(q queued) bool { return q.block.ID == id })
		}
		return holds(block(last).ID) && !holds(oldest.ID)
	})
	b.broadcastBlock(block(101))
	eventually(t, "the first is applied", func() bool { return chain.head() == 101 })
	b.broadcastBlock(oldest)
	eventually(t, "all are applied", func() bool { return chain.head() == last })
}

// A block that waited until others were irreversible is not held against its peer.
func TestABlockThatIsOvertakenIsNobodysFault(t *testing.T) {
	chain := newFakeChain(100)
	a := startNode(t, newFakeChain(100), nil)
	b := startNode(t, chain, func(o *Options) { o.Peers = []string{a.address} })
	awaitSettled(t, a, b)
	fork := newFakeChain(99)
	fork.addLocked(fork.makeLocked(types.N("prod"), 1))
	late := NewBlock(fork.blocks[fork.branch[100]])
	chain.overtaken.Store(true)
	(*b.conns.Load())[0].newBlock(late) //nolint:errcheck // it is good
	eventually(t, "it was given to the chain", func() bool { return !chain.overtaken.Load() && b.queue.empty() })
	if b.log.contains("unlinkable_block_exception") || b.log.contains("rejected block") {
		t.Error("it is held against the peer")
	}
}

// Sources that never agree on their fork must not make a node ask for ever.
func TestAnotherChainsBlocksAreNotAskedForAgainAndAgain(t *testing.T) {
	a := startNode(t, newFakeChain(200), nil)
	other := newFakeChain(1)
	other.finality = 5
	for range 250 {
		other.addLocked(other.makeLocked(types.N("other"), 1))
	}
	b := startNode(t, other, func(o *Options) { o.Peers = []string{a.address} })
	eventually(t, "sent away as forked", func() bool {
		return a.log.contains("Peer chain is forked") || b.log.contains("Peer chain is forked")
	})
	time.Sleep(500 * time.Millisecond)
	if m := b.Metrics(); m.BlocksIn > 400 {
		t.Errorf("%d blocks were sent", m.BlocksIn)
	}
}
