package emitter

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/chain"
	"tarn/opera/eventcheck"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
)

// testChain is a chain on a stand-in of a disk, whose only goroutine is the test's.
type testChain struct {
	*chain.Chain
	disk    vfs.FS
	store   store.Store
	history *chain.History
}

// open opens the chain that is on a disk, or begins one.
func open(disk vfs.FS, validators int, begin bool) (*testChain, error) {
	p := &testChain{disk: disk, history: chain.NewHistory(chain.HistoryOptions{FS: disk, Dir: "/history"})}
	e, err := page.Open(page.Options{Dir: "/state", FS: disk, Mode: page.Heap, GrowBytes: 2 << 20,
		BeforeCheckpoint: p.history.Sync})
	if err != nil {
		return nil, err
	}
	if p.store, err = revision.Open(e); err != nil {
		return nil, err
	}
	o := chain.Options{Store: p.store, History: p.history}
	if begin {
		g, err := fakenet.New(fakenet.Options{Validators: validators})
		if err == nil {
			err = chain.ApplyGenesis(o, g)
		}
		if err != nil {
			return nil, errors.Join(err, p.store.Close())
		}
	}
	if p.Chain, err = chain.Open(o); err != nil {
		return nil, errors.Join(err, p.store.Close())
	}
	return p, nil
}

func (p *testChain) Close() error { return errors.Join(p.Chain.Close(), p.store.Close()) }

// Do implements [Writer].
func (p *testChain) Do(_ context.Context, work func(*chain.Chain) error) error { return work(p.Chain) }

// node is a validator's node in a network that is in memory, and in a time of its own.
type node struct {
	*testChain
	em    *Emitter
	world *world
	said  []string
	away  bool
	inbox []letter

	overtakes bool // it waits for the state of a later epoch
}

type letter struct {
	at  time.Time
	raw []byte
}

// world is what nodes have in common.
type world struct {
	t      *testing.T
	now    time.Time
	random *rand.Rand
	nodes  []*node
	sent   map[inter.EventID][]byte
	txs    map[common.Address]types.Transactions
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	return &world{
		t: t, now: time.Unix(1_700_000_000, 0), random: rand.New(rand.NewPCG(seed, 0)),
		sent: map[inter.EventID][]byte{}, txs: map[common.Address]types.Transactions{},
	}
}

