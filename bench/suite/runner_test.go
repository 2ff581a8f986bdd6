package suite

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/bench/record"
)

func containsAll(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
}

// within2 tells that the kernel's count is the known one, to two hundredths.
func within2(got, want float64) bool { return math.Abs(got-want) <= want/50 }

func TestEverySuiteOfARunHasAllItsValues(t *testing.T) {
	f := &fake{}
	// which have tests of their own
	all := slices.DeleteFunc(names(), func(name string) bool { return name == Memory || name == MemorySnapshot })
	c := config(t, f, all, 2, "heap", "mapped")
	r, err := Run(t.Context(), c)
	if err != nil || r.Ended != record.EndWhole {
		t.Fatalf("%+v, %v", r, err)
	}
	nothingIsLeft(t, c)
	r = again(t, r)
	order := map[string][]string{}
	for _, l := range r.Lives {
		if l.Failure != "" || l.CalibrationBefore <= 0 || l.CalibrationAfter <= 0 || len(l.Commands) == 0 {
			t.Errorf("%+v", l)
		}
		order[l.Suite] = append(order[l.Suite], l.Subject)
		s := r.Suites[slices.IndexFunc(r.Suites, func(s record.Suite) bool { return s.Name == l.Suite })]
		for _, m := range s.Metrics {
			if _, ok := l.Values[m.Key()]; !ok {
				t.Errorf("%s of %s has no %q", l.Suite, l.Subject, m.Key())
			}
		}
		if len(l.Values) != len(s.Metrics) {
			t.Errorf("%s has %d values of %d that are described", l.Suite, len(l.Values), len(s.Metrics))
		}
	}
	for _, name := range all {
		got := order[name]
		if want := []string{"tarn:heap", "tarn:mapped", "tarn:mapped", "tarn:heap"}; !slices.Equal(got, want) {
			t.Errorf("%s went round %v, want %v", name, got, want)
		}
	}
	for _, x := range r.Subjects {
		if got := r.Values(Import, x.Name, written); !within2(got[0], importWrites) {
			t.Errorf("%s wrote %.0f bytes in its import, counted %v", x.Name, float64(importWrites), got)
		}
		if got := r.Values(Stop, x.Name, written); !within2(got[0], endWrites) {
			t.Errorf("%s wrote %.0f bytes at its end, counted %v", x.Name, float64(endWrites), got)
		}
	}
	if f.chains.Load() != 1 {
		t.Errorf("the chain was made %d times", f.chains.Load())
	}
}

// The fake's mode "forgetting" has its transfers in memory alone, and all modes the blocks that
// they follow.
func TestWhatAKillLosesIsCounted(t *testing.T) {
	c := config(t, &fake{}, []string{Kill, KillSync}, 1, "heap", "forgetting", "refusing")
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	nothingIsLeft(t, c)
	sent := float64(c.Options.Push + lastTransfers)
	if kept, gone := r.Values(Kill, "tarn:heap", forgotten), r.Values(Kill,
		"tarn:forgetting", forgotten); len(kept) != 1 || kept[0] != 0 || len(gone) != 1 || gone[0] != sent {
		t.Errorf("%v and %v of %v transfers lost", kept, gone, sent)
	}
	if gone := r.Values(KillSync, "tarn:heap", blocksLost); len(gone) != 1 || gone[0] < 1 || gone[0] > fakeBlocks {
		t.Errorf("%v blocks lost", gone)
	}
	for _, l := range r.Lives {
		if l.Subject == "tarn:refusing" && l.Suite == Kill &&
			!strings.Contains(l.Failure, "50 of 50 transfers were not taken") {
			t.Errorf("%+v", l)
		}
	}
}

