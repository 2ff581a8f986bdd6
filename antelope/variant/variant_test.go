package variant_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"tarn/antelope/exception"
	"tarn/antelope/variant"
)

func TestStringsAreEscapedAsNodeosDoes(t *testing.T) {
	for in, want := range map[string]string{
		"":                     `""`,
		"plain / text":         `"plain / text"`,
		"\"\\\t\n\r":           `"\"\\\t\n\r"`,
		"\x00\x01\x08\x0b\x1f": `"\u0000\u0001\u0008\u000b\u001f"`,
		"\x7f":                 `"\u007f"`,
		"é€😀":                  `"é€😀"`,
		"\u0080\u009b\u009f":   `"\u0080\u009b\u009f"`,
		"\u00a0":               "\"\u00a0\"",
		"a\xffb\xc3":           `"ab"`,       // no UTF-8
		"\xed\xa0\x80x":        `"x"`,        // a surrogate
		"\xc0\xafx":            `"x"`,        // longer than need be
		"\xf4\x90\x80\x80x":    `"x"`,        // over the last code point
		"\xef\xbf\xbd":         "\"\ufffd\"", // the replacement character itself
		"\xe2\x82":             `""`,
	} {
		if got := string(variant.AppendString(nil, in)); got != want {
			t.Errorf("%q is written as %s, want %s", in, got, want)
		}
	}
}

func TestNumbersAreWrittenAsNodeosDoes(t *testing.T) {
	for v, want := range map[int64]string{
		0: "0", 4294967295: "4294967295", 4294967296: `"4294967296"`, -4294967295: "-4294967295",
		-4294967296:   `"-4294967296"`,
		math.MinInt64: `"-9223372036854775808"`,
	} {
		if got := string(variant.AppendInt64(nil, v)); got != want {
			t.Errorf("%d is written as %s", v, got)
		}
	}
	for v, want := range map[uint64]string{0: "0", 4294967295: "4294967295", 4294967296: `"4294967296"`,
		math.MaxUint64: `"18446744073709551615"`} {
		if got := string(variant.AppendUint64(nil, v)); got != want {
			t.Errorf("%d is written as %s", v, got)
		}
	}
	for _, v := range []struct {
		f    float64
		want string
	}{
		{0, `"0.00000000000000000"`}, {0.1, `"0.10000000000000001"`}, {-1.5, `"-1.50000000000000000"`},
		{1e22, `"10000000000000000000000.00000000000000000"`},
		{math.Inf(1), `"inf"`}, {math.Inf(-1), `"-inf"`}, {math.NaN(), `"nan"`},
		{math.Copysign(math.NaN(), -1), `"-nan"`}, {math.Copysign(0, -1), `"-0.00000000000000000"`},
	} {
		if got := string(variant.AppendDouble(nil, v.f)); got != v.want {
			t.Errorf("%v is written as %s, want %s", v.f, got, v.want)
		}
	}
}

