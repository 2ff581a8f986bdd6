package p2p

import (
	"testing"
	"time"

	"tarn/opera/inter"
)

// askingRecords is a leecher of records with a clock of the test's.
type askingRecords struct {
	*recordLeecher
	now        time.Time
	low, high  uint64
	off, stuck bool
	sessions   []uint32
	chunks     []uint32
	of         []*peer
}

func newAskingRecords() *askingRecords {
	a := &askingRecords{now: time.Unix(1e9, 0), low: 100, high: 1 << 40}
	l := newRecordLeecher(defaults())
	l.wanted, l.busy = func() bool { return !a.off }, func() bool { return a.stuck }
	l.lowest, l.reaches = func() uint64 { return a.low }, func(p Progress) uint64 { return uint64(p.Block) }
	l.stretch = func() (inquiry, bool) {
		return func(p *peer, session, chunks uint32) {
			a.sessions, a.chunks, a.of = append(a.sessions, session), append(a.chunks, chunks), append(a.of, p)
		}, a.low < a.high
	}
	a.recordLeecher = l
	return a
}

func (a *askingRecords) at(block inter.BlockNumber) *peer {
	p := strangerPeer(a.limits)
	p.setProgress(Progress{Block: block})
	a.add(p)
	return p
}

func (a *askingRecords) pass(d time.Duration) {
	a.now = a.now.Add(d)
	a.tick(a.now)
}

func TestRecordsAreAskedForNoFasterThanTheyAreWorkedThrough(t *testing.T) {
	a := newAskingRecords()
	a.off = true
	p := a.at(200)
	if a.pass(time.Second); len(a.of) != 0 {
		t.Fatal("asked although nothing is wanted")
	}
	a.off = false
	a.pass(time.Second)
	if len(a.of) != 1 || a.of[0] != p || a.chunks[0] != 6 || a.sessions[0] != 100<<12 {
		t.Fatalf("asked first for %d chunks of session %d", a.chunks, a.sessions)
	}
	for range 6 {
		a.chunk(p, a.session, false, a.now)
	}
	if a.pass(time.Second); len(a.of) != 1 {
		t.Fatal("more is asked for while nothing is worked through")
	}
	a.noteWorked(p, a.session, 9)
	a.noteWorked(strangerPeer(a.limits), a.session, 9)
	a.noteWorked(p, a.session+1, 9)
	a.stuck = true
	if a.pass(time.Second); len(a.of) != 1 {
		t.Fatal("more is asked for while there is no room")
	}
	a.stuck = false
	if a.pass(time.Second); len(a.of) != 2 || a.chunks[1] != 1 || a.sessions[1] != a.sessions[0] {
		t.Fatalf("asked then for %d chunks of session %d", a.chunks, a.sessions)
	}
	a.chunk(p, a.session+1, true, a.now)
	a.chunk(strangerPeer(a.limits), a.session, true, a.now)
	if a.from != p {
		t.Fatal("somebody else, or another session, ends the stream")
	}
	a.chunk(p, a.session, true, a.now)
	if a.pass(5 * time.Second); len(a.of) != 2 {
		t.Fatal("the next stream begins at once")
	}
	a.low = 101
	if a.pass(2 * time.Second); len(a.of) != 3 || a.sessions[2] != 101<<12^1 {
		t.Fatalf("the second stream has the session %d", a.sessions[2:])
	}
	a.low = 601 // as much as one chunk has
	a.chunk(p, a.session, true, a.now)
	a.pass(time.Second)
	p.setProgress(Progress{Block: 1000})
	if a.pass(time.Second); len(a.of) != 4 || a.sessions[3] != 601<<12 {
		t.Fatalf("who got on waits before it goes on: %d", a.sessions[3:])
	}
	a.off = true
	if a.pass(time.Second); a.from != nil {
		t.Error("a stream goes on that is not wanted any more")
	}
	a.off, a.low = false, a.high
	if a.pass(time.Hour); len(a.of) != 4 {
		t.Error("asked although nothing is missing")
	}
}

// A peer that says that it has everything and sends nothing, or nothing of use, has its turn and
// no more; one that says that it has nothing is asked now and then.
func TestAPeerWithoutRecordsDoesNotStopTheOthers(t *testing.T) {
	a := newAskingRecords()
	liar, junk, honest, behind, useless := a.at(1<<40), a.at(1<<40), a.at(300), a.at(1), a.at(1<<41)
	useless.useless = true
	turns := map[*peer]int{}
	for range 100_000 {
		before := len(a.of)
		a.pass(100 * time.Millisecond)
		if len(a.of) == before {
			continue
		}
		p, session := a.of[before], a.sessions[before]
		if before == 0 || session != a.sessions[before-1] {
			turns[p]++
		}
		switch p {
		case junk: // without an end
			a.chunk(p, session, false, a.now)
			a.noteWorked(p, session, 0)
		case honest:
			a.chunk(p, session, true, a.now)
			a.noteWorked(p, session, 5)
		}
	}
	if h := turns[honest]; h < 100 || h < 5*max(turns[liar], turns[junk]) || turns[behind]+turns[useless] > h {
		t.Errorf("turns: honest %d, silent %d, junk %d, behind %d, useless %d",
			h, turns[liar], turns[junk], turns[behind], turns[useless])
	}
	if a.forgetPeer(honest, a.now); a.from == honest {
		t.Error("one that is gone is asked")
	}
}

// Without anybody who is farther, streams are minutes apart, as go-opera's.
func TestRecordsAreSeldomAskedForWhenNobodyIsFarther(t *testing.T) {
	a := newAskingRecords()
	p := a.at(50)
	for range 60 * 60 {
		before := len(a.of)
		if a.pass(time.Second); len(a.of) > before {
			a.chunk(p, a.session, true, a.now)
		}
	}
	if n := len(a.of); n < 11 || n > 13 {
		t.Errorf("asked %d times in an hour", n)
	}
}

// Chunks that nobody asked for are taken as long as they are of use; those that were asked for
// always, if they come late too.
func TestChunksThatNobodyAskedForAreTakenAsLongAsTheyAreOfUse(t *testing.T) {
	a := newAskingRecords()
	gossip, asked := a.at(1), a.at(200)
	for i := range 1000 {
		if !a.chunk(gossip, 7, false, a.now) {
			t.Fatalf("chunk %d is dropped although they are of use", i)
		}
		a.noteWorked(gossip, 7, i%10)
	}
	taken := 0
	for range 1000 {
		if a.chunk(gossip, 7, true, a.now) {
			taken++
			a.noteWorked(gossip, 7, 0)
		}
	}
	if want := 2 * a.limits.StreamAhead; taken != want {
		t.Errorf("%d chunks are taken that are of no use, want %d", taken, want)
	}
	a.pass(time.Second)
	a.pass(time.Hour) // it is given up
	if a.from == asked && len(a.of) == 1 {
		t.Fatal("the stream goes on")
	}
	late := 0
	for range 1000 {
		if a.chunk(asked, a.sessions[0], false, a.now) {
			late++
		}
	}
	if least := a.limits.StreamAhead; late < least {
		t.Errorf("%d chunks are taken that come late, %d were asked for", late, least)
	}
	if a.chunk(strangerPeer(a.limits), 7, false, a.now) {
		t.Error("a chunk of nobody is taken")
	}
}
