package p2p

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
)

// What tests outside the package use of those inside.

type FakeChain = fakeChain

type TestNode = node

// NewFakeChain makes a chain of any id whose first block is first.
func NewFakeChain(id types.Checksum256, first *types.SignedBlock) *FakeChain {
	f := newFakeChain(1)
	f.id = id
	clear(f.blocks)
	f.branch[1] = first.BlockHeader.ID()
	f.blocks[f.branch[1]] = first
	return f
}

func StartNode(t testing.TB, chain *FakeChain, change func(*Options)) *TestNode {
	return startNode(t, chain, change)
}

func (n *node) Head() uint32    { return n.chain.head() }
func (n *node) Address() string { return n.address }

func (n *node) Eventually(t testing.TB, what string, ok func() bool) { eventually(t, what, ok) }

func NewTestChain(n int) *FakeChain { return newFakeChain(n) }

// NewRecentChain makes a chain whose head is of now.
func NewRecentChain(n int) *FakeChain {
	f := newFakeChain(1)
	now := uint32(types.NewBlockTimestamp(types.TimePoint(time.Now().UnixMicro())))
	f.addLocked(f.makeLocked(types.N("prod"), now-uint32(n)))
	for range n - 2 {
		f.addLocked(f.makeLocked(types.N("prod"), 0))
	}
	return f
}

func RandomTransaction(r *rand.Rand) *types.PackedTransaction { return randomTransaction(r) }

func (n *node) ChainID() types.Checksum256 { return n.chain.id }
func (n *node) ChainInfo() Info            { return n.chain.Info() }
func (n *node) Logged(s string) bool       { return n.log.contains(s) }

func (n *node) ForgetLog() {
	n.log.mu.Lock()
	n.log.buf.Reset()
	n.log.mu.Unlock()
}

func (n *node) AllCurrent(count int) bool {
	conns := *n.conns.Load()
	for _, c := range conns {
		if !c.current() {
			return false
		}
	}
	return len(conns) == count
}

func (f *fakeChain) Ranks(names ...string) { f.ranks(names...) }

func (n *node) AwaitGossip(t testing.TB) { n.awaitGossip(t) }

func Gossips(producer, address string) func(*Options) { return gossips(producer, address) }

// SignRecord signs a record with the key of a producer.
func SignRecord(chain types.Checksum256, x *Record, by types.Name) { x.Sig = signed(chain, x, by) }

// ReadPlace is the place of a record, and whether the producer's own key has signed that.
func (x *Record) ReadPlace(chain types.Checksum256) (p Place, genuine bool) {
	list, _ := (&Gossip{Records: []Record{*x}}).list()
	key, err := crypto.Recover(x.Sig, x.Digest(chain), false)
	if len(list) > 0 {
		p = list[0].Place
	}
	return p, err == nil && key == producerKey(x.Producer).Public()
}

const WrongSignature = wrongSignature

func (f *fakeChain) Produce(n int) { f.produce(n, 0) }

func (f *fakeChain) RefuseTransactions() { f.badTrx = true }

// At is the block of that number.
func (f *fakeChain) At(num uint32) *types.SignedBlock {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blocks[f.branch[num]]
}

// Bad is a block after the head that is not good.
func (f *fakeChain) Bad() *types.SignedBlock {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.makeLocked(evil, 0)
}

// WebAuthn is a block after the head with a signature of a kind that blocks may not have.
func (f *fakeChain) WebAuthn() *types.SignedBlock {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.makeLocked(types.N("prod"), 0)
	b.ProducerSignature = types.Signature{Type: types.WebAuthn, AuthData: "a", ClientJSON: "{}"}
	return b
}

// NextTwo are a good block after the head, and one after it whose header is not good.
func (f *fakeChain) NextTwo() (good, bad *types.SignedBlock) {
	f.mu.Lock()
	defer f.mu.Unlock()
	good = f.makeLocked(types.N("prod"), 0)
	bad = &types.SignedBlock{}
	bad.Previous, bad.Producer = good.BlockHeader.ID(), evil
	bad.Timestamp = good.Timestamp + 1
	bad.ProducerSignature.Compact[0] = 31
	return good, bad
}

// Signed is a block after the head by a producer.
func (f *fakeChain) Signed(producer string) *types.SignedBlock {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.makeLocked(types.N(producer), 0)
}

// The producers of bad blocks with good headers.
func BadBlocks() []string { return []string{badBody, badTrx, badKeys} }

// Twin is a chain with the same blocks.
func (f *fakeChain) Twin() *FakeChain {
	t := newFakeChain(1)
	for num := 2; num < len(f.branch); num++ {
		t.addLocked(f.blocks[f.branch[num]])
	}
	return t
}

// DropHead drops the head.
func (f *fakeChain) DropHead() {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.branch) - 1
	delete(f.blocks, f.branch[last])
	f.branch = f.branch[:last]
}

// Head is the number of the head block.
func (f *fakeChain) Head() uint32 { return f.head() }

func Eventually(t testing.TB, what string, ok func() bool) { t.Helper(); eventually(t, what, ok) }

// PrefixOf is what is kept away in place of an address.
func PrefixOf(ip string) netip.Prefix { return prefixOf(ip) }
