package p2p

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// Who signs blocks whose headers are good: the chain refuses what is in them, one of
// their transactions fails, a signature in them cannot be read.
const (
	badBody = "badbody"
	badTrx  = "badtrx"
	badKeys = "badkeys"
)

// fakeChain is a chain of headers: a block is good if its producer is not "evil",
// the longest branch is the head's, and what is 30 blocks below is irreversible.
type fakeChain struct {
	id  types.Checksum256
	net atomic.Pointer[Network]

	mu        sync.Mutex
	blocks    map[types.Checksum256]*types.SignedBlock
	branch    []types.Checksum256 // of the head; at its number
	lib       uint32
	finality  uint32
	applied   int
	trxs      map[types.Checksum256]bool
	badTrx    bool
	delay     time.Duration
	prepare   func(*Block)               // what takes time; nil for nothing
	headers   map[types.Checksum256]bool // that were checked, if those that follow may be too
	votes     map[types.Checksum256]bool // that were counted, by their hash
	verifies  atomic.Int64               // signatures that were verified
	verify    func()                     // what takes time; nil for nothing
	peerKeys  []PeerKey
	overtaken atomic.Bool // the next block becomes irreversible before it is applied
	spring    atomic.Bool

	prefers func(b, head *types.SignedBlock) bool // whether b is the better block; nil is for the longest branch
}

var evil = types.N("evil")

// genesisBlock is block 1 of all fake chains.
func genesisBlock() *types.SignedBlock {
	return &types.SignedBlock{
		SignedBlockHeader: types.SignedBlockHeader{BlockHeader: types.BlockHeader{Producer: types.N("first")}}}
}

func newFakeChain(n int) *fakeChain {
	f := &fakeChain{id: types.Hash([]byte("fake chain")), finality: 30,
		blocks: map[types.Checksum256]*types.SignedBlock{},
		branch: make([]types.Checksum256, 1), trxs: map[types.Checksum256]bool{}}
	g := genesisBlock()
	id := g.BlockHeader.ID()
	f.blocks[id] = g
	f.branch = append(f.branch, id)
	f.lib = 1
	for range n - 1 {
		f.addLocked(f.makeLocked(types.N("prod"), 0))
	}
	return f
}

// makeLocked makes the block after the head.
func (f *fakeChain) makeLocked(producer types.Name, skip uint32) *types.SignedBlock {
	head := f.branch[len(f.branch)-1]
	return f.after(head, producer, skip)
}

func (f *fakeChain) after(previous types.Checksum256, producer types.Name, skip uint32) *types.SignedBlock {
	b := &types.SignedBlock{}
	b.Previous, b.Producer = previous, producer
	b.Timestamp = f.blocks[previous].Timestamp + 1 + types.BlockTimestamp(skip)
	b.ProducerSignature.Compact[0] = 31
	return b
}

func (f *fakeChain) addLocked(b *types.SignedBlock) {
	id := b.BlockHeader.ID()
	f.blocks[id] = b
	num, next := types.BlockNum(id), len(f.branch)
	better := int(num) >= next
	if f.prefers != nil {
		better = f.prefers(b, f.blocks[f.branch[next-1]])
	}
	if better {
		f.branch = append(f.branch, make([]types.Checksum256, max(0, int(num)+1-next))...)[:num+1]
		for at := id; f.branch[num] != at; num-- {
			f.branch[num] = at
			at = f.blocks[at].Previous
		}
	}
	if head := uint32(len(f.branch) - 1); head > f.finality {
		f.lib = max(f.lib, head-f.finality)
	}
}

// produce adds n blocks and passes them on.
func (f *fakeChain) produce(n int, skip uint32) {
	for range n {
		f.mu.Lock()
		b := f.makeLocked(types.N("prod"), skip)
		f.addLocked(b)
		f.mu.Unlock()
		if net := f.net.Load(); net != nil {
			net.BlockAccepted(NewBlock(b))
			net.HeadShown(f.head())
		}
	}
}

func (f *fakeChain) ID() types.Checksum256 { return f.id }

func (f *fakeChain) Info() Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	head := uint32(len(f.branch) - 1)
	return Info{LIBNum: f.lib, LIBID: f.branch[f.lib], HeadNum: head, HeadID: f.branch[head],
		Time: f.blocks[f.branch[head]].Timestamp, First: 1, Spring: f.spring.Load()}
}

