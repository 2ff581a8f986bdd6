package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tarn/bench/record"
)

// Runs that differ in an option show how values grow with it, in whatever order they are given.
func TestRunsShowHowValuesGrow(t *testing.T) {
	dir := t.TempDir()
	var runs []string
	for i, peers := range []int{200, 10} {
		name := filepath.Join(dir, fmt.Sprintf("%d.json", i))
		r := &record.Run{Kind: record.KindRun, Schema: record.Schema,
			Options: record.Options{Peers: peers, Accounts: 2 + i}, Machine: record.Machine{CPUs: i},
			Ended:    []string{record.EndInterrupted, record.EndWhole}[i],
			Subjects: []record.Subject{{Name: "tarn:heap", Program: "tarn", Mode: "heap"}},
			Suites:   []record.Suite{{Name: "peer", Metrics: []record.Metric{{Name: "processor", Unit: "s"}}}},
			Lives: []record.Life{{Suite: "peer", Round: 1, Subject: "tarn:heap",
				Values: map[string]float64{"processor": float64(peers) / 100}}}}
		if err := record.Save(name, r); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, name)
	}
	pictures := filepath.Join(dir, "pictures")
	out, log, code := bench(t, t.Context(), append([]string{"growth", "--by", "peers", "-o", pictures}, runs...)...)
	ten, more := strings.Index(out, "| 10 "), strings.Index(out, "| 200 ")
	if code != 0 || ten < 0 || more < ten || !strings.Contains(out, "The runs differ in accounts too.") ||
		!strings.Contains(out, "different machines") || !strings.Contains(out, "0.json ended: interrupted.") {
		t.Errorf("%d: %s %s", code, out, log)
	}
	if _, err := os.Stat(filepath.Join(pictures, "peer-by-peers-dark.svg")); err != nil {
		t.Error(err)
	}
	if _, log, code := bench(t, t.Context(), "growth", "--by", "peers", runs[0], runs[0]); code != exitUsage ||
		!strings.Contains(log, "it is 200 in all runs") {
		t.Errorf("the same run twice: %d, %q", code, log)
	}
	for why, args := range map[string][]string{
		"no suite has such an option": {"--by", "peer"},
		"it is no number":             {"--by", "source"},
		"--by is missing":             {},
		"no such file":                {"--by", "peers", filepath.Join(dir, "none")},
	} {
		_, log, code := bench(t, t.Context(), append(append([]string{"growth"}, runs...), args...)...)
		if code != exitUsage || !strings.Contains(log, why) {
			t.Errorf("%v: %d, %q", args, code, log)
		}
	}
	if _, log, code := bench(t, t.Context(), append([]string{"growth", "--by", "peers", "--metric", "swap"}, runs...)...); code !=
		exitFailed || !strings.Contains(log, "no suite with such a value") {
		t.Errorf("%d, %q", code, log)
	}
}
