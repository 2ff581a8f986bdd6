package wasm

// none is the type of a block or function without a result.
const none ValueType = 0x40

// funcType is a signature. Its parameters are a part of the module's bytes.
type funcType struct {
	params []ValueType
	result ValueType // or none
}

type importEntry struct {
	module, name []byte
	typ          uint32
}

type globalVar struct {
	typ     ValueType
	mutable bool
	bits    uint64 // of the initial value
}

type exportEntry struct {
	name  []byte
	kind  byte
	index uint32
}

type localRun struct {
	end uint32 // index after the last local of the run; parameters count
	typ ValueType
}

type funcBody struct {
	typ    uint32
	locals []localRun // that are no parameters; no empty runs
	code   []byte

	used uint32 // bytes of the locals, as max_func_local_bytes counts them

	// uncounted is set for a function that the rewriter shall not count as a call.
	uncounted bool
}

// variables returns how many parameters and locals a function has.
func (b *funcBody) variables(m *module) uint32 {
	if n := len(b.locals); n > 0 {
		return b.locals[n-1].end
	}
	return uint32(len(m.types[b.typ].params))
}

type dataSegment struct {
	offset uint32
	bytes  []byte
}

// External kinds.
const (
	kindFunction = iota
	kindTable
	kindMemory
	kindGlobal
)

const noFunction = ^uint32(0)

// module is a parsed module. It refers to the bytes that it was parsed from.
type module struct {
	types     []funcType
	imports   []importEntry // functions, all of them
	functions []uint32      // types of the module's own functions
	tables    int
	table     []uint32 // function indices after the element segments; noFunction: none
	memories  int
	pages     uint32 // of memory, at first
	maxPages  uint32
	hasMax    bool
	globals   []globalVar
	exports   []exportEntry
	start     uint32 // or noFunction
	bodies    []funcBody
	data      []dataSegment

	aliases []uint32 // see alias

	// broken says why the module, though valid, cannot be instantiated.
	broken string
}

// typeOf returns the signature of a function, which must exist.
func (m *module) typeOf(index uint32) *funcType {
	if n := uint32(len(m.imports)); index >= n {
		return &m.types[m.functions[index-n]]
	}
	return &m.types[m.imports[index].typ]
}

// localCount returns how many of these are locals.
func (b *funcBody) localCount(m *module) uint32 {
	return b.variables(m) - uint32(len(m.types[b.typ].params))
}

// stackBytes is what a function's parameters and locals take by the MVP rules.
func (m *module) stackBytes(b *funcBody) uint32 {
	bytes := b.used
	for _, t := range m.types[b.typ].params {
		bytes += sizeOf(t)
	}
	return bytes
}

func (m *module) functionCount() uint64 { return uint64(len(m.imports)) + uint64(len(m.functions)) }

// alias returns the first of the types that are the same as one.
func (m *module) alias(typ uint32) uint32 {
	if m.aliases == nil {
		m.aliases = make([]uint32, len(m.types))
		first := map[string]uint32{}
		for i := range m.types {
			key := string(m.types[i].params) + string([]byte{m.types[i].result})
			if _, ok := first[key]; !ok {
				first[key] = uint32(i)
			}
			m.aliases[i] = first[key]
		}
	}
	return m.aliases[typ]
}

// exportIndex returns the index of an exported function, noFunction if there is none.
func (m *module) exportIndex(name string) uint32 {
	for _, e := range m.exports {
		if e.kind == kindFunction && string(e.name) == name {
			return e.index
		}
	}
	return noFunction
}

func isValueType(t byte) bool { return t >= F64 && t <= I32 }

func sizeOf(t ValueType) uint32 {
	switch t {
	case I32, F32:
		return 4
	case I64, F64:
		return 8
	}
	return 0
}