// TurnSpring makes the network one of Spring's nodes.
func (f *fakeChain) TurnSpring() { f.spring.Store(true) }

func (f *fakeChain) head() uint32 { return f.Info().HeadNum }

func (f *fakeChain) BlockID(num uint32) (types.Checksum256, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if num == 0 || int(num) >= len(f.branch) {
		return types.Checksum256{}, exception.New(exception.UnknownBlock, "block ${num}", "num", num)
	}
	return f.branch[num], nil
}

func (f *fakeChain) Block(num uint32) ([]byte, error) {
	id, err := f.BlockID(num)
	if err != nil {
		return nil, nil
	}
	return f.BlockByID(id)
}

func (f *fakeChain) BlockByID(id types.Checksum256) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.blocks[id]; b != nil {
		return b.Append(nil), nil
	}
	return nil, nil
}

func (f *fakeChain) Knows(id types.Checksum256) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blocks[id] != nil
}

func (f *fakeChain) CheckHeader(b *Block) (bool, error) {
	if !f.Knows(b.Signed.Previous) && !f.checked(b.Signed.Previous) {
		return false, nil // as a real chain: there is nothing to check it against
	}
	if b.Signed.Producer == evil {
		return true, exception.New(exception.WrongSigningKey, "block signed by unexpected key")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.headers != nil {
		f.headers[b.ID] = true
	}
	return true, nil
}

func (f *fakeChain) checked(id types.Checksum256) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.headers[id]
}

func (f *fakeChain) Prepare(b *Block) error {
	if f.prepare != nil {
		f.prepare(b)
	}
	if b.Signed.Producer == types.N(badKeys) {
		return exception.New(exception.UnactivatedKeyType, "keys")
	}
	return nil
}

func (f *fakeChain) Apply(_ context.Context, b *Block) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.overtaken.Swap(false) {
		f.lib = b.Num
		return exception.New(exception.UnlinkableBlock, "unlinkable block ${id}", "id", b.ID)
	}
	if f.delay > 0 && f.applied%100 == 0 {
		time.Sleep(f.delay)
	}
	if f.blocks[b.Signed.Previous] == nil {
		return exception.New(exception.UnlinkableBlock, "unlinkable block ${id}", "id", b.ID)
	}
	if b.Signed.Producer == evil {
		return exception.New(exception.WrongSigningKey, "block signed by unexpected key")
	}
	if b.Signed.Producer == types.N(badTrx) {
		return fmt.Errorf("transaction of block failed: %w", exception.New(exception.EosioAssertMessage, "no"))
	}
	if b.Signed.Producer == types.N(badBody) {
		return exception.New(exception.BlockValidate, "Block ID does not match")
	}
	f.addLocked(b.Signed)
	f.applied++
	if net := f.net.Load(); net != nil {
		net.BlockAccepted(b)
		net.HeadShown(b.Num)
	}
	return nil
}

// How the signatures of votes begin that are wrong, and the keys of those that are no finalizers.
const (
	wrongSignature = 0xee
	foreignKey     = 0xef
)

func (f *fakeChain) Vote(list ...*finality.Vote) (results []finality.Result) {
	for _, v := range list {
		results = append(results, f.vote(v))
	}
	return results
}

