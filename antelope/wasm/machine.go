package wasm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// Machine runs actions, one at a time: it may be used by one goroutine at a time.
// It keeps instances of the contracts that it ran, which are brought back to their
// initial state before each action.
type Machine struct {
	cache     *Cache
	call      Call
	stack     [4]uint64
	instances map[types.Checksum256]*instance
	bytes     int64  // of the instances
	most      int64  // that they may be
	clock     uint64 // counts actions
}

// instance is a module with memory and globals.
type instance struct {
	entry   *entry
	program *program
	module  api.Module
	run     api.Function
	memory  *memory    // nil if the module has none
	reached api.Global // the global named farName
	far     bool       // memory may be written beyond its near part
	bytes   int64
	used    uint64 // by the machine's clock
}

// keptStack bounds the stacks that instances keep between actions: one that may
// become larger is given back after each action.
const keptStack = 2 << 20

// maxDepth bounds the calls that may nest whatever the limits say: the interpreter stops
// at 2000, and what is compiled shall stop where that does.
const maxDepth = 1900

// Apply runs apply(receiver, account, action) of a contract, as nodeos does: memory
// and globals as the module declares them, the start function first.
//
// It returns nil if the contract returned or called [Call.Exit]; the error of
// [Call.Abort] as it was given; what checktime returned, which is called every few
// ten microseconds of contract code (nil: never); and a wasm_execution_error if the
// contract trapped, exceeded a limit or could not be instantiated. Any other error
// is the node's fault, not the contract's.
func (m *Machine) Apply(context any, code Code, receiver, account, action uint64, checktime func() error) error {
	i, err := m.instance(code)
	if err != nil {
		return err
	}
	if err := instantiationError(i.program.broken); err != nil {
		return err
	}
	if err := i.reset(); err != nil {
		m.discard(code.Hash, i)
		return fmt.Errorf("resetting contract %x: %w", code.Hash, err)
	}
	m.clock++
	i.used = m.clock
	c := &m.call
	*c = Call{Context: context, instance: i, limits: code.Limits, check: checktime, fuel: fuelPerTick}
	m.stack = [4]uint64{receiver, account, action, uint64(min(code.Limits.CallDepth, maxDepth) + 1)}
	err = i.run.CallWithStack(c, m.stack[:])
	if err != nil {
		i.far = true // functions that did not return have not said how far they stored
		err = m.applyError(err)
	} else if i.reached.Get() != 0 {
		i.far = true
	}
	*c = Call{}
	if i.program.stack > keptStack {
		i.run = i.module.ExportedFunction(entryName)
	}
	if i.trim() != nil {
		m.discard(code.Hash, i)
	}
	return err
}

// applyError says what the virtual machine's error means.
func (m *Machine) applyError(err error) error {
	switch c := &m.call; {
	case errors.Is(c.outcome, errExit):
		return nil
	case c.outcome != nil:
		return c.outcome
	case c.inHost:
		return fmt.Errorf("a host function failed: %w", err)
	}
	return trapError(err)
}

// instantiationError is what a contract fails with that cannot be instantiated; nil if it can.
// nodeos takes data beyond the memory for an access (eos-vm: execution_context.hpp, reset).
func instantiationError(broken string) error {
	switch broken {
	case "":
		return nil
	case dataOutOfRange:
		return executionError("access violation", broken)
	}
	return executionError("eos-vm system failure", broken)
}

// Traps of which nodeos hears by a signal of the processor: it takes all of them for accesses
// beyond the memory.
var signalled = [...]string{"out of bounds memory access", "integer divide by zero", "integer overflow"}

// trapError is what a contract fails with that trapped. The library has no name for its traps but
// their text.
func trapError(err error) error {
	trap := err
	for inner := errors.Unwrap(trap); inner != nil; inner = errors.Unwrap(trap) {
		trap = inner
	}
	if slices.Contains(signalled[:], trap.Error()) {
		return executionError("access violation", err.Error())
	}
	return executionError("eos-vm system failure", err.Error())
}

func executionError(what, why string) error {
	return exception.New(exception.WasmExecutionError, what).From(errors.New(why))
}

// instance returns an instance of a contract.
func (m *Machine) instance(code Code) (*instance, error) {
	if i := m.instances[code.Hash]; i != nil && i.entry.program.Load() == i.program && !i.entry.dropped.Load() &&
		i.entry.serves(&code) && i.program.pages <= min(code.Limits.Pages, maxPages) {
		i.entry.used.Store(m.cache.clock.Add(1))
		return i, nil
	}
	for range attempts {
		e, err := m.cache.entry(code)
		if err != nil {
			return nil, err
		}
		p := e.program.Load()
		if p.memories > 0 && p.pages > min(code.Limits.Pages, maxPages) {
			return nil, executionError("eos-vm system failure", "Cannot allocate initial linear memory.")
		}
		i, err := m.instantiate(code.Hash, e, p)
		switch {
		case err == nil:
			return i, nil
		case !e.dropped.Load() && e.program.Load() == p:
			return nil, fmt.Errorf("instantiating contract %x: %w", code.Hash, err)
		}
		// The cache dropped it meanwhile.
	}
	return nil, fmt.Errorf("instantiating contract %x: the cache has no room for it", code.Hash)
}

// attempts at getting an instance of a module that the cache keeps dropping.
const attempts = 100

// instantiate makes an instance and keeps it.
func (m *Machine) instantiate(hash types.Checksum256, e *entry, p *program) (*instance, error) {
	m.purge(p.instanceBytes())
	if old := m.instances[hash]; old != nil {
		m.discard(hash, old)
	}
	i, err := newInstance(e, p)
	if err != nil {
		return nil, err
	}
	m.instances[hash] = i
	m.bytes += i.bytes
	return i, nil
}

func newInstance(e *entry, p *program) (*instance, error) {
	i := &instance{entry: e, program: p, bytes: p.instanceBytes()}
	ctx := context.Background()
	if p.memories > 0 {
		i.memory = &memory{}
		ctx = experimental.WithMemoryAllocator(ctx, i.memory)
	}
	var err error
	i.module, err = p.runtime.InstantiateModule(ctx, p.compiled,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	if i.memory != nil {
		i.memory.api = i.module.Memory()
	}
	i.run = i.module.ExportedFunction(entryName)
	i.reached = i.module.ExportedGlobal(farName)
	return i, nil
}

// Limit lowers what the machine's instances may take to so many bytes. One that is larger is there alone.
func (m *Machine) Limit(bytes int64) { m.most = min(m.most, bytes) }

// purge drops instances that nobody will use, and those least recently used until
// there is room for another.
func (m *Machine) purge(room int64) {
	for hash, i := range m.instances {
		if i.entry.dropped.Load() || i.entry.program.Load() != i.program {
			m.discard(hash, i)
		}
	}
	for m.bytes+room > m.most && len(m.instances) > 0 {
		var oldest *instance
		var hash types.Checksum256
		for h, i := range m.instances {
			if oldest == nil || i.used < oldest.used {
				oldest, hash = i, h
			}
		}
		m.discard(hash, oldest)
	}
}

func (m *Machine) discard(hash types.Checksum256, i *instance) {
	if m.instances[hash] == i {
		delete(m.instances, hash)
		m.bytes -= i.bytes
	}
	_ = i.module.Close(context.Background())
}

// Close frees the instances. The machine must not be used any more.
func (m *Machine) Close() error {
	for hash, i := range m.instances {
		m.discard(hash, i)
	}
	return nil
}
