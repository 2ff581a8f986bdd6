package execute_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
	"tarn/antelope/wasm/intrinsic"
	"tarn/contracts/wat"
	"tarn/internal/racedetector"
	"tarn/procusage"
	"tarn/store"
)

var everyFunction = flag.Bool("charge.all", false, "try every host function, not a sample, on a quiet machine")

const (
	lateness     = 20 * time.Millisecond  // how long after its deadline a transaction may end
	slack        = 100 * time.Millisecond // the same, on a machine that has other work
	heldMemory   = 512 << 20              // what the process may grow by meanwhile: rows, undo data, the contract's memory, garbage
	loopDeadline = 30 * time.Millisecond
	attempts     = 4

	largest = " of 33 MiB" // the end of names of loops over the largest row
	copies  = 5            // of it in one call: the contract's memory, the old value, the new one, room for more old ones
)

// ends are the functions that end a transaction, with how: a loop of them is one call.
var ends = map[string]*exception.Kind{
	"abort": exception.AbortCalled, "activate_feature": exception.UnsupportedFeature,
	"preactivate_feature": exception.SubjectiveBlockProduction, // of a feature that the chain must know
}

// setups make what a group of functions needs before the loop; $r is an iterator.
var setups = map[string]string{
	"db_": "(local.set $r (call $db_store_i64 (i64.const 1) (i64.const 3) " +
		"(local.get $self) (i64.const 1) (i32.const 0) (i32.const 1048576)))",
	"db_update_i64 ": "(local.set $r (call $db_store_i64 (i64.const 1) (i64.const 3) " +
		"(local.get $self) (i64.const 1) (i32.const 0) (i32.const 34603008)))",
	"db_get_i64 ": "(local.set $r (call $db_store_i64 (i64.const 1) (i64.const 3) " +
		"(local.get $self) (i64.const 1) (i32.const 0) (i32.const 34603008)))",
	"eosio_exit": "(i64.store (i32.const 64) (local.get $self)) (i64.store (i32.const 72) " +
		"(i64.const 1)) (if (i64.eq (local.get $action) (i64.const 1)) (then (i64.store (i32.const 72) (i64.const 2))))",
	"db_idx64_":  "(local.set $r (call $db_idx64_store (i64.const 1) (i64.const 3) (local.get $self) (i64.const 1) (i32.const 8)))",
	"db_idx128_": "(local.set $r (call $db_idx128_store (i64.const 1) (i64.const 3) (local.get $self) (i64.const 1) (i32.const 16)))",
	"db_idx256_": "(local.set $r (call $db_idx256_store (i64.const 1) (i64.const 3) " +
		"(local.get $self) (i64.const 1) (i32.const 16) (i32.const 2)))",
	"db_idx_double_": "(local.set $r (call $db_idx_double_store (i64.const 1) (i64.const 3) (local.get $self) (i64.const 1) (i32.const 8)))",
	"db_idx_long_double": "(local.set $r (call $db_idx_long_double_store (i64.const 1) (i64.const 3) " +
		"(local.get $self) (i64.const 1) (i32.const 16)))",
	"prints":       "(drop (call $memset (i32.const 0) (i32.const 65) (i32.const 34603007)))",
	"eosio_assert": "(drop (call $memset (i32.const 0) (i32.const 65) (i32.const 34603007)))",
	"sha3":         "(drop (call $memset (i32.const 0) (i32.const 65) (i32.const 34603007)))",
	"send_": "(i64.store (i32.const 64) (local.get $self)) (i32.store8 (i32.const 81) " +
		"(i32.const 128)) (i32.store8 (i32.const 82) (i32.const 128)) (i32.store8 (i32.const 83) (i32.const 31))",
	"k1_recover": "(i32.store8 (i32.const 8) (i32.const 31)) (i32.store8 (i32.const 40) " +
		"(i32.const 1)) (i32.store8 (i32.const 72) (i32.const 1)) (i32.store8 (i32.const 100) (i32.const 1))",
	"recover_key": "(i32.store8 (i32.const 1001) (i32.const 31)) (i32.store8 (i32.const 1033) " +
		"(i32.const 1)) (i32.store8 (i32.const 1065) (i32.const 1)) (i32.store8 (i32.const 100) (i32.const 1))",
	"assert_recover_key": "(i32.store8 (i32.const 1001) (i32.const 31)) (i32.store8 (i32.const 1033) " +
		"(i32.const 1)) (i32.store8 (i32.const 1065) (i32.const 1)) (i32.store8 (i32.const 100) (i32.const 1))",
	"send_deferred": "(i32.store (i32.const 1000) (i32.const -1)) (i32.store8 (i32.const 1014) " +
		"(i32.const 1)) (i64.store (i32.const 1015) (local.get $self)) (i32.store8 (i32.const 1031) (i32.const 1)) " +
		"(i64.store (i32.const 1032) (local.get $self)) (i64.store (i32.const 1040) (i64.const 3617214756542218240)) " +
		"(i32.store8 (i32.const 1048) (i32.const 128)) (i32.store8 (i32.const 1049) (i32.const 128)) " +
		"(i32.store8 (i32.const 1050) (i32.const 31))",
	"mod_exp": "(drop (call $memset (i32.const 0) (i32.const 255) (i32.const 1048576)))",
	"verify_rsa": "(drop (call $memset (i32.const 0) (i32.const 102) (i32.const 34603008))) " +
		"(i32.store8 (i32.const 0) (i32.const 101)) (i32.store8 (i32.const 34603000) (i32.const 49)) " +
		"(i32.store8 (i32.const 34603001) (i32.const 0))",
	"verify_rsa_sha256_sig of random": "(loop $fill (i32.store8 (local.get $r) (i32.add (i32.const 49) " +
		"(i32.and (i32.shr_u (i32.mul (local.get $r) (i32.mul (local.get $r) (i32.const -1640531527))) " +
		"(i32.const 20)) (i32.const 7)))) (local.set $r (i32.add (local.get $r) (i32.const 1))) " +
		"(br_if $fill (i32.lt_u (local.get $r) (i32.const 1400000)))) (i32.store8 (i32.const 0) (i32.const 49)) " +
		"(i32.store8 (i32.const 600000) (i32.const 56))",
	"set_wasm":       "(drop (call $get_wasm_parameters_packed (i32.const 8) (i32.const 1000) (i32.const 0)))",
	"set_blockchain": "(drop (call $get_blockchain_parameters_packed (i32.const 8) (i32.const 1000)))",
}

