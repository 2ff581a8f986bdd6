package intrinsic

import (
	"errors"
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/wasm"
)

// rule is who may call a function.
type rule uint8

const (
	anywhere   rule = iota // any action
	aware                  // not context-free ones
	free                   // only context-free ones
	privileged             // privileged receivers, and not context-free actions
)

// body is a function behind its checks: it takes the contract's memory and the
// values of its parameters and returns its result, if it has one.
type body func(a *Apply, m []byte, s []uint64) (uint64, error)

// entry is a row of the table of functions.
type entry struct {
	name   string
	rule   rule
	args   []arg
	result wasm.ValueType // none if 0
	price  price
	body   body
}

const none wasm.ValueType = 0

// function is an entry made ready to be called.
type function struct {
	entry
	checks []check
	blocks []int // where the spans are that may not overlap
}

var errExit = errors.New("the contract ended its action")

func (e entry) prepare() *function {
	f := &function{entry: e, checks: checks(e.args)}
	for _, k := range slices.Backward(f.checks) {
		if k.arg == block {
			f.blocks = append(f.blocks, k.at)
		}
	}
	return f
}

// call checks the arguments and the caller, in nodeos' order, and runs the body
// (Leap: webassembly/runtimes/eos-vm.cpp, preconditions.hpp). Memory beyond the returned
// end is as it was, unless there is an error.
func (f *function) call(a *Apply, m []byte, s []uint64) (end uint64, err error) {
	var bytes uint64
	for _, k := range f.checks {
		e, err := k.run(a, m, s)
		if err != nil {
			return 0, err
		}
		end = max(end, e)
		bytes += k.length(s)
	}
	a.Charge(uint64(f.price.call) + bytes*uint64(f.price.byte))
	for i, at := range f.blocks {
		for _, other := range f.blocks[i+1:] {
			if overlap(s, at, other) {
				return 0, exception.New(exception.Wasm, "pointers not allowed to alias")
			}
		}
	}
	if f.rule != anywhere {
		if err := f.rule.admit(a); err != nil {
			return 0, err
		}
	}
	v, err := f.body(a, m, s)
	if err == nil && f.result != none {
		s[0] = v
	}
	return end, err
}

func (r rule) admit(a *Apply) error {
	if a.ContextFree != (r == free) {
		if r == free {
			return exception.New(exception.UnaccessibleAPI, "this API may only be called from context_free apply")
		}
		return exception.New(exception.UnaccessibleAPI, "only context free api's can be used in this context")
	}
	if r == privileged && !a.Privileged {
		return exception.New(exception.UnaccessibleAPI, "${code} does not have permission to call this API",
			"code", a.Receiver)
	}
	return nil
}

// link makes the machine's function.
func (f *function) link() wasm.Function {
	w := wasm.Function{Name: f.name, Body: func(c *wasm.Call, s []uint64) {
		a := c.Context.(*Apply)
		a.ender = c
		end, err := f.call(a, c.View(), s)
		if err != nil {
			if err == errExit {
				c.Exit()
			}
			c.Abort(err)
		}
		c.Writes(end)
	}}
	for _, arg := range f.args {
		w.Params = append(w.Params, arg.types()...)
	}
	if f.result != none {
		w.Results = []wasm.ValueType{f.result}
	}
	return w
}

// entries is the table of all functions, in no particular order.
func entries() []entry {
	return slices.Concat(
		actionEntries(), consoleEntries(), memoryEntries(), transactionEntries(),
		permissionEntries(), privilegedEntries(), databaseEntries(),
		cryptoEntries(), primitiveEntries(), integerEntries(), quadEntries(), forkEntries(),
	)
}

// Functions returns all host functions of Leap 5.0 and of its forks, those that a chain does
// not allow, or not yet, among them. Their bodies expect [wasm.Call.Context] to be an [*Apply].
func Functions() []wasm.Function {
	var list []wasm.Function
	for _, e := range entries() {
		list = append(list, e.prepare().link())
	}
	return list
}

// unpack reads v from the start of b; what follows it is ignored, as nodeos does
// (libfc: raw::unpack). What fails is what nodeos' library throws.
func (a *Apply) unpack(b []byte, v interface{ Read(*serial.Reader) }) error {
	r := a.reader(b)
	v.Read(r)
	return unpackError(r, len(b))
}

// reader reads what a contract packed, and charges for the elements of its arrays.
func (a *Apply) reader(b []byte) *serial.Reader {
	r := serial.NewReader(b)
	r.OnCount(func(elements int) { a.Charge(light + floating*uint64(elements)) })
	return r
}

// unpackError is r's error as nodeos throws it: the exception if it is one, out of range
// where the data ends too early, an assertion where a value or length is not allowed.
// Length is how much r had to read.
func unpackError(r *serial.Reader, length int) error {
	err := r.Err()
	thrown := exception.Of(err)
	switch {
	case err == nil:
		return nil
	case thrown != nil:
		return thrown
	case errors.Is(err, serial.ErrShort):
		return bufferError("read", length, length-r.Offset())
	default:
		return exception.Wrap(exception.FCAssert, err, "unpack")
	}
}

// bufferError is what nodeos throws for data that ends, or a buffer that is full, with
// left bytes to go.
func bufferError(method string, length, left int) error {
	return exception.New(exception.FCOutOfRange, "${method} datastream of length ${len} over by ${over}",
		"method", method, "len", length, "over", 1-left)
}

// writable refuses a read-only transaction (Leap: webassembly/privileged.cpp).
func (a *Apply) writable(name string) error {
	if a.ReadOnly {
		return exception.New(exception.WasmExecutionError, name+" not allowed in a readonly transaction")
	}
	return nil
}
