package wasm

import (
	"math"

	"tarn/antelope/types"
)

// options are the rules that a module is parsed under. nodeos has three sets: for
// code that is set before CONFIGURABLE_WASM_LIMITS2, for code that is set after, and
// for code that is run (Leap: eos-vm.cpp, setcode_options, wasm_config and
// apply_options; eos-vm: parser.hpp).
type options struct {
	mutableGlobalBytes uint32
	tableElements      uint32
	sectionElements    uint32
	linearMemoryInit   uint64
	localBytes         uint32
	nestedStructures   uint32
	symbolBytes        uint32
	codeBytes          uint32
	pages              uint32

	countLocals bool // localBytes holds, for declared locals and operands
	u32Flags    bool // limits' flags are a number of which one bit counts
	emptyLocals bool // a run of no locals may have any type
	zeroBlock   bool // 0 is a block type: no result
	trailing    bool // there may be code after a function's end

	// legacy adds what wasm-jit refuses when code is set before the feature (Leap:
	// WASMSerialization.cpp, IR/Validate.cpp), and collects the violations of the MVP
	// constraints.
	legacy bool
}

// What wasm-jit allows.
const (
	legacyElements  = 8191
	legacySymbol    = 8191
	legacyFunctions = 1023
	legacyLocalSets = 1023
	legacyCustom    = 65535
	legacyBody      = 20<<20 - 1
	legacyLocals    = 8192 // four bytes each, whatever the type
)

// What the MVP constraints allow (Leap: wasm_eosio_constraints.hpp).
const (
	mvpPages          = DefaultPages
	mvpMemory         = mvpPages * PageSize
	mvpMemoryInit     = 65536
	mvpTableElements  = 1024
	mvpMutableGlobals = 1024
	mvpFunctionStack  = 8192
	mvpNesting        = 1023
)

func unlimitedOptions() options {
	return options{
		mutableGlobalBytes: math.MaxUint32,
		tableElements:      math.MaxUint32,
		sectionElements:    math.MaxUint32,
		linearMemoryInit:   math.MaxUint64,
		localBytes:         math.MaxUint32,
		nestedStructures:   math.MaxUint32,
		symbolBytes:        math.MaxUint32,
		codeBytes:          math.MaxUint32,
		pages:              math.MaxUint32,
	}
}

// applyOptions hold when code is run.
func applyOptions() options {
	o := unlimitedOptions()
	o.u32Flags, o.emptyLocals, o.zeroBlock = true, true, true
	return o
}

// legacyOptions hold when code is set before the feature.
func legacyOptions() options {
	o := applyOptions()
	o.trailing, o.legacy = true, true
	return o
}

// configOptions hold when code is set after the feature.
func configOptions(c *types.WasmConfig) options {
	o := unlimitedOptions()
	o.mutableGlobalBytes = c.MaxMutableGlobalBytes
	o.tableElements = c.MaxTableElements
	o.sectionElements = c.MaxSectionElements
	o.linearMemoryInit = uint64(c.MaxLinearMemoryInit)
	o.localBytes, o.countLocals = c.MaxFuncLocalBytes, true
	o.nestedStructures = c.MaxNestedStructures
	o.symbolBytes = c.MaxSymbolBytes
	o.codeBytes = c.MaxCodeBytes
	o.pages = c.MaxPages
	return o
}