// bodies are what is looped instead of the function with arguments from [worst].
var bodies = map[string]string{
	"send_deferred": "(i64.store (i32.const 8) (local.get $n)) " +
		"(i64.store (i32.const 1023) (local.get $n)) (call $send_deferred (i32.const 8) (local.get $self) " +
		"(i32.const 1000) (i32.const 34000000) (i32.const 0))",
	"db_remove_i64": "(call $db_remove_i64 (call $db_store_i64 (i64.const 1) " +
		"(i64.const 4) (local.get $self) (local.get $n) (i32.const 0) (i32.const 1048576)))",
	"db_idx64_remove": "(call $db_idx64_remove (call $db_idx64_store (i64.const 1) " +
		"(i64.const 4) (local.get $self) (local.get $n) (i32.const 8)))",
	"db_idx128_remove": "(call $db_idx128_remove (call $db_idx128_store (i64.const 1) " +
		"(i64.const 4) (local.get $self) (local.get $n) (i32.const 16)))",
	"db_idx256_remove": "(call $db_idx256_remove (call $db_idx256_store (i64.const 1) " +
		"(i64.const 4) (local.get $self) (local.get $n) (i32.const 16) (i32.const 2)))",
	"db_idx_double_remove": "(call $db_idx_double_remove (call $db_idx_double_store (i64.const 1) (i64.const 4) " +
		"(local.get $self) (local.get $n) (i32.const 8)))",
	"db_idx_long_double_remove": "(call $db_idx_long_double_remove (call $db_idx_long_double_store (i64.const 1) " +
		"(i64.const 4) (local.get $self) (local.get $n) (i32.const 16)))",
	"assert_sha1": "(call $sha1 (i32.const 4096) (i32.const 34598912) " +
		"(i32.const 8)) (call $assert_sha1 (i32.const 4096) (i32.const 34598912) (i32.const 8))",
	"assert_sha256": "(call $sha256 (i32.const 4096) (i32.const 34598912) " +
		"(i32.const 8)) (call $assert_sha256 (i32.const 4096) (i32.const 34598912) (i32.const 8))",
	"assert_sha512": "(call $sha512 (i32.const 4096) (i32.const 34598912) " +
		"(i32.const 8)) (call $assert_sha512 (i32.const 4096) (i32.const 34598912) (i32.const 8))",
	"assert_ripemd160": "(call $ripemd160 (i32.const 4096) (i32.const 34598912) " +
		"(i32.const 8)) (call $assert_ripemd160 (i32.const 4096) (i32.const 34598912) (i32.const 8))",
	"assert_recover_key": "(drop (call $recover_key (i32.const 8) (i32.const 1000) " +
		"(i32.const 66) (i32.const 2000) (i32.const 34))) (call $assert_recover_key (i32.const 8) (i32.const 1000) " +
		"(i32.const 66) (i32.const 2000) (i32.const 34))",
	// 300 that send 300 each
	"eosio_exit": "(if (i64.ne (local.get $action) (i64.const 2)) (then " +
		strings.Repeat("(call $send_inline (i32.const 64) (i32.const 64))", 300) +
		")) (call $eosio_exit (i32.const 0))",
	"db_store_i64 of 33 MiB": "(drop (call $db_store_i64 (i64.const 1) (i64.const 2) " +
		"(local.get $self) (local.get $n) (i32.const 0) (i32.const 34603008)))",
	"db_update_i64 of 33 MiB": "(call $db_update_i64 (local.get $r) (i64.const 0) (i32.const 0) (i32.const 34603008))",
	"db_update_i64 to and fro of 33 MiB": "(call $db_update_i64 (local.get $r) (i64.const 0) " +
		"(i32.const 0) (i32.const 34603008)) (call $db_update_i64 (local.get $r) (i64.const 0) (i32.const 0) (i32.const 1))",
	"db_remove_i64 of 33 MiB": "(call $db_remove_i64 (call $db_store_i64 (i64.const 1) " +
		"(i64.const 4) (local.get $self) (local.get $n) (i32.const 0) (i32.const 34603008)))",
	"db_get_i64 of 33 MiB": "(drop (call $db_get_i64 (local.get $r) (i32.const 0) (i32.const 34603008)))",
	"db_get_i64 and db_update_i64 of 33 MiB": "(drop (call $db_get_i64 (local.get $r) (i32.const 0) " +
		"(i32.const 34603008))) (call $db_update_i64 (local.get $r) (i64.const 0) (i32.const 0) (i32.const 34603008))",
	"br_table":                                       branches(8192),
	"mod_exp of even numbers":                        modExp(4096, 4, 4095),
	"mod_exp of short exponent":                      modExp(8192, 1, 8192),
	"mod_exp of equal lengths":                       modExp(256, 256, 256),
	"mod_exp of long exponent":                       modExp(1024, 32, 1024),
	"verify_rsa_sha256_sig of 1,024 digits":          verifyRSA(1024, 4096, 1024),
	"verify_rsa_sha256_sig of 20,000 digits":         verifyRSA(20_000, 20_002, 20_000),
	"verify_rsa_sha256_sig of 200,000 digits":        verifyRSA(200_000, 200_002, 200_000),
	"verify_rsa_sha256_sig of a long exponent":       verifyRSA(124, 126, 15_000_000),
	"verify_rsa_sha256_sig with exponent one":        verifyRSA(34_000_000, 34_603_000, 8),
	"verify_rsa_sha256_sig of random 40,000 digits":  verifyRSA(40_000, 1_300_000, 1000),
	"verify_rsa_sha256_sig of random 600,000 digits": verifyRSA(600_000, 1_300_000, 1000),
	"verify_rsa_sha256_sig of 1,000,000 digits":      verifyRSA(1_000_000, 34_602_000, 1),
	"verify_rsa_sha256_sig of 33,000,000 digits":     verifyRSA(33_000_000, 34_602_000, 1),
	"memory.grow": "(drop (memory.grow (i32.const -500))) (drop (memory.grow (i32.const 500)))",
}

