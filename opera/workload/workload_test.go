package workload

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/chain"
	"tarn/opera/chain/chaintest"
	"tarn/opera/eventfile"
)

// makeTraffic is the file of the events of a shape.
func makeTraffic(t *testing.T, s Shape) string {
	work := t.TempDir()
	path := filepath.Join(work, "events")
	if _, err := Make(t.Context(), path, work, s); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheSameShapeIsTheSameChain(t *testing.T) {
	var files [][]byte
	for _, s := range []Shape{{Seed: 1, Accounts: 20, Transfers: 300}, {Seed: 1, Accounts: 20, Transfers: 300},
		{Seed: 2, Accounts: 20, Transfers: 300}} {
		text, err := os.ReadFile(makeTraffic(t, s))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, text)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("one shape gives two chains")
	}
	if bytes.Equal(files[0], files[2]) {
		t.Error("another seed gives the same chain")
	}
}

// All transactions of a shape are in blocks and succeed, those too whose events the end of an epoch
// leaves unconfirmed.
func TestAChainHasAllOfItsTransactions(t *testing.T) {
	t.Run("one validator", func(t *testing.T) {
		hasAllTransactions(t, Shape{Seed: 1, Accounts: 30, Transfers: 1600, PerEvent: 3, Slots: 50})
	})
	t.Run("many of each account", func(t *testing.T) {
		hasAllTransactions(t, Shape{Seed: 1, Accounts: 2, Transfers: 20_000, PerEvent: 100})
	})
	t.Run("seven", func(t *testing.T) {
		hasAllTransactions(t, Shape{Seed: 1, Accounts: 30, Transfers: 1600, PerEvent: 3, Slots: 50, Validators: 7})
	})
}

func hasAllTransactions(t *testing.T, s Shape) {
	found, failed, logs := map[common.Hash]bool{}, 0, 0
	c, err := chaintest.New(t.TempDir(), s.validators(), chaintest.Options{Connected: func(b *chain.Block) {
		for i, tx := range b.Txs {
			if tx.GasPrice().Sign() == 0 {
				continue // the chain's own
			}
			found[tx.Hash()] = true
			if b.Receipts[i].Status != 1 {
				failed++
			}
			if all := b.Receipts[i].Logs; len(all) == 1 && all[0].Topics[0] == Transferred() {
				logs++
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in, err := eventfile.Open(makeTraffic(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := c.Feed(t.Context(), in.Next, nil); err != nil {
		t.Fatal(err)
	}
	want := len(codes()) + s.Accounts + s.Transfers + s.Slots
	if failed > 0 || logs != s.Transfers/2 {
		t.Errorf("%d failed, %d logs", failed, logs)
	}
	if len(found) != want || c.Epoch().Epoch < 3 {
		t.Errorf("%d transactions of %d in blocks, in epoch %d", len(found), want, c.Epoch().Epoch)
	}
}

// One account has nobody to pay.
func TestTrafficNeedsTwoAccounts(t *testing.T) {
	dir := t.TempDir()
	if _, err := Make(t.Context(), filepath.Join(dir, "events"), dir, Shape{Accounts: 1, Transfers: 1}); err == nil ||
		!strings.Contains(err.Error(), "at least 2") {
		t.Errorf("%v", err)
	}
}
