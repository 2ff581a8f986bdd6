package rpc

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/accounts/keystore"

	"tarn/internal/recordedcalls"
	"tarn/opera/difftest"
)

const (
	recordedFailures = "testdata/failures.txt"
	failuresHead     = "// What go-opera v1.1.3-rc.5 said of executions that fail, and of accounts that are " +
		"overridden:\n" +
		"// requests of JSON-RPC whose answers are those of any fakenet of one. go test -rpc.record writes it anew.\n\n"
)

// failingCode is code that fails in each way that the machine knows.
var failingCode = []string{
	"5b600056", "6001600055", "60016480000000005200", "6001690100000000000000000052", "650100000000006000600037",
	"6000600064800000000060006000600061fffff1", "6480000000006000f3", "6480000000006000a0", "648000000000600020",
	"600064800000000060006000f5", "64800000000060006000f0", "65010000000000515000", "6110006000f3", "6161a86000f3",
	"60ef6000536161a86000f3", "60ef60005360016000f3", "60006000fd", "60206000fd", "600056", "6001600057",
	"6001600060003e", "01", "5b6000600056", "fe", "0c", "5f", "49", "5c", "b0", "b1", "b2", "ef", "4660005260206000f3",
	"60006000600060006005305af160005260206000f3",
	"60016001600060006000305afa60005260206000f3",
}

// askFailures asks for failing executions, and with accounts in place of others.
func askFailures(ask func(string, ...any)) {
	const me, at, system = "0x239fa7623354ec26520de878b52f13fe84b06971", "0x00000000000000000000000000000000000abcde",
		"0xfffffffffffffffffffffffffffffffffffffffe"
	const last, most = "0xffffffffffffffff", "0x2faf080"
	good := []string{"6001600055", "6110006000f3", "4660005260206000f3", "60006000600060006005305af160005260206000f3",
		"60016001600060006000305afa60005260206000f3"}
	for _, code := range failingCode {
		data := "0x" + code
		for _, gas := range []any{nil, "0x5b04", "0x5ffff", most} {
			call := object{"to": at, "from": system}
			if gas != nil {
				call["gas"] = gas
			}
			// what returns a large code is long
			if !strings.HasSuffix(code, "6000f3") || strings.HasPrefix(code, "64") {
				ask("eth_call", call, "latest", object{at: object{"code": data}})
			}
			create := object{"data": data, "from": me}
			if gas != nil {
				create["gas"] = gas
			}
			ask("eth_call", create, "latest")
			if gas != most { // go-opera may not have the time
				ask("eth_estimateGas", create)
			}
			if gas == "0x5ffff" {
				create["gasPrice"], create["nonce"] = "0x174876e800", "0x77"
				ask("eth_createAccessList", create, "latest")
			}
		}
		for _, method := range []string{"eth_sendTransaction", "eth_signTransaction"} {
			if !slices.Contains(good, code) {
				ask(method, object{"data": data, "from": me, "gasPrice": "0x174876e800", "nonce": "0x77"})
			}
		}
		ask("eth_fillTransaction",
			object{"data": "0xfe" + code, "from": me, "gasPrice": "0x174876e800", "nonce": "0x77"})
	}
	for _, from := range []string{me, system, at} {
		for _, value := range []string{"0x0", "0x5", "0xffffffffffffffffffffffffffffffff"} {
			call := object{"from": from, "to": at, "value": value}
			ask("eth_call", call, "latest")
			ask("eth_estimateGas", call)
			ask("eth_call", call, "latest", object{at: object{"code": "0x4760005260206000f3"},
				system: object{"balance": "0x64"}})
			call["to"] = "0xd100ec0000000000000000000000000000000000"
			call["data"] = "0x39e503ab" + strings.Repeat("0", 59) + "abcde" + strings.Repeat("0", 63) + "1" +
				strings.Repeat("0", 63) + "1"
			ask("eth_call", call, "latest")
		}
	}
	ask("eth_call", object{"from": at, "data": "0x00"}, "latest", object{at: object{"nonce": last}})
	ask("eth_call", object{"to": at},
		"latest", object{at: object{"nonce": last, "code": "0x600060006000f060005260206000f3"}})
	for to, data := range map[string]string{"6": strings.Repeat("00", 31) + "01" + strings.Repeat("00", 31) + "01",
		"7": strings.Repeat("ff", 64), "8": "00", "9": "00"} {
		ask("eth_call", object{"to": "0x" + strings.Repeat("0", 39) + to, "data": "0x" + data}, "latest")
		ask("eth_estimateGas", object{"to": "0x" + strings.Repeat("0", 39) + to, "data": "0x" + data})
	}
	askAbsent(ask, at)
}