func keyOf(t *testing.T, id inter.ValidatorID) *ecdsa.PrivateKey {
	t.Helper()
	key, err := fakenet.Key(id)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// join adds a node with an emitter.
func (w *world) join(p *testChain, id inter.ValidatorID, change func(*Options)) *node {
	w.t.Helper()
	n, err := w.tryJoin(p, id, change)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// tryJoin is join on a disk that may fail.
func (w *world) tryJoin(p *testChain, id inter.ValidatorID, change func(*Options)) (*node, error) {
	w.t.Helper()
	n := &node{testChain: p, world: w}
	o := Options{
		Chain: p.Chain, Writer: p, Network: n, Pool: pool{n, false}, Validator: id, Signer: Key{keyOf(w.t, id)},
		Journal: "/emitter/last", FS: p.disk, Version: "test",
		Intervals: Intervals{Min: 150 * time.Millisecond, Max: 10 * time.Second, Confirming: 170 * time.Millisecond,
			ParallelInstance: time.Minute},
		Votes: func(c *chain.Chain) Votes { return c.Votes() },
		Now:   func() time.Time { return w.now }, Random: w.random,
		Notice: func(err error) { n.said = append(n.said, err.Error()) },
	}
	if change != nil {
		change(&o)
	}
	var err error
	if n.em, err = New(o); err != nil {
		return nil, err
	}
	w.nodes = append(w.nodes, n)
	return n, nil
}

// start begins a network of that many validators.
func start(t *testing.T, validators int, seed uint64) *world {
	t.Helper()
	w := newWorld(t, seed)
	for i := range validators {
		p, err := open(memfs.New(), validators, true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		w.join(p, inter.ValidatorID(i+1), nil)
	}
	return w
}

// PeerCount implements [Network].
func (n *node) PeerCount() int {
	if n.away {
		return 0
	}
	count := 0
	for _, other := range n.world.nodes {
		if other != n && !other.away {
			count++
		}
	}
	return count
}

// Broadcast implements [Network]: others get it a while later.
func (n *node) Broadcast(p *inter.Payload) {
	raw, err := p.Encode()
	if err != nil {
		n.world.t.Fatal(err)
	}
	n.world.sent[p.ID()] = raw
	for _, other := range n.world.nodes {
		if other != n && !n.away && !other.away {
			delay := time.Duration(1+n.world.random.IntN(80)) * time.Millisecond
			other.inbox = append(other.inbox, letter{n.world.now.Add(delay), raw})
		}
	}
}

// Overtakes implements [Network].
func (n *node) Overtakes() bool { return n.overtakes }

// Connected implements [Network].
func (n *node) Connected(inter.EventID) {}

// take connects what has come, parents first; what lacks parents waits. Its error is the
// chain's.
func (n *node) take(now time.Time) error {
	for again := true; again; {
		again = false
		n.inbox = slices.DeleteFunc(n.inbox, func(l letter) bool {
			if l.at.After(now) {
				return false
			}
			p, err := n.Verifier().Decode(l.raw)
			if err == nil {
				err = n.Connect(p, nil)
			}
			if n.Failed() != nil || errors.Is(err, chain.ErrParents) || p.Epoch > n.Epoch().Epoch {
				return false
			}
			if err != nil && !errors.Is(err, eventcheck.ErrAlreadyConnected) &&
				!errors.Is(err, eventcheck.ErrNotRelevant) {
				n.world.t.Errorf("%v of %d: %v", p.ID(), p.Creator, err)
			}
			again = again || err == nil
			return true
		})
	}
	return n.Failed()
}

// run lets time pass. It returns the errors with which emitters ended, by node.
func (w *world) run(d time.Duration) map[*node]error {
	w.t.Helper()
	failed := map[*node]error{}
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(tick) {
		for _, n := range w.nodes {
			if err := n.take(w.now); err != nil {
				w.t.Fatal(err)
			}
			if _, err := n.em.Tick(w.t.Context()); err != nil {
				failed[n] = err
			}
		}
	}
	return failed
}

// pool is what waits at a node: everybody has it at once, and each drops what it has
// executed, unless it is slow.
type pool struct {
	n    *node
	slow bool
}

func (p pool) Pending() map[common.Address]types.Transactions {
	all := map[common.Address]types.Transactions{}
	for sender, txs := range p.n.world.txs {
		next := p.n.next(sender)
		if p.slow {
			next = 0
		}
		if txs = slices.DeleteFunc(slices.Clone(txs),
			func(tx *types.Transaction) bool { return tx.Nonce() < next }); len(txs) > 0 {
			all[sender] = txs
		}
	}
	return all
}

func (p pool) Get(hash common.Hash) *types.Transaction {
	for _, txs := range p.Pending() {
		for _, tx := range txs {
			if tx.Hash() == hash {
				return tx
			}
		}
	}
	return nil
}

func (p pool) Stats() (count, _ int) {
	for _, txs := range p.Pending() {
		count += len(txs)
	}
	return count, 0
}

// next is a sender's next nonce.
func (n *node) next(sender common.Address) uint64 {
	v, err := n.View()
	if err != nil {
		n.world.t.Fatal(err)
	}
	defer v.Close()
	a, err := v.Account(sender)
	if err != nil {
		n.world.t.Fatal(err)
	}
	return a.Nonce
}

// pay has a validator of the genesis pay somebody.
func (w *world) pay(from inter.ValidatorID, nonce uint64) *types.Transaction {
	w.t.Helper()
	key := keyOf(w.t, from)
	to := common.BigToAddress(big.NewInt(int64(w.random.IntN(100) + 1)))
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(new(big.Int).SetUint64(inter.FakeNetwork)),
		&types.DynamicFeeTx{
			ChainID: new(big.Int).SetUint64(inter.FakeNetwork), Nonce: nonce, Gas: 21000, To: &to, Value: big.NewInt(1),
			GasFeeCap: big.NewInt(1e13), GasTipCap: big.NewInt(int64(1e9 + w.random.IntN(1e9))),
		})
	if err != nil {
		w.t.Fatal(err)
	}
	tx.SetTime(w.now)
	sender := crypto.PubkeyToAddress(key.PublicKey)
	w.txs[sender] = append(w.txs[sender], tx)
	return tx
}
