package rpc

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/softfloat"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// toUint64 reads a number, a name or a symbol (Leap: convert_to_type<uint64_t>).
func toUint64(s, what string) (uint64, error) {
	if n, err := variant.Of(s).AsUint64(); err == nil {
		return n, nil
	}
	if n, err := types.ParseName(strings.Trim(s, " \t\n\v\f\r")); err == nil {
		return uint64(n), nil
	}
	if strings.Contains(s, ",") {
		if symbol, err := types.ParseSymbol(s); err == nil {
			return uint64(symbol), nil
		}
	}
	if code, ok := letters(s); ok {
		return code, nil
	}
	return 0, exception.New(exception.ChainType, "Could not convert ${desc} string '${str}' to any of the following: "+
		"uint64_t, valid name, or valid symbol (with or without the precision)", "desc", what, "str", s)
}

// letters returns the symbol code of capital letters; those beyond the word wrap
// around, as they do in nodeos on x86 (Leap: string_to_symbol).
func letters(s string) (code uint64, ok bool) {
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return 0, false
		}
		code |= uint64(s[i]) << (8 * (i + 1) & 63)
	}
	return code >> 8, true
}

func toDouble(s, what string) (float64, error) {
	f, err := variant.Of(s).AsDouble()
	if err != nil {
		return f, noteUnconverted(err, s, what)
	}
	if math.IsNaN(f) {
		err = exception.New(exception.ContractTableQuery, "Converted ${desc} string '${str}' to NaN which is not a "+
			"permitted value for the key type", "desc", what, "str", s)
	}
	return f, err
}

// keyType is how keys of an index are written.
type keyType struct {
	kind  state.Kind
	parse func(s, what string) (state.SecondaryKey, error)
	text  func(b []byte, k *state.SecondaryKey) []byte
}

// keyTypeOf returns the type of a secondary index that a query names.
func keyTypeOf(keyName, encoding string) (keyType, bool) {
	hexadecimal := encoding == "hex"
	switch keyName {
	case "i64":
		return keyType{state.Index64, parse64, text64}, true
	case "name":
		return keyType{state.Index64, parseNameKey, text64}, true
	case "i128":
		return keyType{state.Index128, parse128, text128}, true
	case "i256":
		if hexadecimal {
			return keyType{state.Index256, parseSHA256, textSHA256}, true
		}
		return keyType{state.Index256, parse256, text256}, true
	case "sha256":
		return keyType{state.Index256, parseSHA256, textSHA256}, true
	case "ripemd160":
		return keyType{state.Index256, parseRIPEMD160, textRIPEMD160}, true
	case "float64":
		return keyType{state.IndexDouble, parseFloat64, textFloat64}, true
	case "float128":
		if hexadecimal {
			return keyType{state.IndexLongDouble, parse128, textFloat128}, true
		}
		return keyType{state.IndexLongDouble, parseFloat128, textFloat128}, true
	}
	return keyType{}, false
}

// lowest and highest are the ends of an index.
func (k keyType) lowest() (key state.SecondaryKey) {
	switch k.kind {
	case state.IndexDouble:
		key.Words[0] = math.Float64bits(math.Inf(-1))
	case state.IndexLongDouble:
		key.Words[1] = 0xffff << 48
	}
	return key
}

func (k keyType) highest() (key state.SecondaryKey) {
	switch k.kind {
	case state.IndexDouble:
		key.Words[0] = math.Float64bits(math.Inf(1))
	case state.IndexLongDouble:
		key.Words[1] = 0x7fff << 48
	default:
		for i := range k.kind.Size() / 8 {
			key.Words[i] = math.MaxUint64
		}
	}
	return key
}

func parse64(s, what string) (k state.SecondaryKey, err error) {
	k.Words[0], err = toUint64(s, what)
	return k, err
}

func parseNameKey(s, _ string) (k state.SecondaryKey, err error) {
	n, err := types.ParseName(s)
	k.Words[0] = uint64(n)
	return k, err
}

