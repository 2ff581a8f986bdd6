package intrinsic

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
)

// contract encodes a module that imports functions, has memory of one page if it is
// to have any, and whose apply(i64, i64, i64) is made of these instructions.
func contract(imports []string, memory bool, instructions ...byte) []byte {
	linked := map[string]wasm.Function{}
	for _, f := range Functions() {
		linked[f.Name] = f
	}
	section := func(b []byte, id byte, content []byte) []byte { return serial.AppendBytes(append(b, id), content) }
	kinds := serial.AppendCount(nil, len(imports)+1)
	names := serial.AppendCount(nil, len(imports))
	for i, n := range imports {
		f := linked[n]
		kinds = serial.AppendBytes(serial.AppendBytes(append(kinds, 0x60), f.Params), f.Results)
		names = append(serial.AppendString(serial.AppendString(names, "env"), n), 0, byte(i))
	}
	kinds = append(kinds, 0x60, 3, wasm.I64, wasm.I64, wasm.I64, 0)
	code := append(append([]byte{0}, instructions...), 0x0b)

	b := section([]byte("\x00asm\x01\x00\x00\x00"), 1, kinds)
	b = section(b, 2, names)
	b = section(b, 3, []byte{1, byte(len(imports))})
	if memory {
		b = section(b, 5, []byte{1, 0, 1})
	}
	b = section(b, 7, append(serial.AppendString([]byte{1}, "apply"), 0, byte(len(imports))))
	b = section(b, 10, append([]byte{1}, serial.AppendBytes(nil, code)...))
	if memory {
		b = section(b, 11, append([]byte{1, 0, 0x41, 16, 0x0b}, serial.AppendString(nil, "hello\x00")...))
	}
	return b
}

