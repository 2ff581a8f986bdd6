// Package invariants checks, in builds with the race detector or the `invariants` tag,
// what must hold if the program is right. It owns the switch, the check and the poison for
// memory whose lifetime has ended. It never checks input: what a file, a peer or
// a caller can get wrong is an error in every build.
package invariants

import "fmt"

// Check panics with the message if cond is false and [Enabled] is true. In other
// builds the call compiles to nothing, but its arguments are still evaluated:
// put what costs something behind `if invariants.Enabled`.
func Check(cond bool, format string, args ...any) {
	if Enabled && !cond {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
}

// poison is a byte that is unlikely in keys, lengths and page numbers alike.
const poison = 0xDB

// Poison overwrites memory that has been handed back, so that whoever still
// holds a slice of it sees wrong bytes at once instead of stale ones by luck.
// Does nothing unless [Enabled]. The caller must own b: it is written to.
func Poison(b []byte) {
	if !Enabled {
		return
	}
	for i := range b {
		b[i] = poison
	}
}
