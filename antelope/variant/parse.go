package variant

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"tarn/antelope/exception"
)

// maxDepth is how deep arrays and objects may nest: nodeos counts each twice
// against 200.
const maxDepth = 100

// Parse reads one value from the start of s as nodeos' default parser does, and
// ignores what follows it. That parser takes more than JSON: commas wherever they
// are, or none; tokens and malformed numbers, which become strings. Of the
// escapes it knows t, n and r; after any other the character itself counts, so
// that \u0041 reads as u0041 (libfc: json.cpp, legacy_parser).
func Parse(s string) (Value, error) { return ParseWithin(s, Limits{}) }

// Limits bound what a text of a stranger becomes, for each of its bytes can become a
// value of 80. The zero value bounds nothing.
type Limits struct {
	// Take is told, before it is taken, of memory that values take, in bytes and in
	// parts of some size; its error ends the parsing. Nil is asked nothing.
	Take func(bytes int64) error
	// Elements is how many elements the outermost value may have if it is a list;
	// 0 for any number. Those after it are not looked at.
	Elements int
}

// ErrElements means that a list has more elements than its reader takes.
var ErrElements = errors.New("the list has too many elements")

// ParseWithin is Parse with limits.
func ParseWithin(s string, l Limits) (Value, error) {
	p := parser{s: s, limits: l}
	v := p.value(0)
	p.pay()
	return v, p.err
}

// Unmarshal reads text as Parse does, into what encoding/json fills.
func Unmarshal(text []byte, to any) error {
	v, err := Parse(string(text))
	if err != nil {
		return err
	}
	return json.Unmarshal(v.AppendJSON(nil), to)
}

// parser reads s from pos. After an error it is at the end of s.
type parser struct {
	s      string
	pos    int
	err    error
	limits Limits
	owed   int64 // bytes that Limits.Take has not been told of
}

// What values take, in bytes.
const (
	valueSize  = 80
	memberSize = valueSize + 16
	indexSize  = 64       // of a member, in the index of an object
	payment    = 16 << 10 // is told of at once
)

// owe counts memory that is about to be taken.
func (p *parser) owe(bytes int64) {
	if p.owed += bytes; p.owed >= payment {
		p.pay()
	}
}

// pay tells of what is owed.
func (p *parser) pay() {
	if p.limits.Take == nil || p.err != nil || p.owed == 0 {
		return
	}
	if err := p.limits.Take(p.owed); err != nil {
		p.end(err)
	}
	p.owed = 0
}

// end ends the parsing.
func (p *parser) end(err error) {
	if p.err == nil {
		p.err = err
	}
	p.pos = len(p.s)
}

func (p *parser) fail(kind *exception.Kind, format string, values ...any) {
	if p.err == nil {
		p.err = exception.New(kind, format, values...)
	}
	p.pos = len(p.s)
}

// first is how many members the outermost object has room for at first: most parameters are no
// more.
const first = 8

// room makes room for one more in a list at a depth, whose elements take size bytes each.
func room[T any](p *parser, list []T, size int64, depth int) []T {
	if len(list) < cap(list) {
		return list
	}
	more := max(1, len(list))
	if depth == 0 {
		more = max(first, len(list))
	}
	p.owe(size * int64(len(list)+more)) // the old place is garbage, but not gone
	return append(make([]T, 0, len(list)+more), list...)
}

// peek returns the next byte, 0 at the end, which no construct takes.
func (p *parser) peek() byte {
	if p.pos < len(p.s) {
		return p.s[p.pos]
	}
	return 0
}

