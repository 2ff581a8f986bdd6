package wasm

import (
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// Rules are what a chain demands of the modules that are set as contracts.
type Rules struct {
	// Limits is the chain's wasm_config once CONFIGURABLE_WASM_LIMITS2 is active, nil
	// before.
	Limits *types.WasmConfig

	// Speculative tells that the block is being produced or speculated on. Only then,
	// and only without Limits, is the nesting of blocks limited (Leap:
	// wasm_eosio_validation.hpp, nested_validator).
	Speculative bool

	// Import returns the host function of that name, nil if there is none, and whether
	// contracts may use it now (the whitelist that protocol features extend).
	Import func(name string) (f *Function, whitelisted bool)
}

// Validate checks a module as nodeos does when it is set as a contract (Leap:
// wasm_interface::validate). It returns an error of the kind that nodeos throws:
// wasm_serialization_error, or wasm_execution_error for the constraints that hold
// while Limits is nil. Time and memory are proportional to the size of the module,
// whatever it contains.
func Validate(code []byte, rules Rules) error {
	if rules.Limits == nil {
		return validateLegacy(code, rules)
	}
	if uint64(len(code)) > uint64(rules.Limits.MaxModuleBytes) {
		return validationError("Code too large")
	}
	o := configOptions(rules.Limits)
	m, _, err := check(code, &o)
	if err != nil {
		return validationError(err.Error())
	}
	if err := checkImports(m, rules); err != nil {
		return err
	}
	apply := m.exportIndex("apply")
	if apply == noFunction {
		return validationError("apply not exported")
	}
	if !isApply(m.typeOf(apply)) {
		return validationError("apply has wrong type")
	}
	return nil
}

func validationError(text string) error {
	return exception.New(exception.WasmSerializationError, text)
}

func isApply(t *funcType) bool {
	return t.result == none && string(t.params) == string([]byte{I64, I64, I64})
}

// check parses a module and checks all of its functions.
func check(code []byte, o *options) (*module, *checker, error) {
	m, err := parse(code, o)
	if err != nil {
		return nil, nil, err
	}
	c := &checker{o: o, m: m}
	for i := range m.bodies {
		if err := c.function(&m.bodies[i]); err != nil {
			return nil, nil, err
		}
	}
	return m, c, nil
}

func validateLegacy(code []byte, rules Rules) error {
	o := legacyOptions()
	m, c, err := check(code, &o)
	if err != nil {
		return validationError(err.Error())
	}
	if err := constrain(m, c, rules.Speculative); err != nil {
		return err
	}
	return checkImports(m, rules)
}

// constrain checks the constraints of the MVP, in nodeos' order (Leap:
// wasm_eosio_validation.cpp).
func constrain(m *module, c *checker, speculative bool) error {
	violated := func(format string, values ...any) error {
		return exception.New(exception.WasmExecutionError, format, values...)
	}
	if m.pages > mvpPages {
		return violated("Smart contract initial memory size must be less than or equal to ${k}KiB", "k", mvpMemory/1024)
	}
	for _, d := range m.data {
		if uint64(d.offset)+uint64(len(d.bytes)) > mvpMemoryInit {
			return violated("Smart contract data segments must lie in first ${k}KiB", "k", mvpMemoryInit/1024)
		}
	}
	if len(m.table) > mvpTableElements {
		return violated("Smart contract table limited to ${t} elements", "t", mvpTableElements)
	}
	globals := uint32(0)
	for _, g := range m.globals {
		if g.mutable {
			globals += sizeOf(g.typ)
		}
	}
	if globals > mvpMutableGlobals {
		return violated("Smart contract has more than ${k} bytes of mutable globals", "k", mvpMutableGlobals)
	}
	for i := range m.bodies {
		if m.stackBytes(&m.bodies[i]) > mvpFunctionStack {
			return violated("Smart contract function has more than ${k} bytes of stack usage", "k", mvpFunctionStack)
		}
	}
	if apply := m.exportIndex("apply"); apply == noFunction || !isApply(m.typeOf(apply)) {
		return violated("Smart contract's apply function not exported; non-existent; or wrong type")
	}
	if c.farthest >= mvpMemory {
		return violated("Smart contract used an invalid large memory store/load offset")
	}
	if speculative && c.deepest > mvpNesting {
		return violated("Nested depth exceeded")
	}
	return nil
}

// checkImports checks that all imports exist with their signatures, and then that
// they may be used.
func checkImports(m *module, rules Rules) error {
	for _, i := range m.imports {
		f, _ := rules.Import(string(i.name))
		switch t := &m.types[i.typ]; {
		case string(i.module) != "env" || f == nil:
			return validationError("no mapping for imported function " + string(i.name))
		case !f.same(t):
			return validationError("wrong type for imported function " + string(i.name))
		}
	}
	for _, i := range m.imports {
		if _, ok := rules.Import(string(i.name)); !ok {
			return exception.New(exception.WasmSerializationError, "${module}.${fn} unresolveable",
				"module", string(i.module), "fn", string(i.name))
		}
	}
	return nil
}
