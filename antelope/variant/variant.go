// Package variant is the JSON of nodeos: how it writes numbers, strings and
// structures (libfc: json.cpp), what its parser takes, which is more than JSON,
// and the values that the parser yields, with nodeos' conversions between their
// types (libfc: variant.cpp). It knows nothing of what the values mean.
//
// Writing appends to a slice; the Append functions cannot fail.
package variant

import (
	"math"
	"strconv"
	"strings"

	"tarn/antelope/exception"
)

// Kind is the type of a value.
type Kind uint8

// The types. A number that is written without a sign or point is a Uint64, with a
// minus an Int64, with a point a Double.
const (
	Null Kind = iota
	Int64
	Uint64
	Double
	Bool
	String
	Array
	Object
)

var kindNames = [...]string{"null_type", "int64_type", "uint64_type", "double_type", "bool_type", "string_type",
	"array_type", "object_type"}

// String returns the name that messages of nodeos have for the type.
func (k Kind) String() string { return kindNames[k] }

// Value is a value of any type; the zero Value is null. Values are not changed
// once they were made, and may be shared.
type Value struct {
	kind Kind
	bits uint64 // a number or bool
	text string
	list []Value  // elements, or the values of members
	keys []string // of members, in their order
}

// Of returns the value of a string.
func Of(s string) Value { return Value{kind: String, text: s} }

// OfUint64 returns the value of a number.
func OfUint64(v uint64) Value { return Value{kind: Uint64, bits: v} }

// OfInt64 returns the value of a number.
func OfInt64(v int64) Value { return Value{kind: Int64, bits: uint64(v)} }

// OfDouble returns the value of a number.
func OfDouble(v float64) Value { return Value{kind: Double, bits: math.Float64bits(v)} }

// OfBool returns the value of a bool.
func OfBool(v bool) Value {
	if v {
		return Value{kind: Bool, bits: 1}
	}
	return Value{kind: Bool}
}

// OfArray returns the value of a list, which it keeps.
func OfArray(list []Value) Value { return Value{kind: Array, list: list} }

// Kind returns the type of v.
func (v Value) Kind() Kind { return v.kind }

// IsNull tells whether v is null.
func (v Value) IsNull() bool { return v.kind == Null }

// Text returns the string that v is; it fails for every other type.
func (v Value) Text() (string, error) {
	if v.kind != String {
		return "", exception.New(exception.FCBadCast, "Invalid cast from type '${type}' to string",
			"type", v.kind.String())
	}
	return v.text, nil
}

// Elements returns the list that v is; it fails for every other type. The list
// belongs to v.
func (v Value) Elements() ([]Value, error) {
	if v.kind != Array {
		return nil, exception.New(exception.FCBadCast, "Invalid cast from ${type} to Array", "type", v.kind.String())
	}
	return v.list, nil
}

// Members returns the keys and values of the object that v is; it fails for every
// other type. The slices belong to v.
func (v Value) Members() ([]string, []Value, error) {
	if v.kind != Object {
		return nil, nil, exception.New(exception.FCBadCast, "Invalid cast from type '${type}' to Object",
			"type", v.kind.String())
	}
	return v.keys, v.list, nil
}

// Find returns the member of a key, if v is an object that has it.
func (v Value) Find(key string) (Value, bool) {
	for i, k := range v.keys {
		if k == key {
			return v.list[i], true
		}
	}
	return Value{}, false
}

func (v Value) castError(to string) error {
	return exception.New(exception.FCBadCast, "Invalid cast from ${type} to "+to, "type", v.kind.String())
}

// AsInt64 converts v as nodeos does: null is 0, strings are parsed, numbers of
// other types converted without a check.
func (v Value) AsInt64() (int64, error) {
	switch v.kind {
	case String:
		n, err := strconv.ParseInt(v.text, 10, 64)
		if err != nil {
			return 0, exception.New(exception.FCParseError, "Couldn't parse int64_t")
		}
		return n, nil
	case Double:
		return truncate(math.Float64frombits(v.bits)), nil
	case Array, Object:
		return 0, v.castError("int64")
	}
	return int64(v.bits), nil
}

// AsUint64 converts v as nodeos does: null is 0, strings are parsed (a minus
// wraps), numbers of other types converted without a check.
func (v Value) AsUint64() (uint64, error) {
	switch v.kind {
	case String:
		return parseUint64(v.text)
	case Double:
		f := math.Float64frombits(v.bits)
		if f >= 1<<63 {
			return uint64(truncate(f-1<<63)) ^ 1<<63, nil
		}
		return uint64(truncate(f)), nil
	case Array, Object:
		return 0, v.castError("uint64")
	}
	return v.bits, nil
}

// truncate converts as amd64 does, out of range too.
func truncate(f float64) int64 {
	if f >= -1<<63 && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}

func parseUint64(s string) (uint64, error) {
	digits := strings.TrimPrefix(s, "-")
	negative := len(digits) < len(s)
	if !negative {
		digits = strings.TrimPrefix(s, "+")
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, exception.New(exception.FCParseError, "Couldn't parse uint64_t")
	}
	if negative {
		n = -n
	}
	return n, nil
}

// AsDouble converts v as nodeos does: null is 0, strings are parsed.
func (v Value) AsDouble() (float64, error) {
	switch v.kind {
	case String:
		return parseDouble(v.text)
	case Double:
		return math.Float64frombits(v.bits), nil
	case Int64:
		return float64(int64(v.bits)), nil
	case Array, Object:
		return 0, v.castError("double")
	}
	return float64(v.bits), nil
}

func parseDouble(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.ContainsAny(s, "xXpP_") {
		if s == "-nan" || s == "+nan" {
			return math.Copysign(math.NaN(), -1), nil
		}
		return 0, exception.New(exception.FCParseError, "Couldn't parse double")
	}
	return f, nil
}

// AsBool converts v as nodeos does: null and 0 are false, of strings only "true"
// and "false" are taken.
func (v Value) AsBool() (bool, error) {
	switch v.kind {
	case String:
		switch v.text {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return false, exception.New(exception.FCBadCast,
			`Cannot convert string to bool (only "true" or "false" can be converted)`)
	case Double:
		return math.Float64frombits(v.bits) != 0, nil
	case Array, Object:
		return false, v.castError("bool")
	}
	return v.bits != 0, nil
}

// AsText converts v as nodeos does: null is empty, numbers and bools are written
// out; it fails for arrays and objects.
func (v Value) AsText() (string, error) {
	switch v.kind {
	case String:
		return v.text, nil
	case Null:
		return "", nil
	case Int64:
		return strconv.FormatInt(int64(v.bits), 10), nil
	case Uint64:
		return strconv.FormatUint(v.bits, 10), nil
	case Double:
		return string(appendDouble(nil, math.Float64frombits(v.bits))), nil
	case Bool:
		return strconv.FormatBool(v.bits != 0), nil
	}
	return "", v.castError("string")
}

// AppendJSON appends v as nodeos prints it.
func (v Value) AppendJSON(b []byte) []byte {
	switch v.kind {
	case Int64:
		return AppendInt64(b, int64(v.bits))
	case Uint64:
		return AppendUint64(b, v.bits)
	case Double:
		return AppendDouble(b, math.Float64frombits(v.bits))
	case Bool:
		return AppendBool(b, v.bits != 0)
	case String:
		return AppendString(b, v.text)
	case Array:
		return AppendList(b, v.list, func(b []byte, v *Value) []byte { return v.AppendJSON(b) })
	case Object:
		b = append(b, '{')
		for i, k := range v.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.list[i].AppendJSON(append(AppendString(b, k), ':'))
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}
