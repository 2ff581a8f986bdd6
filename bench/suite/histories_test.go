package suite

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tarn/bench/record"
)

func TestHistoriesAreCountedByWhatIsInThem(t *testing.T) {
	c := config(t, &fake{}, []string{Histories, Recording}, 1, "heap")
	r, err := Run(t.Context(), c)
	if err != nil || len(r.Lives) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	want := map[string]int{
		Histories + "/traces: written": 11 << 20, Histories + "/state history: written": 6 << 20,
		Histories + "/both: written":          17 << 20,
		Histories + "/state history: actions": 2 << 20, Histories + "/both: rows": 4 << 20,
		Histories + "/traces: traces": 5 << 20, Histories + "/both: index of transactions": 6 << 20,
		Recording + "/nothing: written": 4 << 20, Recording + "/nothing: blocks grew": 1 << 20,
		Recording + "/nothing: the rest": 3 << 20,
		Recording + "/both: written":     21 << 20, Recording + "/both: actions": 2 << 20,
		Recording + "/both: rows": 4 << 20, Recording + "/both: traces": 5 << 20,
		Recording + "/both: index of transactions": 6 << 20, Recording + "/both: the rest": 3 << 20,
		Recording + "/both: the rest, per transfer": (3 << 20) / 9,
	}
	for name, size := range want {
		suite, key, _ := strings.Cut(name, "/")
		got := r.Values(suite, "tarn:heap", key)
		if len(got) == 1 && strings.Contains(key, "per transfer") {
			got[0] *= 9
			size *= 9
		}
		if len(got) != 1 || !within2(got[0], float64(size)) && !countedTwice(got[0], float64(size)) {
			t.Errorf("%s is %v, want %d", name, got, size)
		}
	}
	if got := r.Values(Histories, "tarn:heap", "nothing: written"); len(got) != 1 || got[0] > 1<<20 {
		t.Errorf("a node that keeps nothing wrote %v", got)
	}
}

// countedTwice tells whether bytes are more than they should be by no more than the kernel counts twice of a file
// that it begins to write while it is filled.
func countedTwice(got, want float64) bool { return got > want && got-want <= 256<<10 }

// A node that says it keeps a history and writes none is a row that failed.
func TestAHistoryThatIsNotThereIsAFailure(t *testing.T) {
	c := config(t, &fake{}, []string{Histories}, 1, "heap")
	c.Network = forgetting{c.Network.(*fake)}
	r, err := Run(t.Context(), c)
	if err != nil || len(r.Lives) != 1 || r.Lives[0].Values != nil ||
		!strings.Contains(r.Lives[0].Failure, "there are no files of histories") {
		t.Errorf("%+v, %v", r, err)
	}
	nothingIsLeft(t, c)
}

// forgetting has nodes that keep nothing, whatever they are asked to.
type forgetting struct{ *fake }

func (f forgetting) Keep(n Node, _ Choice) (Node, error) { return n, nil }

func TestARecordingThatIsInterruptedLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := config(t, &fake{pushed: cancel}, []string{Import, Recording}, 3, "heap", "mapped")
	c.Options.LoadFor = 600
	r, err := Run(ctx, c)
	if !errors.Is(err, context.Canceled) || r == nil || r.Ended != record.EndInterrupted {
		t.Fatalf("%+v, %v", r, err)
	}
	nothingIsLeft(t, c)
	if got := r.Values(Import, "tarn:heap", took); len(got) != 1 {
		t.Errorf("the import that was whole is not there: %v", got)
	}
	if got := r.Values(Recording, "tarn:heap", "nothing: written"); len(got) != 0 {
		t.Errorf("a recording that was broken off has values: %v", got)
	}
}
