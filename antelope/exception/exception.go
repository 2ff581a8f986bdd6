// Package exception names what can go wrong in an Antelope node, with the numbers,
// names and descriptions that clients parse (Leap: exceptions.hpp). It owns the
// list ([Kind]) and the error that carries one ([Error]); it decides nothing.
package exception

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
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

// Error is an exception that happened. It wraps the error that caused it, if any.
type Error struct {
	Kind    *Kind
	Message string // what nodeos shows as the message of the first stack entry
	Cause   error

	notes []Note
	pc    uintptr // where it was made; 0 if that is not known
}

// New returns an exception with a formatted message.
func New(k *Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...), pc: caller()}
}

// Wrap returns an exception that was caused by err.
func Wrap(k *Kind, err error, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...), Cause: err, pc: caller()}
}

// caller is where New or Wrap was called.
func caller() uintptr {
	var pc [1]uintptr
	runtime.Callers(3, pc[:])
	return pc[0]
}

// Place is where in our source an exception was made: the file's name, the line, and
// the function without its package; empty if that is not known.
func (e *Error) Place() (file string, line int, function string) { return place(e.pc) }

func place(pc uintptr) (file string, line int, function string) {
	if pc == 0 {
		return "", 0, ""
	}
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	name := f.Function[strings.LastIndexByte(f.Function, '/')+1:]
	_, function, _ = strings.Cut(name, ".")
	return filepath.Base(f.File), f.Line, function
}

// Error says what class it is and what happened.
func (e *Error) Error() string {
	s := fmt.Sprintf("%d %s: %s: %s", e.Kind.Code, e.Kind.Name, e.Kind.What, e.Message)
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

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

// Note is what was said of an exception on its way out: a further entry of its stack
// (Leap: FC_RETHROW_EXCEPTIONS). Format has the keys of Data as ${key}.
type Note struct {
	Format string
	Data   []Datum
	pc     uintptr
}

// Datum is a value in a note.
type Datum struct{ Key, Value string }

// With returns the exception with a note more. The exception itself does not change.
// One that is not nodeos' own ([Standard]) becomes one by the first note, with which its
// message goes on.
func (e *Error) With(format string, data ...Datum) *Error {
	c, n := *e, Note{format, data, caller()}
	if e.Kind.Base == FCStd {
		kind := *e.Kind
		kind.Base = FCUnspecified
		c.Kind, c.Message = &kind, e.Message+": "+n.Message()
		return &c
	}
	c.notes = append(slices.Clip(e.notes), n)
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

// Notes are what was said of the exception, the first first.
func (e *Error) Notes() []Note { return e.notes }

// Message is the note's text.
func (n *Note) Message() string {
	text := n.Format
	for _, d := range n.Data {
		text = strings.Replace(text, "${"+d.Key+"}", d.Value, 1)
	}
	return text
}

// Place is where in our source it was said, as [Error.Place].
func (n *Note) Place() (file string, line int, function string) { return place(n.pc) }
