package node

import (
	"crypto/ecdsa"
	"io"
	"log/slog"
	"math/big"
	"path/filepath"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/chain"
	"tarn/opera/config"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/opera/p2p"
)

// full is a node of a fakenet with all that goes on beside its chain.
type full struct {
	*Node
	waiting *waiting
	peers   *p2p.Node
}

// all opens a full node with the validator of an id, or none.
func all(t *testing.T, id uint32, static ...string) *full {
	t.Helper()
	dir := t.TempDir()
	f := &full{Node: open(t, options(dir, io.Discard))}
	c := speakerConfig(t, dir, id)
	c.Node.P2P.MaxPeers, c.Node.P2P.NoDiscovery, c.Node.P2P.ListenAddr = 5, true, "127.0.0.1:0"
	c.Node.P2P.StaticNodes = static
	c.TxPool.Journal = "transactions.rlp"
	l := newServices(c, slog.NewTextHandler(t.Output(), nil))
	w, err := l.wait(f.Node)
	if err != nil {
		t.Fatal(err)
	}
	f.waiting = w
	ends(t, w.close)
	if f.peers, err = l.meet(f.Node, w, nil); err != nil {
		t.Fatal(err)
	}
	ends(t, f.peers.Close)
	v, err := l.validate(f.Node, f.peers, offered{w.Pool})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.close)
	return f
}

func ends(t *testing.T, end func() error) {
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// until waits for something.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute: %s", what)
		}
	}
}

// payment is a transaction of a validator of fakenets.
func payment(t *testing.T, id inter.ValidatorID, nonce uint64) *types.Transaction {
	t.Helper()
	key, err := fakenet.Key(id)
	if err != nil {
		t.Fatal(err)
	}
	signer := types.NewLondonSigner(new(big.Int).SetUint64(inter.FakeNetwork))
	tx, err := types.SignNewTx(key, signer, &types.LegacyTx{Nonce: nonce, To: &common.Address{1}, Value: big.NewInt(5),
		Gas: 21000, GasPrice: big.NewInt(400e9)})
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// A transaction that a client gives to a node without a validator reaches the pool of
// another, stands in a block that the other makes, and leaves both pools.
func TestATransactionReachesTheOthersAndABlock(t *testing.T) {
	maker := all(t, 1)
	other := all(t, 0, maker.peers.Self().URLv4())
	until(t, "the node has no block", func() bool { return other.Chain().Head().Number >= 2 })
	gap := payment(t, 1, 1)
	if err := other.waiting.Add(gap); err != nil {
		t.Fatal(err)
	}
	tx := payment(t, 1, 0)
	if err := other.waiting.Add(tx); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*full{maker, other} {
		for _, tx := range []*types.Transaction{tx, gap} {
			until(t, "a transaction is not executed", func() bool { return isExecuted(t, n.Node, tx.Hash()) })
		}
		until(t, "executed transactions wait",
			func() bool { pending, queued := n.waiting.Stats(); return pending+queued == 0 })
		if nonce := n.waiting.Nonce(crypto.PubkeyToAddress(fakeKey(t))); nonce != 2 {
			t.Errorf("the next nonce is %d", nonce)
		}
	}
}

func isExecuted(t *testing.T, n *Node, hash common.Hash) bool {
	t.Helper()
	v, err := n.Chain().View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	found := false
	err = v.Places(hash, func(chain.TxPlace) bool { found = true; return false })
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What waits at the end of a node waits again after its next start.
func TestLocalTransactionsLiveThroughARestart(t *testing.T) {
	dir := t.TempDir()
	c := &config.Config{}
	c.Node.DataDir = dir
	c.TxPool.Journal = "transactions.rlp"
	l := newServices(c, slog.NewTextHandler(t.Output(), nil))
	n := open(t, options(filepath.Join(dir, "node"), io.Discard))
	tx := payment(t, 1, 3)
	for life := range 2 {
		w, err := l.wait(n)
		if err != nil {
			t.Fatal(err)
		}
		if life == 0 {
			err = w.Add(tx)
		} else if w.Get(tx.Hash()) == nil {
			t.Error("the transaction is gone")
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
	}
}

func fakeKey(t *testing.T) ecdsa.PublicKey {
	t.Helper()
	key, err := fakenet.Key(1)
	if err != nil {
		t.Fatal(err)
	}
	return key.PublicKey
}
