package p2p

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"tarn/opera/inter"
)

// numberedSource is a source of items of that size at 8-byte keys 0, 3, 6, …
func numberedSource(n, size int) source {
	return func(from []byte, each func(key, item []byte) bool) error {
		for i := range n {
			key := binary.BigEndian.AppendUint64(nil, uint64(3*i))
			if bytes.Compare(key, from) >= 0 && !each(key, bytes.Repeat([]byte{1}, size)) {
				return nil
			}
		}
		return nil
	}
}

func ask(id uint32, start, stop uint64, items uint32, size uint64, chunks uint32) *request[[]byte] {
	key := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	return &request[[]byte]{Session: session[[]byte]{id, key(start), key(stop)}, Limit: limit{items, size},
		MaxChunks: chunks}
}

// A range comes whole, in order and once, its end excluded, however it is cut.
func TestAStreamIsARangeInParts(t *testing.T) {
	r := random(t)
	limits := defaults()
	for range 300 {
		n := r.IntN(50)
		s := &seeder{limits: limits, items: hardItems - 1, records: numberedSource(n, 1+r.IntN(100))}
		start, stop := uint64(r.IntN(150)), uint64(r.IntN(150))
		var want, got []uint64
		for i := range n {
			if at := uint64(3 * i); at >= start && at < stop {
				want = append(want, at)
			}
		}
		q := ask(7, start, stop, uint32(r.IntN(10)), uint64(r.IntN(500)), uint32(1+r.IntN(12)))
		for done, rounds := false, 0; !done; rounds++ {
			sent := 0
			err := s.serve(q, func(c *chunk) error {
				if done || c.session != 7 {
					t.Fatal("a chunk after the last one")
				}
				size := 0
				for i, key := range c.keys {
					if i > 0 && (i >= int(q.Limit.Items) || size >= int(q.Limit.Bytes)) {
						t.Fatalf("a chunk goes on after %d items of %d bytes; asked were %+v", i, size, q.Limit)
					}
					got = append(got, binary.BigEndian.Uint64(key))
					size += len(c.items[i])
				}
				done = c.done
				sent++
				return nil
			})
			if err != nil || sent == 0 || sent > int(q.MaxChunks) || rounds > 200 {
				t.Fatalf("%d chunks: %v", sent, err)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("[%d, %d) of %d: %v, not %v", start, stop, n, got, want)
		}
		if err := s.serve(q, func(*chunk) error { t.Fatal("a chunk after the end"); return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStreamsHaveBounds(t *testing.T) {
	limits := defaults()
	s := &seeder{limits: limits, items: hardItems - 1, records: numberedSource(100000, 100)}
	nothing := func(*chunk) error { return nil }
	for what, c := range map[string]struct {
		r    *request[[]byte]
		want error
	}{
		"too many items":    {ask(1, 0, 9, 1000, 1, 1), errTooLong},
		"too many bytes":    {ask(1, 0, 9, 1, maxMessage, 1), errTooLong},
		"too many chunks":   {ask(1, 0, 9, 1, 1, 13), errChunks},
		"all that there is": {ask(1, 0, 1<<62, 999, maxAsked, 12), nil},
	} {
		if err := s.serve(c.r, nothing); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	if err := s.serve(ask(1, 3, 9, 1, 1, 1), nothing); !errors.Is(err, errSelector) {
		t.Errorf("another range in one session: %v", err)
	}
	for id := range uint32(1000) {
		if err := s.serve(ask(100+id, uint64(id), 1<<62, 1, 1, 1), nothing); err != nil ||
			len(s.streams) > limits.Sessions {
			t.Fatalf("%d sessions: %v", len(s.streams), err)
		}
	}
	huge := &seeder{limits: limits, items: hardItems - 1, records: numberedSource(100, 300<<10)}
	err := huge.serve(ask(1, 0, 1<<62, 999, maxAsked, 12), func(c *chunk) error {
		size := 0
		for _, item := range c.items {
			size += len(item)
		}
		if size > limits.ChunkBytes+300<<10 {
			t.Errorf("a chunk of %d bytes", size)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for what, r := range map[string]*request[[]byte]{
		"a long start": {Session: session[[]byte]{Start: make([]byte, 33)}},
		"a long end":   {Session: session[[]byte]{Stop: make([]byte, 33)}}, "another type": {Type: 1},
	} {
		if checkEventsRequest(r) == nil {
			t.Errorf("%s is allowed", what)
		}
	}
}

func TestTheKeyAfterAKey(t *testing.T) {
	for _, c := range [][2][]byte{{{0}, {1}}, {{1, 255}, {2, 0}}, {{0, 255, 255}, {1, 0, 0}}, {{255, 255}, {1, 0, 0}}} {
		if got := after(c[0]); !bytes.Equal(got, c[1]) {
			t.Errorf("after %x comes %x, want %x", c[0], got, c[1])
		}
	}
}

type asking struct {
	*leecher
	now   time.Time
	asks  []*request[[]byte]
	of    []*peer
	here  map[inter.EventID]bool
	stuck bool
}

func newAsking() *asking {
	a := &asking{now: time.Unix(1e9, 0), here: map[inter.EventID]bool{}}
	a.leecher = &leecher{
		asker:   newAsker(defaults()),
		settled: func(id inter.EventID) bool { return a.here[id] },
		busy:    func(*peer) bool { return a.stuck },
		ask:     func(p *peer, r *request[[]byte]) { a.asks, a.of = append(a.asks, r), append(a.of, p) },
	}
	return a
}

func (a *asking) at(epoch inter.Epoch) *peer {
	p := strangerPeer(a.limits)
	p.setProgress(Progress{Epoch: epoch})
	a.add(p)
	return p
}

func (a *asking) pass(d time.Duration) {
	a.now = a.now.Add(d)
	a.tick(a.now)
}

func TestAStreamIsAskedForNoFasterThanItIsConnected(t *testing.T) {
	a := newAsking()
	a.enter(5, true)
	p := a.at(7)
	a.pass(time.Second)
	if len(a.asks) != 1 || a.asks[0].MaxChunks != 6 || a.asks[0].Type != typeEvents || a.of[0] != p {
		t.Fatalf("asked first: %+v", a.asks)
	}
	last := ids(0, 6)
	for _, id := range last {
		a.chunk(p, a.asks[0].Session.ID, id, false, a.now)
	}
	a.pass(time.Second)
	if len(a.asks) != 1 {
		t.Fatal("more is asked for while nothing is connected")
	}
	a.here[last[0]], a.here[last[1]] = true, true
	a.stuck = true
	a.pass(time.Second)
	if len(a.asks) != 1 {
		t.Fatal("more is asked for while there is no room")
	}
	a.stuck = false
	a.pass(time.Second)
	if len(a.asks) != 2 || a.asks[1].MaxChunks != 2 || a.asks[1].Session.ID != a.asks[0].Session.ID {
		t.Fatalf("asked then: %+v", a.asks[1:])
	}
	a.chunk(strangerPeer(a.limits), a.asks[0].Session.ID, inter.EventID{}, true, a.now)
	a.chunk(p, a.asks[0].Session.ID+1, inter.EventID{}, true, a.now)
	if a.from != p {
		t.Fatal("somebody else, or another session, ends the stream")
	}
	a.chunk(p, a.asks[0].Session.ID, inter.EventID{}, true, a.now)
	a.pass(time.Second)
	if len(a.asks) != 2 {
		t.Fatal("the next stream begins at once")
	}
	a.pass(5 * time.Second)
	if len(a.asks) != 3 || a.asks[2].Type != typeIDs {
		t.Fatalf("the second stream: %+v", a.asks[2:])
	}
	a.enter(6, true)
	a.pass(time.Millisecond)
	if len(a.asks) != 4 || !bytes.Equal(a.asks[3].Session.Start, []byte{0, 0, 0, 6}) ||
		!bytes.Equal(a.asks[3].Session.Stop, []byte{0, 0, 0, 7}) {
		t.Fatalf("the next epoch: %+v", a.asks[3:])
	}
}

// A peer that says that it is far ahead and sends nothing, or nothing of use, has its turn
// and no more.
func TestAPeerThatServesNothingDoesNotStopTheOthers(t *testing.T) {
	a := newAsking()
	a.enter(5, true)
	liar, honest := a.at(99), a.at(5)
	useless := a.at(100)
	useless.useless = true
	turns := map[*peer]int{}
	for range 100_000 {
		before := len(a.asks)
		a.pass(100 * time.Millisecond)
		if len(a.asks) > before {
			turns[a.of[before]]++
			if a.of[before] == liar && a.asks[before].MaxChunks > 0 {
				a.chunk(liar, a.asks[before].Session.ID, ids(before, 1)[0], false, a.now)
			}
		}
	}
	if turns[honest] < 10 || turns[useless] != 0 {
		t.Errorf("%d turns of the honest one, %d of the liar, %d of a useless one",
			turns[honest], turns[liar], turns[useless])
	}
	if a.forgetPeer(liar, a.now); a.from == liar {
		t.Error("one that is gone is asked")
	}
}

// A peer whose stream brought nothing once has its turn again among those who have nothing either,
// whether somebody says that it is far ahead or not.
func TestOneVainStreamIsForgiven(t *testing.T) {
	for _, liar := range []bool{false, true} {
		a := newAsking()
		a.enter(4, true)
		honest := a.at(5)
		a.pass(time.Second)
		a.pass(time.Minute) // nothing came
		other := a.at(5)
		a.pass(time.Minute)
		if a.from != other || a.peers[honest] != 1 {
			t.Fatal("the honest one is asked again at once")
		}
		a.enter(5, true)
		if liar {
			a.at(99)
		}
		turns := 0
		for range 6000 { // ten minutes
			before := len(a.asks)
			a.force()
			if a.pass(100 * time.Millisecond); len(a.asks) > before && a.of[before] == honest {
				turns++
			}
		}
		if turns < 5 {
			t.Errorf("with a liar: %v, the honest one has %d turns of %d", liar, turns, len(a.asks))
		}
	}
}

func TestWhoStandsWhileAPeerIsFartherAsksAgain(t *testing.T) {
	now := time.Unix(1e9, 0)
	s := stillness{since: now}
	asked := 0
	for i := range 100 {
		now = now.Add(time.Second)
		own := Progress{Block: inter.BlockNumber(min(i, 40))}
		if s.behind(now, own, Progress{Block: 1000}, 30*time.Second) {
			asked++
		}
		if i < 60 && asked > 0 {
			t.Fatal("asked while it moves")
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times in 59 seconds", asked)
	}
	if s.behind(now.Add(time.Hour), Progress{Block: 1000}, Progress{Block: 1000}, time.Second) {
		t.Error("asked at the head")
	}
}

// The node looks where the ledger is on a goroutine of its own, so it may know of an epoch
// before the intake says that it begins: the stream enters it all the same.
func TestTheStreamEntersAnEpochThatTheNodeSawBefore(t *testing.T) {
	n, err := New(Options{Ledger: &graph{}, Server: Server{Key: newKey(t)}, Limits: DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	epoch := n.at.Load().Epoch
	n.leecher.enter(epoch-1, false)
	n.intake.entered(epoch)
	if n.leecher.epoch != epoch || !n.leecher.empty {
		t.Errorf("the stream is of epoch %d, the ledger in %d", n.leecher.epoch, epoch)
	}
}
