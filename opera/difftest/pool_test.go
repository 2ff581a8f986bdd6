package difftest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"tarn/opera/inter"
)

// offerer makes transactions that pools may or may not take.
type offerer struct {
	*rand.Rand
	accounts []*Account
	sent     []*types.Transaction
}

func newOfferer(seed uint64) (*offerer, error) {
	o := &offerer{Rand: rand.New(rand.NewPCG(seed, 0))}
	for id := range inter.ValidatorID(4) {
		a, err := ValidatorAccount(id + 1)
		if err != nil {
			return nil, err
		}
		o.accounts = append(o.accounts, a)
	}
	poor, err := otherAccount(1)
	o.accounts = append(o.accounts, poor)
	return o, err
}

// next is a transaction, often one that can wait, sometimes one that was sent before.
func (o *offerer) next() (*types.Transaction, error) {
	if len(o.sent) > 0 && o.IntN(20) == 0 {
		return o.sent[o.IntN(len(o.sent))], nil
	}
	to := common.Address{9}
	d := &Deed{
		From: o.accounts[o.IntN(len(o.accounts))], To: &to, Value: big.NewInt(o.Int64N(1000)), Gas: 21_000,
		Price: big.NewInt(200e9 + o.Int64N(400e9)), Type: uint8(o.IntN(3)), Tip: big.NewInt(50e9 + o.Int64N(150e9)),
	}
	switch o.IntN(24) {
	case 0:
		d.Price = big.NewInt(o.Int64N(60e9))
		d.Tip = big.NewInt(o.Int64N(d.Price.Int64() + 1))
	case 1:
		d.Tip = new(big.Int).Add(d.Price, big.NewInt(1))
	case 2:
		d.Gas = uint64(o.IntN(21_000))
	case 3:
		d.Gas = 9_900_000 + uint64(o.IntN(400_000))
	case 4:
		d.Value = new(big.Int).Mul(big.NewInt(params.Ether), big.NewInt(1e10))
	case 5:
		d.Data, d.Gas = make([]byte, 131_072-200+o.IntN(200)), 1_000_000
	case 6:
		d.To, d.Gas = nil, 53_000-uint64(o.IntN(3))
	case 7:
		d.List, d.Gas = types.AccessList{{Address: to, StorageKeys: []common.Hash{{}}}}, 25_300-uint64(o.IntN(2))
	case 8:
		d.Data, d.Gas = make([]byte, 20_000+o.IntN(60_000)), 1_000_000
	}
	tx, err := d.Sign(uint64(o.IntN(1 + len(o.sent)/6)))
	o.sent = append(o.sent, tx)
	return tx, err
}

// say asks a node, and returns what it answers or why not.
func say(ctx context.Context, n *Node, method string, params ...any) any {
	var answer json.RawMessage
	if err := n.Call(ctx, &answer, method, params...); err != nil {
		return err.Error()
	}
	var decoded any
	if err := json.Unmarshal(answer, &decoded); err != nil {
		return err.Error()
	}
	return decoded
}

// pools are go-opera's and ours, of nodes of a network that makes no blocks.
func pools(ctx context.Context, t *testing.T, p *Peer, settings string) [2]*Node {
	t.Helper()
	dir := t.TempDir()
	var nodes [2]*Node
	for i, of := range []*Peer{p, {program: tarn(ctx, t)}} {
		n, err := of.Start(ctx, Config{Dir: filepath.Join(dir, fmt.Sprint(i)), Validators: 4, Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.Kill(); err != nil {
				t.Error(err)
			}
		})
		nodes[i] = n
	}
	return nodes
}

// pooled is how many transactions both pools get.
var pooled = flag.Int("difftest.pool", 60, "transactions that go-opera's pool and ours are sent")

// The same transactions sent to go-opera and to us are taken or refused in the same words,
// and the same ones wait afterwards: with room, and where accounts have few slots and clients'
// transactions are as all others. A pool that is full is another one here: what cannot be executed
// yields.
func TestPoolsTakeWhatGoOperasTake(t *testing.T) {
	p, ctx := peer(t)
	for name, settings := range map[string]string{
		"local": "",
		"few":   "[TxPool]\nNoLocals = true\nAccountSlots = 2\nGlobalSlots = 512\nAccountQueue = 3\nGlobalQueue = 64\n",
	} {
		t.Run(name, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			o, err := newOfferer(seed)
			if err != nil {
				t.Fatal(err)
			}
			nodes := pools(ctx, t, p, settings)
			fates := map[string]int{}
			for i := range *pooled {
				tx, err := o.next()
				if err != nil {
					t.Fatal(err)
				}
				raw, err := tx.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				fate := both(ctx, t, nodes, i, "eth_sendRawTransaction", hexutil.Encode(raw))
				if text, _ := fate.(string); strings.HasPrefix(text, "0x") {
					fate = "taken"
				}
				fates[fate.(string)]++
				both(ctx, t, nodes, i, "txpool_content")
				both(ctx, t, nodes, i, "eth_getTransactionCount", o.accounts[i%len(o.accounts)].Address, "pending")
				if t.Failed() {
					return
				}
			}
			for _, method := range []string{"txpool_status", "txpool_inspect", "eth_gasPrice",
				"eth_pendingTransactions"} {
				both(ctx, t, nodes, 250, method)
			}
			t.Log(fates)
		})
	}
}

// both asks both and compares.
func both(ctx context.Context, t *testing.T, nodes [2]*Node, i int, method string, params ...any) any {
	t.Helper()
	theirs, ours := say(ctx, nodes[0], method, params...), say(ctx, nodes[1], method, params...)
	if !reflect.DeepEqual(theirs, ours) {
		t.Errorf("transaction %d, %s: go-opera says\n%.3000v\nwe say\n%.3000v", i, method, theirs, ours)
	}
	return theirs
}
