package exception

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// limit is how long nodeos lets a text become, about, where it limits one (libfc:
// format_string).
const limit = 1024

// Text is the format with its values.
func (e *Entry) Text() string { return e.text(false) }

// Limited is the text as clients get it who may not have it whole: the values share what the
// format leaves of a bound, and whatever is cut off is three points.
func (e *Entry) Limited() string { return e.text(true) }

func (e *Entry) text(limited bool) string {
	format := e.Format
	if limited && len(format) > limit {
		format = format[:limit] + "..."
	}
	if len(e.values) == 0 && !strings.Contains(format, "$") {
		return clean(format)
	}
	most := -1
	if limited {
		most = max(limit-len(format), 0) / max(len(e.values)/2, 1)
	}
	out := make([]byte, 0, len(format)+16*len(e.values))
	for {
		before, rest, found := strings.Cut(format, "$")
		out = append(out, clean(before)...)
		switch {
		case !found:
			return string(out)
		case limited && len(out) > limit:
			return string(out) + "..."
		}
		key, after, whole := strings.Cut(rest, "}")
		switch {
		case rest == "":
			return string(out)
		case rest[0] != '{': // the sign alone is left out
			out, format = append(out, clean(rest[:1])...), rest[1:]
		case !whole:
			return string(append(out, clean(rest)...))
		default:
			out, format = e.appendNamed(out, key[1:], most), after
		}
	}
}

// appendNamed appends the value of a key within a bound; below 0 there is none. What has no value,
// or one that may not be cut and is too long, is shown as its key.
func (e *Entry) appendNamed(b []byte, key string, most int) []byte {
	for i := 0; i+1 < len(e.values); i += 2 {
		if e.values[i] != key {
			continue
		}
		if out, ok := appendValue(b, e.values[i+1], most); ok {
			return out
		}
		break
	}
	return append(append(append(b, "${"...), clean(key)...), '}')
}

// appendValue appends the text of a value; it tells false if there is no room for it.
func appendValue(b []byte, value any, most int) ([]byte, bool) {
	switch v := value.(type) {
	case string:
		return appendString(b, v, most), true
	case JSON:
		start := len(b)
		b = v.AppendJSON(b)
		switch text := b[start:]; {
		case len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"':
			// Names, numbers, times, keys: nothing of them is escaped.
			s := string(text[1 : len(text)-1])
			return appendString(b[:start], s, most), true
		case most >= 0 && (start >= limit || len(text) > most) && len(text) > 0 && (text[0] == '{' || text[0] == '['):
			return b[:start], false
		}
		return b, true
	case bool:
		return strconv.AppendBool(b, v), true
	}
	switch r := reflect.ValueOf(value); {
	case r.CanInt():
		return strconv.AppendInt(b, r.Int(), 10), true
	case r.CanUint():
		return strconv.AppendUint(b, r.Uint(), 10), true
	}
	return append(b, fmt.Sprint(value)...), true
}

func appendString(b []byte, s string, most int) []byte {
	if most < 0 || len(s) <= most {
		return append(b, clean(s)...)
	}
	n := min(most, max(limit-len(b), 0))
	return append(append(b, clean(s[:n])...), "..."...)
}

// clean returns a text as nodeos formats it: control characters, but for tabs and ends of lines,
// are escaped before the text is, so that clients see the escapes; bytes that are no UTF-8 are
// left out (libfc: variant.cpp, clean_append).
func clean(text string) string {
	if isClean(text) {
		return text
	}
	var out strings.Builder
	for _, r := range strings.ToValidUTF8(text, "") {
		if isControl(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func isClean(text string) bool {
	for _, r := range text {
		if isControl(r) || r == unicode.ReplacementChar {
			return false
		}
	}
	return true
}

func isControl(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r'
}
