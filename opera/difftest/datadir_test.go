package difftest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/chain"
	"tarn/opera/gooperadir"
	"tarn/opera/inter"
	"tarn/opera/state"
	"tarn/store/engine"
)

// The folder of a go-opera, in each of its LevelDB layouts, is taken over on every kind of
// engine: all blocks, receipts, roots, records and old states are the node's. A folder that
// is in use is refused, and nothing in it changes. Pebble's is refused with what to do.
func TestAFolderIsTakenOver(t *testing.T) {
	p, ctx := peer(t)
	kinds := []engine.Kind{engine.Page, engine.Pebble, engine.LevelDB, engine.Badger}
	for i, preset := range []string{"ldb-1", "legacy-ldb"} {
		t.Run(preset, func(t *testing.T) { takeOver(ctx, t, p, preset, kinds[2*i:2*i+2]) })
	}
}

func takeOver(ctx context.Context, t *testing.T, p *Peer, preset string, kinds []engine.Kind) {
	seed := *firstSeed
	if seed == 0 {
		seed = 7
	}
	w, err := NewWork(seed, 1)
	if err != nil {
		t.Fatal(err)
	}
	n, err := startNetwork(ctx, t.TempDir(), []*Peer{p}, Config{Settings: unguarded, Preset: preset})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Kill()
	l := &live{Network: n, work: w, deeds: Deeds{}, refused: map[string]int{}, used: map[*Account]int{},
		price: map[*Account]int64{}}
	if err := l.drive(ctx, 60); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	dir := n.Nodes[0].config.data()
	if _, err := gooperadir.Open(gooperadir.Options{Dir: dir}); !errors.Is(err, gooperadir.ErrInUse) {
		t.Errorf("a folder in use: %v", err)
	}
	old, err := balances(ctx, n.Nodes[0], w)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := n.Record(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		c, err := takeFolder(ctx, t, dir, kind)
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, kind, err)
		}
		if err := errors.Join(compare(c, theirs), sameBalances(c, old)); err != nil {
			t.Errorf("seed %d, %s: %v", seed, kind, err)
		}
	}
}

// takeFolder opens the chain of a folder in a new store.
func takeFolder(ctx context.Context, t *testing.T, dir string, kind engine.Kind) (*chain.Chain, error) {
	from, err := gooperadir.Open(gooperadir.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	own := t.TempDir()
	h := chain.NewHistory(chain.HistoryOptions{Dir: filepath.Join(own, "history")})
	s, err := engine.Open(filepath.Join(own, "state"), engine.Options{Kind: kind, BeforeCheckpoint: h.Sync})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { s.Close() })
	o := chain.Options{Store: s, History: h, Warn: func(err error) { t.Errorf("warned: %v", err) }}
	if err := errors.Join(chain.TakeOver(ctx, o, chain.Takeover{From: from}), from.Close()); err != nil {
		return nil, err
	}
	c, err := chain.Open(o)
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

// balance is what a node says an account had after a block.
type balance struct {
	block   inter.BlockNumber
	address common.Address
	wei     hexutil.Big
	nonce   hexutil.Uint64
}

// balances asks a node for all accounts after all blocks.
func balances(ctx context.Context, n *Node, w *Work) (all []balance, err error) {
	var last hexutil.Uint64
	if err := n.Call(ctx, &last, "eth_blockNumber"); err != nil {
		return nil, err
	}
	for block := inter.BlockNumber(1); block <= inter.BlockNumber(last); block++ {
		for _, a := range w.accounts {
			b := balance{block: block, address: a.Address}
			at := hexutil.EncodeUint64(uint64(block))
			if err := errors.Join(n.Call(ctx, &b.wei, "eth_getBalance", a.Address, at),
				n.Call(ctx, &b.nonce, "eth_getTransactionCount", a.Address, at)); err != nil {
				return nil, err
			}
			all = append(all, b)
		}
	}
	return all, nil
}

func sameBalances(c *chain.Chain, all []balance) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	defer v.Close()
	for _, b := range all {
		of, err := v.StateAt(b.block)
		if err != nil {
			return err
		}
		a, err := of.Account(crypto.Keccak256Hash(b.address[:]))
		if err != nil {
			return err
		}
		if a == nil {
			a = &state.Account{}
		}
		if a.Balance.ToBig().Cmp(b.wei.ToInt()) != 0 || a.Nonce != uint64(b.nonce) {
			return fmt.Errorf("%v after block %d has %v wei and nonce %d, the node says %v and %d",
				b.address, b.block, &a.Balance, a.Nonce, b.wei.ToInt(), b.nonce)
		}
	}
	if len(all) == 0 {
		return errors.New("nothing was asked for")
	}
	return nil
}