// Without transfers the bytes of a node that is idle are measured.
func TestDiskMeasuresAnIdleNode(t *testing.T) {
	c := config(t, &fake{}, []string{Disk}, 1, "heap")
	c.Options.Rate = 0
	r, err := Run(t.Context(), c)
	if err != nil || len(r.Lives) != 1 || r.Lives[0].Failure != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, ok := r.Lives[0].Values[nearAll]; ok || !within2(r.Lives[0].Values[atEnd], endWrites) {
		t.Errorf("%v", r.Lives[0].Values)
	}
	c.Options.Suites = []string{Peer}
	if err := Validate(c.Options); err == nil || !strings.Contains(err.Error(), "a rate of 0") {
		t.Errorf("peer without transfers: %v", err)
	}
}

// However few transfers there are, all of the time is measured.
func TestDiskMeasuresAllOfItsTime(t *testing.T) {
	c := config(t, &fake{}, []string{Disk}, 1, "heap")
	c.Options.Rate, c.Options.For = 1, 0.4 // one transfer, at once
	begun := time.Now()
	r, err := Run(t.Context(), c)
	if err != nil || len(r.Lives) != 1 || r.Lives[0].Failure != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	if took := time.Since(begun); took < 400*time.Millisecond {
		t.Errorf("the run took %s", took)
	}
}

// The transfers go to the source: a subject that takes none can be measured.
func TestDiskFollowMeasuresANodeThatIsSentNoTransfers(t *testing.T) {
	c := config(t, &fake{}, []string{DiskFollow}, 1, "heap", "refusing")
	c.Options.SourceDir = t.TempDir()
	// The kernel may begin to write a file while the node still adds to it: then it writes a part twice, which counts.
	for try := 1; ; try++ {
		c.Options.Rate = 0
		idle, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		c.Options.Rate = 100
		busy, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		nothingIsLeft(t, c)
		if len(idle.Lives) != 2 || len(busy.Lives) != 2 {
			t.Fatalf("%d and %d lives, not 2", len(idle.Lives), len(busy.Lives))
		}
		wrong := slices.DeleteFunc(append(idle.Lives, busy.Lives...), func(l record.Life) bool {
			_, ok := l.Values[nearAll]
			return !ok && l.Failure == "" && within2(l.Values[atEnd], endWrites) && l.ByCause["growth"] != 0
		})
		if len(wrong) == 0 {
			break
		}
		if try == 3 {
			t.Fatalf("%+v", wrong)
		}
	}
	nowhere := c
	nowhere.Options.SourceDir = filepath.Join(c.Options.SourceDir, "nowhere")
	if _, err := Run(t.Context(), nowhere); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a source's folder that is not there: %v", err)
	}
	if left, err := os.ReadDir(c.Options.SourceDir); err != nil || len(left) > 0 {
		t.Errorf("left in the source's folder: %v, %v", left, err)
	}
}

func TestASnapshotsCurveIsOfTheNodeThatBeganWithIt(t *testing.T) {
	c := config(t, &fake{}, []string{Snapshot}, 1, "heap")
	r, err := Run(t.Context(), c)
	if err != nil || len(r.Lives) != 1 || r.Lives[0].Failure != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	l := r.Lives[0]
	if !within2(l.Values[size], snapshotWrites) || !within2(l.Values[written], snapshotWrites) {
		t.Errorf("the snapshot: %v", l.Values)
	}
	if !within2(l.Values[loadWritten], loadWrites) || !within2(l.Values[atEnd], endWrites) {
		t.Errorf("the start from it: %v", l.Values)
	}
	if last := l.Samples[len(l.Samples)-1]; !within2(float64(last.Written), loadWrites+endWrites) {
		t.Errorf("the curve ends with %d bytes written, the node that began with the snapshot wrote %d",
			last.Written, loadWrites+endWrites)
	}
}

