package report

import (
	"bytes"
	"strings"
	"testing"

	"tarn/bench/record"
)

// The kernel counts the processor in ticks: what two readings in one moment differ by is no use
// of 100 processors.
func TestAMomentIsNoRateOfTheProcessor(t *testing.T) {
	samples := []record.Sample{{}, {Seconds: 1, User: 1}, {Seconds: 1.04, User: 1.04}, {Seconds: 2, User: 2},
		{Seconds: 2.0001, User: 2.01}}
	var all float64
	line := processorLine(samples)
	for i, p := range line {
		if p.y > 102 {
			t.Errorf("%v %% of a core at %v s", p.y, p.x)
		}
		from := 0.0
		if i > 0 {
			from = line[i-1].x
		}
		all += p.y / 100 * (p.x - from)
	}
	if last := line[len(line)-1].x; all < 2.0099 || all > 2.0101 || last != 2.0001 {
		t.Errorf("%v s of the processor until %v s are drawn", all, last)
	}
	for i := range samples {
		samples[i].ByThread = map[string]float64{"a\nb": samples[i].User}
	}
	threads := threadLines(samples)
	if len(threads) != 1 || threads[0].name != `a\nb` || len(threads[0].points) != len(line) ||
		threads[0].points[len(line)-1] != line[len(line)-1] {
		t.Errorf("%v", threads)
	}
	if got := processorLine(samples[1:3]); len(got) != 0 {
		t.Errorf("of a moment: %v", got)
	}
}

// A table of nothing but dashes says nothing; a sentence says why there is none.
func TestRatiosThatAreNoneAreNoTable(t *testing.T) {
	r := fixed()
	for i := range r.Lives {
		if r.Lives[i].Subject == r.Subjects[0].Name {
			r.Lives[i].Values["written"] = 0
		}
	}
	var out bytes.Buffer
	for _, table := range Tables(r) {
		if err := table.Write(&out); err != nil {
			t.Fatal(err)
		}
	}
	_, ratios, found := strings.Cut(out.String(), "import, compared with ")
	if !found || strings.Contains(ratios, "written") || !strings.Contains(ratios, "time") {
		t.Errorf("a metric without a ratio has a column:\n%s", out.String())
	}
	for i := range r.Lives {
		for name := range r.Lives[i].Values {
			if r.Lives[i].Subject == r.Subjects[0].Name {
				r.Lives[i].Values[name] = 0
			}
		}
	}
	out.Reset()
	for _, table := range Tables(r) {
		if err := table.Write(&out); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(out.String(), ", compared with ") || !strings.Contains(out.String(), "There are no ratios: ") {
		t.Errorf("%s", out.String())
	}
}

// A thread may have any name; a table has a line for each.
func TestNamesOfThreadsDoNotBreakTables(t *testing.T) {
	w := watched()
	w.ByName = map[string]float64{"a\nb|c\x1b[2J": 1}
	var out bytes.Buffer
	if err := WriteWatch(&out, w); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `| processor, thread a\nb\|c\x1b[2J `) ||
		strings.Contains(out.String(), "\x1b") {
		t.Errorf("%s", out.String())
	}
}
