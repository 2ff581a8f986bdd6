package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The page of a journal is always the same one: what was tried, how often, with which seeds,
// what was found and how to have it again, what was not tried and why.
func TestThePageTellsAll(t *testing.T) {
	t.Parallel()
	cuts, lacking := fake("power cuts"), fake("a judge")
	cuts.Kind, cuts.Unit, cuts.Race = "crashes", "cuts", true
	lacking.Needs = []need{func(options) string { return "no | judge\nhere" }}
	w, _ := working(t, t.TempDir(), 0, fake("kills"), cuts, lacking, fake("never"))
	at := func(minute int) time.Time { return time.Date(2026, 3, 4, 5, minute, 0, 0, time.UTC) }
	bad := verdict{Outcome: failed, Failed: []string{"TestFake/deep", "TestFake"},
		Text: "fake_test.go:7: row 7 is another\n--- FAIL: TestFake"}
	end := func(minute int, a adversary, seed uint64, v verdict) entry {
		e := entry{At: at(minute), Event: ended, Adversary: a.Name, Kind: a.Kind, turn: turn{seed, 40},
			Seconds: 61.5, verdict: v}
		if v.Outcome.bad() {
			e.Command, e.Output, e.Again = a.command(e.turn), "findings/fake.txt", "passed"
		}
		return e
	}
	w.journal.entries = []entry{
		{At: at(0), Event: began, Commit: "0123456789ab", Machine: "go1.26, linux/amd64, 2 processors", First: 5},
		end(1, w.list[0], 5, verdict{Outcome: passed, Count: 40}),
		end(2, w.list[1], 5, bad),
		{At: at(3), Event: left},
		{At: at(30), Event: began, Commit: "ba9876543210, with changes", Machine: "go1.26, linux/amd64, 2 processors", First: 5},
		end(32, w.list[0], 5+stride, verdict{Outcome: passed, Count: 44, Skipped: map[string]string{"TestFake/root": "not root"}}),
		end(33, w.list[1], 5+stride, bad),
		end(34, w.list[1], 5+2*stride, verdict{Outcome: hung, Text: "panic: test timed out after 30s"}),
	}
	var b bytes.Buffer
	w.report(&b)
	golden := filepath.Join("testdata", "page.md")
	if *rewrite {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%v: the page is\n%s", err, b.Bytes())
	}
}
