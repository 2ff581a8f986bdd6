package wasm

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// Which rules accept a module.
const (
	byNone   = 0
	byLegacy = 1
	byConfig = 2
	byBoth   = 3
)

// verdict tells which rules accept a module, and fails on errors of a wrong kind.
func verdict(t *testing.T, name string, code []byte, config *types.WasmConfig) int {
	t.Helper()
	v := 0
	legacy := Validate(code, Rules{Import: importOf(testFunctions()), Speculative: true})
	if legacy == nil {
		v |= byLegacy
	} else if !exception.Is(legacy, exception.WasmSerializationError, exception.WasmExecutionError) {
		t.Errorf("%s: %v", name, legacy)
	}
	limited := Validate(code, Rules{Import: importOf(testFunctions()), Limits: config})
	if limited == nil {
		v |= byConfig
	} else if !exception.Is(limited, exception.WasmSerializationError) {
		t.Errorf("%s: %v", name, limited)
	}
	return v
}

// repeatCodes is a module whose apply has this code.
func repeatCodes(locals []local, codes ...[]byte) func(b *builder) {
	return func(b *builder) {
		b.memory = []uint32{1}
		b.apply(locals, slices.Concat(codes...))
	}
}

func plainApply(b *builder) { b.apply(nil, nil) }

func nestBlocks(n int, op byte) []byte {
	return append(bytes.Repeat([]byte{op, none}, n), bytes.Repeat([]byte{opEnd}, n)...)
}

// consts pushes n i64 and drops them.
func consts(n int) []byte {
	return append(bytes.Repeat([]byte{opI64Const, 0}, n), bytes.Repeat([]byte{opDrop}, n)...)
}

func with(f func(b *builder)) func(b *builder) {
	return func(b *builder) {
		f(b)
		plainApply(b)
	}
}

// acceptance is a module and which rules accept it.
type acceptance struct {
	name  string
	build func(b *builder)
	want  int
}

