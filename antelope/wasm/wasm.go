// Package wasm runs Antelope contracts. It owns the rules for which modules a chain
// accepts ([Validate]), the rewriting that makes a module deterministic and
// interruptible on any processor, the bounded cache of compiled modules ([Cache])
// and the instances that run actions ([Machine]).
//
// It knows modules and host functions, never a chain: what a host function does is
// its author's business, it reaches the running action through [Call.Context].
package wasm

import (
	"slices"

	"tarn/antelope/types"
)

// ValueType is the type of a WebAssembly value, as it is encoded in a module.
type ValueType = byte

// The value types of the WebAssembly MVP.
const (
	I32 ValueType = 0x7f
	I64 ValueType = 0x7e
	F32 ValueType = 0x7d
	F64 ValueType = 0x7c
)

// PageSize is the unit of linear memory, in bytes.
const PageSize = 65536

// FuelPerTick is how many units of work a contract may do until the clock is looked at:
// a unit is about an instruction, all of them some ten microseconds where instructions
// are compiled. Host functions charge in the same unit.
const FuelPerTick = fuelPerTick

// Runtime limits while CONFIGURABLE_WASM_LIMITS2 is not active (Leap:
// wasm_eosio_constraints.hpp).
const (
	DefaultPages     = 528 // 33 MiB
	DefaultCallDepth = 251
)

// Function is a host function: what a contract imports from module "env".
type Function struct {
	Name            string
	Params, Results []ValueType

	// Body does the work. The stack holds the parameters from its start, an i32 or
	// f32 in the low half of an element (the high half of an i32 is undefined: convert
	// with uint32). A result is left in stack[0], zero-extended. The stack has room for
	// as many elements as there are parameters or results, whichever is more, and is
	// only valid during the call.
	Body func(c *Call, stack []uint64)
}

// same tells whether f has this signature.
func (f *Function) same(t *funcType) bool {
	if len(f.Results) == 0 {
		return t.result == none && slices.Equal(f.Params, t.params)
	}
	return t.result == f.Results[0] && slices.Equal(f.Params, t.params)
}

// Limits are what a contract may use while it runs.
type Limits struct {
	Pages     uint32 // of linear memory; growing beyond gives -1
	CallDepth uint32 // of calls, the entry included: the call that would exceed it fails
}

// DefaultLimits are the limits while CONFIGURABLE_WASM_LIMITS2 is not active.
func DefaultLimits() Limits { return Limits{Pages: DefaultPages, CallDepth: DefaultCallDepth} }

// RuntimeLimits are the limits that a configuration sets.
func RuntimeLimits(cfg types.WasmConfig) Limits {
	return Limits{Pages: cfg.MaxPages, CallDepth: cfg.MaxCallDepth}
}

// Code names the contract to run.
type Code struct {
	Hash   types.Checksum256 // of the module as it was set, the key of the cache
	Limits Limits

	// Load returns the module with this hash, as it was set; it is called only when
	// no compiled module is cached. The machine does not change the bytes and does not
	// keep them.
	Load func(hash types.Checksum256) ([]byte, error)

	// Compiling, unless it is nil, is called with true before the module is loaded and
	// compiled for the caller, and with false after it: nodeos does not bill that time
	// (Leap: wasm_interface_private.hpp, pause_billing_timer).
	Compiling func(active bool)
}
