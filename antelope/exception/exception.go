// Package exception names what can go wrong in an Antelope node, with the numbers,
// names and descriptions that clients parse (Leap: exceptions.hpp). It owns the
// list ([Kind]) and the error that carries one ([Error]); it decides nothing.
package exception

import (
	"errors"
	"fmt"
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
}

// New returns an exception with a formatted message.
func New(k *Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an exception that was caused by err.
func Wrap(k *Kind, err error, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...), Cause: err}
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
