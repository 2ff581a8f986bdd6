package variant

import (
	"encoding/hex"
	"math"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Bytes below 0x20, 0x7f and the code
// points 0x80 to 0x9f are escaped, bytes that are no UTF-8 left out (libfc:
// json.cpp escape_string, utf8.cpp).
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r > 0x9f && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
		}
		b = append(b, s[from:i]...)
		b = appendEscape(b, s[i:i+size])
		i += size
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// appendEscape appends what stands for a character that is not written as it is.
func appendEscape(b []byte, s string) []byte {
	c := s[0]
	switch {
	case c == '\t':
		return append(b, `\t`...)
	case c == '\n':
		return append(b, `\n`...)
	case c == '\r':
		return append(b, `\r`...)
	case c == '"' || c == '\\':
		return append(b, '\\', c)
	case len(s) == 2: // 0x80 to 0x9f
		c = s[1]
	case c >= utf8.RuneSelf: // no UTF-8
		return b
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// AppendHex appends data as a JSON string of hex digits.
func AppendHex(b, data []byte) []byte {
	return append(hex.AppendEncode(append(b, '"'), data), '"')
}

// AppendUint64 appends v, as a string if it is over 0xffffffff.
func AppendUint64(b []byte, v uint64) []byte {
	if v > math.MaxUint32 {
		return append(strconv.AppendUint(append(b, '"'), v, 10), '"')
	}
	return strconv.AppendUint(b, v, 10)
}

// AppendInt64 appends v, as a string if its magnitude is over 0xffffffff.
func AppendInt64(b []byte, v int64) []byte {
	if v > math.MaxUint32 || v < -math.MaxUint32 {
		return append(strconv.AppendInt(append(b, '"'), v, 10), '"')
	}
	return strconv.AppendInt(b, v, 10)
}

// AppendDouble appends v as a string with 17 digits after the point.
func AppendDouble(b []byte, v float64) []byte { return append(appendDouble(append(b, '"'), v), '"') }

// appendDouble writes as iostreams do: also inf and nan, with their signs.
func appendDouble(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		if math.Signbit(v) {
			b = append(b, '-')
		}
		if math.IsNaN(v) {
			return append(b, "nan"...)
		}
		return append(b, "inf"...)
	}
	return strconv.AppendFloat(b, v, 'f', 17, 64)
}

// AppendBool appends true or false.
func AppendBool(b []byte, v bool) []byte { return strconv.AppendBool(b, v) }

// AppendText appends what appendText does, within quotes. It is for texts without
// characters that would need an escape: names, numbers, times, keys.
func AppendText(b []byte, appendText func([]byte) []byte) []byte {
	return append(appendText(append(b, '"')), '"')
}

// AppendList appends the elements of a list with commas between them, within
// brackets.
func AppendList[T any](b []byte, list []T, appendValue func(b []byte, v *T) []byte) []byte {
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, &list[i])
	}
	return append(b, ']')
}

// AppendKey appends the key of an object's member with its colon, after a comma
// unless it is the first: unless b ends with the opening brace. The key must not
// need an escape.
func AppendKey(b []byte, key string) []byte {
	if len(b) > 0 && b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(append(append(b, '"'), key...), `":`...)
}

// AppendIndented appends JSON that is in one line as nodeos prints it for people:
// two spaces a level, and no new line before a brace or bracket that opens (libfc:
// json.cpp, pretty_print).
func AppendIndented(b, json []byte) []byte {
	level, quoted := 0, false
	pending := false // a new line comes before a string or number
	line := func() {
		b = append(b, '\n')
		for range level {
			b = append(b, ' ', ' ')
		}
		pending = false
	}
	for i := 0; i < len(json); i++ {
		c := json[i]
		switch {
		case quoted && c == '\\' && i+1 < len(json):
			i++
			b = append(b, c, json[i])
		case quoted:
			b = append(b, c)
			quoted = c != '"'
		case c == '{' || c == '[':
			b = append(b, c)
			level++
			pending = true
		case c == '}' || c == ']':
			level = max(level-1, 0)
			if i > 0 && json[i-1] != '[' && json[i-1] != '{' {
				line()
			}
			pending = false
			b = append(b, c)
		case c == ':':
			b = append(b, ':', ' ')
		case c == ',':
			b = append(b, ',')
			pending = true
		default:
			if pending {
				line()
			}
			quoted = c == '"'
			b = append(b, c)
		}
	}
	return b
}
