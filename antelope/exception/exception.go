// Package exception names what can go wrong in an Antelope node, with the numbers,
// names and descriptions that clients parse (Leap: exceptions.hpp). It owns the
// list ([Kind]) and the error that carries one ([Error]); it decides nothing.
package exception

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Kind is an exception class of nodeos. Kinds are compared by pointer.
type Kind struct {
	Code int64  // 3040008
	Name string // tx_duplicate
	What string // Duplicate transaction

	Base *Kind // the class that it is derived from; nil for the outermost
}

// Is tells whether k is base or derived from it.
func (k *Kind) Is(base *Kind) bool {
	for ; k != nil; k = k.Base {
		if k == base {
			return true
		}
	}
	return false
}

// Error is an exception that happened: of a kind, with what was said of it where it arose. It
// wraps the error that caused it, if any. Its texts are made when somebody asks for them, so
// that a failure costs little where nobody does. It doesn't change, and may be read from many
// goroutines.
type Error struct {
	Kind  *Kind
	Cause error

	first  Entry   // where it arose
	later  []Entry // what was said of it on its way out
	thread string  // empty for the main one
}

// mainThread is what nodeos calls the thread of the chain: by its program.
const mainThread = "nodeos"

// New returns an exception. The format has its values as ${key}; the values are pairs of a key,
// which is a constant, and a value ([Entry.Values] says which). Whatever a value points to must
// not change any more.
func New(k *Kind, format string, values ...any) *Error {
	return &Error{Kind: k, first: entry(LevelError, format, values)}
}

// Wrap returns an exception that was caused by err. What was said of the cause comes after what
// the exception says (Leap: EOS_RETHROW_EXCEPTIONS).
func Wrap(k *Kind, err error, format string, values ...any) *Error {
	return &Error{Kind: k, Cause: err, first: entry(LevelWarn, format, values)}
}

// Recast returns an exception that stands for one of a C++ type, which says what (Leap:
// EOS_RETHROW_EXCEPTIONS of a std::exception).
func Recast(k *Kind, what, format string, values ...any) *Error {
	return &Error{Kind: k, first: entry(LevelWarn, format+" (${what})", append(slices.Clone(values), "what", what))}
}

// From returns the exception with what caused it: nodeos throws it in place of its cause, and keeps
// what was said of that.
func (e *Error) From(cause error) *Error {
	c := *e
	c.Cause = cause
	return &c
}

// In returns the exception with the name that nodeos has for the thread that it arose in, if that
// is not the chain's.
func (e *Error) In(thread string) *Error {
	c := *e
	c.thread = thread
	return &c
}

// Thread is the name of the thread that it arose in.
func (e *Error) Thread() string { return cmp.Or(e.thread, mainThread) }

// Message is the text of the first entry of the stack, with whatever its values have.
func (e *Error) Message() string { return e.first.Text() }

// Place is where in our source an exception was made, as [Entry.Place].
func (e *Error) Place() (file string, line int, function string) { return e.first.Place() }

// Error says what class it is and what happened.
func (e *Error) Error() string {
	s := fmt.Sprintf("%d %s: %s: %s", e.Kind.Code, e.Kind.Name, e.Kind.What, e.Message())
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Stack is all that was said of an exception, in the order of nodeos: what it says itself, what
// was said of its cause if that is an exception too, and what was said of both later.
func (e *Error) Stack() []*Entry { return e.appendStack(nil) }

func (e *Error) appendStack(list []*Entry) []*Entry {
	if e.first.Level != "" { // what was read from a trace has no stack
		list = append(list, &e.first)
	}
	if cause := Of(e.Cause); cause != nil {
		list = cause.appendStack(list)
	}
	for i := range e.later {
		list = append(list, &e.later[i])
	}
	return list
}

// Of returns the outermost exception in err's chain, nil if there is none.
func Of(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// Is tells whether err is an exception of one of these kinds, or of one derived
// from them.
func Is(err error, kinds ...*Kind) bool {
	e := Of(err)
	if e == nil {
		return false
	}
	for _, k := range kinds {
		if e.Kind.Is(k) {
			return true
		}
	}
	return false
}

// With returns the exception with a further entry of its stack, said of it on its way out
// (Leap: FC_RETHROW_EXCEPTIONS). The exception itself does not change. Of one that is not
// nodeos' own ([Standard]) it is the first entry, which begins with what it says.
func (e *Error) With(format string, values ...any) *Error {
	c := *e
	if e.Kind.Base == FCStd {
		kind := *e.Kind
		kind.Base = FCUnspecified
		c.Kind = &kind
		c.first = entry(LevelWarn, "${what}: "+format, append(slices.Clone(values), "what", e.Kind.What))
		return &c
	}
	c.later = append(slices.Clip(e.later), entry(LevelWarn, format, values))
	return &c
}

// Copied returns e as it is when nodeos has copied it as a value, as it does with what a
// trace has: one of the chain's exceptions is of no class then, so that nobody who
// looks for one finds it. Those of the foundation library get theirs back.
func (e *Error) Copied() *Error {
	if !e.Kind.Is(ChainException) {
		return e
	}
	kind, copied := *e.Kind, *e
	kind.Base, copied.Kind = FCUnspecified, &kind
	return &copied
}

// Said is what the exception says itself, the first entry of its stack.
func (e *Error) Said() *Entry { return &e.first }

// Later is what was said of the exception on its way out, the first first.
func (e *Error) Later() []Entry { return e.later }
