package abi

import (
	"math"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// builtin is a type that every ABI has.
type builtin struct {
	size   int                                             // the least length of a value
	decode func(r *serial.Reader, b []byte) []byte         // appends JSON; errors stick to r
	encode func(b []byte, v variant.Value) ([]byte, error) // appends the binary form
}

// printer is a value of the protocol with its binary form and its JSON.
type printer[T any] interface {
	*T
	Read(*serial.Reader)
	AppendJSON([]byte) []byte
	Append([]byte) []byte
}

// ofType is the built-in of a protocol type, which take converts from JSON.
func ofType[T any, P printer[T]](size int, take func(v variant.Value) (T, error)) *builtin {
	return &builtin{
		size: size,
		decode: func(r *serial.Reader, b []byte) []byte {
			var v T
			P(&v).Read(r)
			if s, ok := any(&v).(interface{ Size() int }); ok && s.Size() > maxKeyBytes {
				r.Fail(exception.New(exception.ABISerializationDeadline, "key or signature of ${size} bytes",
					"size", s.Size()))
			}
			if r.Err() != nil {
				return b
			}
			return P(&v).AppendJSON(b)
		},
		encode: func(b []byte, v variant.Value) ([]byte, error) {
			x, err := take(v)
			if err != nil {
				return b, err
			}
			return P(&x).Append(b), nil
		},
	}
}

// printed is the built-in with another function that prints it, of a value that takes no memory.
func (b *builtin) printed(decode func(r *serial.Reader, b []byte) []byte) *builtin {
	b.decode = decode
	return b
}

// asHex prints so many bytes.
func asHex(size int) func(*serial.Reader, []byte) []byte {
	return func(r *serial.Reader, b []byte) []byte { return variant.AppendHex(b, r.Raw(size)) }
}

// asAsset prints an asset that is one.
func asAsset(r *serial.Reader, b []byte) []byte {
	var a types.Asset
	if a.Read(r); r.Err() != nil {
		return b
	}
	return a.AppendJSON(b)
}

// fromText converts by the text of a value: a string, or what is converted to one.
func fromText[T any](parse func(string) (T, error)) func(variant.Value) (T, error) {
	return func(v variant.Value) (T, error) {
		s, err := v.AsText()
		if err != nil {
			var none T
			return none, err
		}
		return parse(s)
	}
}

// fromString converts a string, and nothing else.
func fromString[T any](parse func(string) (T, error)) func(variant.Value) (T, error) {
	return func(v variant.Value) (T, error) {
		s, err := v.Text()
		if err != nil {
			var none T
			return none, err
		}
		return parse(s)
	}
}

// fromHex converts a string of hex, of which what is too long is dropped.
func fromHex[T any](set func(*T, []byte)) func(variant.Value) (T, error) {
	return func(v variant.Value) (out T, err error) {
		b, err := bytesFromValue(v)
		set(&out, b)
		return out, err
	}
}

// signedInteger is an integer that is read and written by size bytes.
func signedInteger(size int) *builtin {
	return &builtin{
		size: size,
		decode: func(r *serial.Reader, b []byte) []byte {
			shift := 64 - 8*size
			return variant.AppendInt64(b, int64(word(r, size)<<shift)>>shift)
		},
		encode: func(b []byte, v variant.Value) ([]byte, error) {
			n, err := v.AsInt64()
			return appendWord(b, uint64(n), size), err
		},
	}
}

// unsignedInteger is an integer that is read and written by size bytes.
func unsignedInteger(size int) *builtin {
	return &builtin{
		size:   size,
		decode: func(r *serial.Reader, b []byte) []byte { return variant.AppendUint64(b, word(r, size)) },
		encode: func(b []byte, v variant.Value) ([]byte, error) {
			n, err := v.AsUint64()
			return appendWord(b, n, size), err
		},
	}
}

func word(r *serial.Reader, size int) (v uint64) {
	for i, c := range r.Raw(size) {
		v |= uint64(c) << (8 * i)
	}
	return v
}

func appendWord(b []byte, v uint64, size int) []byte {
	for range size {
		b = append(b, byte(v))
		v >>= 8
	}
	return b
}

// varint32 reads on while bytes say that more follow; shifts count modulo 32, as
// on the machines that nodeos runs on.
func varint32(r *serial.Reader) int32 {
	var v uint32
	for shift := uint(0); ; shift += 7 {
		c := r.Uint8()
		v |= uint32(c&0x7f) << (shift & 31)
		if c&0x80 == 0 {
			return int32(v>>1) ^ -int32(v&1)
		}
	}
}

// maxKeyBytes limits the keys and signatures whose text is made, which takes more
// than linear time. Longer ones nodeos does not finish within its limit either.
const maxKeyBytes = 1 << 16

func takeUint128(v variant.Value) (types.Uint128, error) {
	switch v.Kind() {
	case variant.Uint64:
		n, err := v.AsUint64()
		return types.U128(n), err
	case variant.String:
		s, err := v.Text()
		if err != nil {
			return types.Uint128{}, err
		}
		return types.ParseUint128(s)
	}
	return types.Uint128{}, exception.New(exception.FCBadCast,
		"Cannot convert variant of type '${type}' into a uint128_t", "type", v.Kind().String())
}

func takeInt128(v variant.Value) (types.Int128, error) {
	switch v.Kind() {
	case variant.Int64:
		n, err := v.AsInt64()
		return types.Int128{Lo: uint64(n), Hi: uint64(n >> 63)}, err
	case variant.String:
		s, err := v.Text()
		if err != nil {
			return types.Int128{}, err
		}
		return types.ParseInt128(s)
	}
	return types.Int128{}, exception.New(exception.FCBadCast,
		"Cannot convert variant of type '${type}' into a int128_t", "type", v.Kind().String())
}

func parseFloat128(s string) (f types.Float128, err error) {
	if len(s) != 34 || s[:2] != "0x" {
		return f, exception.New(exception.FCAssert,
			"s.size() == 2 + 2 * sizeof(temp) && s.find(\"0x\") == 0: Failure in converting hex data into a float128_t")
	}
	b, err := types.ParseHex(s[2:])
	if err == nil {
		err = types.Decode(b, &f)
	}
	return f, err
}

func takeExtendedAsset(v variant.Value) (a types.ExtendedAsset, err error) {
	var quantity, contract variant.Value
	if v.Kind() == variant.Array {
		list, _ := v.Elements()
		if len(list) < 2 {
			return a, exception.New(exception.FCStd, "vector::_M_range_check")
		}
		quantity, contract = list[0], list[1]
	} else {
		if _, _, err := v.Members(); err != nil {
			return a, err
		}
		for _, m := range []struct {
			key string
			to  *variant.Value
		}{{"quantity", &quantity}, {"contract", &contract}} {
			var ok bool
			if *m.to, ok = v.Find(m.key); !ok {
				return a, exception.New(exception.FCKeyNotFound, "Key ${key}", "key", m.key)
			}
		}
	}
	if a.Quantity, err = fromString(types.ParseAsset)(quantity); err == nil {
		a.Contract, err = fromString(types.ParseName)(contract)
	}
	return a, err
}

// symbolCode checks the letters where it prints, as nodeos does; the eighth is
// not looked at.
var symbolCode = &builtin{
	size: 8,
	decode: func(r *serial.Reader, b []byte) []byte {
		s := types.Symbol(r.Uint64() << 8)
		if err := s.Validate(); err != nil {
			r.Fail(err)
			return b
		}
		return s.Code().AppendJSON(b)
	},
	encode: func(b []byte, v variant.Value) ([]byte, error) {
		c, err := fromString(types.ParseSymbolCode)(v)
		return c.Append(b), err
	},
}

func parseText(s string) (string, error) { return s, nil }

// builtins are the types of nodeos, by name (Leap: configure_built_in_types). A
// bool is the number that it is.
var builtins = map[string]*builtin{
	"bool": unsignedInteger(1), "int8": signedInteger(1), "uint8": unsignedInteger(1), "int16": signedInteger(2),
	"uint16": unsignedInteger(2),
	"int32":  signedInteger(4), "uint32": unsignedInteger(4), "int64": signedInteger(8), "uint64": unsignedInteger(8),
	"int128":  ofType[types.Int128](16, takeInt128),
	"uint128": ofType[types.Uint128](16, takeUint128),
	"varint32": {
		size:   1,
		decode: func(r *serial.Reader, b []byte) []byte { return variant.AppendInt64(b, int64(varint32(r))) },
		encode: func(b []byte, v variant.Value) ([]byte, error) {
			n, err := v.AsInt64()
			return serial.AppendVaruint32(b, uint32(int32(n))<<1^uint32(int32(n)>>31)), err
		},
	},
	"varuint32": {
		size:   1,
		decode: func(r *serial.Reader, b []byte) []byte { return variant.AppendUint64(b, uint64(r.Varuint32())) },
		encode: func(b []byte, v variant.Value) ([]byte, error) {
			n, err := v.AsUint64()
			return serial.AppendVaruint32(b, uint32(n)), err
		},
	},
	"float32": {
		size: 4,
		decode: func(r *serial.Reader, b []byte) []byte {
			return variant.AppendDouble(b, float64(math.Float32frombits(r.Uint32())))
		},
		encode: func(b []byte, v variant.Value) ([]byte, error) {
			f, err := v.AsDouble()
			return serial.AppendUint32(b, math.Float32bits(float32(f))), err
		},
	},
	"float64": {
		size: 8,
		decode: func(r *serial.Reader, b []byte) []byte {
			return variant.AppendDouble(b, math.Float64frombits(r.Uint64()))
		},
		encode: func(b []byte, v variant.Value) ([]byte, error) {
			f, err := v.AsDouble()
			return serial.AppendUint64(b, math.Float64bits(f)), err
		},
	},
	"float128": ofType[types.Float128](16, fromText(parseFloat128)),
	"time_point": ofType[types.TimePoint](8, fromText(types.ParseTimePoint)).
		printed(func(r *serial.Reader, b []byte) []byte { return types.TimePoint(r.Int64()).AppendJSON(b) }),
	"time_point_sec": ofType[types.TimePointSec](4, fromText(types.ParseTimePointSec)).
		printed(func(r *serial.Reader, b []byte) []byte { return types.TimePointSec(r.Uint32()).AppendJSON(b) }),
	"block_timestamp_type": ofType[types.BlockTimestamp](4, fromText(types.ParseBlockTimestamp)).
		printed(func(r *serial.Reader, b []byte) []byte { return types.BlockTimestamp(r.Uint32()).AppendJSON(b) }),
	"name": ofType[types.Name](8, fromString(types.ParseName)).
		printed(func(r *serial.Reader, b []byte) []byte { return types.Name(r.Uint64()).AppendJSON(b) }),
	"bytes": {
		size:   1,
		decode: func(r *serial.Reader, b []byte) []byte { return variant.AppendHex(b, r.Bytes()) },
		encode: func(b []byte, v variant.Value) ([]byte, error) {
			data, err := bytesFromValue(v)
			return serial.AppendBytes(b, data), err
		},
	},
	"string": {
		size:   1,
		decode: func(r *serial.Reader, b []byte) []byte { return variant.AppendString(b, r.String()) },
		encode: func(b []byte, v variant.Value) ([]byte, error) {
			s, err := fromText(parseText)(v)
			return serial.AppendString(b, s), err
		},
	},
	"checksum160": ofType[types.Checksum160](20, fromHex(func(c *types.Checksum160, b []byte) { copy(c[:], b) })).
		printed(asHex(20)),
	"checksum256": ofType[types.Checksum256](32, fromHex(func(c *types.Checksum256, b []byte) { copy(c[:], b) })).
		printed(asHex(32)),
	"checksum512": ofType[types.Checksum512](64, fromHex(func(c *types.Checksum512, b []byte) { copy(c[:], b) })).
		printed(asHex(64)),
	"public_key":     ofType[types.PublicKey](34, fromText(types.ParsePublicKey)),
	"signature":      ofType[types.Signature](66, fromText(types.ParseSignature)),
	"symbol":         ofType[types.Symbol](8, fromString(types.ParseSymbol)),
	"symbol_code":    symbolCode,
	"asset":          ofType[types.Asset](16, fromString(types.ParseAsset)).printed(asAsset),
	"extended_asset": ofType[types.ExtendedAsset](24, takeExtendedAsset),
}