// Instructions with small operands.
func getLocal(i byte) []byte    { return []byte{0x20, i} }
func i32Const(v ...byte) []byte { return append([]byte{0x41}, v...) }
func callImport(i byte) []byte  { return []byte{0x10, i} }
func join(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// newMachine makes a machine with all host functions, which is closed when the test ends.
func newMachine(t *testing.T) *wasm.Machine {
	t.Helper()
	cache, err := wasm.NewCache(wasm.Options{Functions: Functions()})
	if err != nil {
		t.Fatal(err)
	}
	machine := cache.NewMachine()
	t.Cleanup(func() {
		if err := errors.Join(machine.Close(), cache.Close()); err != nil {
			t.Error(err)
		}
	})
	return machine
}

func TestContractsReachHostFunctions(t *testing.T) {
	machine := newMachine(t)
	broken := errors.New("broken disk")
	const drop, unreachable = 0x1a, 0x00
	for i, c := range []struct {
		what    string
		code    []byte
		chain   error
		printed string
		calls   string
		kind    *exception.Kind
		message string
		fault   error
	}{
		{what: "printing", printed: "hellobob", code: contract([]string{"prints", "printn"}, true,
			join(i32Const(16), callImport(0), getLocal(1), callImport(1))...)},
		{what: "a result", calls: "RequireAuth(eosio)",
			code: contract([]string{"current_receiver", "require_auth"}, true,
				join(callImport(0), callImport(1))...)},
		{what: "a signed result", calls: "Remove(0,-3)", code: contract([]string{"db_end_i64", "db_idx64_remove"}, true,
			join(getLocal(0), getLocal(1), getLocal(2), callImport(0), callImport(1))...)},
		{what: "a double", printed: "1.500000000000000e+00", code: contract([]string{"printdf"}, true,
			join([]byte{0x44, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f}, callImport(0))...)},
		{what: "a single", printed: "-2.500000e+00", code: contract([]string{"printsf"}, true,
			join([]byte{0x43, 0, 0, 0x20, 0xc0}, callImport(0))...)},
		{what: "an end", code: contract([]string{"eosio_exit"}, true,
			join(i32Const(0), callImport(0), []byte{unreachable})...)},
		{what: "an assertion", kind: exception.EosioAssertMessage, message: "assertion failure with message: hello",
			code: contract([]string{"eosio_assert"}, true, join(i32Const(0), i32Const(16), callImport(0))...)},
		{what: "a bad pointer", kind: exception.WasmExecutionError, message: "access violation",
			code: contract([]string{"prints"}, true, join(i32Const(0x80, 0x80, 4), callImport(0))...)},
		{what: "no memory", kind: exception.WasmExecutionError, message: "access violation",
			code: contract([]string{"prints_l"}, false, join(i32Const(0), i32Const(0), callImport(0))...)},
		{what: "a copy", printed: "hello", code: contract([]string{"memcpy", "prints"}, true,
			join(i32Const(0x20), i32Const(16), i32Const(6), callImport(0), callImport(1))...)},
		{what: "the node's fault", chain: broken, fault: broken,
			calls: "RequireAuth(bob)", code: contract([]string{"require_auth"}, true,
				join(getLocal(1), callImport(0))...)},
		{what: "time that is up", kind: exception.Deadline, code: contract([]string{"sha256"}, true,
			join(i32Const(0), i32Const(0x80, 0xf8, 3), i32Const(16), callImport(0))...)},
		{what: "a dropped result", calls: "HasAuth(eosio)", code: contract([]string{"has_auth"}, true,
			join(getLocal(0), callImport(0), []byte{drop})...)},
	} {
		h := newHarness(t)
		h.a.Receiver = types.N("eosio")
		h.chain.err, h.chain.itr, h.chain.timeLeft = c.chain, -3, 0
		err := machine.Apply(h.a, wasm.Code{
			Hash: types.Checksum256{byte(i)}, Limits: wasm.DefaultLimits(),
			Load: func(types.Checksum256) ([]byte, error) { return c.code, nil },
		}, name("eosio"), name("bob"), 3, nil)
		e := exception.Of(err)
		switch {
		case c.fault != nil && err != c.fault, c.kind == nil && c.fault == nil && err != nil,
			c.kind != nil && (e == nil || e.Kind != c.kind || c.message != "" && e.Message() != c.message):
			t.Errorf("%s: %v", c.what, err)
		}
		if string(h.chain.printed) != c.printed {
			t.Errorf("%s: printed %q, want %q", c.what, h.chain.printed, c.printed)
		}
		last := ""
		if n := len(h.chain.calls); n > 0 {
			last = h.chain.calls[n-1]
		}
		if last != c.calls {
			t.Errorf("%s: the chain was asked %q, want %q", c.what, last, c.calls)
		}
	}
}

// Nothing can be taken from a memory of no pages, and that is no error.
func TestASpanOfNothingLiesInAMemoryOfNoPages(t *testing.T) {
	code := contract([]string{"prints_l"}, false, join(i32Const(0), i32Const(0), callImport(0))...)
	exports := append(serial.AppendString([]byte{1}, "apply"), 0, 1)
	at := bytes.Index(code, exports) - 2
	code = slices.Insert(code, at, 5, 3, 1, 0, 0) // a memory of 0 pages
	machine := newMachine(t)
	h := newHarness(t)
	err := machine.Apply(h.a, wasm.Code{
		Limits: wasm.DefaultLimits(), Load: func(types.Checksum256) ([]byte, error) { return code, nil },
	}, 0, 0, 0, nil)
	if err != nil {
		t.Error(err)
	}
}

// What a host function writes far up in memory is gone when the next action begins.
func TestMemoryThatHostFunctionsWroteToIsCleared(t *testing.T) {
	machine := newMachine(t)
	far := i32Const(0xe0, 0xd4, 0x03) // 60000
	const drop = 0x1a
	// i64.load, i64.eqz, if else unreachable end
	assertZero := join(far, []byte{0x29, 0, 0}, []byte{0x50, 0x04, 0x40, 0x05, 0x00, 0x0b})
	for name, call := range map[string][]byte{
		"read_action_data": join(far, i32Const(8), callImport(0), []byte{drop}),
		"sha256":           join(i32Const(16), i32Const(5), far, callImport(0)),
		"__multi3":         join(far, bytes.Repeat([]byte{0x42, 3}, 4), callImport(0)),
	} {
		b := contract([]string{name}, true,
			join(assertZero, call, far, []byte{0x29, 0, 0, 0x50, 0x04, 0x40, 0x00, 0x0b})...)
		hash := types.Hash(b)
		code := wasm.Code{Hash: hash, Limits: wasm.DefaultLimits(), Load: func(types.Checksum256) ([]byte, error) {
			return b, nil
		}}
		for action := range 3 {
			a := &Apply{Chain: by(newHarness(t).chain), Receiver: types.N("receiver"), Data: []byte("the data")}
			if err := machine.Apply(a, code, 1, 2, 3, nil); err != nil {
				t.Errorf("%s, action %d: %v", name, action, err)
			}
		}
	}
}
