package rpc

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// schemas are the JSON schemas of an OpenRPC document by their names.
type schemas map[string]any

// knownWords are the words of schemas that are looked at, and those that say nothing of a value. Any
// other is an error, so that nothing is passed over.
var knownWords = strings.Fields(
	"$ref type pattern enum const minimum maximum required properties patternProperties additionalProperties items " +
		"oneOf anyOf allOf not title description")

// otherType is more than the faults of any value.
const otherType = 1 << 20

// fault is what is wrong at a place within a value. Places in lists have no numbers.
type fault struct{ at, what string }

// check returns what is wrong with a value.
func (s schemas) check(schema any, v any, at string) []fault {
	of, ok := schema.(map[string]any)
	if !ok {
		return []fault{{at, fmt.Sprintf("a schema is %T", schema)}}
	}
	var all []fault
	bad := func(format string, args ...any) { all = append(all, fault{at, fmt.Sprintf(format, args...)}) }
	for _, word := range slices.Sorted(maps.Keys(of)) {
		of := of[word]
		switch word {
		case "$ref":
			name, _ := strings.CutPrefix(of.(string), "#/components/schemas/")
			if s[name] == nil {
				bad("no schema %v", of)
			} else {
				all = append(all, s.check(s[name], v, at)...)
			}
		case "allOf":
			for _, each := range of.([]any) {
				all = append(all, s.check(each, v, at)...)
			}
		case "oneOf", "anyOf":
			all = append(all, s.checkSome(of.([]any), word == "oneOf", v, at)...)
		case "not":
			if len(s.check(of, v, at)) == 0 {
				bad("is what it must not be")
			}
		case "items":
			if list, is := v.([]any); is {
				for _, each := range list {
					all = append(all, s.check(of, each, at+"[]")...)
				}
			}
		default:
			if !slices.Contains(knownWords, word) {
				bad("a schema says %s", word)
			}
		}
	}
	all = append(all, checkSimple(of, v, at)...)
	if fields, is := v.(map[string]any); is {
		all = append(all, s.checkFields(of, fields, at)...)
	}
	return all
}

// checkSome wants one or some of the schemas, and otherwise says what the one finds that finds least,
// of those that take values of this type, or lists of them, if there are any.
func (s schemas) checkSome(list []any, one bool, v any, at string) []fault {
	var least []fault
	lowest, good := 0, 0
	for i, each := range list {
		found := s.check(each, v, at)
		if len(found) == 0 {
			good++
		}
		cost := len(found)
		if slices.ContainsFunc(found, func(f fault) bool {
			return (f.at == at || f.at == at+"[]") &&
				strings.HasPrefix(f.what, "is no ")
		}) {
			cost += otherType
		}
		if i == 0 || cost < lowest {
			least, lowest = found, cost
		}
	}
	if good > 1 && one {
		return []fault{{at, fmt.Sprintf("is %d of the forms of which it must be one", good)}}
	}
	return least
}

// checkSimple looks at what has no schemas within.
func checkSimple(of map[string]any, v any, at string) (all []fault) {
	bad := func(format string, args ...any) { all = append(all, fault{at, fmt.Sprintf(format, args...)}) }
	if want, ok := of["type"]; ok && !isType(want.(string), v) {
		bad("is no %v", want)
		return all
	}
	if text, is := v.(string); is && of["pattern"] != nil &&
		!regexp.MustCompile(of["pattern"].(string)).MatchString(text) {
		bad("is not %v", of["pattern"])
	}
	plain := func(x any) string { return fmt.Sprint(x) }
	if list, ok := of["enum"].([]any); ok &&
		!slices.ContainsFunc(list, func(x any) bool { return plain(x) == plain(v) }) {
		bad("is none of %v", list)
	}
	if want, ok := of["const"]; ok && plain(want) != plain(v) {
		bad("is not %v", want)
	}
	if n, is := v.(json.Number); is {
		x, err := n.Float64()
		if least, ok := of["minimum"]; err != nil || ok && x < yamlNumber(least) {
			bad("is too little")
		}
		if most, ok := of["maximum"]; ok && x > yamlNumber(most) {
			bad("is too much")
		}
	}
	return all
}

func yamlNumber(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	panic(fmt.Sprintf("%T is no number of YAML's", v))
}

func isType(want string, v any) bool {
	switch v := v.(type) {
	case nil:
		return want == "null"
	case string:
		return want == "string"
	case bool:
		return want == "boolean"
	case []any:
		return want == "array"
	case map[string]any:
		return want == "object"
	case json.Number:
		_, err := v.Int64()
		return want == "number" || want == "integer" && err == nil
	}
	return false
}

