package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tarn/bench/record"
)

// A run that was saved is drawn; a watch, and a folder that is not named, are wrong command lines.
func TestASavedRunIsDrawn(t *testing.T) {
	dir := t.TempDir()
	run, watch, pictures := filepath.Join(dir, "run.json"), filepath.Join(dir, "watch.json"),
		filepath.Join(dir, "pictures")
	r := &record.Run{Kind: record.KindRun, Schema: record.Schema,
		Subjects: []record.Subject{{Name: "tarn:heap", Program: "tarn", Mode: "heap"}},
		Suites:   []record.Suite{{Name: "stop", Metrics: []record.Metric{{Name: "time", Unit: "s"}, {Name: "disk space, most", Unit: "bytes"}}}},
		Lives:    []record.Life{{Suite: "stop", Round: 1, Subject: "tarn:heap", Values: map[string]float64{"time": 1, "disk space, most": 2e6}}}}
	w := &record.Watch{Kind: record.KindWatch, Schema: record.Schema, PID: 7, Samples: []record.Sample{{}}}
	for name, x := range map[string]any{run: r, watch: w} {
		if err := record.Save(name, x); err != nil {
			t.Fatal(err)
		}
	}
	out, log, code := bench(t, t.Context(), "pictures", run, "-o", pictures)
	if code != 0 || !strings.Contains(out, "stop-light.svg") || !strings.Contains(out, "stop-dark.svg") {
		t.Errorf("%d: %s %s", code, out, log)
	}
	if text, err := os.ReadFile(filepath.Join(pictures, "stop-light.svg")); err != nil ||
		!strings.Contains(string(text), "tarn:heap") {
		t.Errorf("%s, %v", text, err)
	}
	out, log, code = bench(t, t.Context(), "pictures", run, "-o", pictures, "--metric", "disk space, most")
	if code != 0 || !strings.Contains(out, "stop-disk-space-most-light.svg") {
		t.Errorf("another value: %d: %s %s", code, out, log)
	}
	for why, args := range map[string][]string{"is a watch": {watch, "-o", pictures}, "-o names": {run},
		"no such file": {filepath.Join(dir, "none"), "-o", pictures}} {
		if _, log, code := bench(t, t.Context(), append([]string{"pictures"}, args...)...); code != 2 ||
			!strings.Contains(log, why) {
			t.Errorf("%v: %d, %q", args, code, log)
		}
	}
	r.Lives = nil
	if err := record.Save(run, r); err != nil {
		t.Fatal(err)
	}
	if _, log, code := bench(t, t.Context(), "pictures", run, "-o", pictures); code != exitFailed ||
		!strings.Contains(log, "no suite") {
		t.Errorf("a run of nothing: %d, %q", code, log)
	}
}