func acceptances() []acceptance {
	return []acceptance{
		{"nothing", func(*builder) {}, byNone},
		{"apply", plainApply, byBoth},
		{"apply of another type", func(b *builder) { b.export("apply", kindFunction, b.function(nil, none, nil, nil)) }, byNone},
		{"apply is a global", func(b *builder) {
			b.globals = []globalVar{{I32, false, 0}}
			b.export("apply", kindGlobal, 0)
		}, byNone},
		{"two of a name", with(func(b *builder) { b.export("apply", kindFunction, 0) }), byNone},
		{"name is no text", with(func(b *builder) { b.export("\xc0\x80", kindFunction, 0) }), byNone},
		{"name of U+D000", with(func(b *builder) { b.export("\xed\x80\x80", kindFunction, 0) }), byConfig},
		{"name of U+D7FF", with(func(b *builder) { b.export("\xed\x9f\xbf", kindFunction, 0) }), byConfig},
		{"name of a surrogate", with(func(b *builder) { b.export("\xed\xa0\x80", kindFunction, 0) }), byNone},
		{"name of U+CFFF, U+E000 and U+10FFFF", with(func(b *builder) {
			b.export("\xec\xbf\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", kindFunction, 0)
		}), byBoth},
		{"name beyond U+10FFFF", with(func(b *builder) { b.export("\xf4\x90\x80\x80", kindFunction, 0) }), byNone},
		{"name that ends in a character", with(func(b *builder) { b.export("\xe2\x82", kindFunction, 0) }), byNone},
		{"custom section of U+D000", with(func(b *builder) { b.custom = []byte("\x03\xed\x80\x80x") }), byConfig},
		{"8191 parameters", with(func(b *builder) { b.typ(slots(8191), none) }), byBoth},
		{"8192 parameters", with(func(b *builder) { b.typ(slots(8192), none) }), byConfig},
		{"60000 parameters of a function", with(func(b *builder) { b.function(slots(60000), none, nil, nil) }), byConfig},
		{"name of 8191", with(func(b *builder) { b.export(strings.Repeat("a", 8191), kindFunction, 0) }), byBoth},
		{"name of 8192", with(func(b *builder) { b.export(strings.Repeat("a", 8192), kindFunction, 0) }), byConfig},
		{"name of 8193", with(func(b *builder) { b.export(strings.Repeat("a", 8193), kindFunction, 0) }), byNone},
		{"unknown import", with(func(b *builder) { b.importing("unknown", nil, none) }), byNone},
		{"import of another type", with(func(b *builder) { b.importing("put", []ValueType{I32}, none) }), byNone},
		{"import from elsewhere", with(func(b *builder) {
			b.put()
			b.imports[0].module = []byte("machine")
		}), byNone},
		{"memory helper", with(func(b *builder) { b.importing("memcpy", []ValueType{I32, I32, I32}, I32) }), byBoth},
		{"1022 functions more", with(func(b *builder) { functions(b, 1022) }), byBoth},
		{"1023 functions more", with(func(b *builder) { functions(b, 1023) }), byConfig},
		{"8192 functions more", with(func(b *builder) { functions(b, 8192) }), byNone},
		{"528 pages", with(func(b *builder) { b.memory = []uint32{528} }), byBoth},
		{"529 pages", with(func(b *builder) { b.memory = []uint32{529} }), byNone},
		{"maximum of 65536 pages", with(func(b *builder) { b.memory = []uint32{1, 65536} }), byBoth},
		{"maximum of 65537 pages", with(func(b *builder) { b.memory = []uint32{1, 65537} }), byNone},
		{"maximum below", with(func(b *builder) { b.memory = []uint32{2, 1} }), byNone},
		{"other flags", with(func(b *builder) { b.memory, b.flags = []uint32{1}, 6 }), byLegacy},
		{"data to the end", with(func(b *builder) { b.memory, b.data = []uint32{2}, []dataSegment{{65528, make([]byte, 8)}} }), byBoth},
		{"data beyond 64 KiB", with(func(b *builder) { b.memory, b.data = []uint32{2}, []dataSegment{{65528, make([]byte, 9)}} }), byNone},
		{"data far off", with(func(b *builder) { b.memory, b.data = []uint32{2}, []dataSegment{{1<<32 - 1, make([]byte, 9)}} }), byNone},
		{"data without memory", with(func(b *builder) { b.data = []dataSegment{{0, []byte{1}}} }), byNone},
		{"data of 8191", with(func(b *builder) { b.memory, b.data = []uint32{1}, []dataSegment{{0, make([]byte, 8191)}} }), byBoth},
		{"data of 8192", with(func(b *builder) { b.memory, b.data = []uint32{1}, []dataSegment{{0, make([]byte, 8192)}} }), byConfig},
		{"data beyond memory", with(func(b *builder) { b.memory, b.data = []uint32{0}, []dataSegment{{0, []byte{1}}} }), byBoth},
		{"table of 1024", with(func(b *builder) { b.table = 1024 }), byBoth},
		{"table of 1025", with(func(b *builder) { b.table = 1025 }), byNone},
		{"elements beyond the table", with(func(b *builder) { b.table, b.elements = 1, []uint32{0, 0} }), byBoth},
		{"element of no function", with(func(b *builder) { b.table, b.elements = 1, []uint32{9} }), byNone},
		{"globals of 1024 bytes", with(func(b *builder) { b.globals = slices.Repeat([]globalVar{{I64, true, 0}}, 128) }), byBoth},
		{"globals of 1028 bytes", with(func(b *builder) {
			b.globals = append(slices.Repeat([]globalVar{{I64, true, 0}}, 128), globalVar{F32, true, 0})
		}), byNone},
		{"constant globals", with(func(b *builder) { b.globals = slices.Repeat([]globalVar{{I64, false, 0}}, 500) }), byBoth},
		{"exported mutable global", with(func(b *builder) {
			b.globals = []globalVar{{I32, true, 0}}
			b.export("g", kindGlobal, 0)
		}), byConfig},
		{"start", func(b *builder) { b.start = b.function(nil, none, nil, nil); plainApply(b) }, byBoth},
		{"start with parameters", func(b *builder) { plainApply(b); b.start = 0 }, byNone},
		{"custom section of 65535", with(func(b *builder) { b.custom = append([]byte{1, 'x'}, make([]byte, 65535)...) }), byBoth},
		{"custom section of 65536", with(func(b *builder) { b.custom = append([]byte{1, 'x'}, make([]byte, 65536)...) }), byConfig},
		{"custom section without a name", with(func(b *builder) { b.custom = []byte{} }), byNone},
		{"locals of 8192 bytes", repeatCodes([]local{{1021, I64}}), byBoth},
		{"locals and parameters beyond 8192 bytes", repeatCodes([]local{{1022, I64}}), byConfig},
		{"locals beyond 8192 bytes", repeatCodes([]local{{1025, I64}}), byNone},
		{"locals of four bytes", repeatCodes([]local{{2042, I32}}), byBoth},
		{"locals without number", repeatCodes([]local{{1<<32 - 1, I64}, {1<<32 - 1, I64}}), byNone},
		{"no locals of no type", repeatCodes([]local{{0, 0x33}}), byLegacy},
		{"no locals of no type at all", repeatCodes([]local{{0, 0x83}}), byNone},
		{"1023 sets of locals", repeatCodes(slices.Repeat([]local{{0, I32}}, 1023)), byBoth},
		{"1024 sets of locals", repeatCodes(slices.Repeat([]local{{0, I32}}, 1024)), byConfig},
		{"deep operands", repeatCodes(nil, consts(1024)), byBoth},
		{"deeper operands", repeatCodes(nil, consts(1025)), byLegacy},
		{"block of type 0", repeatCodes(nil, []byte{opBlock, 0, opEnd}), byLegacy},
		{"block of type 1", repeatCodes(nil, []byte{opBlock, 1, opEnd}), byNone},
		{"1023 blocks", repeatCodes(nil, nestBlocks(1023, opBlock)), byBoth},
		{"1024 blocks", repeatCodes(nil, nestBlocks(1024, opLoop)), byNone},
		{"else nests", repeatCodes(nil, bytes.Repeat([]byte{opI32Const, 0, opIf, none, opElse, opEnd}, 1022)), byBoth},
		{"elses nest", repeatCodes(nil, bytes.Repeat([]byte{opI32Const, 0, opIf, none, opElse, opEnd}, 1023)), byConfig},
		{"code after the end", func(b *builder) {
			b.export("apply", kindFunction, b.rawFunction([]ValueType{I64, I64, I64}, none, nil,
				encoder{opEnd, opNop, opLocalGet, 0, opBlock, none, opEnd}))
		}, byLegacy},
		{"no constant after the end", func(b *builder) {
			b.export("apply", kindFunction,
				b.rawFunction([]ValueType{I64, I64, I64}, none, nil, encoder{opEnd, opI32Const, 0, opDrop}))
		}, byNone},
		{"no end", func(b *builder) {
			b.export("apply", kindFunction, b.rawFunction([]ValueType{I64, I64, I64}, none, nil, encoder{opNop}))
		}, byNone},
		{"offset below 33 MiB", repeatCodes(nil, encoder{opI32Const, 0, 0x28, 2, 0xff, 0xff, 0xbf, 0x10, opDrop}), byBoth},
		{"offset of 33 MiB", repeatCodes(nil, encoder{opI32Const, 0, 0x28, 2, 0x80, 0x80, 0xc0, 0x10, opDrop}), byConfig},
		{"alignment", repeatCodes(nil, encoder{opI32Const, 0, 0x28, 3, 0, opDrop}), byNone},
		{"long alignment", repeatCodes(nil, encoder{opI32Const, 0, 0x28, 0x82, 0, 0, opDrop}), byConfig},
		{"load without memory", func(b *builder) { b.apply(nil, encoder{opI32Const, 0, 0x28, 2, 0, opDrop}) }, byNone},
		{"overlong number", repeatCodes(nil, encoder{opI32Const, 0x80, 0x80, 0x80, 0x80, 0x80, 0, opDrop}), byNone},
		{"unused bits", repeatCodes(nil, encoder{opI32Const, 0x80, 0x80, 0x80, 0x80, 0x10, opDrop}), byNone},
		{"sign bits", repeatCodes(nil, encoder{opI32Const, 0x80, 0x80, 0x80, 0x80, 0x78, opDrop}), byBoth},
		{"sign extension", repeatCodes(nil, encoder{opI32Const, 0, 0xc0, opDrop}), byNone},
		{"operands of a wrong type", repeatCodes(nil, encoder{opI32Const, 0, opI64Const, 0, opI32Add, opDrop}), byNone},
		{"operand left", repeatCodes(nil, encoder{opI32Const, 0}), byNone},
		{"unreachable operands", repeatCodes(nil, encoder{opUnreachable, opI32Add, opDrop, opSelect, opDrop}), byBoth},
		{"unreachable operands of a wrong type", repeatCodes(nil, encoder{opUnreachable, opI64Const, 0, opI32Add, opDrop}), byNone},
		{"if with a result without else", repeatCodes(nil, encoder{opI32Const, 0, opIf, I32, opI32Const, 0, opEnd, opDrop}), byNone},
		{"unreachable if with a result without else", repeatCodes(nil, encoder{opUnreachable, opIf, I32, opI32Const, 0, opEnd, opDrop}), byNone},
		{"labels of different types",
			repeatCodes(nil, encoder{opBlock, none, opBlock, I32, opI32Const, 0, opI32Const, 0, opBrTable, 1, 0, 1,
				opEnd, opDrop, opEnd}), byNone},
		{"label beyond", repeatCodes(nil, encoder{opBr, 1}), byNone},
		{"big br_table", repeatCodes(nil, encoder{opI32Const, 0, opBrTable, 0xff, 0x3f}, make([]byte, 8192)), byBoth},
		{"bigger br_table", repeatCodes(nil, encoder{opI32Const, 0, opBrTable, 0x80, 0x40}, make([]byte, 8193)), byConfig},
		{"br_table that is too short", repeatCodes(nil, encoder{opI32Const, 0, opBrTable, 0xff, 0xff, 0xff, 0xff, 0x0f}), byNone},
		{"set a constant", func(b *builder) {
			b.globals = []globalVar{{I32, false, 0}}
			b.apply(nil, encoder{opI32Const, 0, opGlobalSet, 0})
		}, byNone},
		{"indirect call without a table", func(b *builder) {
			b.apply(nil, encoder{opI64Const, 0, opI64Const, 0, opI64Const, 0, opI32Const, 0, opCallIndirect, 0, 0})
		}, byNone},
	}
}

