package stream

import (
	"testing"

	"tarn/internal/plantedfault"
)

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands that its tests of clocks and of full
// disks notice. What only a disk that is filled shows would take minutes.
func TestPlantedFaultsAreCaught(t *testing.T) {
	plantedfault.Test(t, []plantedfault.Fault{
		{"only the server's clock ends a place", "lease.go", "time.Since(s.since) < leaseStands", "true"},
		{"a place is taken from who renews it", "lease.go", "s.since) < leaseStands", "s.since) < 0"},
		{"an old word is a new one", "lag.go", "l.Publisher = p; live {", "l.Publisher = p; true {"},
		{"nobody looks whether snapshots lead into the stream", "turn.go", "info.State.FirstSeq <= t.needed", "true"},
		{"older snapshots stay for ever", "snapshot.go", "		listed[o.Object] = x\n", ""},
		{"the next publisher drops older snapshots", "snapshot.go", "x = seenOlder{now, s.most}", "x = seenOlder{at: now}"},
		{"an answer that does not come is not missed", "publisher.go", "time.Since(w.since) < requestTime", "true"},
		{"a snapshot that failed keeps its room", "turn.go", "return object == s.Object", "return false"},
		{"nobody asks whether there is what does not come", "follower.go", "err == nil && last >= next", "err == nil && last >= next && false"},
		{"what is joined is left where nothing waits", "follower.go", "if len(come) == 0 && w.applying == nil {", "if len(come) > 1 {"},
		{"a replica is looked at while a move is applied", "follower.go", "if w.applying == nil {\n\t\tw.verify.idle()\n\t}", "w.verify.idle()"},
		{"a move that failed is forgotten for what came later", "follower.go", "		return failed\n", "		return err\n"},
		{"a block that is named later is passed", "follower.go", " || w.verify.isWanted(w.joined.To())) {", ") {"},
		{"what is joined has no bound", "follower.go", "w.size+size > joinedBytes", "false"},
		{"a move that follows nothing joined is joined", "follower.go", "w.joined.To() != m.Base()", "false"},
		{"a snapshot that leads nowhere is loaded", "follower.go", "first > s.Sequence", "false"},
		{"a snapshot newer than the stream is given up", "follower.go", "s.Line == h.Line && s.", "false && s."},
		{"nothing is gathered", "turn.go", "time.Since(made) < oldAfter", "time.Since(made) >= 0"},
		{"new blocks are gathered, too", "turn.go", "time.Since(made) < oldAfter", "time.Since(made) < 0"},
	}, "-run=Clock|OldBlocks|OldWord|AnAnswerThat|HadNoRoom|GivesNothing|IsBehindIt|JoinedMoves", "-timeout=4m")
}
