package rpc

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/internal/recordedcalls"
	"tarn/internal/scratch"
	"tarn/opera/difftest"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
)

var record = flag.Bool("rpc.record", false, "write what go-opera answers into testdata")

func TestMain(m *testing.M) {
	flag.Parse()
	if err := scratch.OnDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// worker sends transactions of the validator of a fakenet of one.
type worker struct {
	t     *testing.T
	node  *difftest.Node
	nonce uint64
}

var signerOf = types.NewLondonSigner(new(big.Int).SetUint64(inter.FakeNetwork))

func (w *worker) send(data types.TxData) common.Hash {
	w.t.Helper()
	key, err := fakenet.Key(1)
	if err != nil {
		w.t.Fatal(err)
	}
	tx, err := types.SignNewTx(key, signerOf, data)
	if err != nil {
		w.t.Fatal(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		w.t.Fatal(err)
	}
	var hash common.Hash
	if err := w.node.Call(w.t.Context(), &hash, "eth_sendRawTransaction", hexutil.Encode(raw)); err != nil {
		w.t.Fatal(err)
	}
	w.nonce++
	return hash
}

func (w *worker) await(hash common.Hash) {
	w.t.Helper()
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(50 * time.Millisecond) {
		var receipt struct{ BlockNumber hexutil.Uint64 }
		if w.node.Call(w.t.Context(), &receipt, "eth_getTransactionReceipt", hash) == nil {
			return
		}
	}
	w.t.Fatalf("transaction %v is not executed", hash)
}

var price = big.NewInt(400e9)

// work drives a chain with all kinds of transactions and a contract, and returns the
// contract.
func (w *worker) work() common.Address {
	_, creation := contract()
	key, err := fakenet.Key(1)
	if err != nil {
		w.t.Fatal(err)
	}
	me := crypto.PubkeyToAddress(key.PublicKey)
	at := crypto.CreateAddress(me, w.nonce)
	w.await(w.send(&types.LegacyTx{Nonce: w.nonce, GasPrice: price, Gas: 1_000_000, Data: creation}))
	id := new(big.Int).SetUint64(inter.FakeNetwork)
	do := func(what ...byte) types.TxData {
		return &types.LegacyTx{Nonce: w.nonce, GasPrice: price, Gas: 300_000, To: &at, Data: what}
	}
	for range 3 {
		w.send(do(doCount))
		w.send(do(doRevert))
		w.send(&types.AccessListTx{ChainID: id, Nonce: w.nonce, GasPrice: price, Gas: 300_000, To: &at,
			Data:       []byte{doCount},
			AccessList: types.AccessList{{Address: at, StorageKeys: []common.Hash{{}}}}})
		w.send(&types.DynamicFeeTx{ChainID: id, Nonce: w.nonce, GasFeeCap: price, GasTipCap: big.NewInt(7e9),
			Gas: 300_000, To: &at, Data: []byte{doCall}})
		w.await(w.send(&types.DynamicFeeTx{ChainID: id, Nonce: w.nonce, GasFeeCap: price, GasTipCap: price, Gas: 21_000,
			To: &me, Value: big.NewInt(5)}))
		w.send(do(doInvalid))
		w.send(do(doBare))
		w.send(do(doFill))
		to := common.Address{18: 1, 19: byte(w.nonce)}
		w.await(w.send(&types.LegacyTx{Nonce: w.nonce, GasPrice: price, Gas: 21_000, To: &to, Value: big.NewInt(1e18)}))
	}
	w.send(&types.LegacyTx{Nonce: w.nonce, GasPrice: price, Gas: 100_000, Data: []byte{0xfe}})
	w.await(w.send(do(doClear)))
	w.await(w.send(do(doCount)))
	return at
}

// The same requests get the same answers, byte for byte, from go-opera and from us after a
// replay of its events.
func TestAnswersAreGoOperas(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node; not with -short")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	p, err := difftest.Judge(ctx)
	if errors.Is(err, difftest.ErrNoPeer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := difftest.Config{Dir: dir, Validators: 1, Validator: 1}
	node, err := p.Start(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{t: t, node: node}
	at := w.work()
	if err := node.Stop(); err != nil {
		t.Fatal(err)
	}
	events := filepath.Join(dir, "events.gz")
	if err := p.ExportEvents(ctx, config, events, 1); err != nil {
		t.Fatal(err)
	}
	// Without the validator nothing happens any more.
	config.Validator = 0
	if node, err = p.Start(ctx, config); err != nil {
		t.Fatal(err)
	}
	defer node.Kill()
	keys := keystore.NewKeyStore(filepath.Join(dir, "data", "keystore"), keystore.LightScryptN, keystore.LightScryptP)
	world := newWorld(t, events, Options{Accounts: accounts.NewManager(nil, keys), DataDir: filepath.Join(dir, "data"),
		Remote: true})
	list := questions(t, world, at)
	compare(t, asker(node.URL()), asker(world.url), list)
	if *record {
		write(t, asker(node.URL()), list, events)
	}
}

// What go-opera said once: of the chain that recordedEvents make. Long answers are in a file of
// their own, in the same form.
const (
	recordedEvents  = "testdata/events.gz"
	recordedAnswers = "testdata/answers.txt"
	recordedLong    = "testdata/long.txt.gz"

	long = 2000 // bytes

	recordedHead = "// What go-opera v1.1.3-rc.5 said of the chain that events.gz make: requests of JSON-RPC, and the\n" +
		"// status with the body of their answers. go test -rpc.record writes it anew.\n\n"
)

// write keeps the chain, and what go-opera says of it.
func write(t *testing.T, theirs func(string) (string, error), list []string, events string) {
	t.Helper()
	raw, err := os.ReadFile(events)
	if err == nil {
		err = os.WriteFile(recordedEvents, raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	short, large := []byte(recordedHead), []byte(nil)
	method := ""
	for _, body := range list {
		answer, err := theirs(body)
		if err != nil {
			t.Fatal(err)
		}
		if len(body) >= 1<<20 || strings.Contains(answer, "keystore://") {
			continue
		}
		e := recordedcalls.Exchange{Ask: body, Answers: []string{answer}}
		if m := methodOf(body); m != method {
			method, e.Comment = m, m
		}
		if len(body)+len(answer) < long {
			short = e.Append(short)
		} else {
			large = e.Append(large)
		}
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(large)
		err = errors.Join(err, z.Close())
	}
	if err = errors.Join(err, os.WriteFile(recordedAnswers, short, 0o644),
		os.WriteFile(recordedLong, packed.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// methodOf is what a request asks for; empty if that is not clear.
func methodOf(body string) string {
	var r struct{ Method string }
	if json.Unmarshal([]byte(body), &r) != nil {
		return ""
	}
	return r.Method
}

// The same, with what go-opera said once.
func TestAnswersAreThoseThatWereRecorded(t *testing.T) {
	said := map[string]string{}
	var list []string
	for _, file := range []string{recordedAnswers, recordedLong} {
		exchanges, err := recordedcalls.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range exchanges {
			said[e.Ask] = e.Answers[0]
			list = append(list, e.Ask)
		}
	}
	// go-opera answered when the chain was young.
	world := newWorld(t, recordedEvents, Options{Accounts: recordedAccounts(t), Remote: true, Now: func() time.Time {
		return time.Unix(0, 0)
	}})
	compare(t, func(body string) (string, error) { return said[body], nil }, asker(world.url), list)
}

// recordedAccounts have the key that go-opera's fakenet of one has, locked.
func recordedAccounts(t *testing.T) *accounts.Manager {
	t.Helper()
	key, err := fakenet.Key(1)
	if err != nil {
		t.Fatal(err)
	}
	keys := keystore.NewKeyStore(t.TempDir(), 2, 1)
	if _, err := keys.ImportECDSA(key, "fakepassword"); err != nil {
		t.Fatal(err)
	}
	return accounts.NewManager(nil, keys)
}

// asker asks a node with whole bodies.
func asker(url string) func(body string) (string, error) {
	return func(body string) (string, error) {
		resp, err := http.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return fmt.Sprintf("%d %s", resp.StatusCode, bytes.TrimSpace(text)), err
	}
}

func compare(t *testing.T, theirs, ours func(string) (string, error), list []string) {
	t.Helper()
	same := 0
	for _, body := range list {
		want, err := theirs(body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ours(body)
		if err != nil {
			t.Fatal(err)
		}
		// Prices are estimated from samples, one a second, and serve for a second: each node has its own seconds.
		for again := 0; got != want && diffAnswers(body, got, want) == "" && isEstimate(body) && again < 20; again++ {
			time.Sleep(700 * time.Millisecond)
			if want, err = theirs(body); err == nil {
				got, err = ours(body)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if got == want || diffAnswers(body, got, want) != "" {
			same++
			continue
		}
		t.Errorf("%.300s\n  ours     %.1500s\n  go-opera %.1500s", body, got, want)
	}
	t.Logf("%d requests, %d answered alike", len(list), same)
}

// isEstimate tells whether a request is answered from samples of what waits.
func isEstimate(body string) bool {
	return strings.Contains(body, "asPrice") || strings.Contains(body, "maxPriorityFeePerGas") ||
		strings.Contains(body, "feeHistory")
}

// request is a call in JSON.
func request(method string, params ...any) string {
	if params == nil {
		params = []any{}
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	return string(text)
}
