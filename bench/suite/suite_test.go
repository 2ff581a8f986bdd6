package suite

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tarn/bench/record"
)

// A suite that a reader finds in the list stands in the documentation too, and so do its options.
func TestSuitesAndTheirOptionsAreDescribed(t *testing.T) {
	text, err := os.ReadFile("../../docs/bench.md")
	if err != nil {
		t.Fatal(err)
	}
	all := names()
	for i, s := range All() {
		if slices.Contains(all[:i], s.Name) {
			t.Errorf("two suites are called %s", s.Name)
		}
		if s.How == "" || s.Article == "" || s.Time == "" || s.Disk == "" || s.metrics == nil {
			t.Errorf("%s lacks words or metrics: %+v", s.Name, s)
		}
		if !strings.Contains(string(text), "| `"+s.Name+"` |") {
			t.Errorf("docs/bench.md has no row for %s", s.Name)
		}
	}
	for _, s := range lives() {
		if s.run == nil {
			t.Errorf("nothing runs %s", s.Name)
		}
		for _, other := range s.with {
			if other.run != nil || len(other.collect) > 0 {
				t.Errorf("%s is measured by the life of %s and has a life or collectors of its own", other.Name, s.Name)
			}
		}
	}
	for _, x := range Options(&record.Options{}) {
		if x.Help == "" || !strings.Contains(string(text), "`--"+x.Name) {
			t.Errorf("docs/bench.md has no --%s, or it has no help: %q", x.Name, x.Help)
		}
	}
}

// What the command line gets is what the run has.
func TestATimeIsSecondsInTheRecord(t *testing.T) {
	o := record.Options{For: 600}
	i := slices.IndexFunc(Options(&o), func(x Option) bool { return x.Name == "for" })
	v := Options(&o)[i].Value.(Seconds)
	if got := v.String(); got != "10m0s" || v.Type() != "duration" {
		t.Errorf("%q, a %s", got, v.Type())
	}
	if err := v.Set("1m30s"); err != nil || o.For != 90 {
		t.Errorf("%v s, %v", o.For, err)
	}
	if err := v.Set("soon"); err == nil || o.For != 90 {
		t.Errorf("%v s, %v", o.For, err)
	}
}