func TestTheParserTakesWhatNodeosTakes(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"b":[true,false,null]}`: `{"a":1,"b":[true,false,null]}`,
		" \t\r\n5 ignored":              `5`,
		`[1,,2,]`:                       `[1,2]`,
		`[1 2]`:                         `[1,2]`,
		`{"a":1 "b":2,}`:                `{"a":1,"b":2}`,
		`{,"a" : 1}`:                    `{"a":1}`,
		`{"a":1,"a":2,"b":3}`:           `{"a":1,"b":3}`,
		`-5`:                            `-5`,
		`-9223372036854775808`:          `"-9223372036854775808"`,
		`18446744073709551615`:          `"18446744073709551615"`,
		`1.5`:                           `"1.50000000000000000"`,
		`.5`:                            `"0.50000000000000000"`,
		`1.`:                            `"1.00000000000000000"`,
		`1e5`:                           `"1e5"`, // a string
		`0x1f`:                          `"0x1f"`,
		`12ab-c:d/e_f.`:                 `"12ab-c:d/e_f."`,
		`nothing`:                       `"nothing"`,
		`true`:                          `true`,
		`falsey `:                       `false`, `nulx`: `"nulx"`,
		`"\t\n\r\\\"\/\b\u0041"`: `"\t\n\r\\\"/bu0041"`,
		"\"a\nb\"":               `"a\nb"`,
		`{}`:                     `{}`,
		`[]`:                     `[]`,
		`{"":{"x":[[]]}}`:        `{"":{"x":[[]]}}`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100): strings.Repeat("[", 100) + strings.Repeat("]", 100),
	} {
		v, err := variant.Parse(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := string(v.AppendJSON(nil)); got != want {
			t.Errorf("%s is read as %s, want %s", in, got, want)
		}
	}
}

func TestTheParserRefusesWhatNodeosRefuses(t *testing.T) {
	for in, kind := range map[string]*exception.Kind{
		"": exception.FCEndOfFile, "  ": exception.FCEndOfFile, "\x00": exception.FCEndOfFile,
		"\x04": exception.FCEndOfFile, "\xff": exception.FCEndOfFile, `{"`: exception.FCParseError,
		`{"a":5`: exception.FCParseError, `[1`: exception.FCEndOfFile, `{"a" 5}`: exception.FCParseError,
		`{5:6}`: exception.FCParseError, `{`: exception.FCParseError, `"abc`: exception.FCParseError,
		"\"a\x04\"": exception.FCParseError, `"\`: exception.FCParseError, `-`: exception.FCParseError,
		`.`: exception.FCParseError, `-.`: exception.FCParseError, `1.2.3`: exception.FCParseError,
		`18446744073709551616`: exception.FCParseError, `-9223372036854775809`: exception.FCParseError,
		`+1`: exception.FCParseError, `x`: exception.FCParseError, `]`: exception.FCParseError,
		`'a'`: exception.FCParseError,
		strings.Repeat("[", 101) + strings.Repeat("]", 101):           exception.FCParseError,
		strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100): exception.FCParseError,
		strings.Repeat("[", 1_000_000):                                exception.FCParseError,
	} {
		v, err := variant.Parse(in)
		if !exception.Is(err, kind) {
			t.Errorf("%.20q is %s, %v, want %s", in, v.AppendJSON(nil), err, kind.Name)
		}
	}
}

// What nodeos formats into a message is without what is no UTF-8, such as the 0xff that
// it reads at the end.
func TestTheParserShowsWhatItReadInsteadOfAString(t *testing.T) {
	for in, want := range map[string]string{"{": "", "{\xff": "", "{a": "a", "{ 5": "5"} {
		if _, err := variant.Parse(in); err == nil ||
			!strings.HasSuffix(err.Error(), `: Expected '"' but read '`+want+`'`) {
			t.Errorf("%q: %v, want %q to be read", in, err, want)
		}
	}
}

func TestObjectsOfManyMembersKeepTheFirstOfEachKey(t *testing.T) {
	var in, want strings.Builder
	in.WriteString("{")
	want.WriteString("{")
	for round := range 2 {
		for i := range 50 {
			key := string(rune('A'+i/26)) + string(rune('a'+i%26))
			in.WriteString(`"` + key + `":` + string(rune('0'+round)) + ",")
			if round == 0 {
				want.WriteString(`"` + key + `":0,`)
			}
		}
	}
	v, err := variant.Parse(in.String() + "}")
	if got := string(v.AppendJSON(nil)); err != nil || got != strings.TrimSuffix(want.String(), ",")+"}" {
		t.Errorf("%s, %v", got, err)
	}
	if m, ok := v.Find("Bx"); !ok || m.Kind() != variant.Uint64 {
		t.Errorf("member %v, %v", m, ok)
	}
}

func TestValuesConvertAsNodeosDoes(t *testing.T) {
	parse := func(s string) variant.Value {
		v, err := variant.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		in      string
		i       int64
		u       uint64
		f       float64
		b       bool
		text    string
		refused string // of i u f b t
	}{
		{in: "null"},
		{in: "7", i: 7, u: 7, f: 7, b: true, text: "7"},
		{in: "-7", i: -7, u: math.MaxUint64 - 6, f: -7, b: true, text: "-7"},
		{in: "true", i: 1, u: 1, f: 1, b: true, text: "true"},
		{in: "1.75", i: 1, u: 1, f: 1.75, b: true, text: "1.75000000000000000"},
		{in: "-1.75", i: -1, u: math.MaxUint64, f: -1.75, b: true, text: "-1.75000000000000000"},
		{in: "18446744073709550000.0", i: math.MinInt64, u: 18446744073709549568, f: 18446744073709549568, b: true,
			text: "18446744073709549568.00000000000000000"},
		{in: `"12"`, i: 12, u: 12, f: 12, text: "12", refused: "b"},
		{in: `"-1"`, i: -1, u: math.MaxUint64, f: -1, text: "-1", refused: "b"},
		{in: `"+3"`, i: 3, u: 3, f: 3, text: "+3", refused: "b"},
		{in: `"true"`, b: true, text: "true", refused: "iuf"},
		{in: `"inf"`, f: math.Inf(1), text: "inf", refused: "iub"},
		{in: `"0x10"`, text: "0x10", refused: "iufb"},
		{in: `"1_0"`, text: "1_0", refused: "iufb"},
		{in: `""`, text: "", refused: "iufb"},
		{in: `[]`, refused: "iufbt"},
		{in: `{}`, refused: "iufbt"},
	} {
		v := parse(c.in)
		i, ei := v.AsInt64()
		u, eu := v.AsUint64()
		f, ef := v.AsDouble()
		b, eb := v.AsBool()
		text, et := v.AsText()
		if i != c.i || u != c.u || f != c.f || b != c.b || text != c.text {
			t.Errorf("%s is %d, %d, %v, %v, %q", c.in, i, u, f, b, text)
		}
		for letter, err := range map[string]error{"i": ei, "u": eu, "f": ef, "b": eb, "t": et} {
			if (err != nil) != strings.Contains(c.refused, letter) {
				t.Errorf("%s as %s: %v", c.in, letter, err)
			}
		}
	}
	if _, err := parse("5").Text(); !exception.Is(err, exception.FCBadCast) {
		t.Errorf("a number is text: %v", err)
	}
	if _, err := parse("5").Elements(); !exception.Is(err, exception.FCBadCast) {
		t.Errorf("a number has elements: %v", err)
	}
	if _, _, err := parse("[]").Members(); !exception.Is(err, exception.FCBadCast) {
		t.Errorf("an array has members: %v", err)
	}
	made := variant.OfArray([]variant.Value{variant.Of("a"), variant.OfBool(true), variant.OfInt64(-1),
		variant.OfUint64(2), variant.OfDouble(0.5), {}})
	if got := string(made.AppendJSON(nil)); got != `["a",true,-1,2,"0.50000000000000000",null]` {
		t.Errorf("made %s", got)
	}
}

func TestIndentedJSONIsThatOfNodeos(t *testing.T) {
	in := `{"a":[],"b":{},"c":[{"d":1,"e":"x,{}\"\\"},{"f":[1,2]}],"g":[[3]]}`
	want := `{
  "a": [],
  "b": {},
  "c": [{
      "d": 1,
      "e": "x,{}\"\\"
    },{
      "f": [
        1,
        2
      ]
    }
  ],
  "g": [[
      3
    ]
  ]
}`
	if got := string(variant.AppendIndented(nil, []byte(in))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2,3.5,"x\n"],"b":null}`, `[1 2,,]`, `tru`, `"\u0041"`, `{"a":1,"a":2}`,
		"{\"a\":1,\"a\x9d\":2}", `1e5`, "[[[[", "\"\x80\xff\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := variant.Parse(s)
		if err != nil {
			return
		}
		out := v.AppendJSON(nil)
		if !json.Valid(out) || !utf8.Valid(out) {
			t.Fatalf("%q is written as %q, which is no JSON", s, out)
		}
		indented := variant.AppendIndented(nil, out)
		if !json.Valid(indented) {
			t.Fatalf("%q is indented as %q, which is no JSON", out, indented)
		}
		// The parser knows no such escape. Of what is no UTF-8 the writer leaves
		// bytes out, and two keys may be one without them.
		if strings.Contains(string(out), `\u00`) || !utf8.ValidString(s) {
			return
		}
		again, err := variant.Parse(string(out))
		if err != nil || string(again.AppendJSON(nil)) != string(out) {
			t.Fatalf("%s came back as %s, %v", out, again.AppendJSON(nil), err)
		}
	})
}

