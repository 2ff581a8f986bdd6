package execute

import "tarn/antelope/exception"

// memoryBudget is the memory that a transaction may still take, in bytes: what contracts make
// the state grow by, what is kept of rows, the actions and notifications that they
// send, what they return and print. It is one sum for all of it, so that no way around
// one bound leads to another.
//
// Like a deadline it binds only what this node decides on itself: nodeos has no such
// bound, so a block that others made is not refused by it. There, too, nothing is kept
// that need not be.
type memoryBudget struct {
	left    int64
	console int64 // of it, what may be printed
	rows    int64 // what the state has grown by; below 0 the old values of what went are kept, for undo
	binding bool
}

const (
	transactionRoom = 256 << 20
	consoleRoom     = 8 << 20

	// traceRoom is about what the trace of an action on a receiver takes, with its
	// receipt.
	traceRoom = 768
)

func newMemoryBudget(binding bool) memoryBudget {
	return memoryBudget{left: transactionRoom, console: consoleRoom, binding: binding}
}

// grow takes room for rows that became longer by n bytes. Rows that became shorter give
// it back as far as the transaction took it; what is shorter than before the
// transaction takes room as well, for its old value stays until the transaction is
// irreversible.
func (r *memoryBudget) grow(n int64) error {
	held := max(r.rows, -r.rows)
	r.rows += n
	return r.take(max(r.rows, -r.rows) - held)
}

// take takes n bytes, or gives them back if n is negative.
func (r *memoryBudget) take(n int64) error {
	r.left -= n
	if r.left < 0 && n > 0 && r.binding {
		return exception.New(exception.SubjectiveBlockProduction,
			"the transaction takes more than ${most} bytes of memory", "most", int64(transactionRoom))
	}
	return nil
}

// print takes room for so much of a text as there is: the rest is cut off.
func (r *memoryBudget) print(text []byte) []byte {
	text = text[:max(0, min(int64(len(text)), r.console, r.left))]
	r.console -= int64(len(text))
	r.left -= int64(len(text))
	return text
}
