package bench

import (
	"flag"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/eventfile"
	"tarn/opera/inter"
	"tarn/opera/oracle"
)

var (
	keepIn   = flag.String("bench.make", "", "folder in which the chain is kept that TestAChainIsMade makes")
	accounts = flag.Int("bench.accounts", 50, "accounts that send in it")
	tokens   = flag.Int("bench.tokens", 150, "transfers of tokens in it")
	plain    = flag.Int("bench.plain", 100, "transfers of money in it")
	heavy    = flag.Int("bench.heavy", 5, "calls of a heavy contract in it")
	slots    = flag.Int("bench.slots", 2, "calls in it that fill 300 fresh slots")
)

// A chain has all the transactions of its work, and those that prepare it.
func TestAChainIsMade(t *testing.T) {
	peer, err := oracle.Find(t.Context())
	if err != nil {
		t.Skip(err)
	}
	dir := *keepIn
	if dir == "" {
		dir = t.TempDir()
	}
	w := Work{Seed: 1, Accounts: *accounts, Tokens: *tokens, Plain: *plain, Heavy: *heavy, Slots: *slots}
	path, err := w.Events(t.Context(), peer, dir, t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	in, err := eventfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	txs := map[common.Hash]bool{} // an event may repeat what one before it has
	for raw, err := range in.All() {
		if err != nil {
			t.Fatal(err)
		}
		p, err := inter.DecodePayload(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, tx := range p.Txs {
			txs[tx.Hash()] = true
		}
	}
	if want := w.txs(); len(txs) != want {
		t.Errorf("%d transactions in %s, want %d", len(txs), path, want)
	}
}
