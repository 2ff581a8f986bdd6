package rpc_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"tarn/antelope/abi"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// contract makes an account with an ABI that is not checked.
func (f filler) contract(name string, raw []byte) {
	f.account(name, "")
	must(f.t, f.s.SetABI(types.N(name), raw))
}

// fieldsOf are many fields of a type, without names.
func fieldsOf(count int, typ string) []abi.FieldDef {
	list := make([]abi.FieldDef, count)
	for i := range list {
		list[i].Type = typ
	}
	return list
}

// emptyActions is the body of a transaction with many actions of a contract, whose data are an
// empty object.
func emptyActions(contract, more string, count int) string {
	action := `{"account":"` + contract + `","name":"a","data":{}` + more + `}`
	return `{"signatures":[],"compression":"none","transaction":{"actions":[` +
		strings.Repeat(action+",", count-1) + action + `]}}`
}

// An ABI that takes long to read, or cannot be read, is looked at once for a request, not for each of its actions.
func TestAnABIIsReadOnceForARequest(t *testing.T) {
	slow := abi.Def{Version: "eosio::abi/1.1", Actions: []abi.ActionDef{{Name: types.N("a"), Type: "s"}}}
	for i := range 28 {
		slow.Types = append(slow.Types, abi.TypeDef{NewTypeName: fmt.Sprint("t", i), Type: fmt.Sprint("t", i+1)})
	}
	slow.Types = append(slow.Types, abi.TypeDef{NewTypeName: "t28", Type: "uint8"})
	slow.Structs = []abi.StructDef{{Name: "s", Fields: fieldsOf(100_000, "t0")}}
	packed := slow.Append(nil)
	n := executing(t, func(s *state.State) {
		f := filler{t, s}
		f.contract("slow", packed)
		f.contract("cut", packed[:len(packed)-1])
	})
	for _, contract := range []string{"slow", "cut"} {
		trx := &types.Transaction{Actions: make([]types.Action, 100)}
		for i := range trx.Actions {
			trx.Actions[i] = types.Action{Account: types.N(contract), Name: types.N("a"), Data: []byte{7}}
		}
		p, err := types.Pack(trx, nil, nil, types.CompressionNone)
		must(t, err)
		block := &types.SignedBlock{Transactions: []types.TransactionReceipt{{Packed: p}}}
		n.log.blocks = append(make([]*types.SignedBlock, 98), block)
		start := time.Now()
		n.contains("/v1/chain/get_block", `{"block_num_or_id":100}`, http.StatusOK, `"data":"07","hex_data":"07"`)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s: %v", contract, took)
		}
	}
}

// An action whose data are an object needs an ABI, and its call is told what is wrong with that.
func TestAnActionSaysWhatIsWrongWithItsABI(t *testing.T) {
	n := executing(t, func(s *state.State) {
		f := filler{t, s}
		f.contract("odd", (&abi.Def{Version: "eosio::abi/9.0"}).Append(nil))
		f.contract("cut", (&abi.Def{Version: "eosio::abi/1.0"}).Append(nil)[:10])
		f.contract("none", nil)
	})
	for contract, want := range map[string]string{
		"odd": `"name":"unsupported_abi_version_exception"`, "cut": `"message":"Invalid packed transaction"`,
		"none": `"Failed to deserialize data for none:a"`, "nobody": `"Failed to deserialize data for nobody:a"`,
	} {
		n.contains("/v1/chain/send_transaction", emptyActions(contract, "", 1), http.StatusInternalServerError, want)
	}
	n.contains("/v1/chain/send_transaction", emptyActions("odd", `,"hex_data":"00"`, 1), http.StatusInternalServerError,
		"unsupported_abi_version_exception")
}

