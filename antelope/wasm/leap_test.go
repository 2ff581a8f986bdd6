package wasm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// leap returns the path of a file in Leap's source tree, which is not a part of
// this repository.
func leap(t *testing.T, name string) string {
	t.Helper()
	root := os.Getenv("TARN_LEAP")
	if root == "" {
		t.Skip("TARN_LEAP does not name a source tree of Leap 5")
	}
	return filepath.Join(root, name)
}

var errAssert = errors.New("assertion failed")

// specFunctions are what Leap's spec test contracts import.
func specFunctions() []Function {
	return append(testFunctions(),
		Function{Name: "eosio_assert", Params: []ValueType{I32, I32}, Body: func(c *Call, stack []uint64) {
			if uint32(stack[0]) == 0 {
				m := c.Memory()[uint32(stack[1]):]
				c.Abort(fmt.Errorf("%w: %s", errAssert, m[:max(0, bytes.IndexByte(m, 0))]))
			}
		}},
		Function{Name: "printi", Params: []ValueType{I64}, Body: func(*Call, []uint64) {}},
	)
}

// importOf is Rules.Import for a set of functions.
func importOf(functions []Function) func(string) (*Function, bool) {
	all := map[string]*Function{}
	for i := range functions {
		all[functions[i].Name] = &functions[i]
	}
	for _, name := range []string{"memcpy", "memmove", "memset", "memcmp"} {
		all[name] = &Function{Name: name, Params: []ValueType{I32, I32, I32}, Results: []ValueType{I32}}
	}
	return func(name string) (*Function, bool) { return all[name], all[name] != nil }
}

func defaultConfig() *types.WasmConfig {
	return &types.WasmConfig{
		MaxMutableGlobalBytes: 1024, MaxTableElements: 1024, MaxSectionElements: 8192, MaxLinearMemoryInit: 65536,
		MaxFuncLocalBytes: 8192, MaxNestedStructures: 1024, MaxSymbolBytes: 8192, MaxModuleBytes: 20 << 20,
		MaxCodeBytes: 20 << 20, MaxPages: 528, MaxCallDepth: 251,
	}
}

// The test cases of Leap's generated spec tests: a contract, from which index to
// which it must pass or throw.
var specCase = regexp.MustCompile(
	`BOOST_DATA_TEST_CASE\((\w+?)_(\d+)_(check_throw|pass|module), boost::unit_test::data::xrange\((\d+),(\d+)\)`)

func TestLeapSpecContractsBehaveAsInNodeos(t *testing.T) {
	files, err := filepath.Glob(leap(t, "unittests/wasm-spec-tests/generated-tests/*.cpp"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	for _, interpreted := range []bool{false, true} {
		c, err := NewCache(Options{Functions: specFunctions(), Interpreter: interpreted})
		if err != nil {
			t.Fatal(err)
		}
		m := c.NewMachine()
		actions := 0
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range specCase.FindAllStringSubmatch(string(src), -1) {
				from, _ := strconv.Atoi(match[4])
				to, _ := strconv.Atoi(match[5])
				prefix := strings.TrimSuffix(filepath.Base(file), ".cpp")
				name := filepath.Join(filepath.Dir(file), "wasms", prefix+"."+match[2]+".wasm")
				specContract(t, m, name, match[3] == "check_throw", from, to)
				actions += to - from
			}
		}
		if actions < 500 {
			t.Errorf("only %d actions", actions)
		}
		_ = m.Close()
		_ = c.Close()
	}
}

func specContract(t *testing.T, m *Machine, name string, throws bool, from, to int) {
	code, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, limits := range []*types.WasmConfig{nil, defaultConfig()} {
		if err := Validate(code,
			Rules{Limits: limits, Import: importOf(specFunctions()), Speculative: true}); err != nil {
			t.Errorf("%s: %v", filepath.Base(name), err)
		}
	}
	for i := from; i < to; i++ {
		err := m.Apply(nil, codeOf(code), 0xe4eaeae66a300000, 0xe4eaeae66a300000, uint64(i), until(5*time.Second))
		if throws != exception.Is(err, exception.WasmExecutionError) || !throws && err != nil {
			t.Errorf("%s: action %d: throws %v: %v", filepath.Base(name), i, throws, err)
		}
	}
}

func TestLeapHostileModulesAreRefusedCheaply(t *testing.T) {
	names, err := filepath.Glob(leap(t, "unittests/contracts/*.wasm"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no modules: %v", err)
	}
	for _, name := range names {
		code, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(name)
		legacy := expectCheap(t, base, code, Rules{Import: importOf(specFunctions()), Speculative: true})
		limited := expectCheap(t, base, code, Rules{Import: importOf(specFunctions()), Limits: defaultConfig()})
		t.Logf("%s: %v | %v", base, legacy, limited)
		if strings.HasPrefix(base, "fuzz") && legacy == nil {
			t.Errorf("%s: accepted", base)
		}
	}
}

// expectCheap validates and expects that it takes at most a second, on a machine that does not stand still
// meanwhile, and 256 MiB.
func expectCheap(t *testing.T, name string, code []byte, rules Rules) error {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	err := Validate(code, rules)
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	for try := 0; try < 3 && took > time.Second; try++ {
		begin = time.Now()
		_ = Validate(code, rules) // it says the same
		took = time.Since(begin)
	}
	if took > time.Second {
		t.Errorf("%s: validation took %v", name, took)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 256<<20 {
		t.Errorf("%s: validation allocated %d MiB", name, n>>20)
	}
	return err
}
