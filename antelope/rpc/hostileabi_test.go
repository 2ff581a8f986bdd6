package rpc_test

import (
	"net/http"
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