// branches is a jump by a table of so many labels, which the host looks up.
func branches(labels int) string {
	return "(block $out (block $in (br_table" + strings.Repeat(" $in $out", labels/2) +
		" (i32.wrap_i64 (local.get $n)))))"
}

// modExp is a call with operands of so many bytes, the most that a producer takes. All of
// the memory is ones but for its end, which modulus reaches if it is to be even.
func modExp(size, exponent, odd int) string {
	modulus := 1<<20 - odd
	return fmt.Sprintf(
		"(drop (call $mod_exp (i32.const 0) (i32.const %d) (i32.const 16384) (i32.const %d) (i32.const %d) "+
			"(i32.const %[1]d) (i32.const 2097152) (i32.const %[1]d)))",
		size, exponent, modulus)
}

// verifyRSA is a call with a signature and a modulus of so many digits, and an exponent. The
// memory's digits are set up as ones, those of the signature begin with another, and the number
// at 34,603,000 is one.
func verifyRSA(digits, exponent, length int) string {
	return fmt.Sprintf(
		"(drop (call $verify_rsa_sha256_sig (i32.const 1) (i32.const 8) (i32.const 0) (i32.const %d) (i32.const %d) "+
			"(i32.const %d) (i32.const 600000) (i32.const %[1]d)))",
		digits, exponent, length)
}

