package node

import (
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/crypto"
	"tarn/antelope/finalizer"
	"tarn/antelope/p2p"
	"tarn/antelope/producer"
	"tarn/antelope/types"
	"tarn/internal/freeport"
	"tarn/store/engine"
)

// place is what a node of a small network does.
type place struct {
	listen   string
	peers    []string
	produces bool
	votes    []*crypto.BLSPrivateKey
}

// networked is a node of a small network, with the blocks that it has applied.
type networked struct {
	*Node
	stop  func()
	final atomic.Uint32 // number of the last irreversible block

	mu     sync.Mutex
	blocks []*types.SignedBlock
}

// startPlace serves a node that has the blocks, until the test ends or stop is called.
func startPlace(t *testing.T, p *chaintest.Peers, blocks []*types.SignedBlock, r place) *networked {
	t.Helper()
	o := options(t.TempDir(), engine.Options{})
	o.Genesis = &p.Genesis
	o.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})).
		With("node", r.listen)
	n := &networked{Node: mustStart(t, o)}
	for _, b := range blocks {
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
	}
	n.Chain().Subscribe(chain.Hooks{AcceptedBlock: func(b *consensus.BlockState) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.blocks = append(n.blocks, b.Block)
	}, Irreversible: func(b *consensus.BlockState) { n.final.Store(b.BlockNum) }})
	po, no := producer.Defaults(), p2p.DefaultOptions()
	po.Log, no.Log = o.Log, o.Log
	no.Listen, no.Peers, no.MaxNodesPerHost, no.VoteThreads = []string{r.listen}, r.peers, 10, 2
	if r.produces {
		produceForAll(&po, n.Node, p)
		po.VotePause = time.Hour // however slowly it starts again
	}
	s := Services{Producer: po, P2P: &no}
	if len(r.votes) > 0 {
		s.Finalizers = &finalizer.Options{Dir: filepath.Join(t.TempDir(), "finalizers"), Keys: r.votes}
	}
	n.stop = serveAndClose(t, n.Node, s)
	return n
}

// applied are the blocks that the node has applied since it serves.
func (n *networked) applied() []*types.SignedBlock {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.blocks)
}

// await waits until a block of that number is irreversible.
func (n *networked) await(t *testing.T, num uint32) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); n.final.Load() < num; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("block %d is irreversible after two minutes, and not %d", n.final.Load(), num)
		}
	}
}

// The only producer of a network is killed, and starts again without its last blocks, which others have voted for. It
// gets them from its peers, and the network goes on.
func TestAProducerThatLostItsLastBlocksGoesOnFromThem(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	t.Parallel() // waits for blocks
	const lost = 4
	p := finalPeers(t, 3)
	at, err := freeport.Addresses(3)
	if err != nil {
		t.Fatal(err)
	}
	voters := place{listen: at[1], peers: at[:1]}
	for i := range 3 {
		voters.votes = append(voters.votes, chaintest.FinalizerKey(i))
	}
	first := startPlace(t, p, p.Blocks, place{listen: at[0], produces: true})
	voter := startPlace(t, p, p.Blocks, voters)
	follower := startPlace(t, p, p.Blocks, place{listen: at[2], peers: at[:2]})
	voter.await(t, p.Chain(0).Head().BlockNum+10)
	first.stop()
	time.Sleep(100 * time.Millisecond) // what was sent comes soon
	made := voter.applied()
	blocks := append(slices.Clone(p.Blocks), made[:len(made)-lost]...)
	startPlace(t, p, blocks, place{listen: at[0], peers: at[1:], produces: true})
	follower.await(t, made[len(made)-1].BlockNum()+6)
}
