package crypto

import (
	"math"
	"strconv"
	"strings"
)

// clientData is what a WebAuthn signature's JSON says, the last of each where one is
// repeated.
type clientData struct{ typ, challenge, origin string }

// parseClientData reads a JSON object as nodeos does: RapidJSON's iterative parser of
// 2019 with a handler for events (libfc: webauthn_json_handler). That decides what is
// valid:
//   - The text ends at the first zero byte, if there is one.
//   - Bytes from 0x80 are not checked; those below 0x20 may not be in strings.
//   - Keys are compared up to their first zero byte (which can be written \u0000).
//   - Type, challenge and origin of the outermost object must be strings.
//   - Numbers that a double cannot hold are invalid.
//
// It uses no more than one bit of memory for each level of nesting.
func parseClientData(s string) (data clientData, ok bool) {
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	p := jsonParser{s: s}
	if p.space(); !p.take('{') {
		return data, false
	}
	if !p.object(&data) {
		return data, false
	}
	p.space()
	return data, p.i == len(p.s)
}

type jsonParser struct {
	s string
	i int
}

// peek returns the next byte, zero at the end.
func (p *jsonParser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *jsonParser) take(c byte) bool {
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *jsonParser) space() {
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case ' ', '\n', '\r', '\t':
			p.i++
		default:
			return
		}
	}
}

// object reads the members of the outermost object, after its brace.
func (p *jsonParser) object(data *clientData) bool {
	if p.space(); p.take('}') {
		return true
	}
	for {
		key, ok := p.key()
		if !ok {
			return false
		}
		var member *string
		switch key {
		case "challenge":
			member = &data.challenge
		case "origin":
			member = &data.origin
		case "type":
			member = &data.typ
		}
		if member != nil {
			if *member, ok = p.text(); !ok {
				return false
			}
		} else if !p.value() {
			return false
		}
		p.space()
		if p.take('}') {
			return true
		}
		if !p.take(',') {
			return false
		}
		p.space()
	}
}

// key reads a member's name up to its first zero byte, the colon and space.
func (p *jsonParser) key() (string, bool) {
	key, ok := p.text()
	if !ok {
		return "", false
	}
	if p.space(); !p.take(':') {
		return "", false
	}
	p.space()
	if i := strings.IndexByte(key, 0); i >= 0 {
		key = key[:i]
	}
	return key, true
}

// value reads any value. Nesting is in a stack of bits: an object or an array.
func (p *jsonParser) value() bool {
	var stack bitStack
	for {
		// A value begins here.
		switch p.peek() {
		case '{':
			p.i++
			stack.push(true)
			if p.space(); !p.take('}') {
				if _, ok := p.key(); !ok {
					return false
				}
				continue
			}
			stack.pop()
		case '[':
			p.i++
			stack.push(false)
			if p.space(); !p.take(']') {
				continue
			}
			stack.pop()
		default:
			if !p.scalar() {
				return false
			}
		}
		// A value ended here: what it is in goes on or ends too.
		for {
			if stack.n == 0 {
				return true
			}
			p.space()
			inObject := stack.top()
			if p.take(',') {
				p.space()
				if inObject {
					if _, ok := p.key(); !ok {
						return false
					}
				}
				break
			}
			if inObject && !p.take('}') || !inObject && !p.take(']') {
				return false
			}
			stack.pop()
		}
	}
}

type bitStack struct {
	words []uint64
	n     int
}

func (s *bitStack) push(v bool) {
	if s.n%64 == 0 {
		s.words = append(s.words[:s.n/64], 0)
	}
	if v {
		s.words[s.n/64] |= 1 << (s.n % 64)
	}
	s.n++
}

func (s *bitStack) top() bool { return s.words[(s.n-1)/64]>>((s.n-1)%64)&1 != 0 }

func (s *bitStack) pop() {
	s.n--
	s.words[s.n/64] &^= 1 << (s.n % 64)
}

func (p *jsonParser) scalar() bool {
	switch p.peek() {
	case 'n':
		return p.word("null")
	case 't':
		return p.word("true")
	case 'f':
		return p.word("false")
	case '"':
		_, ok := p.text()
		return ok
	}
	return p.number()
}

func (p *jsonParser) word(w string) bool {
	if !strings.HasPrefix(p.s[p.i:], w) {
		return false
	}
	p.i += len(w)
	return true
}

// text reads a string.
func (p *jsonParser) text() (string, bool) {
	if !p.take('"') {
		return "", false
	}
	var b strings.Builder
	for {
		start := p.i
		for p.i < len(p.s) && p.s[p.i] >= 0x20 && p.s[p.i] != '"' && p.s[p.i] != '\\' {
			p.i++
		}
		b.WriteString(p.s[start:p.i])
		switch {
		case p.take('"'):
			return b.String(), true
		case !p.take('\\'): // the end, or a control character
			return "", false
		case p.take('u'):
			if !p.escape(&b) {
				return "", false
			}
		default:
			i := strings.IndexByte(`"\/bfnrt`, p.peek())
			if i < 0 || p.i >= len(p.s) {
				return "", false
			}
			b.WriteByte("\"\\/\b\f\n\r\t"[i])
			p.i++
		}
	}
}