var called = regexp.MustCompile(`\(call \$([a-z0-9_]+)`)

// loopOf makes a contract that calls a function for ever.
func loopOf(t *testing.T, name string, functions map[string]wasm.Function) []byte {
	t.Helper()
	body := bodies[name]
	f, known := functions[name]
	if body == "" && known {
		args, listed := worst[name]
		if strings.HasPrefix(name, "__") {
			args, listed = strings.TrimSpace(strings.Repeat("8 ", len(f.Params))), true
		}
		if !listed {
			t.Fatalf("no arguments are listed for %s", name)
		}
		body = "(call $" + name + arguments(strings.Fields(args), f.Params) + ")"
		if len(f.Results) > 0 {
			body = "(drop " + body + ")"
		}
	}
	setup, longest := "", 0
	for prefix, s := range setups {
		if strings.HasPrefix(name, prefix) && len(prefix) > longest {
			setup, longest = s, len(prefix)
		}
	}
	imports := ""
	for _, m := range called.FindAllStringSubmatch(setup+body, -1) {
		if one := declaration(functions[m[1]]); !strings.Contains(imports, one) {
			imports += one
		}
	}
	code, err := wat.Assemble(`(module ` + imports + ` (memory 528)
	  (func (export "apply") (param $self i64) (param $code i64) (param $action i64) (local $r i32) (local $n i64)
	    (local.set $n (i64.const 2))` + setup + `
	    (loop $again (local.set $n (i64.add (local.get $n) (i64.const 1))) ` + body + ` (br $again))))`)
	if err != nil {
		t.Fatalf("%s: %v in %s", name, err, body)
	}
	return code
}

var typeNames = map[wasm.ValueType]string{wasm.I32: "i32", wasm.I64: "i64", wasm.F32: "f32", wasm.F64: "f64"}

func declaration(f wasm.Function) string {
	s := `(import "env" "` + f.Name + `" (func $` + f.Name
	for i, p := range f.Params {
		s += fmt.Sprintf(" (param $p%d %s)", i, typeNames[p])
	}
	for _, r := range f.Results {
		s += " (result " + typeNames[r] + ")"
	}
	return s + "))\n"
}

func arguments(args []string, params []wasm.ValueType) string {
	s := ""
	for i, p := range params {
		switch a := args[i]; {
		case p == wasm.F64: // the number with the most digits, or its bits
			s += " (f64.reinterpret_i64 (i64.const " + strings.ReplaceAll(a, "$f", "-4503599627370497") + "))"
		case p == wasm.F32:
			s += " (f32.reinterpret_i32 (i32.const " + strings.ReplaceAll(a, "$f", "-8388609") + "))"
		case a[0] != '$':
			s += " (" + typeNames[p] + ".const " + a + ")"
		case a == "$n" && p == wasm.I32:
			s += " (i32.wrap_i64 (local.get $n))"
		default:
			s += " (local.get " + a + ")"
		}
	}
	return s
}

