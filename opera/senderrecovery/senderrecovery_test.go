package senderrecovery

import (
	"crypto/ecdsa"
	"flag"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/secp256k1"
)

var (
	seed   = flag.Uint64("sender.seed", 1, "of random transactions and signatures; 0 takes one by chance")
	effort = flag.Int("sender.effort", 1, "how many times as much random work")
)

func source(t *testing.T) *rand.Rand {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("seed %d", *seed)
	return rand.New(rand.NewPCG(*seed, 0))
}

const network = 0xfa3

// author makes transactions.
type author struct {
	*rand.Rand
	t    *testing.T
	keys []*ecdsa.PrivateKey
}

func newAuthor(t *testing.T) *author {
	a := &author{source(t), t, nil}
	for range 9 {
		key, err := crypto.ToECDSA(a.bytes(32))
		if err != nil {
			t.Fatal(err)
		}
		a.keys = append(a.keys, key)
	}
	return a
}

func (a *author) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(a.Uint32())
	}
	return b
}

// tx makes a transaction of any type and any network, three of four with nothing wrong.
func (a *author) tx() *types.Transaction {
	id := big.NewInt(network)
	if a.IntN(12) == 0 {
		id = big.NewInt(int64(a.IntN(3)) + network - 1)
	}
	to := common.BytesToAddress(a.bytes(20))
	var data types.TxData
	var signer types.Signer = types.NewLondonSigner(id)
	switch a.IntN(8) {
	case 0:
		data = &types.AccessListTx{ChainID: id, Nonce: a.Uint64(), GasPrice: big.NewInt(5), Gas: 7, To: &to,
			Value: new(big.Int)}
	case 1, 2:
		data = &types.DynamicFeeTx{ChainID: id, Nonce: a.Uint64(), GasFeeCap: big.NewInt(5), GasTipCap: big.NewInt(5),
			To: &to, Value: new(big.Int), Data: a.bytes(a.IntN(99))}
	case 3:
		data = &types.LegacyTx{Nonce: a.Uint64(), GasPrice: big.NewInt(5), To: &to, Value: new(big.Int)}
		signer = types.HomesteadSigner{}
	default:
		data = &types.LegacyTx{Nonce: a.Uint64(), GasPrice: big.NewInt(5), Value: big.NewInt(9),
			Data: a.bytes(a.IntN(99))}
	}
	tx, err := types.SignNewTx(a.keys[a.IntN(len(a.keys))], signer, data)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.IntN(4) == 0 {
		return a.wrong(tx)
	}
	return tx
}

// wrong changes numbers of a signature, which may still have a key.
func (a *author) wrong(tx *types.Transaction) *types.Transaction {
	v, r, s := tx.RawSignatureValues()
	v, r, s = new(big.Int).Set(v), new(big.Int).Set(r), new(big.Int).Set(s)
	n := crypto.S256().Params().N
	for _, x := range []*big.Int{r, s} {
		switch a.IntN(12) {
		case 0:
			x.SetUint64(a.Uint64N(3))
		case 1:
			x.Sub(n, big.NewInt(int64(a.IntN(4)-1)))
		case 2: // the opposite one, which is too high
			x.Sub(n, x)
		case 3:
			x.Rsh(n, 1)
			x.Add(x, big.NewInt(int64(a.IntN(3)-1)))
		case 4:
			x.SetBytes(a.bytes(32))
		case 5:
			x.Lsh(big.NewInt(1), 256)
			x.Sub(x, big.NewInt(int64(a.IntN(2))))
		}
	}
	switch a.IntN(6) {
	case 0:
		v.Add(v, big.NewInt(int64(a.IntN(7)-3)))
	case 1:
		v.SetUint64(a.Uint64N(60))
	case 2:
		v.Lsh(v, uint(a.IntN(200)))
	}
	v.Abs(v)
	var data types.TxData
	switch tx.Type() {
	case types.LegacyTxType:
		data = &types.LegacyTx{Nonce: tx.Nonce(), GasPrice: tx.GasPrice(), To: tx.To(), Value: tx.Value(),
			Data: tx.Data(), V: v, R: r, S: s}
	case types.AccessListTxType:
		data = &types.AccessListTx{ChainID: tx.ChainId(), Nonce: tx.Nonce(), GasPrice: tx.GasPrice(), Gas: tx.Gas(),
			To: tx.To(), Value: tx.Value(), V: v, R: r, S: s}
	default:
		data = &types.DynamicFeeTx{ChainID: tx.ChainId(), Nonce: tx.Nonce(), GasFeeCap: tx.GasFeeCap(),
			GasTipCap: tx.GasTipCap(), To: tx.To(), Value: tx.Value(), Data: tx.Data(), V: v, R: r, S: s}
	}
	return types.NewTx(data)
}

