package replica

import (
	"context"
	"errors"
	"math/big"
	"net/http"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// waiting is a node's pool, in which nonces have no gaps.
type waiting struct {
	txs map[common.Address]types.Transactions
}

var errUnderpriced = errors.New("transaction underpriced")

func (w *waiting) Add(tx *types.Transaction) error {
	if tx.GasPrice().Sign() == 0 {
		return errUnderpriced
	}
	from, err := types.Sender(types.LatestSignerForChainID(big.NewInt(4003)), tx)
	if err != nil {
		return err
	}
	w.txs[from] = append(w.txs[from], tx)
	return nil
}

func (w *waiting) Get(hash common.Hash) *types.Transaction {
	for _, txs := range w.txs {
		for _, tx := range txs {
			if tx.Hash() == hash {
				return tx
			}
		}
	}
	return nil
}

func (w *waiting) Nonce(a common.Address) uint64 { return 10 + uint64(len(w.txs[a])) }

func (w *waiting) Pending() map[common.Address]types.Transactions { return w.txs }

func (w *waiting) Content() (pending, queued map[common.Address]types.Transactions) {
	return w.txs, map[common.Address]types.Transactions{}
}

func (w *waiting) ContentFrom(a common.Address) (pending, queued types.Transactions) {
	return w.txs[a], nil
}

func (w *waiting) Stats() (pending, queued int) { return len(w.txs), 7 }

// A replica's users are told what the node's are, and where no node answers that nothing waits.
func TestThePoolIsTheNodes(t *testing.T) {
	w := &waiting{txs: map[common.Address]types.Transactions{}}
	a := NewAnswering(w)
	var gone error
	p := NewPool(func(_ context.Context, path string, body []byte) (int, []byte, error) {
		if gone != nil {
			return 0, nil, gone
		}
		status, answer := a.Answer(path, body)
		return status, answer, nil
	}, func(common.Address) uint64 { return 3 })
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	from := crypto.PubkeyToAddress(key.PublicKey)
	signer := types.LatestSignerForChainID(big.NewInt(4003))
	tx := types.MustSignNewTx(key, signer,
		&types.DynamicFeeTx{ChainID: big.NewInt(4003), GasFeeCap: big.NewInt(5), GasTipCap: big.NewInt(1), Gas: 21000})
	if err := p.Add(tx); err != nil {
		t.Fatal(err)
	}
	cheap := types.MustSignNewTx(key, signer, &types.LegacyTx{GasPrice: new(big.Int)})
	if err := p.Add(cheap); err == nil || err.Error() != errUnderpriced.Error() {
		t.Errorf("the node's error is %q; the replica's %v", errUnderpriced, err)
	}
	if got := p.Get(tx.Hash()); got == nil || got.Hash() != tx.Hash() {
		t.Errorf("the transaction that waits is %v", got)
	}
	if got := p.Get(common.Hash{1}); got != nil {
		t.Errorf("no such transaction waits, but %v", got)
	}
	if got := p.Nonce(from); got != 11 {
		t.Errorf("the next nonce is %d", got)
	}
	if got := p.Pending()[from]; len(got) != 1 || got[0].Hash() != tx.Hash() {
		t.Errorf("pending: %v", got)
	}
	pending, queued := p.Content()
	if len(pending[from]) != 1 || len(queued) != 0 {
		t.Errorf("content: %v, %v", pending, queued)
	}
	if a, b := p.ContentFrom(from); len(a) != 1 || len(b) != 0 {
		t.Errorf("content of the sender: %v, %v", a, b)
	}
	if a, b := p.Stats(); a != 1 || b != 7 {
		t.Errorf("%d and %d wait", a, b)
	}
	if status, _ := a.Answer("/pool/else", nil); status != http.StatusNotFound {
		t.Errorf("an unknown question is answered with %d", status)
	}
	gone = errors.New("no node of the fleet answers")
	if err := p.Add(tx); !errors.Is(err, gone) {
		t.Errorf("without a node: %v", err)
	}
	if got := p.Nonce(from); got != 3 {
		t.Errorf("without a node the nonce is that of the state, not %d", got)
	}
	if a, b := p.Content(); a != nil || b != nil || p.Get(tx.Hash()) != nil {
		t.Error("without a node nothing waits")
	}
}

// slow is a pool whose content takes long to be told.
type slow struct {
	waiting
	telling, release chan struct{}
}

func (w *slow) Content() (pending, queued map[common.Address]types.Transactions) {
	w.telling <- struct{}{}
	<-w.release
	return w.waiting.Content()
}

// Strangers ask all replicas for all that waits: a node tells it to few at once, and takes transactions meanwhile.
func TestAllThatWaitsIsToldToFewAtOnce(t *testing.T) {
	w := &slow{telling: make(chan struct{}, contentsAtOnce+1), release: make(chan struct{})}
	a := NewAnswering(w)
	var all sync.WaitGroup
	for range contentsAtOnce {
		all.Go(func() {
			if status, _ := a.Answer(askContent, nil); status != http.StatusOK {
				t.Errorf("one of a few gets status %d", status)
			}
		})
		<-w.telling
	}
	done := make(chan int, 1)
	go func() { status, _ := a.Answer(askContent, nil); done <- status }()
	select {
	case status := <-done:
		if status != http.StatusServiceUnavailable {
			t.Errorf("one more gets status %d", status)
		}
	case <-w.telling:
		t.Error("one more is told, too")
	}
	if status, _ := a.Answer(askNonce, make([]byte, 20)); status != http.StatusOK {
		t.Errorf("a nonce meanwhile: status %d", status)
	}
	close(w.release)
	all.Wait()
	if status, _ := a.Answer(askContent, nil); status != http.StatusOK {
		t.Errorf("afterwards: status %d", status)
	}
}

// Answers of nodes may be anything.
func FuzzPool(f *testing.F) {
	f.Add([]byte(`{"pending":{"0x0000000000000000000000000000000000000001":["0x01"]}}`), 200)
	f.Add([]byte("5"), 200)
	f.Fuzz(func(_ *testing.T, answer []byte, status int) {
		p := NewPool(func(context.Context, string, []byte) (int, []byte, error) { return status, answer, nil },
			func(common.Address) uint64 { return 0 })
		p.Get(common.Hash{})
		p.Nonce(common.Address{})
		p.Content()
		p.ContentFrom(common.Address{})
		p.Stats()
		NewAnswering(&waiting{txs: map[common.Address]types.Transactions{}}).Answer(askAdd, answer)
	})
}
