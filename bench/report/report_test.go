package report

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tarn/bench/record"
	"tarn/internal/uplot"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// fixed is a run of two subjects, with a lost round, a pair of two speeds, and a name that
// would be markup.
func fixed() *record.Run {
	r := &record.Run{
		Kind: record.KindRun, Schema: record.Schema, Command: []string{"tarn", "bench", "run", "import"},
		Began: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Seconds: 61.5, Ended: record.EndTime,
		Left: []string{"1 of 8 rounds, for want of time"},
		Machine: record.Machine{CPU: "Fast <CPU>", CPUs: 2, RAM: 8e9, Kernel: "6.1", Disk: "/dev/x, ext4",
			Load: "0.1 0.2 0.3", Settings: []record.Setting{{Name: "swap", Value: "0 kB"}}},
		Chain: record.Chain{Protocol: "antelope", Seed: 1, ID: "cafe", Accounts: 20000, Transfers: 40000, Blocks: 124,
			Bytes: 15_463_711, SHA256: strings.Repeat("ab", 32)},
		Subjects: []record.Subject{
			{Name: "tarn:mapped_private", Program: "tarn", Path: "/usr/bin/tarn", SHA256: strings.Repeat("01", 32),
				Version: "v1", Mode: "mapped_private"},
			{Name: "nodeos=/opt/<b>nodeos:mapped", Program: "nodeos", Path: "/opt/<b>nodeos",
				SHA256: strings.Repeat("02", 32), Version: "v5.0.3", Mode: "mapped"}},
		Suites: []record.Suite{{Name: "import", How: "A new process makes the state.",
			Metrics: []record.Metric{{Name: "time", Unit: "s"}, {Name: "written", Unit: "B"},
				{Name: "answers", Unit: "1/s", More: true}}}},
	}
	for round := 1; round <= 7; round++ {
		for i, s := range r.Subjects {
			l := record.Life{Suite: "import", Round: round, Subject: s.Name,
				Commands:          [][]string{{s.Path, "--x", "</script><b>"}},
				CalibrationBefore: 0.05, CalibrationAfter: 0.052, Others: 0.01,
				Values: map[string]float64{"time": float64(1+i) * (1 + 0.01*float64(round)),
					"written": float64(1+9*i) * 1e6, "answers": 1000},
				Samples: []record.Sample{{Seconds: 0.1, User: 0.05, Anonymous: 5e6, File: 1e6, Written: 1e5},
					{Seconds: 0.2, User: 0.15, Anonymous: 9e6, File: 1e6, Written: 9e5},
					{Seconds: 0.3, User: 0.2, Written: 1e6}}}
			if i == 0 {
				l.ByCause, l.ByFiles = map[string]float64{"checkpoint": 100 * float64(round), "growth": 0},
					map[string]float64{"block_log": 50}
				l.Waits = []record.Wait{{Loop: "rate", Seconds: 10, NearAll: 0.01, Longest: 0.02},
					{Loop: "rate", Seconds: 20, NearAll: 0.01, Longest: 0.03}}
			}
			if i == 1 && round == 2 {
				l.Values, l.Samples, l.Failure = nil, nil, "it ended: exit status 1;\nits last words: <full>"
			}
			if i == 1 && round == 3 {
				l.Unsteady, l.CalibrationAfter, l.Others = true, 0.09, 0.4
			}
			r.Lives = append(r.Lives, l)
		}
	}
	return r
}

func watched() *record.Watch {
	return &record.Watch{Kind: record.KindWatch, Schema: record.Schema, PID: 4711,
		Began: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Ended: record.EndWhole,
		Rating: 378.432, ByName: map[string]float64{"writer": 4.5}, Walk: 0.003, URL: "http://127.0.0.1:8888",
		ByCause: map[string]float64{"checkpoint": 60_000}, ByFiles: map[string]float64{"block_log": 30_000},
		Device: "/var/lib/nodeos/state", Network: record.NetworkShared,
		Files: []record.File{{Name: "/var/lib/nodeos/blocks/blocks.log", Grew: 2e6, Occupied: 2e6},
			{Name: "/var/lib/nodeos/state/shared_memory.bin", InPlace: 3}},
		Samples: []record.Sample{{Anonymous: 1e6, File: 2e6, ByThread: map[string]float64{}},
			{Seconds: 5, User: 2, Anonymous: 2e6, File: 2e6, PrivateDirty: 1e6, Written: 60_000, Device: 1e6,
				NetworkIn: 5e5},
			{Seconds: 10, User: 5, Anonymous: 1e6, File: 2e6, Written: 120_000, Device: 3e6, NetworkIn: 9e5,
				NetworkOut: 1e5, ByThread: map[string]float64{"writer": 4.5}}}}
}

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what is written now (-rewrite writes it anew):\n%s", path, got)
	}
}

func TestTheReportsOfAFixedRun(t *testing.T) {
	var text, page bytes.Buffer
	if err := WriteText(&text, fixed()); err != nil {
		t.Fatal(err)
	}
	golden(t, "run.md", text.Bytes())
	if err := write(&page, runPage(fixed())); err != nil {
		t.Fatal(err)
	}
	golden(t, "run.html", bare(page.Bytes()))
}

func TestTheReportsOfAFixedWatch(t *testing.T) {
	var text, page bytes.Buffer
	if err := WriteWatch(&text, watched()); err != nil {
		t.Fatal(err)
	}
	golden(t, "watch.md", text.Bytes())
	if err := write(&page, watchPage(watched())); err != nil {
		t.Fatal(err)
	}
	golden(t, "watch.html", bare(page.Bytes()))
}

