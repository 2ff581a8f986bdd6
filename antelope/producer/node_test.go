package producer

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/crypto"
	"tarn/antelope/execute"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"
)

// node is a writer with a chain of its own. In a bubble of synctest its clock is
// that of the bubble, and work takes no time.
type node struct {
	*Producer
	*Operator
	maker  *chaintest.Maker
	cancel context.CancelFunc
	ended  chan error

	mu     sync.Mutex
	log    bytes.Buffer
	blocks []*types.SignedBlock // accepted as head, in their order
	made   []made
}

// made is when a block was made here.
type made struct {
	block *consensus.BlockState
	at    time.Time
}

func (n *node) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log.Write(b)
}

func (n *node) lines() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log.String()
}

var seedFlag = flag.Uint64("producer.seed", 1, "of random tests; 0 for a new one")

// newSeed is the flag's, or a new one. The test prints it.
func newSeed() uint64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	return uint64(time.Now().UnixNano())
}

func name(s string) types.Name { return types.N(s) }

// inBubble runs a test on a clock that stands still while anybody works, from the
// time of the genesis on.
func inBubble(t *testing.T, f func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(chaintest.Begin.Time()))
		f(t)
	})
}

func newStore(t testing.TB) store.Store {
	t.Helper()
	st, err := engine.Open(t.TempDir(), engine.Options{Kind: engine.Page, Mode: page.Heap, LimitBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// newNode makes a node that does not run yet.
func newNode(t testing.TB, o chain.Options, change func(*Options)) *node {
	t.Helper()
	m, err := chaintest.New(newStore(t), o)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{maker: m, ended: make(chan error, 1)}
	opt := Defaults()
	opt.Log = slog.New(slog.NewTextHandler(n, nil))
	opt.Signers = map[types.PublicKey]SignatureProvider{m.Key.Public(): m.Key.Sign}
	opt.SnapshotsDir = t.TempDir()
	if change != nil {
		change(&opt)
	}
	if n.Producer, err = New(m.Chain, opt); err != nil {
		t.Fatal(err)
	}
	n.Operator = n.Producer.Operator()
	m.Chain.Subscribe(chain.Hooks{AcceptedBlock: func(b *consensus.BlockState) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.blocks = append(n.blocks, b.Block)
		if n.producing {
			n.made = append(n.made, made{b, time.Now()})
		}
	}})
	t.Cleanup(func() {
		n.stop(t)
		if err := m.Chain.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// produces makes the options those of a producer that begins a chain.
func produces(names ...string) func(*Options) {
	return func(o *Options) {
		o.StaleProduction = true
		for _, n := range names {
			o.Producers = append(o.Producers, name(n))
		}
	}
}

func (n *node) run() {
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	go func() { n.ended <- n.Run(ctx) }()
}

func (n *node) stop(t testing.TB) {
	if n.cancel == nil {
		return
	}
	n.cancel()
	n.cancel = nil
	if err := <-n.ended; err != nil {
		t.Error("the writer ended:", err)
	}
}

// chainBlocks are the blocks of the head's branch.
func (n *node) chainBlocks() []*types.SignedBlock {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []*types.SignedBlock
	for _, b := range n.blocks {
		for len(list) > 0 && list[len(list)-1].BlockNum() >= b.BlockNum() {
			list = list[:len(list)-1]
		}
		list = append(list, b)
	}
	return list
}

// makings are the blocks that were made here.
func (n *node) makings() []made {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.made)
}

func (n *node) hash(t testing.TB) types.Checksum256 {
	t.Helper()
	_, h, err := n.IntegrityHash(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// link carries the blocks of one node to another, in their order.
type link struct {
	mu  sync.Mutex
	cut bool
}

func (l *link) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
}

// connect gives all blocks that are accepted on one node to another after a delay. What the
// other cannot link it asks for. It ends with ctx.
func connect(ctx context.Context, from, to *node, delay time.Duration) *link {
	l := new(link)
	type sent struct {
		*types.SignedBlock
		due time.Time
	}
	queue := make(chan sent, 10_000)
	from.maker.Chain.Subscribe(chain.Hooks{AcceptedBlock: func(b *consensus.BlockState) {
		queue <- sent{b.Block, time.Now().Add(delay)}
	}})
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case b := <-queue:
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Until(b.due)):
				}
				l.mu.Lock()
				cut := l.cut
				l.mu.Unlock()
				if !cut {
					deliver(ctx, from, to, b.SignedBlock)
				}
			}
		}
	}()
	return l
}

