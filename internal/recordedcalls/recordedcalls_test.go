package recordedcalls

import (
	"reflect"
	"strings"
	"testing"
)

func TestExchangesAreReadAsTheyAreWritten(t *testing.T) {
	list := []Exchange{
		{Comment: "About this file.\nAnd the first.", Ask: "GET /", Answers: []string{"200 {\n\t\"a\": 1\n}"}, Line: 3},
		{Ask: "two\n\nlines", Answers: []string{"one", "// another"}, Line: 8},
		{Comment: "unasked", Unasked: true, Answers: []string{"00ff"}, Line: 15},
		{Ask: "nobody answers", Line: 17},
		{Answers: []string{"to nothing"}, Line: 19},
	}
	var b []byte
	for i := range list {
		b = list[i].Append(b)
	}
	got, err := Parse(string(b))
	if err != nil || !reflect.DeepEqual(got, list) {
		t.Errorf("%v: %+v\nof\n%s", err, got, b)
	}
	if _, err := Parse("// good\nbad"); err == nil || !strings.HasPrefix(err.Error(), "2: ") {
		t.Error(err)
	}
}

func TestDotsStandForAnything(t *testing.T) {
	for _, c := range []struct {
		want, said string
		is         bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a…", "ab", true}, {"…b", "ab", true}, {"…", "", true},
		{"a…c", "abc", true},
		{"a…c", "abcd", false}, {"…b…", "abc", true}, {"…b…b…", "abc", false}, {"ab…b", "ab", false},
		{"x…", "ax", false},
	} {
		if Matches(c.want, c.said) != c.is {
			t.Errorf("%s for %s: %v", c.want, c.said, !c.is)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("// a\n--> b\n\tc\n<-- d\n\n<-- e")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Parse(text)
		if err != nil {
			return
		}
		var b []byte
		for i := range list {
			b = list[i].Append(b)
		}
		again, err := Parse(string(b))
		if err != nil || len(again) != len(list) {
			t.Fatalf("%d exchanges, then %d: %v", len(list), len(again), err)
		}
	})
}
