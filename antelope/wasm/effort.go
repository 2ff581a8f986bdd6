package wasm

import "time"

// effort estimates how long the compiler takes for a module. Measured on one core
// of a current server; what counts is the order of magnitude.
type effort struct {
	nanoseconds int64
	operands    int // deepest operand stack of a function
	variables   int // most parameters and locals of a function
	need        need
}

const (
	nsPerByte     = 400
	nsPerFunction = 10000
	nsPerBlocks   = 3 // times the square of a function's blocks
	nsPerEdges    = 1 // times the square of the edges of its br_tables
	nsPerVariable = 20
)

// add adds a function of this many blocks, edges of br_tables, variables and bytes.
func (e *effort) add(blocks, edges, variables, bytes int) {
	b, d, v, n := float64(blocks), float64(edges), float64(variables), float64(bytes)
	e.variables = max(e.variables, variables)
	e.nanoseconds += int64(nsPerFunction + nsPerByte*n + nsPerBlocks*b*b + nsPerEdges*d*d + nsPerVariable*b*v)
}

// stack is how large the stack of an instance can become, which wazero doubles when
// it must and never shrinks.
func (e effort) stack() int64 {
	const slot, call, frames, usual = 8, 256, 2 * DefaultCallDepth, 16 << 20
	if most := e.need.bytes(DefaultCallDepth); most > usual {
		return most
	}
	return frames * (slot*int64(e.operands+e.variables) + call)
}

// within tells whether the compiler may be used, if it may take so long and so many calls
// may nest.
func (e effort) within(limit time.Duration, depth uint32) bool {
	return e.need.fits(depth) && e.duration() <= limit
}

func (e effort) duration() time.Duration { return time.Duration(e.nanoseconds) }
