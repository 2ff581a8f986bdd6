package wasm

// The compiler gives each value that does not stay in a register a place of its own in the
// frame of its function, and its stack ends at some size, where nodeos' code goes on. So
// it is known in advance how large the stack can become: a function's frame has at most
// as many places as the function makes values, one that cannot be called while it runs is
// on the stack once, and the others as often as calls may nest. A module that might need
// more than there is, is interpreted.

const (
	nativeStack  = 49_000_000 // wazero stops beyond 50,000,000
	placeBytes   = 8
	framePlaces  = 512 // for registers, arguments, and what instructions need besides
	reloadsAfter = 2   // values that a call makes anew: where memory is, and its size
)

// values counts what the function at hand makes: results of instructions, and a further
// value wherever paths meet on which a variable was set.
type values struct {
	count  int
	serial int
	opened []int // when the open blocks were opened; the function first
	set    map[uint32]int
}

// everything is the variable that stands for memory and globals.
const everything = ^uint32(0)

func (v *values) reset() {
	v.count, v.serial, v.opened = 0, 1, append(v.opened[:0], 1)
	clear(v.set)
}

func (v *values) open(results int) {
	v.serial++
	v.opened = append(v.opened, v.serial)
	v.count += results
}

func (v *values) close() { v.opened = v.opened[:len(v.opened)-1] }

// write says that a variable, or as many as its weight, gets another value.
func (v *values) write(variable uint32, weight int) {
	v.count += weight
	last := v.set[variable]
	for i := len(v.opened) - 1; i >= 0 && last < v.opened[i]; i-- {
		v.count += weight
	}
	v.serial++
	v.set[variable] = v.serial
}

// calls is which function may call which: the nodes are the module's own functions, and
// after them its types, for indirect calls.
type calls [][]uint32

func newCalls(m *module) calls {
	c := make(calls, len(m.functions)+len(m.types))
	own := uint32(len(m.imports))
	seen := map[uint32]bool{}
	for _, f := range m.table {
		if f != noFunction && f >= own && !seen[f] {
			seen[f] = true
			t := c.indirect(m, m.functions[f-own])
			c[t] = append(c[t], f-own)
		}
	}
	return c
}

// indirect returns the node of a type.
func (c calls) indirect(m *module, typ uint32) uint32 {
	return uint32(len(m.functions)) + m.alias(typ)
}

// recursive tells which nodes may be on a cycle: those that are left when all that no
// other calls, and all that call no other, are taken away again and again.
func (c calls) recursive() []bool {
	back := make(calls, len(c))
	for from, list := range c {
		for _, to := range list {
			back[to] = append(back[to], uint32(from))
		}
	}
	left := make([]bool, len(c))
	for i := range left {
		left[i] = true
	}
	c.peel(back, left)
	back.peel(c, left)
	return left
}

// peel takes away what has no edges to what is left.
func (c calls) peel(back calls, left []bool) {
	degree := make([]int, len(c))
	var leaves []uint32
	for i, list := range c {
		for _, to := range list {
			if left[to] {
				degree[i]++
			}
		}
		if left[i] && degree[i] == 0 {
			leaves = append(leaves, uint32(i))
		}
	}
	for len(leaves) > 0 {
		n := leaves[len(leaves)-1]
		leaves = leaves[:len(leaves)-1]
		left[n] = false
		for _, from := range back[n] {
			if degree[from]--; degree[from] == 0 && left[from] {
				leaves = append(leaves, from)
			}
		}
	}
}

// need is what of the compiler's stack a module needs, in bytes.
type need struct {
	once  int64 // the functions that can be on it once, all together
	again int64 // the largest frame of the others
}

// stackNeed adds up frames, by function.
func (c calls) stackNeed(frames []int64) need {
	var n need
	for i, again := range c.recursive()[:len(frames)] {
		if again {
			n.again = max(n.again, frames[i])
		} else {
			n.once += frames[i]
		}
	}
	return n
}

// bytes is how much it is if so many calls may nest.
func (n need) bytes(depth uint32) int64 { return n.once + n.again*int64(min(depth, maxDepth)+1) }

// fits tells whether the compiler's stack is large enough.
func (n need) fits(depth uint32) bool { return n.bytes(depth) <= nativeStack }

// depth is the most that may nest in a program that is chosen for a depth: what is
// interpreted has no bound of its own.
func (n need) depth(chosen uint32) uint32 {
	if n.fits(maxDepth) || !n.fits(chosen) {
		return maxDepth
	}
	return min(chosen, maxDepth)
}
