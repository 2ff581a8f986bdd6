package types

import (
	"strconv"
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// MaxPrecision is the most decimals a symbol may have.
const MaxPrecision = 18

// Symbol is a token's code with its number of decimals in the lowest byte.
type Symbol uint64

// SymbolCode is a token's code: up to seven letters A-Z, the first in the lowest
// byte.
type SymbolCode uint64

// space is what boost trims in the classic locale.
const space = " \t\n\v\f\r"

// ParseSymbol reads "4,SYS" (Leap: symbol::from_string).
func ParseSymbol(s string) (Symbol, error) {
	s = strings.Trim(s, space)
	if s == "" {
		return 0, exception.New(exception.SymbolType, "creating symbol from empty string")
	}
	digits, name, ok := strings.Cut(s, ",")
	if !ok {
		return 0, exception.New(exception.SymbolType, "missing comma in symbol")
	}
	wide, err := parseInt64(digits)
	if err != nil {
		return 0, err
	}
	precision := uint8(wide) // what is over a byte is dropped, as in nodeos
	if precision > MaxPrecision {
		return 0, exception.New(exception.SymbolType, "precision ${p} should be <= 18", "p", precision)
	}
	code, err := parseSymbolLetters(name)
	return Symbol(uint64(code)<<8 | uint64(precision)), err
}

// ParseSymbolCode reads letters A-Z. It refuses more than seven, where nodeos
// shifts beyond the word, and the outcome is the compiler's.
func ParseSymbolCode(s string) (SymbolCode, error) { return parseSymbolLetters(s) }

func parseSymbolLetters(s string) (SymbolCode, error) {
	var v uint64
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return 0, exception.New(exception.SymbolType, "invalid character in symbol name")
		}
		if i == 7 {
			return 0, exception.New(exception.SymbolType, "invalid symbol: ${s}", "s", s)
		}
		v |= uint64(s[i]) << (8 * i)
	}
	return SymbolCode(v), nil
}

// parseInt64 reads what boost::lexical_cast<int64_t> does.
func parseInt64(s string) (int64, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, exception.New(exception.FCParseError, "Couldn't parse int64_t")
	}
	return v, nil
}

// AppendText appends the letters, up to the highest byte that is not zero.
func (c SymbolCode) AppendText(b []byte) []byte {
	for v := uint64(c); v != 0; v >>= 8 {
		b = append(b, byte(v))
	}
	return b
}

// String returns the letters.
func (c SymbolCode) String() string { return string(c.AppendText(nil)) }

// Code returns the symbol without its precision.
func (s Symbol) Code() SymbolCode { return SymbolCode(s >> 8) }

// Decimals returns the number of digits after the point.
func (s Symbol) Decimals() uint8 { return uint8(s) }

// Validate returns a symbol_type_exception if the precision is over 18 or the
// code has other bytes than A-Z up to its last (Leap: symbol::reflector_init).
func (s Symbol) Validate() error {
	if s.Decimals() > MaxPrecision {
		return exception.New(exception.SymbolType, "precision ${p} should be <= 18", "p", s.Decimals())
	}
	for v := uint64(s) >> 8; v != 0; v >>= 8 {
		if c := byte(v); c < 'A' || c > 'Z' {
			return exception.New(exception.SymbolType, "invalid symbol: ${name}", "name", s.Code())
		}
	}
	return nil
}

// AppendText appends "4,SYS".
func (s Symbol) AppendText(b []byte) []byte {
	b = strconv.AppendUint(b, uint64(s.Decimals()), 10)
	return s.Code().AppendText(append(b, ','))
}

// String returns "4,SYS".
func (s Symbol) String() string { return string(s.AppendText(nil)) }

// unit returns 10^decimals; s must be valid.
func (s Symbol) unit() uint64 {
	u := uint64(1)
	for range s.Decimals() {
		u *= 10
	}
	return u
}

// Append appends eight bytes.
func (s Symbol) Append(b []byte) []byte { return serial.AppendUint64(b, uint64(s)) }

// Append appends eight bytes.
func (c SymbolCode) Append(b []byte) []byte { return serial.AppendUint64(b, uint64(c)) }

// Read reads eight bytes and refuses what [Symbol.Validate] does.
func (s *Symbol) Read(r *serial.Reader) {
	*s = Symbol(r.Uint64())
	if r.Err() != nil {
		return
	}
	if err := s.Validate(); err != nil {
		r.Fail(err)
	}
}

// Read reads eight bytes.
func (c *SymbolCode) Read(r *serial.Reader) { *c = SymbolCode(r.Uint64()) }
