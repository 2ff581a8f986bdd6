package blocklog

import "fmt"

// Fault is what kind of thing is wrong.
type Fault int

// The faults.
const (
	Unsound     Fault = iota // a log, or what is asked of one, cannot be
	Unsupported              // a version that nobody reads
	NotNext                  // what is appended does not follow
	Missing                  // there is no log
	InTheWay                 // the folder is there already where the old log would go
	BadOption                // an option has a value that makes no sense
)

// Error is what is wrong with a log, with what is asked of it, or with an option. The text is
// nodeos' where nodeos has one. What the disk says is no Error.
type Error struct {
	Fault Fault
	Text  string
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

func fault(f Fault, format string, args ...any) error { return &Error{f, fmt.Sprintf(format, args...)} }
