package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tarn/bench/record"
)

// noGroupIsLeft fails if a control group of this process is there.
func noGroupIsLeft(t *testing.T) {
	t.Helper()
	for _, parent := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup"} {
		all, err := filepath.Glob(filepath.Join(parent, fmt.Sprintf("tarn-bench-%d-*", os.Getpid())))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range all {
			t.Errorf("%s is left", dir)
		}
	}
}

// The state of the fake's mode "large" is larger than the least memory that may be asked for.
func TestANodeWithLessMemoryThanItsState(t *testing.T) {
	c := config(t, &fake{}, []string{Memory}, 1, "large", "heap", "broken")
	c.Options.Memory = memoryLeast
	if os.Getuid() != 0 {
		if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "takes root") {
			t.Errorf("without root: %v", err)
		}
		t.Skip("only root can make a control group")
	}
	if err := limitable(c.Options); err != nil {
		t.Skip(err)
	}
	r, err := Run(t.Context(), c)
	if err != nil || len(r.Lives) != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	nothingIsLeft(t, c)
	noGroupIsLeft(t)
	hasAll(t, r, r.Lives[0])
	if got := r.Lives[0].Values[keyOf(Start, onDisk)]; !within2(got, largeWrites) {
		t.Errorf("its state has %d bytes, counted %v", largeWrites, got)
	}
	if why := r.Lives[1].Failure; !strings.Contains(why, "the state has 1 MB, and there are 64 MB") {
		t.Errorf("a state that fits: %q", why)
	}
	if why := r.Lives[2].Failure; !strings.Contains(why, "this mode is broken") {
		t.Errorf("a node that cannot live so: %q", why)
	}
}

// hasAll fails if a life lacks a value that its suite describes, or has one more.
func hasAll(t *testing.T, r *record.Run, l record.Life) {
	t.Helper()
	if l.Failure != "" || len(l.Values) != len(r.Suites[0].Metrics) {
		t.Errorf("%d values of %d that are described: %+v", len(l.Values), len(r.Suites[0].Metrics), l)
	}
	for _, m := range r.Suites[0].Metrics {
		if _, ok := l.Values[m.Key()]; !ok {
			t.Errorf("there is no %q", m.Key())
		}
	}
}

// The snapshot of the fake's mode "large" is as large.
func TestANodeWithLessMemoryThanItsSnapshot(t *testing.T) {
	c := config(t, &fake{}, []string{MemorySnapshot}, 1, "large", "heap")
	c.Options.Memory = memoryLeast
	if err := limitable(c.Options); err != nil {
		t.Skip(err)
	}
	r, err := Run(t.Context(), c)
	if err != nil || len(r.Lives) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	nothingIsLeft(t, c)
	noGroupIsLeft(t)
	hasAll(t, r, r.Lives[0])
	values := r.Lives[0].Values
	if got := values[keyOf(Start, size)]; got != largeWrites {
		t.Errorf("the snapshot has %d bytes, counted %v", largeWrites, got)
	}
	if got := values[keyOf(Start, written)]; !within2(got, loadWrites) {
		t.Errorf("the start from it wrote %d bytes, counted %v", loadWrites, got)
	}
	// What the kernel begins to write while it is being filled counts twice: two megabytes of it were seen.
	if got := values[keyOf(Snapshot, written)]; !within2(got, largeWrites) && !within2(got, largeWrites*1.04) {
		t.Errorf("the next snapshot wrote %d bytes, counted %v", largeWrites, got)
	}
	if why := r.Lives[1].Failure; !strings.Contains(why, "the snapshot has 2 MB, and there are 64 MB") {
		t.Errorf("a snapshot that fits: %q", why)
	}
}

// What a process in the group uses is limited: one that wants more is killed.
func TestTheGroupLimitsANode(t *testing.T) {
	c := config(t, &fake{}, []string{Memory}, 1, "greedy")
	c.Options.Memory = memoryLeast
	if err := limitable(c.Options); err != nil {
		t.Skip(err)
	}
	if text, err := os.ReadFile("/proc/swaps"); err != nil || strings.Count(string(text), "\n") > 1 {
		t.Skipf("with swap a process gets more than the group's memory: %q, %v", text, err)
	}
	r, err := Run(t.Context(), c)
	if err != nil || len(r.Lives) != 1 || !strings.Contains(r.Lives[0].Failure,
		"with 64 MB of memory for a state of 83 MB") || !strings.Contains(r.Lives[0].Failure, "killed") {
		t.Fatalf("%+v, %v", r, err)
	}
	nothingIsLeft(t, c)
	noGroupIsLeft(t)
}

func TestLittleMemoryIsRefused(t *testing.T) {
	c := config(t, &fake{}, []string{Memory}, 1, "large")
	c.Options.Memory = memoryLeast - 1
	if err := Validate(c.Options); err == nil || !strings.Contains(err.Error(), "63 MB of memory: at least 64") {
		t.Errorf("%v", err)
	}
	if err := limitable(record.Options{Suites: []string{Import}, Memory: -1}); err != nil {
		t.Errorf("a run that needs no control group: %v", err)
	}
}
