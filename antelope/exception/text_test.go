package exception_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tarn/antelope/exception"
)

// object is a value with a JSON of its own.
type object string

func (o object) AppendJSON(b []byte) []byte { return append(b, o...) }

// Texts are those of nodeos, its oddities included (libfc: format_string).
func TestTextsAreThoseOfNodeos(t *testing.T) {
	long, letters := strings.Repeat("x", 2000), func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		format        string
		values        []any
		text, limited string
	}{
		{"plain", nil, "plain", "plain"},
		{"${a} and ${a}, ${b}", []any{"a", "x", "b", -5}, "x and x, -5", "x and x, -5"},
		{"${n} ${b} ${j}", []any{"n", uint64(1) << 40, "b", true, "j", object(`{"k":1}`)}, `1099511627776 true {"k":1}`, `1099511627776 true {"k":1}`},
		{"${q}", []any{"q", object(`"alice"`)}, "alice", "alice"},
		{"${a}", []any{"a", "${b}", "b", "no"}, "${b}", "${b}"},
		{"${none}", nil, "${none}", "${none}"},
		{"costs $5, ${a", []any{"a", 1}, "costs 5, {a", "costs 5, {a"},
		{"$", nil, "", ""},
		{"${a}", []any{"a", "bell\x07 \xff\ttab\u0085"}, `bell\u0007 ` + "\ttab" + `\u0085`, `bell\u0007 ` + "\ttab" + `\u0085`},
		{"assertion failure with message: ${s}", []any{"s", long}, "assertion failure with message: " + long,
			"assertion failure with message: " + letters(988) + "..."},
		{"${a}${b}", []any{"a", long, "b", long}, long + long, letters(508) + "..." + letters(508) + "..."},
		{"${j}!", []any{"j", object(`["` + long + `"]`)}, `["` + long + `"]!`, "${j}!"},
		{long, nil, long, letters(1024) + "..."},
		{long + "${a}", []any{"a", "x"}, long + "x", letters(1024) + "..."},
	} {
		e := exception.New(exception.TxDuplicate, c.format, c.values...)
		if got := e.Said().Text(); got != c.text {
			t.Errorf("%.40q: %.200q, want %.200q", c.format, got, c.text)
		}
		if got := e.Said().Limited(); got != c.limited {
			t.Errorf("%.40q limited: %.200q (%d), want %.200q (%d)", c.format, got, len(got), c.limited, len(c.limited))
		}
		if _, err := json.Marshal(e.Message()); err != nil {
			t.Error(err)
		}
	}
}

// An exception costs what it keeps; its texts cost nothing until somebody asks for them.
func TestWhatNobodyReadsIsNotFormatted(t *testing.T) {
	asked := 0
	e := exception.New(exception.TxDuplicate, "${a}", "a", counting{&asked}).With("${a}", "a", counting{&asked})
	if exception.Of(e); asked != 0 {
		t.Error("a value was formatted")
	}
	if e.Message() != "1" || asked != 1 {
		t.Errorf("%d", asked)
	}
}

// counting counts how often it is formatted.
type counting struct{ asked *int }

func (c counting) AppendJSON(b []byte) []byte {
	*c.asked++
	return append(b, '1')
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for i := range b.N {
		_ = exception.New(exception.RAMUsageExceeded,
			"account ${account} has insufficient ram; needs ${needs} bytes has ${available} bytes",
			"account", object(`"alice"`), "needs", i, "available", 5).With("${receiver}", "receiver", object(`"bob"`))
	}
}
