package oracle

import (
	"bytes"
	"context"
	"flag"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"

	"tarn/opera/chain"
	"tarn/opera/eventfile"
	"tarn/opera/genesis"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/store/engine"
)

var work = flag.Int("oracle.work", 40, "transactions of the network whose chain is replayed")

// replayed makes the chain of a record with our own code.
func replayed(t *testing.T, r *Record, validators int) *chain.Chain {
	t.Helper()
	dir := t.TempDir()
	history := chain.NewHistory(chain.HistoryOptions{Dir: filepath.Join(dir, "history")})
	s, err := engine.Open(filepath.Join(dir, "state"), engine.Options{Kind: engine.Page, BeforeCheckpoint: history.Sync})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	g, err := fakenet.New(fakenet.Options{Validators: validators})
	if err != nil {
		t.Fatal(err)
	}
	o := chain.Options{Store: s, History: history, Warn: func(err error) { t.Log(err) }}
	if err := chain.ApplyGenesis(o, g); err != nil {
		t.Fatal(err)
	}
	c, err := chain.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	in, err := eventfile.Open(r.Events)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	fed, err := c.Feed(t.Context(), in.Next, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v, %d blocks, epoch %d", fed, c.Head().Number, c.Epoch().Epoch)
	return c
}

// same compares the blocks that a node told with ours.
func same(t *testing.T, c *chain.Chain, blocks []BlockAnswer) {
	t.Helper()
	v, err := c.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, want := range blocks {
		number := inter.BlockNumber(want.Number)
		b, err := c.BlockRecord(number)
		if err != nil || b == nil {
			t.Fatalf("block %d: %v, %v", number, b, err)
		}
		whole, err := v.Block(number)
		if err != nil {
			t.Fatal(err)
		}
		got := BlockAnswer{
			Hash: common.Hash(b.Block.Atropos), TimestampNano: want.TimestampNano, GasUsed: want.GasUsed, StateRoot: b.Block.Root,
			TransactionsRoot: inter.TxsRoot(b.Block.Txs), ReceiptsRoot: types.DeriveSha(whole.Receipts, trie.NewStackTrie(nil)),
		}
		if got.Hash != want.Hash || uint64(b.Block.Time) != uint64(want.TimestampNano) || b.Block.GasUsed != uint64(want.GasUsed) ||
			got.StateRoot != want.StateRoot || got.TransactionsRoot != want.TransactionsRoot || got.ReceiptsRoot != want.ReceiptsRoot ||
			len(b.Block.Txs) != len(want.Transactions) {
			t.Fatalf("block %d is %+v with %d transactions at %d, go-opera's is %+v", number, got, len(b.Block.Txs), b.Block.Time, want)
		}
	}
	if n := int(c.Head().Number); n < len(blocks) {
		t.Fatalf("%d blocks, go-opera has %d", n, len(blocks))
	}
}

// sameRecords compares the records of an exported genesis with ours, byte by byte.
func sameRecords(t *testing.T, c *chain.Chain, path string) {
	t.Helper()
	f, err := genesis.Open(path, genesis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	check := func(what string, number uint64, ours, theirs any) {
		a, err := rlp.EncodeToBytes(ours)
		if err != nil {
			t.Fatal(err)
		}
		b, err := rlp.EncodeToBytes(theirs)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Fatalf("the record of %s %d is\n%x, go-opera's\n%x", what, number, a, b)
		}
	}
	epochs, blocks := 0, 0
	for theirs, err := range f.Epochs() {
		if err != nil {
			t.Fatal(err)
		}
		ours, err := c.EpochRecord(theirs.Epoch)
		if err != nil || ours == nil {
			t.Fatalf("epoch %d: %v, %v", theirs.Epoch, ours, err)
		}
		check("epoch", uint64(theirs.Epoch), ours, theirs)
		epochs++
	}
	for theirs, err := range f.Blocks() {
		if err != nil {
			t.Fatal(err)
		}
		ours, err := c.BlockRecord(theirs.Number)
		if err != nil || ours == nil {
			t.Fatalf("block %d: %v, %v", theirs.Number, ours, err)
		}
		check("block", uint64(theirs.Number), ours, theirs)
		blocks++
	}
	t.Logf("%d records of epochs and %d of blocks are equal", epochs, blocks)
}

// anything sends a random transaction of a validator's: a transfer, a contract made of
// random bytes, one that stores words, or a call of what is at some address.
func anything(t *testing.T, ctx context.Context, n *Network, random *rand.Rand, from int, contracts *[]common.Address) common.Hash {
	t.Helper()
	tx := &types.LegacyTx{Gas: 100_000 + random.Uint64N(400_000), Value: big.NewInt(random.Int64N(1000))}
	switch random.IntN(4) {
	case 0:
		tx.To, tx.Gas = &common.Address{19: byte(1 + random.IntN(5))}, 21_000+random.Uint64N(50_000)
	case 1:
		tx.Data = make([]byte, 1+random.IntN(60))
		for i := range tx.Data {
			tx.Data[i] = byte(random.Uint32())
		}
	case 2:
		// Its code writes the word n..1 at seed+n..seed+1.
		tx.Data, tx.Value = common.FromHex("0x6019600c60003960196000f36020355b801560175780806000350155600190036003565b00"), new(big.Int)
	case 3:
		if len(*contracts) == 0 {
			*contracts = append(*contracts, common.Address{18: 1})
		}
		tx.To, tx.Value = &(*contracts)[random.IntN(len(*contracts))], new(big.Int)
		tx.Data = append(common.LeftPadBytes(random32(random), 32), common.LeftPadBytes([]byte{byte(random.IntN(20))}, 32)...)
	}
	hash, err := n.Send(ctx, from-1, inter.ValidatorID(from), tx)
	if err != nil {
		t.Fatal(err)
	}
	if tx.To == nil {
		key, err := fakenet.Key(inter.ValidatorID(from))
		if err != nil {
			t.Fatal(err)
		}
		*contracts = append(*contracts, crypto.CreateAddress(crypto.PubkeyToAddress(key.PublicKey), tx.Nonce))
	}
	return hash
}

func random32(random *rand.Rand) []byte { return big.NewInt(random.Int64N(200)).Bytes() }

// A network of go-operas makes blocks of random work, and we make the same of its events.
func TestAReplayedNetworkHasTheSameBlocks(t *testing.T) {
	p, ctx := peer(t)
	n, err := p.StartNetwork(ctx, t.TempDir(), *validators)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Kill()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var contracts []common.Address
	last := map[int]common.Hash{}
	for i := range *work {
		from := 1 + random.IntN(*validators)
		last[from] = anything(t, ctx, n, random, from, &contracts)
		if i%8 == 7 {
			for _, hash := range last {
				if _, err := n.Await(ctx, hash); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, hash := range last {
		if _, err := n.Await(ctx, hash); err != nil {
			t.Fatal(err)
		}
	}
	r, err := n.Record(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := replayed(t, r, *validators)
	same(t, c, r.Blocks)
	sameRecords(t, c, r.Final)
}
