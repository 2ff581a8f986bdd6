package intrinsic

import (
	"strings"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/wasm"
)

var (
	ruleNames  = map[string]rule{"anywhere": anywhere, "aware": aware, "free": free, "privileged": privileged}
	valueNames = map[string]wasm.ValueType{"-": none, "i32": wasm.I32, "i64": wasm.I64, "f32": wasm.F32,
		"f64": wasm.F64}
	argNames = map[string]arg{
		"u32": u32, "u64": u64, "f32": f32, "f64": f64, "text": text, "chars": chars, "words": words, "quads": quads,
		"block": block, "ref8": ref8, "ref16": ref16, "ref20": ref20, "ref32": ref32, "ref64": ref64,
		"copied": copied, "equals": equals, "filled": filled,
	}
)

func TestFunctionsAreDeclaredAsInLeap(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range entries() {
		if seen[e.name] {
			t.Errorf("%s is there twice", e.name)
		}
		seen[e.name] = true
	}
	if len(seen) != len(signatures) {
		t.Errorf("%d functions, want %d", len(seen), len(signatures))
	}
	for _, want := range signatures {
		f := prepared[want.name]
		if f == nil {
			t.Errorf("%s is missing", want.name)
			continue
		}
		if f.rule != ruleNames[want.rule] || f.result != valueNames[want.result] {
			t.Errorf("%s: rule %d, result %x, want %s, %s", want.name, f.rule, f.result, want.rule, want.result)
		}
		fields := strings.Fields(want.args)
		if len(fields) != len(f.args) {
			t.Errorf("%s: %d arguments, want %s", want.name, len(f.args), want.args)
			continue
		}
		for i, field := range fields {
			if f.args[i] != argNames[field] {
				t.Errorf("%s: argument %d is no %s", want.name, i, field)
			}
		}
	}
}

func TestLinkedFunctionsHaveWebAssemblyTypes(t *testing.T) {
	want := map[string]string{
		"db_store_i64":                   "jjjjii>i",
		"db_idx256_lowerbound":           "jjjiii>i",
		"printsf":                        "f>",
		"__extenddftf2":                  "id>",
		"__trunctfsf2":                   "jj>f",
		"memcpy":                         "iii>i",
		"blake2_f":                       "iiiiiiiiiiii>i",
		"current_receiver":               ">j",
		"abort":                          ">",
		"get_active_producers":           "ii>i",
		"check_permission_authorization": "jjiiiij>i",
	}
	letters := map[wasm.ValueType]string{wasm.I32: "i", wasm.I64: "j", wasm.F32: "f", wasm.F64: "d"}
	for _, f := range Functions() {
		got := ""
		for _, p := range f.Params {
			got += letters[p]
		}
		got += ">"
		for _, r := range f.Results {
			got += letters[r]
		}
		if w, ok := want[f.Name]; ok && w != got {
			t.Errorf("%s is %s, want %s", f.Name, got, w)
		}
		if f.Body == nil {
			t.Errorf("%s has no body", f.Name)
		}
		delete(want, f.Name)
	}
	if len(want) != 0 {
		t.Errorf("missing: %v", want)
	}
}

// added is what protocol features add to the whitelist, by their numbers.
var added = map[int]string{
	0:  "preactivate_feature is_feature_activated",
	9:  "get_sender",
	12: "set_proposed_producers_ex",
	13: "set_action_return_value",
	16: "get_parameters_packed set_parameters_packed",
	17: "get_code_hash",
	18: "set_wasm_parameters_packed get_wasm_parameters_packed",
	19: "alt_bn128_add alt_bn128_mul alt_bn128_pair mod_exp blake2_f sha3 k1_recover",
	20: "get_block_num",
	24: "set_finalizers",
	21: "bls_g1_add bls_g2_add bls_g1_weighted_sum bls_g2_weighted_sum bls_pairing bls_g1_map bls_g2_map bls_fp_mod bls_fp_mul bls_fp_exp",
}