// bare is a page without what is embedded as it is.
func bare(page []byte) []byte {
	for _, part := range []string{uplot.Script(), uplot.Style(), pageStyle, pageScript} {
		page = bytes.Replace(page, []byte(part), []byte("[embedded]"), 1)
	}
	return page
}

func TestThePageNeedsNoNetworkAndNothingInItIsMarkup(t *testing.T) {
	var out bytes.Buffer
	if err := write(&out, runPage(fixed())); err != nil {
		t.Fatal(err)
	}
	page := string(bare(out.Bytes()))
	if m := regexp.MustCompile(`(?i)\b(src|href|action)\s*=|@import|url\(`).FindString(page); m != "" {
		t.Errorf("the page has %q", m)
	}
	if !strings.Contains(page, "default-src 'none'") {
		t.Error("the page has no policy")
	}
	for _, bad := range []string{"<b>", "</script><b>", "<full>", "<CPU>"} {
		if strings.Contains(page, bad) {
			t.Errorf("%q is markup in the page", bad)
		}
	}
	if n := strings.Count(page, "</script>"); n != 3 {
		t.Errorf("%d scripts end, not 3", n)
	}
	if len(pageStyle)+len(pageScript)+len(pageText)+len(uplot.Script())+len(uplot.Style()) > 150<<10 {
		t.Error("the page's own parts are over 150 KB")
	}
}

func TestAYearIsTheWatchedTimeOverAndOver(t *testing.T) {
	// The articles' 12 KB/s.
	if y := YearOf(watched()); math.Abs(y.Rest-0.378432) > 1e-9 || y.Checkpoints != 0 {
		t.Errorf("%+v TB a year", y)
	}
	none := &record.Watch{Samples: []record.Sample{{}}}
	if y := YearOf(none); y != (Year{}) {
		t.Errorf("%+v TB a year of no time", y)
	}
}

// A table of ratios without one says less than a line that there is none.
func TestNoPairIsOneLine(t *testing.T) {
	r := &record.Run{Subjects: []record.Subject{{Name: "a"}, {Name: "b"}},
		Suites: []record.Suite{{Name: "stop", Metrics: []record.Metric{{Name: "time", Unit: "s"}}}}}
	for i, unsteady := range []bool{true, false} {
		r.Lives = nil
		for _, name := range []string{"a", "b"} {
			r.Lives = append(r.Lives, record.Life{Suite: "stop", Round: 1, Subject: name,
				Values: map[string]float64{"time": 1}, Unsteady: unsteady})
		}
		all := Tables(r)
		if len(all) != 1+i || (len(all[0].Notes) == 0) == unsteady {
			t.Errorf("unsteady %v: %+v", unsteady, all)
		}
	}
}

// A checkpoint counts by the time to the next, however many of them a watch saw.
func TestAYearHasTwoTermsWhereTheNodeTellsOfCheckpoints(t *testing.T) {
	w := watched() // 120,000 bytes in 10 s
	w.Checkpoints = &record.Checkpoints{Number: 1, Bytes: 100_000, Between: 1000}
	if y := YearOf(w); math.Abs(y.Rest-2e3*secondsOfYear/1e12) > 1e-9 ||
		math.Abs(y.Checkpoints-100*secondsOfYear/1e12) > 1e-9 {
		t.Errorf("with one: %+v", y)
	}
	w.Checkpoints = &record.Checkpoints{Bytes: 100_000, Between: 1000} // before the watch
	y := YearOf(w)
	if math.Abs(y.Rest-0.378432) > 1e-9 || math.Abs(y.Checkpoints-100*secondsOfYear/1e12) > 1e-9 {
		t.Errorf("with none: %+v", y)
	}
	var b strings.Builder
	if err := WriteWatch(&b, w); err != nil || !strings.Contains(b.String(), "by checkpoints, at most") ||
		!strings.Contains(b.String(), "There was no checkpoint during the watch") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestThinLinesKeepTheirHeights(t *testing.T) {
	var points []point
	for i := range 86_400 {
		points = append(points, point{float64(i), math.Sin(float64(i) / 700)})
	}
	points[43_210].y, points[1234].y = 50, -50
	thin := thin(points, pointsMost)
	low, high, last := 0.0, 0.0, -1.0
	for _, p := range thin {
		low, high = min(low, p.y), max(high, p.y)
		if p.x <= last {
			t.Fatal("points are not in order")
		}
		last = p.x
	}
	if len(thin) > pointsMost || low != -50 || high != 50 {
		t.Errorf("%d points from %g to %g", len(thin), low, high)
	}
}

func TestUnitsFitTheirValues(t *testing.T) {
	for _, c := range []struct {
		unit string
		v    float64
		want string
	}{{"s", 12.34, "12.3 s"}, {"s", 0.0123, "12.3 ms"}, {"s", 0.00027, "270 µs"}, {"s", 0, "0.00 µs"},
		{"B", 2.5e9, "2.50 GB"}, {"B", 34_700_000, "34.7 MB"},
		{"B/s", 12_000, "12.0 KB/s"}, {"B/year", 3.78e11, "378 GB/year"}, {"B/year", 2e12, "2.00 TB/year"},
		{"1/s", 5000, "5 000 1/s"}, {"s", math.NaN(), "– µs"}} {
		s := scaleOf(c.unit, c.v)
		if got := s.text(c.v) + " " + s.unit; got != c.want {
			t.Errorf("%g %s is written %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}