// checkFields looks at an object.
func (s schemas) checkFields(of map[string]any, v map[string]any, at string) (all []fault) {
	if required, ok := of["required"].([]any); ok {
		for _, name := range required {
			if _, has := v[name.(string)]; !has {
				all = append(all, fault{at, fmt.Sprintf("lacks %v", name)})
			}
		}
	}
	properties, _ := of["properties"].(map[string]any)
	patterns, _ := of["patternProperties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		schema, known := properties[name]
		for pattern, x := range patterns {
			if !known && regexp.MustCompile(pattern).MatchString(name) {
				schema, known = x, true
			}
		}
		switch extra, said := of["additionalProperties"]; {
		case known:
			place := at + "." + name
			if properties[name] == nil { // it is a value of its own, as an address is
				place = at + ".*"
			}
			all = append(all, s.check(schema, v[name], place)...)
		case said && extra == false:
			all = append(all, fault{at, "has " + name})
		case said && extra != true:
			all = append(all, s.check(extra, v[name], at+".*")...)
		}
	}
	return all
}

// plainYAML makes maps of YAML's those that JSON has.
func plainYAML(v any) any {
	switch v := v.(type) {
	case map[any]any:
		all := map[string]any{}
		for name, x := range v {
			all[fmt.Sprint(name)] = plainYAML(x)
		}
		return all
	case map[string]any:
		for name, x := range v {
			v[name] = plainYAML(x)
		}
	case []any:
		for i := range v {
			v[i] = plainYAML(v[i])
		}
	}
	return v
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// readAPIs reads the schemas of github.com/ethereum/execution-apis, and what each method results in.
func readAPIs(t *testing.T, dir string) (s schemas, results map[string]any) {
	t.Helper()
	s, results = schemas{}, map[string]any{}
	files := func(pattern string) []string {
		list, err := filepath.Glob(filepath.Join(dir, "src", pattern))
		if err != nil || len(list) == 0 {
			t.Fatalf("no %s in %s: %v", pattern, dir, err)
		}
		return list
	}
	for _, path := range files("schemas/*.yaml") {
		var all map[string]any
		readYAML(t, path, &all)
		for name, x := range all {
			s[name] = plainYAML(x)
		}
	}
	for _, space := range []string{"eth", "debug", "txpool"} {
		for _, path := range files(space + "/*.yaml") {
			var all []struct {
				Name   string
				Result struct{ Schema any }
			}
			readYAML(t, path, &all)
			for _, m := range all {
				results[m.Name] = plainYAML(m.Result.Schema)
			}
		}
	}
	return s, results
}

// A value that is wrong is found wrong, and where.
func TestSchemasFindWhatIsWrong(t *testing.T) {
	s := schemas{"hex": map[string]any{"type": "string", "pattern": "^0x[0-9a-f]*$"}}
	const text = `
type: object
required: [a]
additionalProperties: false
properties:
  a: {$ref: '#/components/schemas/hex'}
  b: {type: array, items: {type: integer, minimum: 1, maximum: 3}}
  c: {oneOf: [{type: 'null'}, {allOf: [{type: object}, {properties: {d: {enum: [p, q]}}}]}]}
  e: {anyOf: [{type: boolean}, {const: z}]}
  f: {not: {type: string}}
  g: {patternProperties: {'^0x': {type: boolean}}, additionalProperties: {type: string}}`
	var schema any
	if err := yaml.Unmarshal([]byte(text), &schema); err != nil {
		t.Fatal(err)
	}
	schema = plainYAML(schema)
	for value, want := range map[string]string{
		`{"a":"0x1f","b":[1,3],"c":null,"e":"z","f":1,"g":{"0xab":true,"x":"y"}}`: "",
		`{"a":"0x","c":{"d":"q"},"e":false}`:                                      "",
		`[]`:                                                                      " is no object",
		`{}`:                                                                      " lacks a",
		`{"a":"0xG"}`:                                                             ".a is not ^0x[0-9a-f]*$",
		`{"a":1}`:                                                                 ".a is no string",
		`{"a":"0x","b":[0]}`:                                                      ".b[] is too little",
		`{"a":"0x","b":[4]}`:                                                      ".b[] is too much",
		`{"a":"0x","b":[1.5]}`:                                                    ".b[] is no integer",
		`{"a":"0x","c":{"d":"w"}}`:                                                ".c.d is none of [p q]",
		`{"a":"0x","e":"w"}`:                                                      ".e is not z",
		`{"a":"0x","f":"w"}`:                                                      ".f is what it must not be",
		`{"a":"0x","g":{"0xab":1}}`:                                               ".g.* is no boolean",
		`{"a":"0x","g":{"x":1}}`:                                                  ".g.* is no string",
		`{"a":"0x","more":1}`:                                                     " has more",
		`{"a":"0x","c":{"d":"p"},"e":"w"}`:                                        ".e is not z",
	} {
		got := ""
		for _, f := range s.check(schema, decode(t, value), "") {
			got += f.at + " " + f.what
		}
		if got != want {
			t.Errorf("%s: found is %q, want %q", value, got, want)
		}
	}
	if found := s.check(map[string]any{"oneOf": []any{map[string]any{}, map[string]any{}}}, "x", ""); len(found) != 1 {
		t.Errorf("two of one: %v", found)
	}
	if found := s.check(map[string]any{"format": "date"}, "x", ""); len(found) != 1 {
		t.Errorf("a word that is not known: %v", found)
	}
}

// decode is a value of JSON whose numbers are as they were written.
func decode(t *testing.T, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return v
}