// Objects that become far more by a contract's ABI than they are.
func TestWhatActionsBecomeByTheirABIIsBounded(t *testing.T) {
	wide := abi.Def{Version: "eosio::abi/1.1", Actions: []abi.ActionDef{{Name: types.N("a"), Type: "s"}},
		Structs: []abi.StructDef{{Name: "s", Fields: fieldsOf(50_000, "name?")}}}
	n := executing(t, func(s *state.State) { filler{t, s}.contract("wide", wide.Append(nil)) })
	for call, body := range map[string]string{
		"send_transaction":  emptyActions("wide", "", 4000),
		"get_required_keys": strings.Replace(emptyActions("wide", "", 4000), "{", `{"available_keys":[],`, 1),
		"push_transactions": "[" + strings.Repeat(emptyActions("wide", "", 40)+",", 100) + "]",
	} {
		start := time.Now()
		grown := peak(func() {
			code, answer := n.ask("/v1/chain/"+call, body)
			if !strings.Contains(answer, "the data of the actions are too long") &&
				!strings.Contains(answer, "serialization time limit") {
				t.Errorf("%s: %d %.300s", call, code, answer)
			}
		})
		if took := time.Since(start); grown > 128<<20 || took > 10*time.Second {
			t.Errorf("%s took %d MiB, %v", call, grown>>20, took)
		}
	}
}

// Rows that become far more by a contract's ABI than they are.
func TestWhatRowsBecomeByTheirABIIsBounded(t *testing.T) {
	long := abi.Def{Version: "eosio::abi/1.1",
		Structs: []abi.StructDef{{Name: "s", Fields: []abi.FieldDef{{Name: strings.Repeat("n", 400_000), Type: "uint8"}}},
			{Name: "r", Fields: []abi.FieldDef{{Name: "list", Type: "s[]"}}}},
		Tables: []abi.TableDef{{Name: types.N("rows"), IndexType: "i64", Type: "r"}}}
	n := newNode(t, func(s *state.State) {
		f := filler{t, s}
		f.contract("long", long.Append(nil))
		k := table("long", "long", "rows")
		f.table(k, 1)
		f.row(k, 1, append(serial.AppendCount(nil, 1000), make([]byte, 1000)...))
	})
	n.config.MaxResponseTime = 15 * time.Millisecond
	n.start(nodeoshttp.Options{})
	if grown := peak(func() {
		n.contains("/v1/chain/get_table_rows", `{"json":true,"code":"long","scope":"long","table":"rows"}`,
			http.StatusInternalServerError, "abi_serialization_deadline_exception")
	}); grown > 128<<20 {
		t.Errorf("the answer took %d MiB", grown>>20)
	}
}

// The ABIs that are kept take a bounded amount of memory, however large contracts make theirs.
func TestABIsThatAreKeptTakeBoundedMemory(t *testing.T) {
	large := abi.Def{Version: "eosio::abi/1.1"}
	for i := range 20_000 {
		large.Structs = append(large.Structs, abi.StructDef{Name: fmt.Sprintf("%x", i), Fields: fieldsOf(1, "name")})
	}
	packed := large.Append(nil)
	name := func(i int) string { return types.Name(uint64(i+1) << 40).String() }
	n := newNode(t, func(s *state.State) {
		for i := range 60 {
			filler{t, s}.contract(name(i), packed)
		}
	})
	n.start(nodeoshttp.Options{})
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range 60 {
		n.contains("/v1/chain/get_currency_balance", `{"code":"`+name(i)+`","account":"a"}`, http.StatusInternalServerError,
			"Table accounts is not specified")
	}
	if grown := int64(heap()) - int64(before); grown > 256<<20 {
		t.Errorf("%d MiB are kept of ABIs of %d bytes", grown>>20, len(packed))
	}
}

// An account with very many permissions and links is told about in the time that its answer takes.
func TestManyPermissionsAndLinksAreMatchedAtOnce(t *testing.T) {
	const count = 60_000
	n := newNode(t, func(s *state.State) {
		fillAccounts(t, s)
		for i := range types.Name(count) {
			k := state.PermissionKey{Owner: types.N("alice"), Name: (i + 1) << 24}
			_, err := s.Permissions.Create(k, state.Permission{Key: k, Parent: types.N("active")})
			must(t, err)
			l := state.LinkKey{Account: types.N("alice"), Code: (i + 1) << 24}
			_, err = s.Links.Create(l, state.PermissionLink{Key: l, Required: k.Name})
			must(t, err)
		}
	})
	n.start(nodeoshttp.Options{})
	start := time.Now()
	code, answer := n.ask("/v1/chain/get_account", `{"account_name":"alice"}`)
	got, took := strings.Count(answer, `"linked_actions":[{`), time.Since(start)
	if code != http.StatusOK || got != count+1 || took > 4*time.Second {
		t.Errorf("%d: %d permissions with links after %v", code, got, took)
	}
}
