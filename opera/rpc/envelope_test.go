package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// checkOpened says: what open takes is JSON with just those members, and open reads them as the
// library does.
func checkOpened(t *testing.T, body []byte) bool {
	e, ok := open(body)
	if !ok {
		return false
	}
	for _, p := range e.params {
		if !json.Valid(p) {
			return false // its reader refuses it
		}
	}
	var members map[string]json.RawMessage
	var method, version string
	var params []json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		t.Errorf("%q is opened: %v", body, err)
		return true
	}
	want := 3
	if list, given := members["params"]; given {
		want++
		if err := json.Unmarshal(list, &params); err != nil {
			t.Errorf("%q: %v", body, err)
		}
	}
	if json.Unmarshal(members["method"], &method) != nil || json.Unmarshal(members["jsonrpc"], &version) != nil ||
		version != "2.0" ||
		method != string(e.method) || !bytes.Equal(members["id"], e.id) || len(members) != want ||
		len(params) != len(e.params) {
		t.Errorf("%q is opened as %q %q %q", body, e.id, e.method, e.params)
		return true
	}
	for i := range params {
		if !bytes.Equal(params[i], e.params[i]) {
			t.Errorf("%q: parameter %d is %q, want %q", body, i, e.params[i], params[i])
		}
	}
	return true
}

var envelopes = []string{
	`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x1","data":"0x"},"latest"]}`,
	` { "params" : [ ] , "method":"m","id":"a-b","jsonrpc":"2.0"} `, `{"jsonrpc":"2.0","id":1,"method":"m"}`,
	`{"jsonrpc":"2.0","id":01,"method":"m"}`,
	`{"jsonrpc":"2.0","id":1,"method":"m","params":[1,[2,{"a":[]}],true,null,"x"]}`,
	`{"jsonrpc":"2.0","id":1,"method":"m","params":[1}]}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`,
	`{"jsonrpc":"2.0","id":1,"method":"m","params":[],"params":[]}`,
	`{"jsonrpc":"2.0","id":1,"method":"m","params":[1 2]}`, `{"jsonrpc":"2.0","id":1,"method":"m",}`,
	`{"jsonrpc":"2.0","id":1,"method":"m","params":["a"b]}`, `{"jsonrpc":"2.0","id":1,"method":"m","params":[,]}`,
}

// FuzzOpen looks for bodies that open reads in another way than the library.
func FuzzOpen(f *testing.F) {
	for _, body := range envelopes {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkOpened(t, body) })
}

func TestBodiesAreOpenedAsTheLibraryReadsThem(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const bytesOf = `{}[]:,"0123 abc\\` + "\n\x00\x80"
	opened := 0
	for range 50_000 {
		body := []byte(envelopes[random.IntN(len(envelopes))])
		for range random.IntN(4) {
			i := random.IntN(len(body))
			switch random.IntN(3) {
			case 0:
				body[i] = bytesOf[random.IntN(len(bytesOf))]
			case 1:
				body = append(body[:i], body[i+1:]...)
			default:
				body = append(body[:i], append([]byte{bytesOf[random.IntN(len(bytesOf))]}, body[i:]...)...)
			}
		}
		if checkOpened(t, body) {
			opened++
		}
		if t.Failed() {
			return
		}
	}
	if opened < 1000 {
		t.Errorf("only %d were opened", opened)
	}
}

// Logs that are told without the library are told as it does.
func TestLogsAreToldAsTheLibraryTellsThem(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	fill := func(b []byte) {
		for i := range b {
			b[i] = byte(random.IntN(256))
		}
	}
	for range 300 {
		var list []*types.Log
		for range random.IntN(4) {
			l := &types.Log{BlockNumber: random.Uint64() >> random.IntN(64), TxIndex: uint(random.IntN(20)),
				Index: uint(random.Uint64() >> random.IntN(64)), Data: make([]byte, random.IntN(70))}
			fill(l.Data)
			fill(l.Address[:])
			fill(l.TxHash[:])
			fill(l.BlockHash[:])
			for range random.IntN(5) {
				var topic common.Hash
				fill(topic[:])
				l.Topics = append(l.Topics, topic)
			}
			if random.IntN(5) == 0 {
				l.Data = nil
			}
			list = append(list, l)
		}
		want, err := json.Marshal(logsJSON(list))
		if err != nil {
			t.Fatal(err)
		}
		if got := appendLogs(nil, list); !bytes.Equal(got, want) {
			t.Fatalf("%s\nwant %s", got, want)
		}
	}
	if got := string(appendLogs(nil, nil)); got != "[]" {
		t.Error(got)
	}
}

// Arguments that are read without the library are read as it does.
func TestArgumentsAreReadAsTheLibraryReadsThem(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	names := []string{"from", "to", "data", "input", "value", "gas", "gasPrice", "nonce", "From", "x"}
	values := []string{
		`"0x"`, `"0x1"`, `"0x01"`, `"0x00000000000000000000000000000000000000aB"`,
		`"0X00000000000000000000000000000000000000aB"`,
		`"1"`, `""`, `null`, `1`, `{}`, `"0xffffffffffffffffffff"`, `"0x\u0031"`,
	}
	read := 0
	for range 50_000 {
		var raw []byte
		raw = append(raw, '{')
		for i := range random.IntN(4) {
			if i > 0 {
				raw = append(raw, ',')
			}
			raw = fmt.Appendf(raw, " %q:%s", names[random.IntN(len(names))], values[random.IntN(len(values))])
		}
		raw = append(raw, '}')
		a, ok := plainArgs(raw)
		if !ok {
			continue
		}
		read++
		var want TransactionArgs
		if err := json.Unmarshal(raw, &want); err != nil || !reflect.DeepEqual(a, want) {
			t.Fatalf("%s: %+v, want %+v, %v", raw, a, want, err)
		}
	}
	if read < 1000 {
		t.Errorf("only %d were read", read)
	}
}