func (p *parser) space() {
	for p.pos < len(p.s) && strings.IndexByte(" \t\n\r", p.s[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *parser) value(depth int) Value {
	if depth >= maxDepth {
		p.fail(exception.FCParseError, "Too many nested items in JSON input!")
		return Value{}
	}
	p.space()
	switch c := p.peek(); {
	case c == '"':
		return Of(p.readQuoted())
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '-' || c == '.' || '0' <= c && c <= '9':
		return p.number()
	case c == 'n' || c == 't' || c == 'f':
		return p.token()
	case c == 0 || c == 4 || c == 0xff:
		p.fail(exception.FCEndOfFile, "unexpected end of file")
	default:
		p.fail(exception.FCParseError, "Unexpected char '${c}' in \"${s}\"", "c", int8(c), "s", p.word())
	}
	return Value{}
}

// readQuoted reads a string within quotes.
func (p *parser) readQuoted() string {
	if c := p.peek(); c != '"' {
		text := string(rune(c))
		if c >= utf8.RuneSelf || p.pos >= len(p.s) { // no character: nodeos reads 0xff at the end
			text = ""
		}
		p.fail(exception.FCParseError, "Expected '\"' but read '${char}'", "char", text)
		return ""
	}
	p.pos++
	from := p.pos
	var b strings.Builder
	for p.pos < len(p.s) {
		switch p.s[p.pos] {
		case '"':
			last := p.s[from:p.pos]
			p.pos++
			if b.Len() == 0 { // nothing was escaped: it is a part of the text
				return last
			}
			b.WriteString(last)
			p.owe(int64(b.Len()))
			return b.String()
		case '\\':
			b.WriteString(p.s[from:p.pos])
			b.WriteString(p.escape())
			from = p.pos
		case 4:
			p.pos = len(p.s)
		default:
			p.pos++
		}
	}
	p.fail(exception.FCParseError, "EOF before closing '\"' in string '${token}'", "token", b.String())
	return ""
}

// escape reads a backslash and what it escapes, nothing at the end.
func (p *parser) escape() string {
	p.pos++
	if p.pos >= len(p.s) {
		return ""
	}
	p.pos++
	switch c := p.s[p.pos-1 : p.pos]; c {
	case "t":
		return "\t"
	case "n":
		return "\n"
	case "r":
		return "\r"
	default:
		return c
	}
}

// word reads what of a token is left, with the space after it.
func (p *parser) word() string {
	var b strings.Builder
	for p.pos < len(p.s) {
		switch c := p.s[p.pos]; {
		case c == '\\':
			b.WriteString(p.escape())
		case c == '\t' || c == ' ' || c == '\n':
			p.pos++
			return b.String()
		case isAlnum(c) || c == '_' || c == '-' || c == '.' || c == ':' || c == '/':
			b.WriteByte(c)
			p.pos++
		default:
			return b.String()
		}
	}
	return b.String()
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func (p *parser) number() Value {
	from, dot := p.pos, false
	negative := p.peek() == '-'
	if negative {
		p.pos++
	}
	for ; p.pos < len(p.s); p.pos++ {
		c := p.s[p.pos]
		if c == '.' {
			if dot {
				p.fail(exception.FCParseError, "Can't parse a number with two decimal places")
				return Value{}
			}
			dot = true
		} else if c < '0' || c > '9' {
			break
		}
	}
	text := p.s[from:p.pos]
	if isAlnum(p.peek()) {
		return Of(text + p.word())
	}
	var v Value
	var err error
	switch {
	case text == "-." || text == "." || text == "-":
		p.fail(exception.FCParseError, "Can't parse token \"${token}\" as a JSON numeric constant", "token", text)
	case dot:
		var f float64
		f, err = parseDouble(text)
		v = OfDouble(f)
	case negative:
		var n int64
		n, err = Of(text).AsInt64()
		v = OfInt64(n)
	default:
		var n uint64
		n, err = parseUint64(text)
		v = OfUint64(n)
	}
	if err != nil {
		p.pos, p.err = len(p.s), err
	}
	return v
}

// token reads null, true or false; what is none of them is a string.
func (p *parser) token() Value {
	from := p.pos
	for p.pos < len(p.s) && strings.IndexByte("nultrefas", p.s[p.pos]) >= 0 {
		p.pos++
	}
	switch text := p.s[from:p.pos]; text {
	case "null":
		return Value{}
	case "true":
		return OfBool(true)
	case "false":
		return OfBool(false)
	default:
		return Of(text + p.word())
	}
}

func (p *parser) array(depth int) Value {
	p.pos++
	var list []Value
	for p.err == nil {
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
			continue
		case ']':
			p.pos++
			return OfArray(list)
		}
		if depth == 0 && p.limits.Elements > 0 && len(list) >= p.limits.Elements {
			p.end(ErrElements)
			break
		}
		list = room(p, list, valueSize, depth)
		list = append(list, p.value(depth+1))
	}
	return Value{}
}

// manyMembers is from when on an object is parsed with an index of its keys.
const manyMembers = 16

func (p *parser) object(depth int) Value {
	p.pos++
	v := Value{kind: Object}
	var index map[string]int
	for p.err == nil {
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
			continue
		case '}':
			p.pos++
			return v
		}
		key := p.readQuoted()
		p.space()
		if p.err == nil && p.peek() != ':' {
			p.fail(exception.FCParseError, "Expected ':' after key \"${key}\"", "key", key)
		}
		p.pos++
		v.list, v.keys = room(p, v.list, memberSize, depth), room(p, v.keys, 0, depth)
		if len(v.keys) >= manyMembers {
			p.owe(indexSize)
		}
		v.set(&index, key, p.value(depth+1))
	}
	return Value{}
}

// set adds a member. Of those with one key the first counts, as in fc.
func (v *Value) set(index *map[string]int, key string, value Value) {
	if len(v.keys) == manyMembers {
		*index = make(map[string]int)
		for i, k := range v.keys {
			(*index)[k] = i
		}
	}
	found := false
	if *index != nil {
		_, found = (*index)[key]
	} else {
		found = slices.Contains(v.keys, key)
	}
	if found {
		return
	}
	if *index != nil {
		(*index)[key] = len(v.keys)
	}
	v.keys = append(v.keys, key)
	v.list = append(v.list, value)
}
