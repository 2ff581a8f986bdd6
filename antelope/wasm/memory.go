package wasm

import (
	"errors"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// maxPages bounds memory whatever the limits say: at 65536 the virtual machine could not be
// told to shrink it.
const maxPages = 65535

// keptPages bounds the memory that an instance keeps between actions beyond what
// the module declares.
const keptPages = 16

// memory is the linear memory of an instance. Unlike the virtual machine's own it
// can shrink: eos-vm's memory.grow takes negative numbers, and a used instance must
// get back to its initial size.
type memory struct {
	bytes  []byte
	api    api.Memory
	target int64 // size that the next Reallocate shall give; -1: the one it asks for
}

var (
	_ experimental.MemoryAllocator = (*memory)(nil)
	_ experimental.LinearMemory    = (*memory)(nil)
)

// Allocate makes the memory its own allocator.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory {
	m.target = -1
	return m
}

// Reallocate sets the size; what is new is zero.
func (m *memory) Reallocate(size uint64) []byte {
	if m.target >= 0 {
		size = uint64(m.target)
	}
	old := len(m.bytes)
	if size > uint64(cap(m.bytes)) {
		b := make([]byte, size, max(size, min(2*uint64(cap(m.bytes)), size+keptPages*PageSize)))
		copy(b, m.bytes)
		m.bytes = b
		return b
	}
	m.bytes = m.bytes[:size]
	if int(size) > old {
		clear(m.bytes[old:])
	}
	return m.bytes
}

// Free forgets the memory.
func (m *memory) Free() { m.bytes = nil }

func (m *memory) pages() uint32 { return uint32(len(m.bytes) / PageSize) }

var errResize = errors.New("the virtual machine did not resize the memory")

// resize sets the size in pages. The virtual machine can only be told to grow, but
// takes over whatever Reallocate then returns.
func (m *memory) resize(pages uint32) error {
	if m.pages() == pages {
		return nil
	}
	m.target = int64(pages) * PageSize
	_, ok := m.api.Grow(1)
	m.target = -1
	if !ok {
		return errResize
	}
	return nil
}

// grow is memory.grow as eos-vm does it: a negative number shrinks (Leap:
// execution_context.hpp).
func (i *instance) grow(delta int32, limit uint32) (int32, error) {
	size := int32(i.memory.pages())
	p := i.program
	switch {
	case delta < 0 && size+delta < 0:
		return -1, nil
	case delta > 0 && (uint64(size)+uint64(delta) > uint64(min(limit, maxPages)) ||
		p.hasMax && uint64(size)+uint64(delta) > uint64(p.maxPages)):
		return -1, nil
	}
	return size, i.memory.resize(uint32(size + delta))
}

// growCost is the price of memory.grow: what is cleared, and copied if memory has to
// move. Shrinking clears nothing.
func (i *instance) growCost(delta int32) int64 {
	if delta <= 0 {
		return callWeight
	}
	bytes := int64(delta) * PageSize
	if size := int64(len(i.memory.bytes)); size+bytes > int64(cap(i.memory.bytes)) {
		bytes += size
	}
	return callWeight + bytes/bytesPerUnit
}

// bytesPerUnit is how many bytes are cleared, copied or compared for a unit of fuel.
const bytesPerUnit = 4

// reset brings memory to its initial state. What the action before did not reach is in
// it.
func (i *instance) reset() error {
	m := i.memory
	if m == nil {
		return nil
	}
	if err := m.resize(i.program.pages); err != nil {
		return err
	}
	if near := i.program.near; near > 0 && !i.far {
		clear(m.bytes[:near])
	} else {
		clear(m.bytes)
	}
	i.far = false
	for _, d := range i.program.data {
		copy(m.bytes[d.offset:], d.bytes)
	}
	return nil
}

// trim gives back what an action made memory grow by, if it is much.
func (i *instance) trim() error {
	m := i.memory
	if m == nil || cap(m.bytes) <= int(i.program.pages+keptPages)*PageSize {
		return nil
	}
	m.bytes = make([]byte, int(i.program.pages)*PageSize)
	m.target = int64(len(m.bytes))
	_, ok := m.api.Grow(1)
	m.target = -1
	if !ok {
		return errResize
	}
	return nil
}