func text64(b []byte, k *state.SecondaryKey) []byte { return appendDecimal(b, k.Words[0]) }

// noteUnconverted notes, as nodeos does for some types, that a text is no key.
func noteUnconverted(err error, s, what string) error {
	e := exception.Of(err)
	if e == nil {
		return err
	}
	return e.With("Could not convert ${desc} string '${str}' to key type.", "desc", what, "str", s)
}

func parse128(s, what string) (k state.SecondaryKey, err error) {
	u, err := types.ParseUint128(s)
	k.Words[0], k.Words[1] = u.Lo, u.Hi
	return k, noteUnconverted(err, s, what)
}

func text128(b []byte, k *state.SecondaryKey) []byte {
	return types.Uint128{Lo: k.Words[0], Hi: k.Words[1]}.AppendText(b)
}

// A key of 256 bits is two numbers of 128, the higher first. bytesOf and keyOfBytes
// take it for one number, big-endian.

func keyOfBytes(d *[32]byte) (k state.SecondaryKey) {
	for i, w := range [...]int{1, 0, 3, 2} {
		k.Words[w] = binary.BigEndian.Uint64(d[8*i:])
	}
	return k
}

func bytesOf(k *state.SecondaryKey) (d [32]byte) {
	for i, w := range [...]int{1, 0, 3, 2} {
		binary.BigEndian.PutUint64(d[8*i:], k.Words[w])
	}
	return d
}

// parse256 reads a number; what does not fit wraps.
func parse256(s, what string) (k state.SecondaryKey, err error) {
	n := types.ParseInteger(s)
	if n == nil {
		return k, exception.Standard("St13runtime_error", "Unexpected content found while parsing character string.").
			With("Could not convert ${desc} string '${str}' to key type.", "desc", what, "str", s)
	}
	n.And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1)))
	var d [32]byte
	n.FillBytes(d[:])
	return keyOfBytes(&d), nil
}

func text256(b []byte, k *state.SecondaryKey) []byte { return textSHA256(append(b, "0x"...), k) }

func parseSHA256(s, what string) (k state.SecondaryKey, err error) {
	var d [32]byte
	data, err := types.ParseHex(s)
	copy(d[:], data)
	return keyOfBytes(&d), noteUnconverted(err, s, what)
}

func textSHA256(b []byte, k *state.SecondaryKey) []byte {
	d := bytesOf(k)
	return hex.AppendEncode(b, d[:])
}

func parseRIPEMD160(s, what string) (k state.SecondaryKey, err error) {
	var d [32]byte
	data, err := types.ParseHex(s)
	copy(d[:20], data)
	return keyOfBytes(&d), noteUnconverted(err, s, what)
}

func textRIPEMD160(b []byte, k *state.SecondaryKey) []byte {
	d := bytesOf(k)
	return hex.AppendEncode(b, d[:20])
}

func parseFloat64(s, what string) (k state.SecondaryKey, err error) {
	f, err := toDouble(s, what)
	k.Words[0] = math.Float64bits(f)
	return k, err
}

func textFloat64(b []byte, k *state.SecondaryKey) []byte {
	return appendFloat(b, math.Float64frombits(k.Words[0]))
}

func appendFloat(b []byte, f float64) []byte {
	s, err := variant.OfDouble(f).AsText()
	if err != nil { // numbers have texts
		return b
	}
	return append(b, s...)
}

func parseFloat128(s, what string) (k state.SecondaryKey, err error) {
	f, err := toDouble(s, what)
	wide := softfloat.F64(math.Float64bits(f)).F128()
	k.Words[0], k.Words[1] = wide.Lo, wide.Hi
	return k, err
}

func textFloat128(b []byte, k *state.SecondaryKey) []byte {
	f := softfloat.F128{Lo: k.Words[0], Hi: k.Words[1]}.F64()
	return appendFloat(b, math.Float64frombits(uint64(f)))
}
