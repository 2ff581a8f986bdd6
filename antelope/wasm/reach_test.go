package wasm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
)

// checkReset brings the contract's memory back to its initial state, as the next action
// does first, and checks all of it.
func checkReset(t *testing.T, e engine, code Code) {
	t.Helper()
	i := e.instances[code.Hash]
	if i == nil || i.memory == nil {
		return
	}
	if err := i.reset(); err != nil || i.far {
		t.Fatal("memory is still said to be written to", err)
	}
	want := make([]byte, i.program.pages*PageSize)
	for _, d := range i.program.data {
		copy(want[d.offset:], d.bytes)
	}
	for at := range want {
		if i.memory.bytes[at] != want[at] {
			t.Errorf("%s: after a reset the byte at %d is %d, not %d", e.name, at, i.memory.bytes[at], want[at])
			return
		}
	}
	if len(i.memory.bytes) != len(want) {
		t.Errorf("%s: after a reset memory has %d bytes, not %d", e.name, len(i.memory.bytes), len(want))
	}
}

// The near part of these modules of one page ends here.
const nearEnd = leastNear + fringe

// reaching is a module with the functions that these tests call.
type reaching struct {
	*builder
	copies, moves, fills, writes, says, leave uint32
}

func newReaching() *reaching {
	b := newBuilder()
	b.memory = []uint32{1, 4}
	b.data = []dataSegment{{100, bytes.Repeat([]byte{0xff}, 8)}}
	three := []ValueType{I32, I32, I32}
	return &reaching{
		b, b.importing("memcpy", three, I32), b.importing("memmove", three, I32), b.importing("memset", three, I32),
		b.importing("write", []ValueType{I32}, none), b.importing("say", []ValueType{I32}, none),
		b.importing("leave", nil, none),
	}
}

// reachingBodies are functions that write to an address, which local 0 has as an i64; the
// locals 3 and 4 are of type i32.
func reachingBodies(b *reaching) map[string]func(e *encoder) {
	address := func(e *encoder) {
		e.get(0)
		e.op(opI32WrapI64)
	}
	store := func(e *encoder, local uint32) {
		e.get(local)
		e.i64(-1)
		e.mem(0x37, 0, 0)
	}
	set := func(e *encoder, local uint32) {
		address(e)
		e.index(opLocalSet, local)
	}
	condition := func(e *encoder) {
		e.get(1)
		e.op(opI32WrapI64)
	}
	all := map[string]func(e *encoder){
		"of a local": func(e *encoder) {
			set(e, 3)
			store(e, 3)
			store(e, 3)
		},
		"of a local that changed": func(e *encoder) {
			store(e, 3)
			set(e, 3)
			store(e, 3)
		},
		"of a local that changed by tee": func(e *encoder) {
			store(e, 3)
			address(e)
			e.index(opLocalTee, 3)
			e.op(opDrop)
			store(e, 3)
		},
		"of a local that changes before the value": func(e *encoder) {
			set(e, 3)
			e.get(3)
			e.i32(0)
			e.index(opLocalSet, 3)
			store(e, 3)
			e.i64(-1)
			e.mem(0x37, 0, 0)
		},
		"of a local that was stored at on one path": func(e *encoder) {
			set(e, 3)
			condition(e)
			e.op(opIf, none)
			store(e, 3)
			e.op(opElse)
			store(e, 3)
			e.op(opEnd)
			e.i32(0)
			e.index(opLocalSet, 4)
			condition(e)
			e.op(opI32Eqz, opIf, none)
			store(e, 4)
			e.op(opEnd)
			store(e, 4)
		},
		"of a local after a block that is left": func(e *encoder) {
			set(e, 3)
			e.op(opBlock, none)
			condition(e)
			e.index(opBrIf, 0)
			store(e, 3)
			e.op(opEnd)
			store(e, 3)
		},
		"of a local after one arm": func(e *encoder) {
			set(e, 3)
			condition(e)
			e.op(opI32Eqz, opIf, none)
			store(e, 3)
			e.op(opEnd)
			store(e, 3)
		},
		"of a local in the other arm": func(e *encoder) {
			set(e, 3)
			condition(e)
			e.op(opI32Eqz, opIf, none)
			store(e, 3)
			e.op(opElse)
			store(e, 3)
			e.op(opEnd)
		},
		"of a local that a loop changes": func(e *encoder) {
			store(e, 3)
			e.op(opLoop, none)
			store(e, 3)
			e.get(4)
			e.op(opI32Eqz, opIf, none)
			set(e, 3)
			e.i32(1)
			e.index(opLocalSet, 4)
			e.op(opBr, 1, opEnd, opEnd)
		},
		"of the result of a block": func(e *encoder) {
			store(e, 3)
			e.op(opBlock, I32)
			address(e)
			condition(e)
			e.index(opBrIf, 0)
			e.op(opDrop)
			e.get(3)
			e.op(opEnd)
			e.i64(-1)
			e.mem(0x37, 0, 0)
		},
		"of a sum": func(e *encoder) {
			address(e)
			e.i32(0)
			e.op(opI32Add)
			e.i64(-1)
			e.mem(0x37, 0, 0)
		},
		"and return": func(e *encoder) {
			set(e, 3)
			store(e, 3)
			e.op(opReturn)
		},
		"and trap": func(e *encoder) {
			set(e, 3)
			store(e, 3)
			e.op(opUnreachable)
		},
		"and grow": func(e *encoder) {
			set(e, 3)
			store(e, 3)
			e.i32(2)
			e.op(opMemoryGrow, 0, opDrop)
			store(e, 3)
		},
	}
	for op := range byte(9) {
		all[fmt.Sprintf("with instruction %#x", 0x36+op)] = func(e *encoder) {
			address(e)
			raw(e, plains[0x36+op].operand, ^uint64(0))
			e.mem(0x36+op, 0, 0)
		}
	}
	for _, offset := range []uint32{1, fringe - maxStore, fringe - maxStore + 1, fringe - maxStore + 2, fringe, 40000} {
		all[fmt.Sprintf("beyond an offset of %d", offset)] = func(e *encoder) {
			address(e)
			e.i32(int32(offset))
			e.op(opI32Sub)
			e.index(opLocalTee, 3)
			e.i64(-1)
			e.mem(0x37, 0, offset%2)
			e.get(3)
			e.i64(-1)
			e.mem(0x37, 0, offset)
		}
	}
	for _, at := range []int32{0, leastNear - 1, leastNear, nearEnd - 8, nearEnd - 7, 60000} {
		all[fmt.Sprintf("%d", at)] = func(e *encoder) {
			e.i32(at)
			e.i64(-1)
			e.mem(0x37, 0, 0)
			e.i32(at)
			e.i64(-1)
			e.mem(0x37, 0, 1000)
		}
	}
	for name, index := range map[string]uint32{"copy": b.copies, "move": b.moves, "fill": b.fills} {
		all[name] = func(e *encoder) {
			address(e)
			e.i32(100)
			e.i32(8)
			e.index(opCall, index)
			e.op(opDrop)
		}
	}
	for name, index := range map[string]uint32{"the host": b.writes, "the host, which says so": b.says} {
		all[name] = func(e *encoder) {
			address(e)
			e.index(opCall, index)
		}
		all[name+", and exit"] = func(e *encoder) {
			address(e)
			e.index(opCall, index)
			e.index(opCall, b.leave)
		}
	}
	return all
}