// deliver gives a block to a node, those before it first.
func deliver(ctx context.Context, from, to *node, b *types.SignedBlock) {
	var missing []*types.SignedBlock
	for b != nil && !to.Knows(b.ID()) {
		missing = append(missing, b)
		b = from.find(b.Previous)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		for to.Block(ctx, missing[i], missing[i].ID()) == ErrBusy && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func (n *node) find(id types.Checksum256) *types.SignedBlock {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := len(n.blocks) - 1; i >= 0; i-- {
		if n.blocks[i].ID() == id {
			return n.blocks[i]
		}
	}
	return nil
}

// push executes actions, signed for the head of a node.
func (n *node) push(actions ...types.Action) (*types.TransactionTrace, error) {
	p, err := n.sign(actions...)
	if err != nil {
		return nil, err
	}
	return n.Transaction(context.Background(), p, execute.TransactionOptions{API: true})
}

var nonce struct {
	sync.Mutex
	n uint32
}

// sign makes a transaction of actions that expires in a minute.
func (n *node) sign(actions ...types.Action) (*types.PackedTransaction, error) {
	return n.signUntil(time.Minute, actions...)
}

func (n *node) signUntil(expires time.Duration, actions ...types.Action) (*types.PackedTransaction, error) {
	nonce.Lock()
	nonce.n++
	unique := nonce.n
	nonce.Unlock()
	head := n.Head()
	trx := &types.Transaction{Actions: actions}
	trx.Expiration = types.TimePoint(time.Now().Add(expires).UnixMicro()).Sec()
	trx.SetRefBlock(head.ID)
	trx.MaxNetUsageWords = 1_000_000 + unique
	return sign(n.maker, trx)
}

// candidate is sign, unpacked for the writer.
func (n *node) candidate(t testing.TB, actions ...types.Action) *execute.Candidate {
	t.Helper()
	p, err := n.sign(actions...)
	if err != nil {
		t.Fatal(err)
	}
	x, err := execute.NewCandidate(p, execute.Input)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func sign(m *chaintest.Maker, trx *types.Transaction) (*types.PackedTransaction, error) {
	s, err := m.Key.Sign(trx.SigningDigest(m.Genesis.ChainID(), nil))
	if err != nil {
		return nil, err
	}
	return types.Pack(trx, []types.Signature{s}, nil, types.CompressionNone)
}

// propose is the action that proposes producers with the one key.
func propose(m *chaintest.Maker, names ...string) types.Action {
	data := serial.AppendCount(nil, len(names))
	for _, n := range names {
		data = types.LegacyProducerKey{Producer: name(n), Key: m.Key.Public()}.Append(data)
	}
	return chaintest.Action(name("eosio"), name("setprods"), name("eosio"), data)
}

// otherKey is a key that signs for nobody.
func otherKey(t testing.TB) crypto.PrivateKey {
	t.Helper()
	k, err := crypto.NewPrivateKey(types.K1, [32]byte{31: 7})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func mustPush(t testing.TB, n *node, actions ...types.Action) *types.TransactionTrace {
	t.Helper()
	trace, err := n.push(actions...)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func accountName(i int) types.Name {
	return types.N("acct" + strings.Map(func(r rune) rune { return 'a' + r - '0' }, fmt.Sprintf("%05d", i)))
}