// copying is how long the largest row takes on its way into a store, from memory that
// nobody has touched before to such: what a call with such a row takes in one piece.
func copying(t *testing.T) time.Duration {
	t.Helper()
	s := newStore(t)
	rows, err := s.CreateTable("rows")
	if err == nil {
		err = s.Begin()
	}
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := s.Put(rows, []byte("row"), make([]byte, 34603008)); err != nil {
		t.Fatal(err)
	}
	taken := time.Since(begin)
	if err := s.Undo(); err != nil {
		t.Fatal(err)
	}
	return taken
}

// hostFunctions are all of them, by name.
func hostFunctions() map[string]wasm.Function {
	functions := map[string]wasm.Function{}
	for _, f := range intrinsic.Functions() {
		functions[f.Name] = f
	}
	return functions
}

// Whatever a contract does in a loop, it ends when its time is up, within the memory
// that it may take. On a machine that has other work the best of a few runs counts,
// beside a loop that does nothing; where the largest row is copied, beside a few copies.
func TestNoLoopOutlivesItsDeadline(t *testing.T) {
	racedetector.SkipMeasure(t)
	functions := hostFunctions()
	names := slices.Collect(maps.Keys(functions))
	for name := range bodies {
		if _, is := functions[name]; !is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	sample := regexp.MustCompile(
		`^(memory.grow|memcmp|verify_rsa_sha256_sig.*|prints|printhex|alt_bn128_pair|bls_g1_map|mod_exp|sha256|` +
			`db_update_i64|db_store_i64|require_recipient|send_inline)$`)
	for _, interpreter := range []bool{false, true} {
		bound, control := slack, time.Duration(0)
		if *everyFunction {
			bound = lateness
		}
		for _, name := range append([]string{"nothing"}, names...) {
			code := loopOf(t, name, functions) // fails without arguments for it
			if name != "nothing" && !*everyFunction && !sample.MatchString(name) {
				continue
			}
			best, most := time.Hour, bound+2*control
			if strings.HasSuffix(name, largest) {
				most += copies * copying(t)
			}
			for range attempts {
				if best = min(best, outlives(t, name, code, interpreter)); best < most {
					break
				}
			}
			if name == "nothing" {
				control = best
			}
			if *everyFunction {
				t.Logf("%s, interpreter %t: %v late", name, interpreter, best)
			}
			if best > most {
				t.Errorf("%s, interpreter %t: ended %v after its deadline, bound %v, a loop of nothing %v",
					name, interpreter, best, most, control)
			}
		}
	}
}

// A multiplication that would end long after the deadline is not begun, though there is time left when
// it would be. This one takes two seconds on the machines that we know, and begins after half of one.
func TestNoMultiplicationIsBegunThatWouldEndTooLate(t *testing.T) {
	racedetector.SkipMeasure(t)
	functions := hostFunctions()
	const name = "verify_rsa_sha256_sig of 33,000,000 digits"
	for _, most := range []time.Duration{time.Second, 2 * time.Second} {
		late, why := runUntil(t, name, loopOf(t, name, functions), false, most)
		if !exception.Is(why, exception.Deadline) || late > slack {
			t.Errorf("with %v it ends %v after its deadline, with %v", most, late, why)
		}
	}
}

// outlives runs a contract until its deadline, and returns how late it ended.
func outlives(t *testing.T, name string, code []byte, interpreter bool) time.Duration {
	t.Helper()
	late, why := runUntil(t, name, code, interpreter, loopDeadline)
	want, ends := ends[name]
	if !ends {
		want = exception.Deadline
	}
	if !exception.Is(why, want) {
		t.Errorf("%s, interpreter %t: ended with %v", name, interpreter, why)
	}
	return late
}

// newExecutor makes an executor on the state of a chain, which stands at head, until
// end.
func newExecutor(t *testing.T, st store.Store, head *consensus.HeaderState) (e *execute.Executor, end func()) {
	t.Helper()
	shared, err := execute.NewShared(execute.Options{Console: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := state.Open(st)
	if err != nil {
		t.Fatal(err)
	}
	e = execute.New(s, shared)
	if err := e.Load(head); err != nil {
		t.Fatal(err)
	}
	return e, func() {
		if err := errors.Join(e.Close(), s.Close(), shared.Close()); err != nil {
			t.Error(err)
		}
	}
}

// runUntil runs a contract with a deadline, and returns how late it ended, and why. Where
// the process waited for a processor, it is as late as its processors worked longer than
// there was time: a loop that goes on works. That leaves out no more than the time until the
// deadline. On a machine that is said to be quiet the clock alone counts.
func runUntil(
	t *testing.T, name string, code []byte, interpreter bool, most time.Duration,
) (late time.Duration, why error) {
	t.Helper()
	st := newStore(t)
	m, err := chaintest.New(st, chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Chain.Close()
	hostile := types.N("hostile")
	empty, err := wat.Assemble(`(module (func (export "apply") (param $a i64) (param $b i64) (param $c i64)))`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Block(m.CreateAccount(hostile), chaintest.SetCode(hostile, empty)); err != nil {
		t.Fatal(err)
	}
	// The chain's own executor stands aside.
	e, end := newExecutor(t, st, m.Chain.Head().HeaderState)
	defer end()
	if err := e.Begin(execute.Start{Time: m.Chain.Head().Header.Timestamp + 1,
		Status: execute.Incomplete}); err != nil {
		t.Fatal(err)
	}
	if err := e.RunInstead(code, hostile, interpreter); err != nil {
		t.Fatal(err)
	}
	x := dryRun(t, m, execute.Input, chaintest.Action(hostile, types.N("loop"), hostile, nil))
	if name == "get_context_free_data" {
		x.Trx.ContextFreeActions = []types.Action{{Account: hostile, Name: types.N("loop")}}
		x.CFD = [][]byte{make([]byte, 1<<20)}
	}
	before, began := lowestPeak(t), resident(t)
	deadline := time.Now().Add(most)
	trace, err := e.Push(x, execute.Billing{Explicit: true, CPU: 100, Deadline: deadline})
	late = time.Since(deadline)
	if err != nil {
		t.Fatal(err)
	}
	ended := resident(t)
	if !*everyFunction {
		late = min(late, ended.CPU()-began.CPU()-most)
	}
	grown := ended.PeakSize - before
	t.Logf("%s, interpreter %t: %d MiB", name, interpreter, grown>>20)
	if grown > heldMemory {
		t.Errorf("%s, interpreter %t: the process grew by %d MiB, bound %d MiB",
			name, interpreter, grown>>20, heldMemory>>20)
	}
	if trace.Except == nil {
		return late, nil
	}
	return late, trace.Except
}

// lowestPeak gives back what memory it can, and has the kernel forget the most that the
// process ever held. It returns what that is then: the peak from now on is above it.
func lowestPeak(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatalf("the kernel does not forget the process's peak of memory: %v", err)
	}
	return resident(t).PeakSize
}

func resident(t *testing.T) procusage.Process {
	t.Helper()
	p, err := procusage.Self()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Actions that are sent and rows that are made come out of one sum, whatever time there
// is. What a transaction does again and again with one large row, and what it prints, takes
// memory once, however long it goes on.
func TestTheMemoryOfATransactionHasABound(t *testing.T) {
	racedetector.SkipMeasure(t)
	functions := hostFunctions()
	for _, loop := range []struct {
		name string
		most time.Duration
		ends *exception.Kind
	}{
		{"send_inline", 20 * time.Second, exception.SubjectiveBlockProduction},
		{"db_store_i64", 20 * time.Second, exception.SubjectiveBlockProduction},
		{"db_get_i64 and db_update_i64" + largest, 2 * time.Second, exception.Deadline},
		{"db_get_i64" + largest, 300 * time.Millisecond, exception.Deadline},
		{"prints_l", 2 * time.Second, exception.Deadline},
	} {
		if _, except := runUntil(t, loop.name, loopOf(t, loop.name, functions), false,
			loop.most); !exception.Is(except, loop.ends) {
			t.Errorf("%s: ended with %v", loop.name, except)
		}
	}
}