func TestEveryFunctionIsAllowedSometimeAndOnce(t *testing.T) {
	count := map[string]int{}
	for _, n := range Genesis() {
		count[n]++
	}
	if len(Genesis()) != 168 {
		t.Errorf("%d functions at genesis, want 168", len(Genesis()))
	}
	for _, f := range Forks() {
		for _, n := range f.Functions {
			count[n]++
		}
	}
	for _, names := range added {
		for _, n := range strings.Fields(names) {
			count[n]++
		}
	}
	for _, f := range Functions() {
		if count[f.Name] != 1 {
			t.Errorf("%s is allowed %d times", f.Name, count[f.Name])
		}
		delete(count, f.Name)
	}
	if len(count) != 0 {
		t.Errorf("allowed, but no functions: %v", count)
	}
	Genesis()[0] = "changed"
	if Genesis()[0] == "changed" {
		t.Error("a caller changed the list for all")
	}
}

// stub is a function with its checks but without its work.
func stub(f *function, reached *bool) *function {
	g := *f
	g.body = func(*Apply, []byte, []uint64) (uint64, error) {
		*reached = true
		return 7, nil
	}
	return &g
}

// acceptedArguments lays out arguments for which a function's checks succeed, every memory
// area alone in its 256 bytes, and tells where each argument is on the stack.
func acceptedArguments(f *function, m []byte) (s []uint64, at []int) {
	for i, a := range f.args {
		at = append(at, len(s))
		p := uint64(256 * (i + 1))
		switch a {
		case chars, block:
			s = append(s, p, 16)
		case words, quads:
			s = append(s, p, 2)
		case copied, equals:
			s = append(s, p, p+128, 16)
		case filled:
			s = append(s, p, 1, 16)
		default:
			s = append(s, p)
		}
	}
	return append(s, 0), at
}

// areas are the pointers of an argument: where they are on the stack, how long the
// area is, and whether null is refused.
type area struct {
	at     int
	length uint64
	ref    bool
}

func areas(f *function, at []int) (list []area) {
	for i, a := range f.args {
		switch k := at[i]; a {
		case text:
			list = append(list, area{k, 1, false})
		case chars, block:
			list = append(list, area{k, 16, false})
		case words:
			list = append(list, area{k, 16, false})
		case quads:
			list = append(list, area{k, 32, false})
		case ref8:
			list = append(list, area{k, 8, true})
		case ref16:
			list = append(list, area{k, 16, true})
		case ref20:
			list = append(list, area{k, 20, true})
		case ref32:
			list = append(list, area{k, 32, true})
		case ref64:
			list = append(list, area{k, 64, true})
		case copied, equals:
			list = append(list, area{k, 16, false}, area{k + 1, 16, false})
		case filled:
			list = append(list, area{k, 16, false})
		}
	}
	return list
}

func TestPointersAreCheckedFirst(t *testing.T) {
	const end = wasm.PageSize
	for _, f := range prepared {
		h := newHarness(t)
		expect := func(what string, kind *exception.Kind, message string, m []byte, s []uint64) {
			t.Helper()
			var reached bool
			_, err := stub(f, &reached).call(h.a, m, append([]uint64(nil), s...))
			e := exception.Of(err)
			switch {
			case kind == nil && (err != nil || !reached):
				t.Errorf("%s, %s: %v, want success", f.name, what, err)
			case kind != nil && (e == nil || e.Kind != kind || e.Message() != message || reached):
				t.Errorf("%s, %s: %v, want %s: %s", f.name, what, err, kind.Name, message)
			}
		}
		h.a.ContextFree = f.rule == free
		s, at := acceptedArguments(f, h.m)
		expect("good arguments", nil, "", h.m, s)
		for _, area := range areas(f, at) {
			good := s[area.at]
			s[area.at] = end - area.length
			expect("area at the end", nil, "", h.m, s)
			// Whoever calls: the pointer is looked at before the caller.
			h.a.ContextFree, h.a.Privileged = !h.a.ContextFree, false
			for _, p := range []uint64{end - area.length + 1, end, end + 1, 1 << 31, 1<<32 - 1} {
				s[area.at] = p
				expect("area over the end", exception.WasmExecutionError, "access violation", h.m, s)
			}
			s[area.at] = 0
			if area.ref {
				expect("null", exception.WasmExecutionError, "references cannot be created for null pointers", h.m, s)
			}
			h.a.ContextFree, h.a.Privileged = !h.a.ContextFree, true
			if !area.ref {
				expect("null", nil, "", h.m, s)
			}
			s[area.at] = good
			expect("no memory", exception.WasmExecutionError, "access violation", nil, s)
		}
	}
}