// askAbsent asks with storage of accounts that are not there.
func askAbsent(ask func(string, ...any), at string) {
	slot := func(n string) string { return "0x" + strings.Repeat("0", 64-len(n)) + n }
	const read, proxy = "0x60005460005260206000f3",
		"0x60206000600060006000730000000000000000000000000000000000abcde05af45060206000f3"
	beside := "0x00000000000000000000000000000000000abcdf"
	for _, storage := range []string{"state", "stateDiff"} {
		slots := object{slot("0"): slot("2a")}
		for _, o := range []object{
			{at: object{"code": read, storage: slots}}, {at: object{storage: slots}},
			{at: object{"code": read, storage: object{}}},
			{at: object{"code": read, "balance": "0x1", "nonce": "0x1", storage: slots}},
			{at: object{"code": "0x600160005460005560005260206000f3", storage: slots}},
			{at: object{"code": read}, beside: object{"code": "0x6020600060006000620abcde5af45060206000f3", storage: slots}},
			{at: object{"code": read, storage: slots}, beside: object{"code": "0x6020600060006000620abcde5afa5060206000f3"}},
			{at: object{"code": proxy, storage: slots}},
		} {
			ask("eth_call", object{"to": at}, "latest", o)
			ask("eth_call", object{"to": beside}, "latest", o)
		}
	}
}

// failures are the requests of askFailures.
func failures() (list []string) {
	askFailures(func(method string, params ...any) { list = append(list, request(method, params...)) })
	return list
}

// Executions that fail are answered in go-opera's words, to the letter.
func TestFailuresAreInGoOperasWords(t *testing.T) {
	exchanges, err := recordedcalls.Read(recordedFailures)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, e := range exchanges {
		said[e.Ask] = e.Answers[0]
	}
	list := failures()
	if len(list) != len(exchanges) {
		t.Errorf("%d requests, %d recorded", len(list), len(exchanges))
	}
	world := newWorld(t, recordedEvents, Options{Accounts: recordedAccounts(t), Remote: true})
	compare(t, func(body string) (string, error) { return said[body], nil }, asker(world.url), list)
}

// The same, from a go-opera that runs.
func TestFailuresAreGoOperas(t *testing.T) {
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
	config := difftest.Config{Dir: t.TempDir(), Validators: 1, Validator: 1}
	node, err := p.Start(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer node.Kill()
	w := &worker{t: t, node: node}
	w.work()
	theirs := asker(node.URL())
	if *record {
		text := []byte(failuresHead)
		for _, body := range failures() {
			answer, err := theirs(body)
			if err != nil {
				t.Fatal(err)
			}
			e := recordedcalls.Exchange{Ask: body, Answers: []string{answer}}
			text = e.Append(text)
		}
		if err := os.WriteFile(recordedFailures, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	keys := keystore.NewKeyStore(config.Dir+"/data/keystore", keystore.LightScryptN, keystore.LightScryptP)
	world := newWorld(t, recordedEvents, Options{Accounts: accounts.NewManager(nil, keys), Remote: true})
	compare(t, theirs, asker(world.url), failures())
}
