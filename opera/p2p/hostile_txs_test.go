package p2p

import (
	"bytes"
	"crypto/ecdsa"
	"errors"
	"io"
	"math/big"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/p2p"

	"tarn/opera/chain"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/p2p/fsnap"
	"tarn/opera/txpool"
)

// least has transactions cost what the rules say.
type least struct{}

func (least) Effective(v *chain.View) *big.Int {
	return new(big.Int).Set(v.Epoch().Rules.Economy.MinGasPrice)
}

// openPool opens the pool of a chain.
func openPool(t testing.TB, l *ledger) *txpool.Pool {
	t.Helper()
	pool, err := txpool.New(txpool.Options{Head: txpool.Heads(l.Chain.Chain, least{}), Signer: l.Chain.Chain.Signer(),
		NoLocals: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// payment is a transaction of a key's account.
func payment(t testing.TB, l *ledger, key *ecdsa.PrivateKey, nonce uint64, data []byte) *types.Transaction {
	t.Helper()
	tx, err := types.SignNewTx(key, l.Chain.Chain.Signer(), &types.LegacyTx{
		Nonce: nonce, GasPrice: big.NewInt(1e13), Gas: 100_000 + 16*uint64(len(data)), To: &common.Address{9},
		Value: big.NewInt(1), Data: data,
	})
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// poolConducts are what hostile peers do with transactions, and with requests of state. waits
// is a transaction that the node has.
func poolConducts(t testing.TB, l *ledger, waits *types.Transaction) map[string]conduct {
	poor := newKey(t)
	var of []*types.Transaction
	for i := range 50 {
		of = append(of, payment(t, l, poor, uint64(i), make([]byte, 4000)))
	}
	same := make([]common.Hash, hardItems)
	for i := range same {
		same[i] = waits.Hash()
	}
	empty := bytes.Repeat([]byte{0x80}, 9<<20)
	held := heldRoot(t, l)
	return map[string]conduct{
		"transactions that are none": {true, func(_ testing.TB, s *stranger) {
			s.send(codeTxs, [][]byte{{1, 2, 3}, {4}})
			s.read()
		}},
		"a list of millions of transactions": {true, func(_ testing.TB, s *stranger) {
			_ = s.rw.WriteMsg(p2p.Msg{Code: codeTxs, Size: uint32(len(empty) + 4),
				Payload: io.MultiReader(bytes.NewReader([]byte{0xfa, 0x90, 0, 0}), bytes.NewReader(empty))})
			s.read()
		}},
		"transactions of who has no money": {false, func(_ testing.TB, s *stranger) {
			loop(s, time.Millisecond, func(int) bool { return s.send(codeTxs, of) })
		}},
		"announced hashes without end": {false, func(_ testing.TB, s *stranger) {
			loop(s, time.Millisecond, func(i int) bool {
				list := make([]common.Hash, hardItems)
				for k := range list {
					list[k] = common.Hash{byte(k), byte(k >> 8), byte(i), byte(i >> 8), 7}
				}
				return s.send(codeTxHashes, list)
			})
		}},
		"the same transaction is asked for a thousand times in a loop": {false, func(_ testing.TB, s *stranger) {
			loop(s, time.Millisecond, func(int) bool { return s.send(codeGetTxs, same) })
		}},
		"transactions are asked for and not read": {false, func(_ testing.TB, s *stranger) {
			for i := 0; i < 2000 && s.send(codeGetTxs, same); i++ {
				continue
			}
			<-s.over
		}},
		"state is asked for in garbage": {true, func(_ testing.TB, s *stranger) { s.send(fsnap.CodeGetCodes, "text") }},
		"state is asked for in a list of millions": {true, func(_ testing.TB, s *stranger) {
			_ = s.rw.WriteMsg(p2p.Msg{Code: fsnap.CodeGetNodes, Size: uint32(len(empty) + 4),
				Payload: io.MultiReader(bytes.NewReader([]byte{0xfa, 0x90, 0, 0}), bytes.NewReader(empty))})
		}},
		"state that is not there is asked for in a loop": {false, func(_ testing.TB, s *stranger) {
			go s.read()
			for i := 0; s.send(fsnap.CodeGetAccounts,
				&fsnap.GetAccounts{ID: uint64(i), Root: common.Hash{1}, To: common.MaxHash, Bytes: 1 << 20}); i++ {
				time.Sleep(100 * time.Microsecond)
			}
		}},
		"state is asked for in a loop": {false, func(_ testing.TB, s *stranger) {
			go s.read()
			for i := 0; s.send(fsnap.CodeGetAccounts, &fsnap.GetAccounts{ID: uint64(i), Root: held, To: common.MaxHash,
				Bytes: 1 << 20}); i++ {
				continue
			}
		}},
		"state is asked for and not read": {false, func(_ testing.TB, s *stranger) {
			for i := 0; s.send(fsnap.CodeGetAccounts,
				&fsnap.GetAccounts{ID: uint64(i), Root: held, To: common.MaxHash, Bytes: 1 << 20}); i++ {
				continue
			}
			<-s.over
		}},
		"answers with states that nobody asked for": {false, func(_ testing.TB, s *stranger) {
			go s.read()
			for s.send(fsnap.CodeCodes, &fsnap.CodesOf{ID: 1, Codes: [][]byte{empty}}) {
				time.Sleep(10 * time.Millisecond)
			}
		}},
	}
}

// Transactions go from one node over a second to a third, while strangers do all of this to
// the second one at the same time.
func TestTransactionsComeThroughBesideHostilePeers(t *testing.T) {
	first, middle, third := openLedger(t, t.TempDir(), 1), openLedger(t, t.TempDir(), 1), openLedger(t, t.TempDir(), 1)
	for _, l := range []*ledger{first, middle, third} {
		fill(t, l)
	}
	// The recorded events are young by the nodes' clock.
	offset := time.Since(time.Unix(0, int64(headOf(t, first).Time)))
	now := func() time.Time { return time.Now().Add(-offset) }
	pools := []*txpool.Pool{openPool(t, first), openPool(t, middle), openPool(t, third)}
	var nodes []*Node
	for i, l := range []*ledger{first, middle, third} {
		n := startNode(t, NewLedger(l.Chain.Chain, l), func(o *Options) {
			o.Notice, o.Now, o.Pool, o.States = nil, now, pools[i], NewStates(l.Chain.Chain)
			l := &o.Limits
			l.ArriveTx, l.Handshake = 100*time.Millisecond, unhurried
		})
		n.fresh.Store(true) // all events were there at the start
		defer pools[i].Subscribe(n.BroadcastTxs)()
		nodes = append(nodes, n)
	}
	key, err := fakenet.Key(1)
	if err != nil {
		t.Fatal(err)
	}
	v, err := first.View()
	if err != nil {
		t.Fatal(err)
	}
	rich, err := v.Account(crypto.PubkeyToAddress(key.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	waits := payment(t, first, key, rich.Nonce, make([]byte, 60_000))
	if err := pools[1].Add(waits); err != nil {
		t.Fatal(err)
	}
	var leaves []func()
	gone, list := map[string]<-chan struct{}{}, poolConducts(t, first, waits)
	var acted atomic.Int32
	for name, how := range list {
		var leave func()
		gone[name], leave = connectStranger(t, nodes[1], "opera-"+strings.ReplaceAll(name, " ", "-"),
			func(s *stranger) {
				acted.Add(1)
				how.behave(t, s)
			})
		leaves = append(leaves, leave)
	}
	awaitProgress(t, "all strangers have begun",
		func() (bool, int) { n := int(acted.Load()); return n >= len(list), n })
	for _, to := range []int{0, 2} {
		if err := nodes[to].AddPeer(nodes[1].Self().URLv4()); err != nil {
			t.Fatal(err)
		}
	}
	awaitProgress(t, "the honest nodes are connected", func() (bool, int) {
		a, c := nodes[0].PeerCount(), nodes[2].PeerCount()
		return a > 0 && c > 0, a + c
	})
	for nonce := rich.Nonce + 1; nonce <= rich.Nonce+5; nonce++ {
		began, tx := time.Now(), payment(t, first, key, nonce, nil)
		if err := pools[0].Add(tx); err != nil {
			t.Fatal(err)
		}
		await(t, "a transaction at the third node", func() bool { return pools[2].Get(tx.Hash()) != nil })
		t.Logf("after %v", time.Since(began).Round(time.Millisecond))
	}
	checkLeft(t, list, gone)
	if pending, queued := pools[1].Stats(); pending+queued != 6 {
		t.Errorf("%d and %d transactions wait, of which 6 are honest", pending, queued)
	}
	checkBounds(t, nodes[1])
	awaitDeserted(t, nodes[1], 2, leaves)
	for _, n := range nodes {
		closeNode(t, n)
	}
	for _, l := range []*ledger{first, middle, third} {
		l.close(t, false)
	}
}

// heldRoot is the root of the state that a node of a ledger gives.
func heldRoot(t testing.TB, l *ledger) common.Hash {
	t.Helper()
	held, release, err := NewStates(l.Chain.Chain).Held()
	if err != nil || held == nil {
		t.Fatalf("no state is held: %v", err)
	}
	defer func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	}()
	return held.Root
}

// A message that is larger than any request costs no memory, and neither does an answer that nobody
// has asked for.
func TestARequestOfStateCostsNoMemory(t *testing.T) {
	bomb := append([]byte{0xfa, 0x9f, 0xff, 0xfa}, bytes.Repeat([]byte{0x80}, 0x9ffffa)...)
	var before, later runtime.MemStats
	read := func(code uint64, size int) (fsnap.Message, error) {
		return readState(&said{p2p.Msg{Code: code, Size: uint32(size), Payload: bytes.NewReader(bomb)}})
	}
	runtime.ReadMemStats(&before)
	_, large := read(fsnap.CodeGetNodes, len(bomb))
	_, unknown := read(fsnap.Codes, 1)
	answer, err := read(fsnap.CodeNodes, len(bomb))
	_, larger := read(fsnap.CodeNodes, maxMessage+1)
	runtime.ReadMemStats(&later)
	for what, err := range map[string]error{"a large request": large, "an unknown code": unknown,
		"a larger answer than any": larger} {
		if !errors.Is(err, fsnap.ErrMalformed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if answer != nil || err != nil {
		t.Errorf("an answer: %v, %v", answer, err)
	}
	if took := later.TotalAlloc - before.TotalAlloc; took > 64<<10 {
		t.Errorf("it took %d bytes", took)
	}
}

// said is a connection on which one message has come.
type said struct{ m p2p.Msg }

func (s *said) ReadMsg() (p2p.Msg, error) { return s.m, nil }
func (s *said) WriteMsg(p2p.Msg) error    { return errors.ErrUnsupported }