func TestLengthsAreChecked(t *testing.T) {
	const end = wasm.PageSize
	for _, f := range prepared {
		h := newHarness(t)
		h.a.ContextFree = f.rule == free
		s, at := acceptedArguments(f, h.m)
		for i, a := range f.args {
			var unit, limit uint64
			k, nAt := at[i], at[i]+1
			switch a {
			case chars, block:
				unit, limit = 1, 1<<32-1
			case words:
				unit, limit = 8, (1<<32-1)/8
			case quads:
				unit, limit = 16, (1<<32-1)/16
			case copied, equals, filled:
				unit, limit, nAt = 1, 1<<32-1, at[i]+2
			default:
				continue
			}
			last := uint64(end)
			if a == copied || a == filled {
				last-- // a byte is needed even for nothing
			}
			p, n := s[k], s[nAt]
			for _, c := range []struct {
				p, n    uint64
				message string
			}{
				{0, 0, ""}, {last, 0, ""}, {last + 1, 0, "access violation"},
				{last - unit*3, 3, ""}, {end - unit*3 + 1, 3, "access violation"},
				{p, limit, "access violation"}, {p, limit + 1, "eos-vm system failure"},
				{p, 1<<32 - 1, "eos-vm system failure"},
			} {
				if unit == 1 && c.n > limit {
					continue
				}
				if unit == 1 && c.n == 1<<32-1 {
					c.message = "access violation"
				}
				if a == equals || a == copied {
					s[k+1] = 0 // the other area stays inside
				}
				s[k], s[nAt] = c.p, c.n
				var reached bool
				_, err := stub(f, &reached).call(h.a, h.m, append([]uint64(nil), s...))
				e := exception.Of(err)
				if (c.message == "") != reached || c.message != "" && (e == nil ||
					e.Kind != exception.WasmExecutionError || e.Message() != c.message) {
					t.Errorf("%s, argument %d: %d elements at %d: %v, want %q", f.name, i, c.n, c.p, err, c.message)
				}
			}
			s, at = acceptedArguments(f, h.m)
			s[k], s[nAt] = p, n
		}
	}
}

func TestStringsEndInMemory(t *testing.T) {
	for _, name := range []string{"prints", "eosio_assert"} {
		h := newHarness(t)
		for i := range h.m {
			h.m[i] = 'x'
		}
		args := []uint64{1, 4}[:len(h.table[name].args)]
		args[len(args)-1] = 4
		h.fails(exception.WasmExecutionError, "access violation", name, args...)
		h.m[wasm.PageSize-1] = 0
		h.call(name, args...)
	}
}

func TestSpansThatMayNotOverlapDoNot(t *testing.T) {
	tested := 0
	for _, f := range prepared {
		if len(f.blocks) < 2 {
			continue
		}
		h := newHarness(t)
		s, _ := acceptedArguments(f, h.m)
		for i, a := range f.blocks {
			for _, b := range f.blocks[i+1:] {
				tested++
				for _, c := range []struct {
					p, n, q, k uint64 // the spans
					overlap    bool
				}{
					{1000, 16, 1000, 16, true}, {1000, 16, 1015, 16, true}, {1015, 16, 1000, 16, true},
					{1000, 16, 1004, 1, true}, {1004, 1, 1000, 16, true},
					{1000, 16, 1016, 16, false}, {1016, 16, 1000, 16, false},
					{1000, 16, 1000, 0, false}, {1000, 0, 1000, 16, false}, {1000, 16, 1008, 0, false},
					{1000, 0, 1000, 0, false},
				} {
					args := append([]uint64(nil), s...)
					args[a], args[a+1], args[b], args[b+1] = c.p+60000, c.n, c.q+60000, c.k
					var reached bool
					_, err := stub(f, &reached).call(h.a, h.m, args)
					e := exception.Of(err)
					if c.overlap && (reached || e.Kind != exception.Wasm ||
						e.Message() != "pointers not allowed to alias") || !c.overlap && err != nil {
						t.Errorf("%s: %d+%d, %d+%d: %v", f.name, c.p, c.n, c.q, c.k, err)
					}
				}
			}
		}
		// Overlap is looked for before the caller is.
		h.a.ContextFree, h.a.Privileged = true, false
		s[f.blocks[1]] = s[f.blocks[0]]
		var reached bool
		if _, err := stub(f, &reached).call(h.a, h.m, s); exception.Of(err) == nil ||
			exception.Of(err).Kind != exception.Wasm {
			t.Errorf("%s: %v", f.name, err)
		}
	}
	if tested != 1+3+3+6+10+1+3+3+3+3+3+3+1+1+1+3+3 {
		t.Errorf("%d pairs tested", tested)
	}
}