// escape reads what follows \u. A high surrogate needs a low one after it; a low one
// alone is encoded like any other code.
func (p *jsonParser) escape(b *strings.Builder) bool {
	c, ok := p.hex4()
	if !ok {
		return false
	}
	if c >= 0xd800 && c <= 0xdbff {
		if !p.word(`\u`) {
			return false
		}
		low, ok := p.hex4()
		if !ok || low < 0xdc00 || low > 0xdfff {
			return false
		}
		c = (c-0xd800)<<10 | (low - 0xdc00) + 0x10000
	}
	switch {
	case c < 0x80:
		b.WriteByte(byte(c))
	case c < 0x800:
		b.Write([]byte{0xc0 | byte(c>>6), 0x80 | byte(c&0x3f)})
	case c < 0x10000:
		b.Write([]byte{0xe0 | byte(c>>12), 0x80 | byte(c>>6&0x3f), 0x80 | byte(c&0x3f)})
	default:
		b.Write([]byte{0xf0 | byte(c>>18), 0x80 | byte(c>>12&0x3f), 0x80 | byte(c>>6&0x3f), 0x80 | byte(c&0x3f)})
	}
	return true
}

func (p *jsonParser) hex4() (v uint32, ok bool) {
	for range 4 {
		switch c := p.peek(); {
		case '0' <= c && c <= '9':
			v = v<<4 | uint32(c-'0')
		case 'A' <= c && c <= 'F':
			v = v<<4 | uint32(c-'A'+10)
		case 'a' <= c && c <= 'f':
			v = v<<4 | uint32(c-'a'+10)
		default:
			return 0, false
		}
		p.i++
	}
	return v, true
}

func (p *jsonParser) digit() bool { c := p.peek(); return '0' <= c && c <= '9' }

// number reads a number. RapidJSON refuses one that is too large for a double by the
// arithmetic below, which is not exact; only the sign of the refusal matters here.
func (p *jsonParser) number() bool {
	negative := p.take('-')
	n := jsonNumber{limit: math.MaxUint64}
	if negative {
		n.limit = 1 << 63
	}
	switch {
	case p.take('0'):
	case p.digit():
		for p.digit() {
			n.integer(p.s[p.i])
			p.i++
		}
	default:
		return false
	}
	if p.take('.') {
		if !p.digit() {
			return false
		}
		n.fraction(p)
	}
	exp := 0
	if p.take('e') || p.take('E') {
		n.double()
		minus := p.take('-')
		if !minus {
			p.take('+')
		}
		if !p.digit() {
			return false
		}
		var ok bool
		if exp, ok = p.exponent(minus, n.exp); !ok {
			return false
		}
	}
	return !n.isDouble || n.fits(exp)
}

// exponent reads the digits of an exponent; ok is false if it is too large.
func (p *jsonParser) exponent(minus bool, fraction int) (exp int, ok bool) {
	exp = int(p.s[p.i] - '0')
	p.i++
	limit := 308 - fraction
	if minus {
		limit = (fraction + math.MaxInt32 - 8) / 10
	}
	for p.digit() {
		exp = exp*10 + int(p.s[p.i]-'0')
		p.i++
		if exp > limit {
			if !minus {
				return 0, false
			}
			for p.digit() {
				p.i++
			}
		}
	}
	if minus {
		exp = -exp
	}
	return exp, true
}

// jsonNumber is a number's value as far as it has been read.
type jsonNumber struct {
	limit    uint64 // of integers
	whole    uint64
	isDouble bool
	value    float64
	digits   int // after the first, of the significand
	exp      int // minus the digits after the point that are in the value
}

// integer appends a digit before the point.
func (n *jsonNumber) integer(c byte) {
	d := uint64(c - '0')
	if !n.isDouble && (n.whole > n.limit/10 || n.whole == n.limit/10 && d > n.limit%10) {
		n.double()
	}
	if n.isDouble {
		n.value = float64(n.value*10) + float64(d)
		return
	}
	if n.whole != 0 { // the first digit is not zero, or the only one
		n.digits++
	}
	n.whole = n.whole*10 + d
}

func (n *jsonNumber) double() {
	if !n.isDouble {
		n.isDouble, n.value = true, float64(n.whole)
	}
}

// fraction reads the digits after the point.
func (n *jsonNumber) fraction(p *jsonParser) {
	if !n.isDouble {
		for p.digit() && n.whole <= 1<<53-1 {
			n.whole = n.whole*10 + uint64(p.s[p.i]-'0')
			p.i++
			n.exp--
			if n.whole != 0 {
				n.digits++
			}
		}
		n.double()
	}
	for ; p.digit(); p.i++ {
		if n.digits >= 17 {
			continue
		}
		n.value = float64(n.value*10) + float64(p.s[p.i]-'0')
		n.exp--
		if n.value > 0 {
			n.digits++
		}
	}
}

// powerOfTen returns the double next to 10^n, which [math.Pow10] does not always.
func powerOfTen(n int) float64 {
	v, _ := strconv.ParseFloat("1e"+strconv.Itoa(n), 64)
	return v
}

// fits tells whether the value times a power of ten is finite.
func (n *jsonNumber) fits(exp int) bool {
	exp += n.exp
	v := n.value
	switch {
	case exp < -308-308:
		v = 0
	case exp < -308:
		v /= 1e308 // and less after that
	case exp < 0:
		v /= powerOfTen(-exp)
	default:
		v *= powerOfTen(exp)
	}
	return v <= math.MaxFloat64
}
