package types

import "tarn/antelope/serial"

// AppendByteSlices appends context-free data.
func AppendByteSlices(b []byte, list [][]byte) []byte { return appendByteSlices(b, list) }

// ReadByteSlices reads context-free data.
func ReadByteSlices(r *serial.Reader) [][]byte { return readByteSlices(r) }