// Memory is told of before it is taken, and no less than is taken.
func TestWhatAParserTakesIsToldOf(t *testing.T) {
	if size := reflect.TypeFor[variant.Value]().Size(); size != 80 {
		t.Errorf("a value takes %d bytes, not what is counted", size)
	}
	for _, s := range []string{"[" + strings.Repeat("{}", 1e5) + "]", "[" + strings.Repeat("[0]", 1e5) + "]",
		`{"a":[` + strings.Repeat(`""`, 1e5) + "]}",
		strings.Repeat("[", 90) + strings.Repeat("1 ", 1e5) + strings.Repeat("]", 90)} {
		told := int64(0)
		_, err := variant.ParseWithin(s, variant.Limits{Take: func(n int64) error {
			told += n
			return nil
		}})
		if err != nil || told < 80e5 || told > 5*80e5 {
			t.Errorf("%.20s: %d bytes, %v", s, told, err)
		}
		enough, calls := errors.New("enough"), 0
		if _, err := variant.ParseWithin(s,
			variant.Limits{Take: func(int64) error { calls++; return enough }}); err != enough || calls != 1 {
			t.Errorf("%.20s: %v after %d refusals", s, err, calls)
		}
	}
	if _, err := variant.ParseWithin("[1,2,3,!", variant.Limits{Elements: 3}); err != variant.ErrElements {
		t.Errorf("the fourth of three elements: %v", err)
	}
	if v, err := variant.ParseWithin("[1,2,[1,2,3,4]]", variant.Limits{Elements: 3}); err != nil ||
		v.Kind() != variant.Array {
		t.Errorf("three elements of three: %v", err)
	}
}