func TestWhoMayCall(t *testing.T) {
	const (
		onlyFree = "this API may only be called from context_free apply"
		notFree  = "only context free api's can be used in this context"
		notYou   = "receiver does not have permission to call this API"
	)
	want := map[string][4]string{ // plain; privileged; context-free; both
		"anywhere":   {"", "", "", ""},
		"aware":      {"", "", notFree, notFree},
		"free":       {onlyFree, onlyFree, "", ""},
		"privileged": {notYou, "", notFree, notFree},
	}
	for _, sig := range signatures {
		f := prepared[sig.name]
		for i, message := range want[sig.rule] {
			h := newHarness(t)
			h.a.Privileged, h.a.ContextFree = i&1 != 0, i&2 != 0
			s, _ := acceptedArguments(f, h.m)
			var reached bool
			_, err := stub(f, &reached).call(h.a, h.m, s)
			e := exception.Of(err)
			if message == "" && (err != nil || !reached) ||
				message != "" &&
					(reached || e == nil || e.Kind != exception.UnaccessibleAPI || e.Message() != message) {
				t.Errorf("%s: %v, want %q", sig.name, err, message)
			}
		}
	}
}

func TestResultsAreLeftAlone(t *testing.T) {
	for _, f := range prepared {
		h := newHarness(t)
		h.a.ContextFree = f.rule == free
		s, _ := acceptedArguments(f, h.m)
		s[0] += 0 // the first parameter, or room for a result
		first := s[0]
		var reached bool
		if _, err := stub(f, &reached).call(h.a, h.m, s); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		if want := map[bool]uint64{true: first, false: 7}[f.result == none]; s[0] != want {
			t.Errorf("%s leaves %d, want %d", f.name, s[0], want)
		}
	}
}

// A behaviour is what a function does once its checks have passed.
type behaviour = func(h *harness)

func TestEveryFunctionDoesItsWork(t *testing.T) {
	tests := map[string]behaviour{}
	for _, part := range []map[string]behaviour{
		actionBehaviours(), consoleBehaviours(), memoryBehaviours(), transactionBehaviours(), permissionBehaviours(),
		privilegedBehaviours(), databaseBehaviours(), cryptoBehaviours(), primitiveBehaviours(), builtinBehaviours(),
		forkBehaviours(),
	} {
		for n, b := range part {
			if tests[n] != nil {
				t.Errorf("%s is tested twice", n)
			}
			tests[n] = b
		}
	}
	for _, f := range Functions() {
		b := tests[f.Name]
		delete(tests, f.Name)
		if b == nil {
			t.Errorf("%s is not tested", f.Name)
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			h := newHarness(t)
			h.a.ContextFree = h.table[f.Name].rule == free
			b(h)
		})
	}
	for n := range tests {
		t.Errorf("%s is tested but is no function", n)
	}
}

func TestTheLastArgumentIsCheckedFirst(t *testing.T) {
	h := newHarness(t)
	h.fails(exception.WasmExecutionError, "access violation", "send_deferred", 0, 1, 1<<31, 1, 0)
	h.fails(exception.WasmExecutionError, "references cannot be created for null pointers",
		"send_deferred", 0, 1, 1, 1, 0)
	h.fails(exception.WasmExecutionError, "references cannot be created for null pointers",
		"get_resource_limits", 1, 1<<31, 1<<31, 0)
	h.fails(exception.WasmExecutionError, "access violation", "get_resource_limits", 1, 0, 0, 1<<31)
}