func TestWhatFailsIsARowAndOthersGoOn(t *testing.T) {
	c := config(t, &fake{}, []string{Import, Start, Push, Stop}, 1, "broken", "refusing", "heap", "forgetful")
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	nothingIsLeft(t, c)
	why := map[string]string{"tarn:broken": "this mode is broken", "tarn:refusing": "50 of 50 requests were not taken",
		"tarn:forgetful": "of the chain's 12: it did not take all of it"}
	for _, l := range r.Lives {
		want := why[l.Subject]
		if l.Suite == Import && l.Subject != "tarn:broken" || l.Suite == Start && l.Subject == "tarn:refusing" {
			want = "" // what was measured before it failed
		}
		if (l.Values == nil) != (want != "") || !strings.Contains(l.Failure, want) || want == "" && l.Failure != "" {
			t.Errorf("%s of %s: %v, %q, want %q", l.Suite, l.Subject, l.Values, l.Failure, want)
		}
	}
	if len(r.Lives) != 16 {
		t.Errorf("%d lives, not 16", len(r.Lives))
	}
}

func TestAnInterruptedRunKeepsWhatItFound(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{pushed: cancel} // in the middle of the first life that has a node
	c := config(t, f, []string{Import, Start, Push, Stop, Disk}, 3, "heap", "mapped")
	r, err := Run(ctx, c)
	if !errors.Is(err, context.Canceled) || r == nil || r.Ended != record.EndInterrupted {
		t.Fatalf("%+v, %v", r, err)
	}
	nothingIsLeft(t, c)
	if got := r.Values(Import, "tarn:heap", took); len(got) != 1 {
		t.Errorf("the import that was whole is not there: %v", got)
	}
	if got := r.Values(Push, "tarn:heap", rate); len(got) != 0 {
		t.Errorf("a push that was broken off has values: %v", got)
	}
}

func TestALimitOfTimeLeavesRoundsOut(t *testing.T) {
	c := config(t, &fake{}, []string{Import}, 50, "heap")
	c.Options.Limit = 0.001
	r, err := Run(t.Context(), c)
	if err != nil || r.Ended != record.EndTime || len(r.Lives) != 1 ||
		!slices.ContainsFunc(r.Left, func(s string) bool { return strings.Contains(s, "49 of 50 rounds") }) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPairsOfTwoSpeedsAreMarked(t *testing.T) {
	c := config(t, &fake{}, []string{Import}, 1, "heap", "mapped", "locked")
	r := &runner{config: c, run: &record.Run{}}
	life := func(subject string, round int, speed float64) {
		r.run.Lives = append(r.run.Lives, record.Life{Suite: Import, Subject: subject, Round: round,
			CalibrationBefore: speed, CalibrationAfter: speed, Began: time.Now()})
	}
	life("tarn:heap", 1, 0.050)
	life("tarn:mapped", 1, 0.054)
	life("tarn:locked", 1, 0.056)
	life("tarn:locked", 2, 0.010) // of another round
	life("tarn:locked", 1, 0.010)
	r.run.Lives[4].Failure = "it ended"
	again := r.unsteady(1)
	if len(again) != 1 || again[0].Mode != "locked" || r.run.Lives[1].Unsteady || !r.run.Lives[2].Unsteady ||
		r.run.Lives[3].Unsteady || r.run.Lives[4].Unsteady {
		t.Errorf("%+v of %+v", again, r.run.Lives)
	}
}

func TestAPairOfTwoSpeedsIsMeasuredOnceMore(t *testing.T) {
	c := config(t, &fake{}, []string{Import}, 1, "heap", "mapped")
	speeds := []float64{1, 1, 2, 2, 1, 1, 1, 1} // before and after each life
	c.speed = func() float64 {
		v := speeds[0]
		speeds = speeds[1:]
		return v
	}
	r, err := Run(t.Context(), c)
	if err != nil || len(r.Lives) != 4 || !r.Lives[1].Unsteady || r.Lives[3].Unsteady || r.Lives[2].Round != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := len(r.Ratios(Import, "tarn:mapped", "tarn:heap", took)); n != 1 {
		t.Errorf("%d ratios are made of two pairs, one of which had two speeds", n)
	}
}