// Whatever an action writes to, the next one finds memory as it was at first.
func TestWhatWasWrittenIsCleared(t *testing.T) {
	write := func(m []byte, at uint64) { binary.LittleEndian.PutUint64(m[at:], ^uint64(0)) }
	functions := append(testFunctions(),
		Function{Name: "write", Params: []ValueType{I32}, Body: func(c *Call, s []uint64) {
			write(c.Memory(), uint64(uint32(s[0])))
		}},
		Function{Name: "say", Params: []ValueType{I32}, Body: func(c *Call, s []uint64) {
			at := uint64(uint32(s[0]))
			write(c.View(), at)
			c.Writes(at + 8)
		}})
	for _, interpreted := range []bool{false, true} {
		c, err := NewCache(Options{Functions: functions, Interpreter: interpreted})
		if err != nil {
			t.Fatal(err)
		}
		e := engine{fmt.Sprintf("interpreted %t", interpreted), c, c.NewMachine()}
		far := map[bool]int{}
		for name, body := range reachingBodies(newReaching()) {
			b := newReaching()
			var code encoder
			body(&code)
			inner := b.function([]ValueType{I64, I64, I64}, none, []local{{2, I32}}, code)
			var apply encoder
			for i := range uint32(3) {
				apply.get(i)
			}
			apply.index(opCall, inner)
			b.apply(nil, apply)
			contract := codeOf(b.bytes())
			for _, at := range []uint64{0, 8, leastNear - 8, leastNear - 1, leastNear, nearEnd - 9, nearEnd - 8,
				nearEnd - 7, nearEnd, PageSize - 8} {
				for _, condition := range []uint64{0, 1} {
					err := e.Apply(&host{}, contract, at, condition, 0, nil)
					i := e.instances[contract.Hash]
					if i == nil || i.program.near != nearEnd {
						t.Fatalf("%s, %s: %v: there is no near part", e.name, name, err)
					}
					far[i.far]++
					checkReset(t, e, contract)
					if t.Failed() {
						t.Fatalf("a store %s at %d, condition %d", name, at, condition)
					}
				}
			}
		}
		if far[true] < 100 || far[false] < 100 {
			t.Errorf("%s: %v: the stores are of no use", e.name, far)
		}
		if err := e.Machine.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
