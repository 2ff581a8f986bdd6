package bench

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var benchRows = flag.Int("rows", 200_000, "rows in the stores that are measured")

const childMark = "TARN_BENCH_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childMark) != "" {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func child(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	// Builds with the race detector sleep for a second before they exit.
	cmd.Env = append(os.Environ(), childMark+"=1", "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	return cmd
}

// tiny is a run of seconds.
func tiny(t *testing.T) Config {
	c := Short()
	c.Dir, c.Command, c.Log = filepath.Join(t.TempDir(), "stores"), child, t.Output()
	c.Rows, c.Time, c.Sustain = minRows, time.Millisecond, 100*time.Millisecond
	c.HotFlushes, c.OpenBytes, c.CheckpointBytes = 1, 2<<20, 1<<20
	c.Trap, c.TrapEvery = time.Second, 500*time.Millisecond
	return c
}

func TestEverySectionMeasuresSomething(t *testing.T) {
	c := tiny(t)
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Sections) != len(Sections()) {
		t.Errorf("%d sections of %d", len(r.Sections), len(Sections()))
	}
	var out bytes.Buffer
	if err := r.WriteMarkdown(&out); err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Sections {
		if len(s.Tables) == 0 {
			t.Errorf("section %s has no table", s.Name)
		}
		for _, table := range s.Tables {
			if len(table.Rows) == 0 {
				t.Errorf("table %q of section %s is empty", table.Title, s.Name)
			}
			if !strings.Contains(out.String(), table.Title) {
				t.Errorf("table %q is not in the report", table.Title)
			}
		}
	}
	if _, err := os.Stat(c.Dir); !os.IsNotExist(err) {
		t.Errorf("the stores are still there: %v", err)
	}
}

// The figures that do not depend on the speed of the machine.
func TestWhatTheReportSaysOfBytesIsTrue(t *testing.T) {
	c := tiny(t)
	c.Stores = []string{"mapped_private", "pebble bare"}
	r, err := Run(t.Context(), c, "checkpoint", "trap", "hot")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Sections {
		switch s.Name {
		case "checkpoint":
			first := s.Checkpoints.First
			if first.Changed == 0 || first.Written < first.Changed || first.Written > 2*first.Changed {
				t.Errorf("a checkpoint wrote %d bytes for %d of changed pages", first.Written, first.Changed)
			}
		case "hot":
			for _, h := range s.Hot {
				if bare := h.Subject != "mapped_private"; bare != (h.Written > h.Changed) {
					t.Errorf("%s wrote %d bytes for %d that changed", h.Subject, h.Written, h.Changed)
				}
			}
		case "trap":
			for _, r := range s.Traps {
				if r.Subject == "mapped_private" && r.Between > r.Grown/4096+4096 {
					t.Errorf("%d bytes were written between checkpoints", r.Between)
				}
			}
		}
	}
}

func TestAStoreThatIsNotTheDataSetIsNotMeasured(t *testing.T) {
	s, err := subjectNamed("heap")
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.open(t.TempDir(), budget{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := (loadTask{Rows: minRows, First: minRows - 1}).fill(st, 1); err != nil {
		t.Fatal(err)
	}
	if err := st.Settle(); err != nil {
		t.Fatal(err)
	}
	if err := warm(st, NewRows(minRows), 1, false); err == nil {
		t.Error("a store without the last row passes for the data set")
	}
	if err := warm(st, NewRows(minRows+1), 1, false); err == nil {
		t.Error("a store of another data set passes for this one")
	}
}

func TestWrongSettingsAreNamedTogether(t *testing.T) {
	c := Short()
	c.Rows, c.Rounds, c.Stores = 1, 0, []string{"pepple"}
	err := c.Validate()
	for _, part := range []string{"1 rows", "0 rounds", "pepple", "no folder", "no command"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	c = tiny(t)
	if _, err := Run(t.Context(), c, "gets"); err == nil || !strings.Contains(err.Error(), "get,") {
		t.Errorf("a section that is not there: %v", err)
	}
}

func TestKeysSortByRow(t *testing.T) {
	for _, n := range []int{minRows, 10_000_000} {
		r := NewRows(n)
		var last, key [KeySize]byte
		for i := range uint64(minRows) {
			last = key
			if r.Key(key[:], uint64(n)-minRows+i); bytes.Compare(last[:], key[:]) >= 0 {
				t.Fatalf("of %d rows, %d does not sort after the one before", n, i)
			}
		}
	}
}

func TestShuffledRowsAreAllRowsOnce(t *testing.T) {
	seen := make([]bool, minRows)
	for _, i := range newSource(NewRows(minRows), 1, 1).shuffledRows() {
		if seen[i] {
			t.Fatalf("row %d comes twice", i)
		}
		seen[i] = true
	}
}
