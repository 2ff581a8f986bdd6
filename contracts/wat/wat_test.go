package wat

import (
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"
)

// The bytes are what the format's specification says of each part.
func TestModulesAreEncodedAsTheFormatSays(t *testing.T) {
	const source = `
;; a comment
(module
  (import "env" "f" (func $f (param i32 i64)))
  (memory 1)
  (global $g (mut i64) (i64.const -1))
  (func $h (export "apply") (param $a i32) (result i32) (local $b i64) (local i64 i32)
    (if (i32.eqz (local.get $a)) (then (return (i32.const 0x7fffffff))) (else (unreachable)))
    (block $out (loop $again (br_if $out (i32.const 1)) (br $again))) (; another ;)
    (block $x (block $y (br_table $y $x $y (local.get $a))))
    (call $f (i32.load8_u offset=300 (local.get $a)) (global.get $g))
    (select (i32.const 1) (i32.const 2) (i64.ne (local.get $b) (i64.const 128))))
  (data (i32.const 16) "a\00\"" "b"))`
	want := strings.Join([]string{
		"0061736d 01000000",
		"01 0b 02 60 02 7f7e 00 60 01 7f 01 7f", // types
		"02 09 01 03 656e76 01 66 00 00",        // import
		"03 02 01 01",                           // functions
		"05 03 01 00 01",                        // memory
		"06 06 01 7e 01 427f 0b",                // global
		"07 09 01 05 6170706c79 00 01",          // export
		"0a 45 01 43 02 02 7e 01 7f",            // code: three locals
		"2000 45 04 40 41ffffffff07 0f 05 00 0b",
		"02 40 03 40 4101 0d 01 0c 00 0b 0b",
		"0240 0240 2000 0e 02 00 01 00 0b 0b",
		"2000 2d 00 ac02 2300 1000",
		"4101 4102 2001 428001 52 1b 0b",
		"0b 0a 01 00 4110 0b 04 61002262",
	}, "")
	want = strings.ReplaceAll(want, " ", "")
	code, err := Assemble(source)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(code); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	for source, want := range map[string]string{
		"":                                "line 1: the source ends too early",
		"(module":                         "line 1: the source ends too early",
		"(module))":                       "line 1: something after",
		"\n(modul)":                       "line 2: not a module",
		"(module\n(func (nop2)))":         `line 2: no instruction "nop2"`,
		"(module (func\n(local.get $x)))": "line 2: local.get of $x, which is not there",
		"(module (func\n(call $x)))":      "line 2: call of $x",
		"(module (func\n(br $x)))":        "line 2: no label $x",
		"(module (func\n(br_table $x)))":  "line 2: no label $x",
		"(module (func\n(br_table (i32.const 1))))":                        "line 2: br_table of what?",
		"(module (func nop))":                                              "parentheses",
		"(module (func (i32.const)))":                                      "i32.const of what?",
		"(module (func (i32.const 1.5)))":                                  `"1.5" is not a number of 32 bits`,
		"(module (func (i64.const 1 ) )":                                   "ends too early",
		"(module (func $a) (func $a))":                                     "$a is there twice",
		"(module (func (param v128)))":                                     `"v128" is no type`,
		"(module (func (if (i32.const 1))))":                               "an if is",
		"(module (memory 1) (memory 1))":                                   "one memory",
		"(module (memory 65537))":                                          "a memory of 65537 pages",
		"(module (func) (import \"a\" \"b\" (func)))":                      "an import after a function",
		"(module (data (i32.const 5) \"abc\") (data (i32.const 7) \"d\"))": "are over others",
		"(module (data (i32.const 5) \"a":                                  "a string without end",
		"(module (data (i32.const 5) \"\\zz\"))":                           `\zz in a string`,
		"(; (module)":                                                      "a comment without end",
		"(module (table 1))":                                               `a field "table"`,
		strings.Repeat("(", 1000):                                          "lists in each other",
		"(module (func (i32.load offset=-1 (i32.const 1))))":               "an offset of -1",
	} {
		_, err := Assemble(source)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", source, err, want)
		}
	}
}

// No source, however wrong, stops the program.
func FuzzAssemble(f *testing.F) {
	for _, name := range []string{"token", "boot", "bios"} {
		source, err := os.ReadFile("../" + name + "/" + name + ".wat")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source))
	}
	f.Add(`(module (func (if (result i32) (i32.const 1) (then) (else))) (global $a (mut) (i32.const)))`)
	f.Add(`(module (import "" "" (func $ (param $ i32) (result))) (data (i32.const) ""))`)
	f.Fuzz(func(t *testing.T, source string) {
		code, err := Assemble(source)
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("an error of another kind: %v", err)
		}
		if err == nil && !strings.HasPrefix(string(code), "\x00asm\x01\x00\x00\x00") {
			t.Errorf("no module: %x", code)
		}
	})
}
