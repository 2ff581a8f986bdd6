package wasm

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tarn/antelope/exception"
)

// The specification's tests of version 1, as wazero's own module has them: commands
// on the functions that a module exports.
type specFile struct {
	Commands []struct {
		Type, Filename string
		Line           int
		Action         specAction
		Expected       []specValue
	}
}

type specAction struct {
	Type, Module, Field string
	Args                []specValue
}

type specValue struct{ Type, Value string }

// specCall is a command as code: it calls a function and traps unless the result is
// as expected. ok is false if it is not of a kind that can be one.
func specCall(m *module, a specAction, expected []specValue) (e encoder, ok bool) {
	index := m.exportIndex(a.Field)
	if a.Type != "invoke" || a.Module != "" || index == noFunction {
		return nil, false
	}
	types := map[string]ValueType{"i32": I32, "i64": I64, "f32": F32, "f64": F64}
	for _, v := range a.Args {
		bits, err := strconv.ParseUint(v.Value, 10, 64)
		if err != nil {
			return nil, false
		}
		e.bits(types[v.Type], bits)
	}
	e.index(opCall, index)
	t := m.typeOf(index).result
	if t == none {
		return e, true
	}
	bits, err := uint64(0), error(nil)
	if len(expected) == 1 {
		bits, err = strconv.ParseUint(expected[0].Value, 10, 64)
	}
	if err != nil || len(expected) != 1 { // some NaN; or nothing is expected
		e.op(opDrop)
		return e, true
	}
	ne := byte(opI32Ne)
	switch t {
	case F32:
		e.op(opI32FromF32)
		t = I32
	case F64:
		e.op(opI64FromF64)
		t = I64
	}
	if t == I64 {
		ne = opI64Ne
	}
	e.bits(t, bits)
	e.op(ne, opIf, none, opUnreachable, opEnd)
	return e, true
}

// withApply is a module with an apply of this code, widened or not.
func withApply(module []byte, code encoder, wide bool) (*rewritten, *module, error) {
	o := applyOptions()
	m, err := parse(module, &o)
	if err != nil {
		return nil, nil, err
	}
	m.types = append(m.types, funcType{params: []ValueType{I64, I64, I64}, result: none})
	typ := uint32(len(m.types) - 1)
	m.functions = append(m.functions, typ)
	m.bodies = append(m.bodies, funcBody{typ: typ, locals: []localRun{{3, I64}}, code: append(code, opEnd)})
	m.exports = append(m.exports, exportEntry{name: []byte("apply"), index: uint32(m.functionCount() - 1)})
	if wide {
		if m, err = widen(m, &o); err != nil {
			return nil, nil, err
		}
	}
	r, err := rewrite(m, &o)
	return r, m, err
}

// specApply runs the code in a module on an engine.
func specApply(t *testing.T, v engine, module []byte, code encoder, wide bool) error {
	t.Helper()
	r, m, err := withApply(module, code, wide)
	if err != nil {
		t.Fatal(err)
	}
	p, err := v.compile(r, program{
		tables: r.tables, memories: m.memories, pages: m.pages, maxPages: m.maxPages, hasMax: m.hasMax, data: m.data,
		broken: m.broken,
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	e := &entry{ready: make(chan struct{}), depth: maxDepth}
	e.program.Store(p)
	close(e.ready)
	k := Code{Hash: sha256.Sum256(r.code), Limits: Limits{Pages: 65535, CallDepth: 251}}
	v.mu.Lock()
	v.entries[k.Hash] = e
	v.mu.Unlock()
	defer v.drop(k.Hash, e)
	return v.Apply(&hostless, k, 0, 0, 0, until(20*time.Second))
}

func TestTheSpecificationHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Skip("the module cache cannot be asked:", err)
	}
	root := filepath.Join(strings.TrimSpace(string(dir)), "internal/integration_test/spectest/v1/testdata")
	files, err := filepath.Glob(filepath.Join(root, "*.json"))
	if err != nil || len(files) == 0 {
		t.Skip("wazero comes without the tests")
	}
	all := engines(t)
	returns, traps := 0, 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f specFile
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatal(name, err)
		}
		r, tr := specCommands(t, all, root, filepath.Base(name), f)
		returns += r
		traps += tr
	}
	t.Logf("%d results, %d traps", returns, traps)
	if returns < 10000 || traps < 300 {
		t.Errorf("only %d results and %d traps", returns, traps)
	}
}

// specCommands runs a file: what returns, all in one action for each module, as one
// may depend on another; what traps, each in an action of its own.
func specCommands(t *testing.T, all []engine, root, file string, f specFile) (returns, traps int) {
	var code []byte
	var m *module
	var e encoder
	flush := func() {
		for _, v := range all {
			for _, wide := range []bool{false, true} {
				if len(e) == 0 || wide && v.Cache.o.Interpreter {
					break
				}
				if err := specApply(t, v, code, e, wide); err != nil {
					t.Errorf("%s: widened %v: %s: %v", v.name, wide, file, err)
				}
			}
		}
		e = nil
	}
	for _, c := range f.Commands {
		switch c.Type {
		case "module":
			flush()
			code, m = nil, nil
			b, err := os.ReadFile(filepath.Join(root, c.Filename))
			if err != nil {
				t.Fatal(err)
			}
			o := applyOptions()
			if parsed, err := parse(b, &o); err == nil && len(parsed.imports) == 0 && parsed.broken == "" {
				code, m = b, parsed
			}
		case "assert_return", "action":
			if m == nil {
				continue
			}
			if call, ok := specCall(m, c.Action, c.Expected); ok {
				e = append(e, call...)
				returns++
			}
		case "assert_trap", "assert_exhaustion":
			if m == nil {
				continue
			}
			if call, ok := specCall(m, c.Action, nil); ok {
				traps++
				for i, v := range all {
					if err := specApply(t, v, code, call, (traps+i)%2 == 0); !exception.Is(err,
						exception.WasmExecutionError) {
						t.Errorf("%s: %s:%d: %v instead of a trap", v.name, file, c.Line, err)
					}
				}
			}
		}
	}
	flush()
	return returns, traps
}
