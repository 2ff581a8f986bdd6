package wasm

import (
	"bytes"
	"errors"
	"time"

	"tarn/antelope/exception"
)

// Call is one running action: what host functions are given. There is one per
// [Machine]; it is only valid inside a host function.
type Call struct {
	// Context is what the caller of [Machine.Apply] gave: a pointer to the action's
	// own context, for host functions to assert.
	Context any

	instance *instance
	limits   Limits
	check    func() error // the caller's checktime
	outcome  error        // why a host function ended the action
	inHost   bool         // a host function is running
	fuel     int64        // of the machine's own functions, until the next look at the clock
}

var (
	errExit  = errors.New("the contract ended its action")
	errAbort = errors.New("a host function ended the action")
)

// Memory is the contract's linear memory as it is now; nil if the contract has
// none. It is valid until the host function returns. The host function may write to it
// anywhere, for which all of it is cleared before the next action: slower than
// [Call.View], and safe.
func (c *Call) Memory() []byte {
	c.instance.far = true
	return c.View()
}

// View is [Call.Memory] for a host function that says what it may write to with
// [Call.Writes].
func (c *Call) View() []byte {
	if c.instance.memory == nil {
		return nil
	}
	if b := c.instance.memory.bytes; b != nil {
		return b
	}
	return []byte{} // of no pages, but there
}

// Writes says that the host function may write to memory below end.
func (c *Call) Writes(end uint64) {
	if end > c.instance.program.near {
		c.instance.far = true
	}
}

// Abort ends the action with err, which [Machine.Apply] returns as it is. It does
// not return. It may only be called on the goroutine of the host function.
func (c *Call) Abort(err error) {
	c.outcome = err
	panic(errAbort)
}

// Exit ends the action with success (eosio_exit). It does not return.
func (c *Call) Exit() {
	c.Abort(errExit)
}

// Checktime calls the function that was given to [Machine.Apply], and ends the
// action if it returns an error. Host functions whose work is not bounded call it
// now and then.
func (c *Call) Checktime() {
	if c.check == nil {
		return
	}
	if err := c.check(); err != nil {
		c.Abort(err)
	}
}

// charge takes fuel for work that a function of the machine's is about to do, and
// looks at the clock first if there is not enough left.
func (c *Call) charge(units int64) {
	if c.fuel -= units; c.fuel < 0 {
		c.fuel = fuelPerTick
		c.Checktime()
	}
}

// A call is the context.Context that the virtual machine hands from the entry to
// the host functions, so that those find it without a search.

// Deadline tells that there is none: time is checked by the tick.
func (c *Call) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done returns nil: a call is never cancelled from outside.
func (c *Call) Done() <-chan struct{} { return nil }

// Err returns nil.
func (c *Call) Err() error { return nil }

// Value returns nil.
func (c *Call) Value(any) any { return nil }

// Names in a rewritten module, which contracts cannot use: they import from "env"
// alone, and what they export is dropped.
const (
	machineModule = "machine"
	entryName     = "run"
)

// machineFunction is a function of the machine's own for rewritten modules. All
// parameters and results are i32.
type machineFunction struct {
	name   string
	params int
	result bool
	body   func(c *Call, stack []uint64)
}

// machineFunctions lists them in the order in which modules import them.
func machineFunctions() [machineImports]machineFunction {
	return [machineImports]machineFunction{
		importTick: {name: "tick", body: func(c *Call, _ []uint64) { c.Checktime() }},
		importGrow: {name: "grow", params: 1, result: true, body: func(c *Call, stack []uint64) {
			delta := int32(stack[0])
			c.charge(c.instance.growCost(delta))
			pages, err := c.instance.grow(delta, c.limits.Pages)
			if err != nil {
				c.Abort(err)
			}
			stack[0] = uint64(uint32(pages))
		}},
		importSelect: {name: "select", params: 2, result: true, body: func(c *Call, stack []uint64) {
			table := c.instance.program.tables[uint32(stack[1])]
			i := min(uint64(uint32(stack[0])), uint64(len(table)-1))
			stack[0] = uint64(table[i])
		}},
		importOverlap: {name: "overlap", body: func(c *Call, _ []uint64) {
			c.Abort(exception.New(exception.OverlappingMemoryError, "memcpy can only accept non-aliasing pointers"))
		}},
		importCompare: {name: "compare", params: 3, result: true, body: func(c *Call, stack []uint64) {
			m, n := c.View(), uint64(uint32(stack[2]))
			a, b := m[uint32(stack[0]):][:n], m[uint32(stack[1]):][:n]
			stack[0] = uint64(uint32(int32(bytes.Compare(a, b))))
		}},
	}
}
