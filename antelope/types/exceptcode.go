package types

import (
	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// appendException appends an optional fc::exception: code, name, what, log.
func appendException(b []byte, e *exception.Error) []byte {
	if e == nil {
		return append(b, 0)
	}
	b = serial.AppendInt64(append(b, 1), e.Kind.Code)
	b = serial.AppendString(serial.AppendString(b, e.Kind.Name), e.Kind.What)
	return append(b, 0)
}

// readException reads an optional fc::exception without a log.
func readException(r *serial.Reader) *exception.Error {
	if !r.Bool() {
		return nil
	}
	e := &exception.Error{Kind: &exception.Kind{Code: r.Int64(), Name: r.String(), What: r.String()}}
	if r.Count(1) != 0 {
		r.Fail(serial.ErrValue)
	}
	return e
}