func (f *fakeChain) vote(v *finality.Vote) finality.Result {
	hash := types.Hash(v.Append(nil))
	f.mu.Lock()
	block, counted := f.blocks[v.Block], f.votes[hash]
	f.mu.Unlock()
	switch {
	case block == nil:
		return finality.NoBlock
	case v.Key[0] == foreignKey:
		return finality.Unknown
	case counted:
		return finality.Duplicate
	}
	f.verifies.Add(1)
	if f.verify != nil {
		f.verify()
	}
	if v.Signature[0] == wrongSignature {
		return finality.Invalid
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.votes == nil {
		f.votes = map[types.Checksum256]bool{}
	}
	f.votes[hash] = true
	return finality.Counted
}

func (f *fakeChain) PeerKeys(context.Context) ([]PeerKey, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.peerKeys, nil
}

func (f *fakeChain) RefusesTransactions() bool { return false }

func (f *fakeChain) Transactions(list []*Transaction, done func(*Transaction, error)) {
	for _, t := range list {
		f.mu.Lock()
		f.trxs[t.ID] = true
		refuse := f.badTrx
		f.mu.Unlock()
		if refuse {
			done(t, exception.New(exception.UnsatisfiedAuthorization, "no"))
			continue
		}
		f.net.Load().TransactionAccepted(t)
		done(t, nil)
	}
}

// producerKey is the key that a producer signs gossip with.
func producerKey(name types.Name) crypto.PrivateKey {
	k, err := crypto.NewPrivateKey(types.K1, types.Hash([]byte(name.String())))
	if err != nil {
		panic(err)
	}
	return k
}

// record is a producer's, signed. kind makes others of the same place.
func record(chain types.Checksum256, producer types.Name, p Place, kind byte) listed {
	e := listed{Record: Record{Version: 1, Producer: producer, Info: append(p.Append(nil), kind)}, Place: p}
	e.Sig = signed(chain, &e.Record, producer)
	return e
}

// signed is the signature of a record by the key of a producer.
func signed(chain types.Checksum256, x *Record, by types.Name) types.Signature {
	s, err := producerKey(by).Sign(x.Digest(chain))
	if err != nil {
		panic(err)
	}
	return s
}

// ranks gives producers keys on the chain.
func (f *fakeChain) ranks(names ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.peerKeys = nil
	for _, n := range names {
		f.peerKeys = append(f.peerKeys, PeerKey{types.N(n), producerKey(types.N(n)).Public()})
	}
}

// gossips has a node gossip for a producer that it signs for, at an address.
func gossips(producer, address string) func(*Options) {
	return func(o *Options) {
		o.GossipEndpoints = []string{producer + "," + address + ",192.0.2.1"}
		o.Sign = func(_ types.PublicKey, d types.Checksum256) (types.Signature, error) {
			return producerKey(types.N(producer)).Sign(d)
		}
	}
}

// awaitGossip waits until the node has its keys and has signed.
func (n *node) awaitGossip(t testing.TB) {
	t.Helper()
	n.HeadShown(n.chain.head())
	eventually(t, "gossip begins", func() bool {
		n.gossip.mu.Lock()
		defer n.gossip.mu.Unlock()
		return n.gossip.first != nil
	})
}

func (f *fakeChain) seen(id types.Checksum256) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trxs[id]
}

// lines is a log that tests look into.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) contains(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.buf.Bytes(), []byte(s))
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// node is a network with a fake chain.
type node struct {
	*Network
	chain   *fakeChain
	log     *lines
	address string
	stop    func()
}

// startNode runs a network until the test ends or stop is called. Its log is shown
// if the test fails.
func startNode(t testing.TB, chain *fakeChain, change func(*Options)) *node {
	t.Helper()
	o := DefaultOptions()
	o.Listen = []string{"127.0.0.1:0"}
	o.MaxNodesPerHost, o.MaxClients = 1000, 0
	o.CleanupPeriod = 300 * time.Millisecond
	log := new(lines)
	o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	if change != nil {
		change(&o)
	}
	n, err := New(chain, o)
	if err != nil {
		t.Fatal(err)
	}
	chain.net.Store(n)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(patience):
			t.Error("Run does not return")
		}
		if t.Failed() {
			s := log.String()
			t.Logf("log of %v:\n%s", n.nodeID, s[max(0, len(s)-6000):])
		}
	})
	t.Cleanup(stop)
	eventually(t, "running", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.ctx != nil // it listens by then
	})
	nd := &node{Network: n, chain: chain, log: log, stop: stop}
	if len(o.Listen) > 0 {
		nd.address = n.Listening()[0].String()
	}
	return nd
}

// patience is for how long a machine that is busy is waited for.
const patience = time.Minute

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// randomTransaction makes a transaction that nobody has sent.
func randomTransaction(r *rand.Rand) *types.PackedTransaction {
	t := &types.Transaction{Actions: []types.Action{{Account: types.N("eosio.token"), Name: types.N("transfer"),
		Authorization: []types.PermissionLevel{{Actor: types.N("alice"), Permission: types.N("active")}},
		Data:          fmt.Append(nil, r.Uint64())}}}
	t.Expiration = types.TimePointSec(time.Now().Unix() + 60)
	p, err := types.Pack(t, make([]types.Signature, 1), nil, types.CompressionNone)
	if err != nil {
		panic(err)
	}
	return p
}
