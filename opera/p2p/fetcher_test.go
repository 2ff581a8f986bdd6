package p2p

import (
	"slices"
	"testing"
	"time"

	"tarn/opera/inter"
)

func ids(first, n int) []inter.EventID {
	list := make([]inter.EventID, n)
	for i := range list {
		list[i] = inter.NewEventID(1, 1, [32]byte{byte(first + i), byte((first + i) >> 8), byte((first + i) >> 16), 1})
	}
	return list
}

type asked struct {
	peer *peer
	ids  []inter.EventID
}

// newTestFetcher returns a fetcher, what it asks for, and what has come.
func newTestFetcher(limits *Limits) (*fetcher[inter.EventID], *[]asked, map[inter.EventID]bool) {
	list, here := new([]asked), map[inter.EventID]bool{}
	f := newFetcher(limits, time.Second, func(ids []inter.EventID) []inter.EventID {
		return slices.DeleteFunc(slices.Clone(ids), func(id inter.EventID) bool { return here[id] })
	}, func(p *peer, ids []inter.EventID) { *list = append(*list, asked{p, slices.Clone(ids)}) })
	return f, list, here
}

func TestWhatDoesNotComeIsAskedOfSomebodyElse(t *testing.T) {
	limits := defaults()
	f, list, here := newTestFetcher(limits)
	now := time.Unix(1e9, 0)
	silent, honest := strangerPeer(limits), strangerPeer(limits)
	all := ids(0, 600)
	f.announce(silent, all, now)
	if len(*list) != 3 || len((*list)[0].ids) != softItems || (*list)[2].peer != silent {
		t.Fatalf("600 ids are asked for in %d messages", len(*list))
	}
	f.announce(honest, all, now)
	if len(*list) != 3 {
		t.Error("what is under way is asked for twice")
	}
	for left, turn := len(all), 1; left > 0; turn++ {
		*list = nil
		f.tick(now.Add(time.Duration(turn)*time.Second - time.Millisecond))
		if len(*list) != 0 {
			t.Fatal("asked again before it is time")
		}
		f.tick(now.Add(time.Duration(turn) * time.Second))
		for _, a := range *list {
			if a.peer == honest {
				for _, id := range a.ids {
					here[id] = true
				}
				f.noteReceived(a.ids...)
				left -= len(a.ids)
			}
		}
		if turn > 50 {
			t.Fatalf("%d ids were not asked of the one who has them", left)
		}
	}
	if len(f.wants)+len(f.load) != 0 {
		t.Errorf("all came, and %d ids of %d peers are left", len(f.wants), len(f.load))
	}
}

// Announcements of what is not there cost a bounded place, which comes back; honest
// announcements beside are asked for.
func TestAFloodOfAnnouncementsIsBounded(t *testing.T) {
	limits := defaults()
	f, list, _ := newTestFetcher(limits)
	now := time.Unix(1e9, 0)
	hostile, honest := strangerPeer(limits), strangerPeer(limits)
	for i := range 20 {
		f.announce(hostile, ids(1000*i, 1000), now)
	}
	if len(f.wants) != limits.Announced || f.load[hostile] != limits.Announced {
		t.Errorf("%d ids are wanted, of %d", len(f.wants), limits.Announced)
	}
	*list = nil
	f.announce(honest, ids(30000, 10), now)
	if len(*list) != 1 || (*list)[0].peer != honest {
		t.Errorf("an honest peer is asked %d times", len(*list))
	}
	f.noteReceived(ids(30000, 10)...)
	for i := range 100 {
		f.tick(now.Add(time.Duration(i) * time.Second))
	}
	if len(f.wants)+len(f.load) != 0 {
		t.Errorf("%d ids are wanted after a minute", len(f.wants))
	}
}

// However many say that they have it and do not, the one who does gets a turn.
func TestWhoHasItGetsATurnAmongManyWhoDoNot(t *testing.T) {
	limits := defaults()
	f, list, _ := newTestFetcher(limits)
	now := time.Unix(1e9, 0)
	id := ids(0, 1)
	for range 10 {
		f.announce(strangerPeer(limits), id, now)
	}
	honest := strangerPeer(limits)
	for i := range 50 {
		now = now.Add(time.Second)
		f.announce(honest, id, now)
		f.tick(now)
		if (*list)[len(*list)-1].peer == honest {
			return
		}
		if n := len(f.wants[id[0]].announcers); n > limits.Announcers {
			t.Fatalf("%d announcers after %d s", n, i)
		}
	}
	t.Error("the honest one is never asked")
}

func TestAPeerThatIsGoneIsNotAsked(t *testing.T) {
	limits := defaults()
	f, list, _ := newTestFetcher(limits)
	now := time.Unix(1e9, 0)
	gone, other := strangerPeer(limits), strangerPeer(limits)
	f.announce(gone, ids(0, 10), now)
	f.announce(other, ids(5, 10), now)
	f.forgetPeer(gone)
	if len(f.wants) != 10 || f.load[gone] != 0 {
		t.Errorf("%d ids are wanted", len(f.wants))
	}
	*list = nil
	f.tick(now.Add(time.Second))
	for _, a := range *list {
		if a.peer == gone {
			t.Error("who is gone is asked")
		}
	}
}
