package node

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// What the policies make of a key is said at the start and when it changes, not for each block.
func TestTheRoleOfAFinalizerIsSaidWhenItChanges(t *testing.T) {
	var log bytes.Buffer
	mine := types.BLSPublicKey{1}
	r := roles{log: slog.New(slog.NewTextHandler(&log, nil)), keys: []types.BLSPublicKey{mine}}
	with := &types.FinalizerPolicy{Generation: 2,
		Finalizers: []types.Finalizer{{Key: types.BLSPublicKey{7}}, {Key: mine}}}
	without := &types.FinalizerPolicy{Generation: 1, Finalizers: []types.Finalizer{{Key: types.BLSPublicKey{7}}}}
	for i, step := range []struct {
		state *finality.State
		want  string
	}{
		{nil, "does not vote with it yet"},
		{&finality.State{Finalizers: without}, ""},
		{&finality.State{Finalizers: without, Pending: &finality.Numbered{Policy: with}}, "the pending policy"},
		{&finality.State{Finalizers: without, Pending: &finality.Numbered{Policy: with}}, ""},
		{&finality.State{Finalizers: with}, "the active policy"},
		{&finality.State{Finalizers: with, Pending: &finality.Numbered{Policy: without}}, ""},
		{&finality.State{Finalizers: without}, "no longer votes"},
	} {
		log.Reset()
		r.tell(step.state)
		if text := log.String(); step.want == "" && text != "" || !strings.Contains(text, step.want) ||
			strings.Count(text, "\n") > 1 {
			t.Errorf("step %d: %q, want %q", i, text, step.want)
		}
	}
}

// Ballots that wait too long are dropped, and the log says so once a minute, with their number.
func TestBallotsThatAreDroppedAreSaid(t *testing.T) {
	var log bytes.Buffer
	l, now := late{log: slog.New(slog.NewTextHandler(&log, nil))}, time.Now()
	l.note(ballot{certificate: new(types.QuorumCertificate)}, now)
	if log.Len() > 0 {
		t.Errorf("said of a certificate: %s", &log)
	}
	for range 3 {
		l.note(ballot{state: new(finality.State)}, now)
	}
	l.note(ballot{state: new(finality.State)}, now.Add(sayLate))
	if text := log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "for 1 blocks") ||
		!strings.Contains(text, "for 3 blocks") {
		t.Errorf("said %q", text)
	}
}
