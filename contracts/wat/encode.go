package wat

// encode puts the sections together.
func (m *module) encode() []byte {
	out := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	add := func(id byte, s section) {
		if s.count > 0 {
			out = appendString(append(out, id), string(append(appendUnsigned(nil, uint64(s.count)), s.bytes...)))
		}
	}
	types := section{count: len(m.signatures)}
	for _, s := range m.signatures {
		types.bytes = appendString(append(types.bytes, 0x60), string(s.params))
		types.bytes = appendString(types.bytes, string(s.results))
	}
	add(1, types)
	add(2, m.imports)
	add(3, m.kinds)
	add(5, m.memory)
	add(6, m.values)
	add(7, m.exports)
	add(10, m.code)
	add(11, m.data)
	return out
}

func appendString(b []byte, s string) []byte {
	return append(appendUnsigned(b, uint64(len(s))), s...)
}

// appendUnsigned appends an unsigned LEB128.
func appendUnsigned(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// appendSigned appends a signed LEB128.
func appendSigned(b []byte, v int64) []byte {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}