// again is a transaction without what is remembered in it.
func again(t *testing.T, tx *types.Transaction) *types.Transaction {
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	fresh := new(types.Transaction)
	if err := fresh.UnmarshalBinary(raw); err != nil {
		return nil // numbers that no transaction has
	}
	return fresh
}

// With or without a finder each transaction has the sender, or the error, that go-ethereum
// says; and a finder finds all that are right and protected.
func TestSendersAreThoseOfTheSigner(t *testing.T) {
	a := newAuthor(t)
	signer := types.NewLondonSigner(big.NewInt(network))
	on, off := New(network), New(network)
	on.least, off.least = 1, 0
	for _, c := range []struct {
		name string
		f    *Finder
	}{{"with", on}, {"without", off}, {"nil", nil}} {
		t.Run(c.name, func(t *testing.T) {
			f := c.f
			known, right := 0, 0
			for range 60 * *effort {
				var txs, judged types.Transactions
				for range a.IntN(150) {
					tx := a.tx()
					if j := again(t, tx); j != nil {
						txs, judged = append(txs, again(t, tx)), append(judged, j)
					}
				}
				if len(txs) > 0 && a.IntN(2) == 0 {
					txs[0], judged[0] = txs[len(txs)-1], judged[len(txs)-1] // the same one twice
				}
				f.Find(txs)
				for i, tx := range txs {
					if f != nil {
						if _, err := types.Sender(f.probe, tx); err == nil {
							known++
						}
					}
					want, wrong := types.Sender(signer, judged[i])
					got, err := types.Sender(signer, tx)
					if got != want || (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() {
						t.Fatalf("transaction %d of %d: %v %v, go-ethereum says %v %v\n%+v",
							i, len(txs), got, err, want, wrong, tx)
					}
					if wrong == nil && tx.Protected() {
						right++
					}
				}
			}
			t.Logf("%d were found, %d are right and protected", known, right)
			if c.f != nil && known < right || c.f == nil && known > 0 {
				t.Errorf("%d were found, %d are right", known, right)
			}
		})
	}
}

// Keys are those of go-ethereum's library, whatever the numbers are.
func TestKeysAreThoseOfTheLibrary(t *testing.T) {
	a := newAuthor(t)
	m := secp256k1.NewRecoverer(secp256k1.NewGenerator())
	n, p := crypto.S256().Params().N, crypto.S256().Params().P
	border := []*big.Int{new(big.Int), new(big.Int).Rsh(n, 1), n, p, new(big.Int).Sub(p, n),
		new(big.Int).Lsh(big.NewInt(1), 255)}
	number := func(b *[32]byte) {
		switch a.IntN(16) {
		case 0:
			x := new(big.Int).Add(border[a.IntN(len(border))], big.NewInt(int64(a.IntN(5)-2)))
			x.Abs(x).FillBytes(b[:])
		case 1:
			copy(b[:], a.bytes(32))
		}
	}
	keys := 0
	for range 300 * *effort {
		list := make([]secp256k1.Search, 1+a.IntN(20))
		for i := range list {
			g := &list[i]
			copy(g.Digest[:], a.bytes(32))
			number(&g.Digest)
			sig, err := crypto.Sign(g.Digest[:], a.keys[a.IntN(len(a.keys))])
			if err != nil {
				t.Fatal(err)
			}
			copy(g.R[:], sig)
			copy(g.S[:], sig[32:])
			g.Odd = sig[64]
			number(&g.R)
			number(&g.S)
			number(&g.Digest)
			if a.IntN(20) == 0 {
				g.Odd = byte(a.IntN(5))
			}
		}
		m.Recover(list)
		for i := range list {
			g := &list[i]
			sig := append(append(append([]byte{}, g.R[:]...), g.S[:]...), g.Odd)
			key, err := crypto.Ecrecover(g.Digest[:], sig)
			if g.Found && (err != nil || [64]byte(key[1:]) != g.Key) || !g.Found && err == nil && g.Odd < 2 {
				t.Fatalf("%+v: the library says %x %v", g, key, err)
			}
			if g.Found {
				keys++
			}
		}
	}
	t.Logf("%d keys", keys)
}

// A finder serves many goroutines.
func TestManyFindAtATime(t *testing.T) {
	a := newAuthor(t)
	f := New(network)
	var all sync.WaitGroup
	for range 8 {
		var txs types.Transactions
		for range 40 {
			txs = append(txs, a.tx())
		}
		all.Go(func() {
			for range 3 {
				f.Find(txs)
			}
			for _, tx := range txs {
				if from, err := types.Sender(f.Signer(), tx); err == nil && from == (common.Address{}) {
					t.Error("a sender is empty")
				}
			}
		})
	}
	all.Wait()
}

// A sender is found once for all copies of a transaction, until so many others came that it is forgotten.
func TestASenderIsFoundOnce(t *testing.T) {
	a := newAuthor(t)
	f := New(network)
	var tx *types.Transaction
	var from common.Address
	err := errUnknown
	for err != nil {
		if tx = again(t, a.tx()); tx != nil {
			from, err = types.Sender(f.Signer(), again(t, tx))
		}
	}
	f.Find(types.Transactions{tx})
	if f.last.young[tx.Hash()] != from {
		t.Fatalf("%v is remembered, not %v", f.last.young[tx.Hash()], from)
	}
	marked := common.Address{1}
	f.last.young[tx.Hash()] = marked
	sender := func() common.Address {
		copied := again(t, tx)
		f.Find(types.Transactions{copied})
		from, err := types.Sender(f.Signer(), copied)
		if err != nil {
			t.Fatal(err)
		}
		return from
	}
	fill := func() {
		hashes, senders := make(types.Transactions, lastMost), make([]common.Address, lastMost)
		for i := range hashes {
			hashes[i], senders[i] = types.NewTx(&types.LegacyTx{Nonce: uint64(i), Gas: uint64(a.Uint32())}), marked
		}
		f.last.remember(hashes, senders)
	}
	if got := sender(); got != marked {
		t.Errorf("it is found again: %v", got)
	}
	fill()
	if got := sender(); got != marked {
		t.Errorf("it is forgotten after %d others: %v", lastMost, got)
	}
	fill()
	if got := sender(); got != from {
		t.Errorf("it is remembered after %d others: %v", 2*lastMost, got)
	}
	if n := len(f.last.young) + len(f.last.old); n > 2*lastMost {
		t.Errorf("%d are remembered", n)
	}
}

func BenchmarkFind(b *testing.B) {
	key, err := crypto.GenerateKey()
	if err != nil {
		b.Fatal(err)
	}
	f, signer := New(network), types.NewLondonSigner(big.NewInt(network))
	var raws [][]byte
	for i := range 128 {
		tx := types.MustSignNewTx(key, signer, &types.LegacyTx{Nonce: uint64(i), GasPrice: big.NewInt(5), Gas: 21000,
			To: &common.Address{1}, Value: big.NewInt(1)})
		raw, err := tx.MarshalBinary()
		if err != nil {
			b.Fatal(err)
		}
		raws = append(raws, raw)
	}
	for name, f := range map[string]*Finder{"together": f, "each": nil} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if f != nil {
					clear(f.last.young)
				}
				var txs types.Transactions
				for _, raw := range raws {
					tx := new(types.Transaction)
					if err := tx.UnmarshalBinary(raw); err != nil {
						b.Fatal(err)
					}
					txs = append(txs, tx)
				}
				f.Find(txs)
				for _, tx := range txs {
					if _, err := types.Sender(signer, tx); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1e3/float64(b.N*len(raws)), "us/transaction")
		})
	}
}
