package wasm

import "time"

// effort estimates how long the compiler takes for a module. Measured on one core
// of a current server; what counts is the order of magnitude.
type effort struct {
	nanoseconds int64
	operands    int // deepest operand stack of a function
	variables   int // most parameters and locals of a function
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

// maxOperands bounds the stack frames of compiled code: as many calls as may nest
// must fit into the stack that the virtual machine allows, or else what nodeos runs
// would overflow here. The interpreter has no such bound.
const maxOperands = 8192

// stack is how large the stack of an instance can become, which wazero doubles when
// it must and never shrinks.
func (e effort) stack() int64 {
	const slot, call, frames = 8, 256, 2 * DefaultCallDepth
	return frames * (slot*int64(e.operands+e.variables) + call)
}

// within tells whether the compiler may be used, if it may take so long.
func (e effort) within(limit time.Duration) bool {
	return e.operands <= maxOperands && e.duration() <= limit
}

func (e effort) duration() time.Duration { return time.Duration(e.nanoseconds) }
