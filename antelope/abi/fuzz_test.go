package abi_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"tarn/antelope/abi"
	"tarn/antelope/variant"
)

func FuzzDecodeABI(f *testing.F) {
	f.Add(abi.System())
	for _, text := range []string{nestedABI, transferABI, nestedType(3)} {
		def, err := abi.Parse(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(def.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		def, err := abi.Decode(b)
		if err != nil || def == nil {
			return
		}
		again, err := abi.Decode(def.Append(nil))
		if err != nil || string(again.Append(nil)) != string(def.Append(nil)) {
			t.Fatalf("%x: %v", def.Append(nil), err)
		}
		c, err := abi.New(def, nil)
		if err != nil {
			return
		}
		for _, st := range def.Structs {
			_, _ = c.Decode(nil, st.Name, b, nil)
		}
	})
}

func FuzzDecodeData(f *testing.F) {
	c, err := compile(nestedABI)
	if err != nil {
		f.Fatal(err)
	}
	types := []string{"s1", "s2", "s4", "s5", "t3", "t4", "t5", "v1", "v3", "s1arrayarray", "asset", "string[]",
		"signature?", "float64", "time_point", "int128[]", "symbol_code"}
	for i := range types {
		f.Add(i, []byte{2, 1, 1, 0, 3, 2, 1})
	}
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		typ := types[uint(i)%uint(len(types))]
		json, err := c.Decode(nil, typ, data, nil)
		if err != nil {
			return
		}
		if _, err := variant.Parse(string(json)); err != nil {
			t.Fatalf("%s: %v", json, err)
		}
	})
}

func FuzzEncode(f *testing.F) {
	c, err := compile(nestedABI)
	if err != nil {
		f.Fatal(err)
	}
	types := []string{"s1", "LONG_s3", "s4", "s5", "t3", "t4", "t5", "v1", "s1arrayarray", "asset", "string[]",
		"uint128?", "float64", "time_point", "extended_asset", "bytes"}
	for i, json := range []string{`{"i0":1,"i1":2}`, `[1,2]`, `["int8",5]`, `"1.0 A"`, `null`, `["a"]`,
		`{"f0":[null]}`} {
		f.Add(i, json)
	}
	f.Fuzz(func(t *testing.T, i int, json string) {
		typ := types[uint(i)%uint(len(types))]
		b, err := c.EncodeJSON(nil, typ, json, nil)
		if err != nil {
			return
		}
		back, err := c.Decode(nil, typ, b, nil)
		if err != nil {
			t.Fatalf("%s %s is %x: %v", typ, json, b, err)
		}
		again, err := c.EncodeJSON(nil, typ, string(back), nil)
		if strings.Contains(string(back), `\u00`) || strings.Contains(string(back), `"-nan"`) {
			return
		}
		if err != nil || !bytes.Equal(again, b) && !utf8Lost(b, back) {
			t.Fatalf("%s %s is %x, and %s is %x, %v", typ, json, b, back, again, err)
		}
	})
}

// utf8Lost tells whether what is printed leaves out bytes that are no UTF-8.
func utf8Lost(b, json []byte) bool { return !utf8.Valid(b) && utf8.Valid(json) }