func TestModulesAreAcceptedAsByNodeos(t *testing.T) {
	for _, c := range acceptances() {
		b := newBuilder()
		c.build(b)
		if got := verdict(t, c.name, b.bytes(), defaultConfig()); got != c.want {
			t.Errorf("%s: accepted by %d, want %d", c.name, got, c.want)
		}
	}
}

func functions(b *builder, n int) {
	for range n {
		b.function(nil, none, nil, nil)
	}
}

func TestViolatedConstraintsAreExecutionErrors(t *testing.T) {
	for name, build := range map[string]func(b *builder){
		"memory":  with(func(b *builder) { b.memory = []uint32{529} }),
		"data":    with(func(b *builder) { b.memory, b.data = []uint32{2}, []dataSegment{{65536, []byte{1}}} }),
		"table":   with(func(b *builder) { b.table = 1025 }),
		"globals": with(func(b *builder) { b.globals = slices.Repeat([]globalVar{{I64, true, 0}}, 129) }),
		"stack":   repeatCodes([]local{{1022, I64}}),
		"apply":   func(*builder) {},
		"offset":  repeatCodes(nil, encoder{opI32Const, 0, 0x28, 2, 0x80, 0x80, 0xc0, 0x10, opDrop}),
		"nesting": repeatCodes(nil, nestBlocks(1024, opBlock)),
	} {
		b := newBuilder()
		build(b)
		if err := Validate(b.bytes(), Rules{Import: importOf(nil), Speculative: true}); !exception.Is(err,
			exception.WasmExecutionError) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nodes that only apply a block do not look at the nesting of blocks.
func TestNestingIsLimitedOnlyWhileSpeculating(t *testing.T) {
	b := newBuilder()
	repeatCodes(nil, nestBlocks(5000, opLoop))(b)
	if err := Validate(b.bytes(), Rules{Import: importOf(nil)}); err != nil {
		t.Error(err)
	}
}

func TestConfiguredLimitsHold(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit func(c *types.WasmConfig) *uint32
		build func(b *builder)
		least uint32 // that accepts the module
	}{
		{"globals", func(c *types.WasmConfig) *uint32 { return &c.MaxMutableGlobalBytes },
			with(func(b *builder) { b.globals = slices.Repeat([]globalVar{{I64, true, 0}}, 5) }), 40},
		{"table", func(c *types.WasmConfig) *uint32 { return &c.MaxTableElements }, with(func(b *builder) { b.table = 77 }), 77},
		{"section", func(c *types.WasmConfig) *uint32 { return &c.MaxSectionElements }, with(func(b *builder) { functions(b, 99) }), 100},
		{"memory init", func(c *types.WasmConfig) *uint32 { return &c.MaxLinearMemoryInit },
			with(func(b *builder) { b.memory, b.data = []uint32{1}, []dataSegment{{90, make([]byte, 10)}} }), 100},
		{"nesting", func(c *types.WasmConfig) *uint32 { return &c.MaxNestedStructures }, repeatCodes(nil, nestBlocks(50, opBlock)), 51},
		{"symbol", func(c *types.WasmConfig) *uint32 { return &c.MaxSymbolBytes }, with(func(b *builder) { b.export("abcdefghij", kindFunction, 0) }), 10},
		{"code", func(c *types.WasmConfig) *uint32 { return &c.MaxCodeBytes }, repeatCodes(nil, bytes.Repeat([]byte{opNop}, 98)), 100},
		{"pages", func(c *types.WasmConfig) *uint32 { return &c.MaxPages }, with(func(b *builder) { b.memory = []uint32{600} }), 600},
		{"locals and operands", func(c *types.WasmConfig) *uint32 { return &c.MaxFuncLocalBytes }, repeatCodes([]local{{3, I32}, {2, F64}}, consts(9)), 100},
		// As Leap's max_func_local_bytes_mixed: what is unreachable does not count.
		{"unreachable operands", func(c *types.WasmConfig) *uint32 { return &c.MaxFuncLocalBytes },
			repeatCodes(nil, []byte{opI64Const, 0, opReturn}, bytes.Repeat([]byte{opI64Const, 0}, 200),
				[]byte{opReturn}), 8},
		// A branch leaves its block's operands counted, and a second one in unreachable
		// code has what follows not counted at all.
		{"operands of a left block", func(c *types.WasmConfig) *uint32 { return &c.MaxFuncLocalBytes },
			repeatCodes(nil, bytes.Repeat([]byte{opBlock, none, opI64Const, 0, opBr, 0, opEnd}, 5)), 40},
		{"after two branches", func(c *types.WasmConfig) *uint32 { return &c.MaxFuncLocalBytes },
			repeatCodes(nil, []byte{opBlock, none, opBr, 0, opBr, 0, opEnd}, consts(100)), 0},
	} {
		b := newBuilder()
		c.build(b)
		for n, ok := range map[uint32]bool{c.least - 1: false, c.least: true, c.least + 1: true} {
			if n == 1<<32-1 {
				continue
			}
			config := defaultConfig()
			*c.limit(config) = n
			if err := Validate(b.bytes(), Rules{Import: importOf(nil), Limits: config}); (err == nil) != ok {
				t.Errorf("%s: limit %d: %v", c.name, n, err)
			}
		}
	}
	b := newBuilder()
	plainApply(b)
	config := defaultConfig()
	config.MaxModuleBytes = uint32(len(b.bytes())) - 1
	if err := Validate(b.bytes(), Rules{Import: importOf(nil), Limits: config}); !exception.Is(err,
		exception.WasmSerializationError) {
		t.Error(err)
	}
}

func TestImportsMustBeEnabled(t *testing.T) {
	b := newBuilder()
	b.put()
	plainApply(b)
	known := importOf(testFunctions())
	for _, limits := range []*types.WasmConfig{nil, defaultConfig()} {
		err := Validate(b.bytes(), Rules{Limits: limits, Import: func(name string) (*Function, bool) {
			f, _ := known(name)
			return f, false
		}})
		if !exception.Is(err, exception.WasmSerializationError) ||
			!strings.Contains(err.Error(), "env.put unresolveable") {
			t.Error(err)
		}
	}
}

// A module of any kind costs little, though it says that it is large.
func TestHostileModulesAreCheckedCheaply(t *testing.T) {
	head := encoder{0, 'a', 's', 'm', 1, 0, 0, 0}
	many := encoder{0xff, 0xff, 0xff, 0xff, 0x0f}
	for id := byte(0); id < 12; id++ {
		var e encoder
		e = append(e, head...)
		e.op(id)
		e.u32(5)
		e = append(e, many...)
		expectCheap(t, "count", e, Rules{Import: importOf(nil)})
		e = append(append(slices.Clone(head), id), many...)
		expectCheap(t, "size", e, Rules{Import: importOf(nil), Limits: defaultConfig()})
	}
	for name, shape := range shapes() {
		code := shape(1 << 20)
		for _, limits := range []*types.WasmConfig{nil, defaultConfig()} {
			expectCheap(t, name, code, Rules{Import: importOf(testFunctions()), Limits: limits})
		}
	}
}

// The largest module that may be set, of instructions that cost the checks most.
func BenchmarkValidate20MiB(b *testing.B) {
	for name, code := range map[string][]byte{
		"nop":   {opNop},
		"const": {opI32Const, 0, opDrop},
		"local": {opLocalGet, 0, opDrop},
		"add":   {opI32Const, 0, opI32Const, 0, opI32Add, opDrop},
		"block": {opBlock, none, opEnd},
		"load":  {opI32Const, 0, 0x28, 2, 0, opDrop},
	} {
		m := newBuilder()
		m.memory = []uint32{1}
		m.apply(nil, bytes.Repeat(code, (20<<20-200)/len(code)))
		module := m.bytes()
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(module)))
			for b.Loop() {
				if err := Validate(module, Rules{Limits: defaultConfig(), Import: importOf(nil)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
