// Package exit is the errors that say with which code the process ends, and what helps. It ends
// nothing: that is main's.
package exit

// Error is an error with the process's exit code.
type Error struct {
	Err    error // nil if what was to be said has been said
	Code   int
	Remedy string // what to do about it; "" for nothing
}

func (e *Error) Error() string {
	switch {
	case e.Err == nil:
		return ""
	case e.Remedy == "":
		return e.Err.Error()
	}
	return e.Err.Error() + "\n" + e.Remedy
}

func (e *Error) Unwrap() error { return e.Err }

// ExitCode is the process's.
func (e *Error) ExitCode() int { return e.Code }

// Said is the end with a code after what was to be said has been said.
func Said(code int) error { return &Error{Code: code} }
