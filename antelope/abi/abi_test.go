package abi_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tarn/antelope/abi"
	"tarn/antelope/exception"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// compile parses an ABI, takes it through its binary form and its JSON, and checks it.
func compile(text string) (*abi.Codec, error) {
	def, err := abi.Parse(text)
	if err != nil {
		return nil, err
	}
	again, err := abi.Decode(def.Append(nil))
	if err != nil {
		return nil, err
	}
	if again == nil {
		return nil, errors.New("an ABI that is taken for none")
	}
	if again, err = abi.Parse(string(again.AppendJSON(nil))); err != nil {
		return nil, err
	}
	if got, want := hex.EncodeToString(again.Append(nil)), hex.EncodeToString(def.Append(nil)); got != want {
		return nil, fmt.Errorf("%s came back as %s", want, got)
	}
	return abi.New(again, nil)
}

func mustCompile(t *testing.T, text string) *abi.Codec {
	t.Helper()
	c, err := compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// checkRoundTrip encodes JSON, decodes, and encodes that.
func checkRoundTrip(t *testing.T, c *abi.Codec, typ, json, binary, back string) {
	t.Helper()
	b, err := c.EncodeJSON(nil, typ, json, nil)
	if err != nil {
		t.Errorf("%s %s: %v", typ, json, err)
		return
	}
	if got := hex.EncodeToString(b); got != binary {
		t.Errorf("%s %s is encoded as %s, want %s", typ, json, got, binary)
	}
	out, err := c.Decode(nil, typ, b, nil)
	if err != nil {
		t.Errorf("%s %s: %v", typ, binary, err)
		return
	}
	if string(out) != back {
		t.Errorf("%s %s is decoded as %s, want %s", typ, binary, out, back)
	}
	again, err := c.EncodeJSON(nil, typ, string(out), nil)
	if err != nil || string(again) != string(b) {
		t.Errorf("%s %s is encoded as %x, %v", typ, out, again, err)
	}
}

func checkError(t *testing.T, err error, kind *exception.Kind, message string) {
	t.Helper()
	e := exception.Of(err)
	switch {
	case e == nil:
		t.Errorf("error %v, want %s: %s", err, kind.Name, message)
	case e.Kind != kind:
		t.Errorf("error of kind %s (%s), want %s", e.Kind.Name, e.Message(), kind.Name)
	case !strings.HasPrefix(e.Message(), message):
		t.Errorf("message %q, want %q", e.Message(), message)
	}
}

const anyABI = `{"version":"eosio::abi/1.0"}`

const key1 = "EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV"

func TestBuiltInTypesRoundTrip(t *testing.T) {
	c := mustCompile(t, anyABI)
	zeros := strings.Repeat("00", 65)
	for _, v := range []struct{ typ, json, binary, back string }{
		{"bool", "true", "01", "1"},
		{"bool", "false", "00", "0"},
		{"int8", "-1", "ff", "-1"},
		{"uint8", "255", "ff", "255"},
		{"uint8", "256", "00", "0"},
		{"uint8", `"7"`, "07", "7"},
		{"uint8", "null", "00", "0"},
		{"int16", "-2", "feff", "-2"},
		{"uint16", "65535", "ffff", "65535"},
		{"int32", "-2147483648", "00000080", "-2147483648"},
		{"uint32", "4294967295", "ffffffff", "4294967295"},
		{"int64", "-4294967295", "01000000ffffffff", "-4294967295"},
		{"int64", `"-4294967296"`, "00000000ffffffff", `"-4294967296"`},
		{"uint64", "18446744073709551615", "ffffffffffffffff", `"18446744073709551615"`},
		{"uint64", `"4294967296"`, "0000000001000000", `"4294967296"`},
		{"uint64", `"-1"`, "ffffffffffffffff", `"18446744073709551615"`},
		{"uint128", "5", "05000000000000000000000000000000", `"5"`},
		{"uint128", `"340282366920938463463374607431768211455"`, strings.Repeat("f", 32), `"340282366920938463463374607431768211455"`},
		{"uint128", `"0x10"`, "10000000000000000000000000000000", `"16"`},
		{"int128", `"-170141183460469231731687303715884105728"`, strings.Repeat("0", 30) + "80", `"-170141183460469231731687303715884105728"`},
		{"int128", "-1", strings.Repeat("f", 32), `"-1"`},
		{"varint32", "-1", "01", "-1"},
		{"varint32", "-2147483648", "ffffffff0f", "-2147483648"},
		{"varuint32", "4294967295", "ffffffff0f", "4294967295"},
		{"float32", "0.5", "0000003f", `"0.50000000000000000"`},
		{"float64", "-1e1", "00000000000024c0", `"-10.00000000000000000"`},
		{"float64", `"inf"`, "000000000000f07f", `"inf"`},
		{"float128", `"0x000102030405060708090a0b0c0d0e0f"`, "000102030405060708090a0b0c0d0e0f", `"0x000102030405060708090a0b0c0d0e0f"`},
		{"time_point", `"2020-01-01T00:00:00.500"`, "20e101c2089b0500", `"2020-01-01T00:00:00.500"`},
		{"time_point_sec", `"2020-01-01T00:00:00"`, "00e10b5e", `"2020-01-01T00:00:00"`},
		{"block_timestamp_type", `"2000-01-01T00:00:01.500"`, "03000000", `"2000-01-01T00:00:01.500"`},
		{"name", `"eosio"`, "0000000000ea3055", `"eosio"`},
		{"name", `""`, "0000000000000000", `""`},
		{"bytes", `"00ff"`, "0200ff", `"00ff"`},
		{"bytes", `""`, "00", `""`},
		// The parser knows no \u; what is printed escapes what it must.
		{"string", `"a\"\\\n\u0041"`, "09" + hex.EncodeToString([]byte("a\"\\\nu0041")), `"a\"\\\nu0041"`},
		{"checksum160", `"` + zeros[:40] + `"`, zeros[:40], `"` + zeros[:40] + `"`},
		{"checksum256", `"ff"`, "ff" + zeros[:62], `"ff` + zeros[:62] + `"`},
		{"checksum512", `"` + zeros[:128] + `"`, zeros[:128], `"` + zeros[:128] + `"`},
		{"public_key", `"` + key1 + `"`, "0002c0ded2bc1f1305fb0faac5e6c03ee3a1924234985427b6167ca569d13df435cf", `"` + key1 + `"`},
		{"symbol", `"4,SYS"`, "0453595300000000", `"4,SYS"`},
		{"symbol_code", `"SYS"`, "5359530000000000", `"SYS"`},
		{"asset", `"-1.2345 SYS"`, "c7cfffffffffffff0453595300000000", `"-1.2345 SYS"`},
		{"extended_asset", `["1 A","eosio"]`, "010000000000000000410000000000000000000000ea3055", `{"quantity":"1 A","contract":"eosio"}`},
		{"uint8[]", "[1,2,3]", "03010203", "[1,2,3]"},
		{"uint8?", "null", "00", "null"},
		{"uint8?", "9", "0109", "9"},
		{"name[]", `["a","b"]`, "02" + "0000000000000030" + "0000000000000038", `["a","b"]`},
	} {
		checkRoundTrip(t, c, v.typ, v.json, v.binary, v.back)
	}
}

func TestValuesThatAreNoneAreRefused(t *testing.T) {
	c := mustCompile(t, anyABI)
	for _, v := range []struct {
		typ, json string
		kind      *exception.Kind
		message   string
	}{
		{"uint8", `"x"`, exception.FCParseError, "Couldn't parse uint64_t"},
		{"uint8", `{}`, exception.FCBadCast, "Invalid cast from object_type to uint64"},
		{"bool", `"true"`, exception.FCParseError, "Couldn't parse uint64_t"},
		{"uint8[]", "5", exception.FCBadCast, "Invalid cast from uint64_type to Array"},
		{"uint128", "-5", exception.FCBadCast, "Cannot convert variant of type 'int64_type' into a uint128_t"},
		{"int128", "5", exception.FCBadCast, "Cannot convert variant of type 'uint64_type' into a int128_t"},
		{"name", `"UPPER"`, exception.NameType, "Name not properly normalized (name: UPPER, normalized: ) "},
		{"name", `"abcdefghijklmn"`, exception.NameType, "Name is longer than 13 characters (abcdefghijklmn) "},
		{"name", "5", exception.FCBadCast, "Invalid cast from type 'uint64_type' to string"},
		{"bytes", `"0"`, exception.FCAssert, "str.size() % 2 == 0: the length of hex string should be even number"},
		{"bytes", `"0g"`, exception.FCUnspecified, "Invalid hex character 'g'"},
		{"asset", `"1.0SYS"`, exception.AssetType, "Asset's amount and symbol should be separated with space"},
		{"asset", `"1. SYS"`, exception.AssetType, "Missing decimal fraction after decimal point"},
		{"asset", `"4611686018427387904 SYS"`, exception.AssetType, "magnitude of asset amount must be less than 2^62"},
		{"asset", `"1 sys"`, exception.SymbolType, "invalid character in symbol name"},
		{"symbol", `"19,SYS"`, exception.SymbolType, "precision 19 should be <= 18"},
		{"symbol", `"SYS"`, exception.SymbolType, "missing comma in symbol"},
		{"symbol", `""`, exception.SymbolType, "creating symbol from empty string"},
		{"extended_asset", `{"quantity":"1 A"}`, exception.FCKeyNotFound, "Key contract"},
		{"float128", `"0x00"`, exception.FCAssert, "s.size() == 2 + 2 * sizeof(temp) && s.find(\"0x\") == 0: Failure in converting hex data into a float128_t"},
		{"public_key", `"EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CW"`, exception.FCAssert, ""},
	} {
		_, err := c.EncodeJSON(nil, v.typ, v.json, nil)
		checkError(t, err, v.kind, v.message)
	}
	for _, v := range []struct {
		typ, binary string
		kind        *exception.Kind
		message     string
	}{
		{"uint32", "000000", exception.Unpack, "Unable to unpack built-in type 'uint32' while processing ''"},
		{"uint32[]", "0100", exception.Unpack, "Unable to unpack array of built-in type 'uint32' while processing 'ARRAY'"},
		{"uint32?", "02", exception.Unpack, "Unable to unpack optional of built-in type 'uint32' while processing ''"},
		{"symbol", "1353595300000000", exception.SymbolType, "precision 19 should be <= 18"},
		{"symbol_code", "7359530000000000", exception.SymbolType, "invalid symbol: sYS"},
		{"asset", "00000000000000400453595300000000", exception.AssetType, "magnitude of asset amount must be less than 2^62"},
		{"public_key", "02" + strings.Repeat("00", 35), exception.Unpack, "Unable to unpack built-in type 'public_key' while processing ''"},
	} {
		_, err := c.Decode(nil, v.typ, unhex(t, v.binary), nil)
		checkError(t, err, v.kind, v.message)
	}
}

// The checks of nodeos 5 know arrays of a fixed size, its conversion does not.
func TestArraysOfAFixedSizeAreTypesThatConvertOneElement(t *testing.T) {
	c := mustCompile(
		t, `{"version":"eosio::abi/1.1","structs":[{"name":"s","base":"","fields":[{"name":"f","type":"uint8[4]"}]},
		{"name":"u","base":"","fields":[{"name":"f","type":"s[2]"}]}]}`)
	checkRoundTrip(t, c, "s", `{"f":7}`, "07", `{"f":7}`)
	_, err := c.Decode(nil, "u", []byte{1, 2}, nil)
	checkError(t, err, exception.InvalidTypeInsideABI, "Unknown type s[2]")
	_, err = c.EncodeJSON(nil, "u", `{"f":[{"f":1},{"f":2}]}`, nil)
	checkError(t, err, exception.InvalidTypeInsideABI, "Unknown type s[2]")
}

func TestWhatIsNoTypeIsTakenAsHex(t *testing.T) {
	c := mustCompile(t, anyABI)
	b, err := c.Encode(nil, "nothing", variant.Of("c0ffee"), nil)
	if err != nil || hex.EncodeToString(b) != "c0ffee" {
		t.Errorf("%x, %v", b, err)
	}
	_, err = c.Decode(nil, "nothing", nil, nil)
	checkError(t, err, exception.InvalidTypeInsideABI, "Unknown type nothing")
}

func TestVariantsAndAliases(t *testing.T) {
	c := mustCompile(t, `{"version":"eosio::abi/1.1",
		"types":[{"new_type_name":"foo","type":"s"},{"new_type_name":"bar","type":"s"},{"new_type_name":"baz","type":"v1"}],
		"structs":[{"name":"s","base":"","fields":[{"name":"i0","type":"int8"},{"name":"i1","type":"int8"}]}],
		"variants":[{"name":"v1","types":["int8","string","int16"]},{"name":"v2","types":["foo","bar"]}]}`)
	for _, v := range [][3]string{
		{"v1", `["int8",21]`, "0015"},
		{"v1", `["string","abcd"]`, "010461626364"},
		{"v1", `["int16",4]`, "020400"},
		{"v2", `["foo",{"i0":5,"i1":6}]`, "000506"},
		{"v2", `["bar",{"i0":5,"i1":6}]`, "010506"},
		{"baz", `["int8",21]`, "0015"},
		{"v1[]", `[["int8",1],["int16",2]]`, "020001020200"},
		{"s?", `{"i0":5,"i1":6}`, "010506"},
		{"s?", `null`, "00"},
	} {
		checkRoundTrip(t, c, v[0], v[1], v[2], v[1])
	}
	for json, message := range map[string]string{
		`9`:           "Expected input to be an array of two items while processing variant 'v1'",
		`[4]`:         "Expected input to be an array of two items while processing variant 'v1'",
		`["4",5,6]`:   "Expected input to be an array of two items while processing variant 'v1'",
		`[4,5]`:       "Encountered non-string as first item of input array while processing variant 'v1'",
		`["int9",21]`: "Specified type 'int9' in input array is not valid within the variant 'v1'",
	} {
		_, err := c.EncodeJSON(nil, "v1", json, nil)
		checkError(t, err, exception.Pack, message)
	}
}

func TestBinaryExtensionsMayBeMissingAtTheEnd(t *testing.T) {
	c := mustCompile(t, `{"version":"eosio::abi/1.1","structs":[
		{"name":"s","base":"","fields":[{"name":"i0","type":"int8"},{"name":"i1","type":"int8"},{"name":"i2","type":"int8$"},
			{"name":"a","type":"int8[]$"},{"name":"o","type":"int8?$"}]},
		{"name":"s2","base":"","fields":[{"name":"i0","type":"int8"},{"name":"i1","type":"int8$"},{"name":"i2","type":"int8"}]}]}`)
	for _, v := range [][3]string{
		{`{"i0":5,"i1":6}`, "0506", `[5,6]`},
		{`{"i0":5,"i1":6,"i2":7}`, "050607", `[5,6,7]`},
		{`{"i0":5,"i1":6,"i2":7,"a":[8,9,10]}`, "0506070308090a", `[5,6,7,[8,9,10]]`},
		{`{"i0":5,"i1":6,"i2":7,"a":[8,9,10],"o":null}`, "0506070308090a00", `[5,6,7,[8,9,10],null]`},
		{`{"i0":5,"i1":6,"i2":7,"a":[8,9,10],"o":31}`, "0506070308090a011f", `[5,6,7,[8,9,10],31]`},
	} {
		checkRoundTrip(t, c, "s", v[0], v[1], v[0])
		checkRoundTrip(t, c, "s", v[2], v[1], v[0])
	}
	for _, v := range []struct {
		typ, json string
		kind      *exception.Kind
		message   string
	}{
		{"s", `{"i0":5}`, exception.Pack, "Missing field 'i1' in input object while processing struct 's'"},
		{"s", `{"i0":5,"i1":6,"a":[8]}`, exception.Pack, "Unexpected field 'a' found in input object while processing struct 's'"},
		{"s2", `{"i0":1}`, exception.ABI, "Encountered field 'i2' without binary extension designation while processing struct 's2'"},
		{"s", `[]`, exception.Pack, "Early end to input array specifying the fields of struct 's'; require input for field 'i0'"},
	} {
		_, err := c.EncodeJSON(nil, v.typ, v.json, nil)
		checkError(t, err, v.kind, v.message)
	}
	_, err := c.Decode(nil, "s2", unhex(t, "0102"), nil)
	checkError(t, err, exception.ABI,
		"Encountered field 'i2' without binary extension designation while processing struct 's2'")
}

const nestedABI = `{"version":"eosio::abi/1.1",
	"types":[{"new_type_name":"foo","type":"s2"},{"new_type_name":"bar","type":"foo"},
		{"new_type_name":"s1array","type":"s1[]"},{"new_type_name":"s1arrayarray","type":"s1array[]"},
		{"new_type_name":"oint","type":"int8?"},{"new_type_name":"os1","type":"s1?"}],
	"structs":[
		{"name":"s1","base":"","fields":[{"name":"i0","type":"int8"},{"name":"i1","type":"int8"}]},
		{"name":"s2","base":"","fields":[{"name":"f0","type":"s1"},{"name":"i2","type":"int8"}]},
		{"name":"LONG_s3","base":"s1","fields":[{"name":"i2","type":"int8"},{"name":"f3","type":"v2"},{"name":"f4","type":"foo$"},{"name":"LONG_f5","type":"s1$"}]},
		{"name":"s4","base":"","fields":[{"name":"f0","type":"int8[]"},{"name":"f1","type":"s1[]"}]},
		{"name":"s5","base":"","fields":[{"name":"f0","type":"v2[]"}]},
		{"name":"t2","base":"","fields":[{"name":"f0","type":"int8[]"},{"name":"f1","type":"s1[]"}]},
		{"name":"t3","base":"s1","fields":[{"name":"i3","type":"int8"},{"name":"i4","type":"int8$"},{"name":"i5","type":"int8"}]},
		{"name":"t4","base":"","fields":[{"name":"f0","type":"oint[]"}]},
		{"name":"t5","base":"","fields":[{"name":"f0","type":"os1[]"},{"name":"f1","type":"v3[]"}]}],
	"variants":[{"name":"v1","types":["LONG_s3","int8","s4"]},{"name":"v2","types":["foo","bar"]},{"name":"v3","types":["int8","s1"]}]}`

func TestMessagesSayWhereInTheInputTheErrorIs(t *testing.T) {
	c := mustCompile(t, nestedABI)
	for _, v := range [][4]string{ // type, JSON, where, the type there
		{"bar", `{"f0":{"i0":1},"i2":3}`, "Missing field 'i1' in input object while processing struct 's2.f0'", "s1"},
		{"LONG_s3", `{"i0":1,"i2":3}`, "Missing field 'i1' in input object while processing struct 'LONG_s3'", "LONG_s3"},
		{"LONG_s3", `{"i0":1,"i1":2,"i2":3,"f3":["s2",{}]}`, "Specified type 's2' in input array is not valid within the variant 'LONG_s3.f3'", "v2"},
		{"LONG_s3", `{"i0":1,"i1":2,"i2":3,"f3":["bar",{"f0":{"i0":11},"i2":13}]}`,
			"Missing field 'i1' in input object while processing struct 'LONG_s3.f3.<variant(1)=bar>.f0'", "s1"},
		{"v1", `["LONG_s3",{"i0":1,"i1":2,"i2":3,"f3":["bar",{"f0":{"i0":11,"i1":12},"i2":13}],"LONG_f5":0}]`,
			"Unexpected field 'LONG_f5' found in input object while processing struct 'v1.<variant(0)=LONG_s3>'",
			"LONG_s3"},
		{"v1", `["s4",{"f0":[0,1],"f1":[{"i0":2,"i1":3},{"i1":5}]}]`,
			"Missing field 'i0' in input object while processing struct 'v1.<variant(2)=s4>.f1[1]'", "s1"},
		{"s2[]", `[{"f0":{"i0":1,"i1":2},"i2":3},{"f0":{"i0":4},"i2":6}]`, "Missing field 'i1' in input object while processing struct 'ARRAY[1].f0'", "s1"},
		{"s5", `{"f0":[["bar",{"f0":{"i0":1,"i1":2},"i2":3}],["foo",{"f0":{"i0":4},"i2":6}]]}`,
			"Missing field 'i1' in input object while processing struct 's5.f0[1].<variant(0)=foo>.f0'", "s1"},
		{"s1arrayarray", `[[{"i0":1,"i1":2},{"i0":3,"i1":4}],[{"i0":6,"i1":6},{"i0":7,"i1":8},{"i1":10}]]`,
			"Missing field 'i0' in input object while processing struct 'ARRAY[1][2]'", "s1"},
		{"s2", `{"f0":1,"i2":2}`, "Unexpected input encountered while processing struct 's2.f0'", "s1"},
		{"LONG_s3", `[1,2,3]`,
			"Using input array to specify the fields of the derived struct 'LONG_s3'; input arrays are currently " +
				"only allowed for structs without a base", "LONG_s3"},
	} {
		in, err := variant.Parse(v[1])
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Encode(nil, v[0], in, nil)
		e := exception.Of(err)
		if e == nil || e.Message() != v[2] {
			t.Errorf("%s %s: %v, want %q", v[0], v[1], err, v[2])
			continue
		}
		want := v[2][:strings.LastIndex(v[2][:len(v[2])-1], " '")]
		if _, err = c.EncodeShort(nil, v[0], in); !strings.Contains(exception.Of(err).Message(), "'"+v[3]+"'") {
			t.Errorf("short: %v, want %s '%s'", err, want, v[3])
		}
	}
	checkRoundTrip(t, c, "LONG_s3", `{"i0":1,"i1":2,"i2":3,"f3":["bar",{"f0":{"i0":11,"i1":12},"i2":13}]}`,
		"010203010b0c0d",
		`{"i0":1,"i1":2,"i2":3,"f3":["bar",{"f0":{"i0":11,"i1":12},"i2":13}]}`)
	const deep = `[[{"i0":1,"i1":2},{"i0":3,"i1":4}],[{"i0":5,"i1":6},{"i0":7,"i1":8},{"i0":9,"i1":10}]]`
	checkRoundTrip(t, c, "s1arrayarray", deep, "0202010203040305060708090a", deep)
}

func TestShortMessagesCutLongNames(t *testing.T) {
	const long = "very_very_very_very_very_very_very_very_very_very_long_"
	c := mustCompile(t, strings.ReplaceAll(nestedABI, "LONG_", long+"struct_name_"))
	_, err := c.EncodeShort(nil, long+"struct_name_s3", mustParse(t, `{"i0":1,"i2":3}`))
	checkError(t, err, exception.Pack, "Missing field 'i1' in input object while processing struct '"+long+"...ame_s3'")
}

func mustParse(t *testing.T, json string) variant.Value {
	t.Helper()
	v, err := variant.Parse(json)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestMessagesSayWhereInTheDataTheErrorIs(t *testing.T) {
	c := mustCompile(t, nestedABI)
	for _, v := range []struct {
		typ, binary string
		kind        *exception.Kind
		message     string
	}{
		{"t2", "020102", exception.Unpack, "Stream unexpectedly ended; unable to unpack field 'f1' of struct 't2'"},
		{"t2", "0201020103", exception.Unpack, "Stream unexpectedly ended; unable to unpack field 'i1' of struct 't2.f1[0]'"},
		{"t2", "020102ff", exception.Unpack, "Unable to unpack size of array 't2.f1'"},
		{"t3", "010203", exception.ABI, "Encountered field 'i5' without binary extension designation while processing struct 't3'"},
		{"t3", "02010304", exception.ABI, "Encountered field 'i5' without binary extension designation while processing struct 't3'"},
		{"t4", "020101", exception.Unpack, "Unable to unpack optional of built-in type 'int8' while processing 't4.f0[1]'"},
		{"t5", "02010102", exception.Unpack, "Unable to unpack presence flag of optional 't5.f0[1]'"},
		{"t5", "0001", exception.Unpack, "Unable to unpack tag of variant 't5.f1[0]'"},
		{"t5", "00010501", exception.Unpack, "Unpacked invalid tag (5) for variant 't5.f1[0]'"},
		{"t5", "00010101", exception.Unpack, "Stream unexpectedly ended; unable to unpack field 'i1' of struct 't5.f1[0].<variant(1)=s1>'"},
	} {
		_, err := c.Decode(nil, v.typ, unhex(t, v.binary), nil)
		e := exception.Of(err)
		if e == nil || e.Kind != v.kind || e.Message() != v.message {
			t.Errorf("%s %s: %v, want %q", v.typ, v.binary, err, v.message)
		}
	}
	checkRoundTrip(t, c, "t4", `{"f0":[1,null,3]}`, "030101000103", `{"f0":[1,null,3]}`)
	checkRoundTrip(t, c, "t4", `{"f0":[null,null]}`, "020000", `{"f0":[null,null]}`)
}

func TestABIsThatBreakARuleAreRefused(t *testing.T) {
	def := func(members string) string { return `{"version":"eosio::abi/1.2",` + members + `}` }
	for _, v := range []struct {
		name, text string
		kind       *exception.Kind
		message    string
	}{
		{"no version", `{}`, exception.UnsupportedABIVersion, "ABI has an unsupported version"},
		{"other version", `{"version":"eosio::abi/9.0"}`, exception.UnsupportedABIVersion, "ABI has an unsupported version"},
		{"alias of a built-in", def(`"types":[{"new_type_name":"name","type":"name"}]`), exception.DuplicateABITypeDef, "type already exists"},
		{"alias twice", def(`"types":[{"new_type_name":"a","type":"name"},{"new_type_name":"a","type":"name"}]`),
			exception.DuplicateABITypeDef, "type already exists"},
		{"alias of itself", def(`"types":[{"new_type_name":"a","type":"a"}]`), exception.ABICircularDef, "Circular reference in type a"},
		{"aliases in a circle", def(`"types":[{"new_type_name":"b","type":"a"},{"new_type_name":"a","type":"b"}]`),
			exception.ABICircularDef, "Circular reference in type a"},
		{"alias of nothing", def(`"types":[{"new_type_name":"a","type":"b"}]`), exception.InvalidTypeInsideABI, "b"},
		{"array of arrays", def(`"types":[{"new_type_name":"a","type":"name[][]"}]`), exception.InvalidTypeInsideABI, "name[][]"},
		{"type within itself",
			def(`"types":[{"new_type_name":"a[]","type":"a[][]"}],"structs":[{"name":"a[]","base":"","fields":[]}]`),
			exception.ABIRecursionDepth, "recursive definition, max_recursion_depth 32 "},
		{"struct twice", def(`"structs":[{"name":"a","base":"","fields":[]},{"name":"a","base":"","fields":[]}]`),
			exception.DuplicateABIStructDef, "duplicate struct definition detected"},
		{"unknown base", def(`"structs":[{"name":"a","base":"b","fields":[]}]`), exception.InvalidTypeInsideABI, "Unknown struct b"},
		{"bases in a circle",
			def(
				`"structs":[{"name":"a","base":"b","fields":[]},{"name":"b","base":"c","fields":[]},{"name":"c",` +
					`"base":"a","fields":[]}]`), exception.ABICircularDef, "Circular reference in struct a"},
		{"unknown field", def(`"structs":[{"name":"a","base":"","fields":[{"name":"f","type":"b$"}]}]`), exception.InvalidTypeInsideABI, "b$"},
		{"action twice", def(`"actions":[{"name":"a","type":"name"},{"name":"a","type":"name"}]`),
			exception.DuplicateABIActionDef, "duplicate action definition detected"},
		{"action of nothing", def(`"actions":[{"name":"a","type":"b"}]`), exception.InvalidTypeInsideABI, "b"},
		{"table twice", def(`"tables":[{"name":"a","type":"name"},{"name":"a","type":"name"}]`),
			exception.DuplicateABITableDef, "duplicate table definition detected"},
		{"table of nothing", def(`"tables":[{"name":"a","type":"b"}]`), exception.InvalidTypeInsideABI, "b"},
		{"error twice", def(`"error_messages":[{"error_code":1,"error_msg":"a"},{"error_code":1,"error_msg":"b"}]`),
			exception.DuplicateABIErrMsgDef, "duplicate error message definition detected"},
		{"variant twice", def(`"variants":[{"name":"v","types":["int8"]},{"name":"v","types":["int8"]}]`),
			exception.DuplicateABIVariantDef, "duplicate variant definition detected"},
		{"variant of nothing", def(`"variants":[{"name":"v","types":["int91"]}]`), exception.InvalidTypeInsideABI, "int91"},
		{"result twice", def(`"action_results":[{"name":"a","result_type":"name"},{"name":"a","result_type":"name"}]`),
			exception.DuplicateABIActionResultsDef, "duplicate action results definition detected"},
		{"result of nothing", def(`"action_results":[{"name":"a","result_type":"b"}]`), exception.InvalidTypeInsideABI, "b"},
	} {
		t.Run(v.name, func(t *testing.T) {
			def, err := abi.Parse(v.text)
			if err != nil {
				t.Fatal(err)
			}
			_, err = abi.New(def, nil)
			checkError(t, err, v.kind, v.message)
		})
	}
}

// nestedType returns an ABI of structs s0, s1, ... each with the one before as its field.
func nestedType(depth int) string {
	var b strings.Builder
	b.WriteString(
		`{"version":"eosio::abi/1.0","structs":[{"name":"s0","base":"","fields":[{"name":"f","type":"uint8"}]}`)
	for i := range depth {
		fmt.Fprintf(&b, `,{"name":"s%d","base":"","fields":[{"name":"f","type":"s%d"}]}`, i+1, i)
	}
	return b.String() + "]}"
}

func TestTypesMayNestSoDeepAndNoDeeper(t *testing.T) {
	c := mustCompile(t, nestedType(40))
	value := func(depth int) string {
		return strings.Repeat(`{"f":`, depth+1) + "7" + strings.Repeat("}", depth+1)
	}
	// Each struct takes one scope to write and two to read, the number one, and the
	// whole two.
	for depth := range 40 {
		typ := fmt.Sprintf("s%d", depth)
		_, err := c.EncodeJSON(nil, typ, value(depth), nil)
		if ok := depth+1+1+2 < abi.MaxDepth; ok != (err == nil) {
			t.Errorf("encode %s: %v", typ, err)
		}
		_, err = c.Decode(nil, typ, []byte{7}, nil)
		if ok := 2*(depth+1)+1+2 < abi.MaxDepth; ok != (err == nil) {
			t.Errorf("decode %s: %v", typ, err)
		}
		if err != nil {
			checkError(t, err, exception.ABIRecursionDepth, "recursive definition, max_recursion_depth 32 ")
		}
	}
}

func TestStructsThatContainThemselvesEndWithTheData(t *testing.T) {
	c := mustCompile(t, `{"version":"eosio::abi/1.0","structs":[
		{"name":"a","base":"","fields":[{"name":"u","type":"b"}]},{"name":"b","base":"","fields":[{"name":"u","type":"a"}]},
		{"name":"hi","base":"","fields":[]},{"name":"tree","base":"","fields":[{"name":"id","type":"uint8"},{"name":"kids","type":"tree[]"}]}]}`)
	_, err := c.Decode(nil, "a", []byte{1}, nil)
	checkError(t, err, exception.ABIRecursionDepth, "")
	_, err = c.Decode(nil, "hi[]", unhex(t, "ffffffff08"), nil)
	checkError(t, err, exception.Unpack, "Unable to unpack 'ARRAY[0]' from stream")
	const tree = `{"id":1,"kids":[{"id":2,"kids":[]},{"id":3,"kids":[{"id":4,"kids":[]}]}]}`
	checkRoundTrip(t, c, "tree", tree, "010202000301"+"0400", tree)
}

func TestABudgetEndsTheWork(t *testing.T) {
	def, err := abi.Parse(nestedType(20))
	if err != nil {
		t.Fatal(err)
	}
	spent := abi.Deadline(15000, func() bool { return true })
	_, err = abi.New(def, spent)
	checkError(t, err, exception.ABISerializationDeadline, "serialization time limit 15000us exceeded")
	c, err := abi.New(def, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Decode(nil, "s1", []byte{1}, spent)
	checkError(t, err, exception.ABISerializationDeadline, "")
	_, err = c.Encode(nil, "s0", mustParse(t, `{"f":1}`), spent)
	checkError(t, err, exception.ABISerializationDeadline, "")
}

func TestEncodedValuesAreLimitedToAMiB(t *testing.T) {
	c := mustCompile(t, anyABI)
	for n, ok := range map[int]bool{1<<20 - 3: true, 1<<20 - 2: false} {
		b, err := c.Encode(nil, "bytes", variant.Of(strings.Repeat("00", n)), nil)
		if ok != (err == nil) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if err != nil {
			checkError(t, err, exception.FCOutOfRange, "")
		} else if len(b) != n+3 {
			t.Errorf("%d bytes", len(b))
		}
	}
}

func TestActionsTablesResultsAndErrorsHaveTheirTypes(t *testing.T) {
	c := mustCompile(t, `{"version":"eosio::abi/1.2","actions":[{"name":"act","type":"uint8"}],
		"tables":[{"name":"tab","index_type":"i64","key_names":["k"],"key_types":["uint64"],"type":"uint16"}],
		"error_messages":[{"error_code":"18446744073709551615","error_msg":"never"}],
		"action_results":[{"name":"act","result_type":"uint32"}],"abi_extensions":[[1,"ff"]]}`)
	if c.ActionType(types.N("act")) != "uint8" || c.TableType(types.N("tab")) != "uint16" ||
		c.ActionResultType(types.N("act")) != "uint32" {
		t.Error("types are wrong")
	}
	if text, ok := c.ErrorMessage(1<<64 - 1); !ok || text != "never" {
		t.Errorf("message %q", text)
	}
	if c.ActionType(types.N("none")) != "" {
		t.Error("a type for no action")
	}
	if _, ok := c.ErrorMessage(1); ok {
		t.Error("a message for no code")
	}
}

// An ABI of a few hundred kilobytes must not take longer than its length.
func TestLongChainsOfDefinitionsAreCheckedInLittleTime(t *testing.T) {
	const n = 20000
	def := &abi.Def{Version: "eosio::abi/1.1"}
	name := func(i int) string { return fmt.Sprintf("t%06d", i) }
	for i := range n {
		def.Types = append(def.Types, abi.TypeDef{NewTypeName: name(i), Type: name(i + 1)})
	}
	start := time.Now()
	_, err := abi.New(def, nil)
	checkError(t, err, exception.ABIRecursionDepth, "")
	def.Types = nil
	for i := range n {
		def.Structs = append(def.Structs, abi.StructDef{Name: name(i), Base: name(i + 1)})
	}
	def.Structs = append(def.Structs, abi.StructDef{Name: name(n)})
	if _, err := abi.New(def, nil); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}
