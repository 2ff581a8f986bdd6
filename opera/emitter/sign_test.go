package emitter

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tarn/opera/chain"
	"tarn/opera/inter"
	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

var (
	crashStates = flag.Int("crash.states", 60, "states that power cuts may leave, which a validator goes on from")
	crashSeed   = flag.Uint64("crash.seed", 1, "seed of the power cuts, 0 is by chance")
)

func seed(t *testing.T) uint64 {
	t.Helper()
	s := *crashSeed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("seed: -crash.seed=%d", s)
	return s
}

// shown is an event that somebody may have seen since a position of the record.
type shown struct {
	at int
	id inter.EventID
}

// numbered is what nobody may sign two events for.
type numbered struct {
	creator inter.ValidatorID
	epoch   inter.Epoch
	seq     inter.Seq
}

// checkSigned fails if two events have one number.
func checkSigned(ids map[numbered]inter.EventID, raw []byte) error {
	p, err := inter.DecodePayload(raw)
	if err != nil {
		return err
	}
	n := numbered{p.Creator, p.Epoch, p.Seq}
	if other, ok := ids[n]; ok && other != p.ID() {
		return fmt.Errorf("a double sign: %v and %v are both event %d of validator %d", other, p.ID(), n.seq, n.creator)
	}
	ids[n] = p.ID()
	return nil
}

// A power cut at any write leaves a validator that goes on without signing twice, whatever
// it had sent, and whatever readers of its ledger had seen.
func TestAPowerCutMakesNobodySignTwice(t *testing.T) {
	s := seed(t)
	disk := recordfs.New(memfs.New())
	p, err := open(disk, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	begun := disk.Position()
	w := newWorld(t, s)
	var seen []shown
	known := map[inter.EventID]bool{}
	// Readers may see an event as soon as the writer has begun to connect it.
	watched := writer(func(work func(*chain.Chain) error) error {
		at := disk.Position()
		err := work(p.Chain)
		for _, id := range p.LastEvents() {
			if !known[id] {
				known[id] = true
				seen = append(seen, shown{at, id})
			}
		}
		return err
	})
	w.join(p, 1, func(o *Options) { o.Writer = watched })
	for i := range uint64(12) {
		w.pay(1, i)
		for _, err := range w.run(time.Second) {
			t.Fatal(err)
		}
		if i%4 == 3 {
			done, err := p.Checkpoint()
			if err == nil {
				err = done.Wait()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	raws := map[inter.EventID][]byte{}
	for _, e := range seen {
		if raws[e.id], err = p.Event(e.id); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	states := 0
	for state := range disk.Recording().Some(recordfs.Options{From: begun, Count: *crashStates, Seed: s}) {
		states++
		ids := map[numbered]inter.EventID{}
		for _, e := range seen {
			if e.at <= state.At {
				if err := checkSigned(ids, raws[e.id]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := goesOn(t, state.FS, w.now, ids); err != nil {
			t.Fatalf("after %d events that were seen: %v\n%v", len(ids), err, state)
		}
	}
	t.Logf("%d events, %d states", len(seen), states)
}

// goesOn starts a validator again, alone, until it has made some more events.
func goesOn(t *testing.T, disk *memfs.FS, now time.Time, ids map[numbered]inter.EventID) error {
	p, err := open(disk, 1, false)
	if err != nil {
		return err
	}
	defer p.Close()
	again := newWorld(t, 1)
	again.now = now.Add(time.Minute)
	n := again.join(p, 1, nil)
	for _, err := range again.run(25 * time.Second) {
		return err
	}
	for _, raw := range again.sent {
		if err := checkSigned(ids, raw); err != nil {
			return err
		}
	}
	if len(again.sent) < 2 {
		return fmt.Errorf("%d events were sent: %q", len(again.sent), n.said)
	}
	return nil
}

// guard has the protection against signing twice that a network has.
func guard(o *Options) { o.Intervals.DoubleSign = 5 * time.Second }

// Two starts with one key: whoever comes second waits, hears of the first, and says nothing.
func TestTwoInstancesOfAValidatorDoNotSignTwice(t *testing.T) {
	for _, late := range []time.Duration{0, time.Second, 20 * time.Second} {
		w := newWorld(t, 7)
		for _, id := range []inter.ValidatorID{1, 2, 3} {
			p, err := open(memfs.New(), 3, true)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			w.join(p, id, guard)
		}
		w.run(late)
		p, err := open(memfs.New(), 3, true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		second := w.join(p, 3, guard)
		for _, raw := range w.sent {
			second.inbox = append(second.inbox, letter{w.now.Add(100 * time.Millisecond), raw})
		}
		ended := w.run(60 * time.Second)
		locked := 0
		for _, err := range ended {
			if !errors.Is(err, ErrLocked) {
				t.Errorf("%v: %v", late, err)
			}
			locked++
		}
		ids := map[numbered]inter.EventID{}
		for _, raw := range w.sent {
			if err := checkSigned(ids, raw); err != nil {
				t.Errorf("%v later: %v", late, err)
			}
		}
		if locked == 0 {
			t.Errorf("%v later: both go on", late)
		}
	}
}

// Who waits for the state of a later epoch knows nothing of own events there, and makes none; after that it waits
// as after a start.
func TestAValidatorThatOvertakesMakesNoEvents(t *testing.T) {
	w := newWorld(t, 7)
	for _, id := range []inter.ValidatorID{1, 2, 3} {
		p, err := open(memfs.New(), 3, true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		w.join(p, id, guard).overtakes = id == 3
	}
	events := func() (count int) {
		for _, raw := range w.sent {
			if p, err := w.nodes[2].Verifier().Decode(raw); err != nil {
				t.Fatal(err)
			} else if p.Creator == 3 {
				count++
			}
		}
		return count
	}
	w.run(20 * time.Second)
	if n := events(); n != 0 || len(w.sent) == 0 {
		t.Errorf("%d of %d events are of the validator that waits", n, len(w.sent))
	}
	if said := strings.Join(w.nodes[2].said, "\n"); !strings.Contains(said, "the state of a later epoch is waited for") {
		t.Errorf("it says %q", said)
	}
	w.nodes[2].overtakes = false
	w.run(4 * time.Second)
	if n := events(); n != 0 {
		t.Errorf("it made %d events before the protection was over", n)
	}
	w.run(10 * time.Second)
	if events() == 0 {
		t.Errorf("it never makes events: %q", w.nodes[2].said)
	}
}

// A clock that was ahead, and is right again, makes no own event one from elsewhere.
func TestAClockThatWasAheadIsNoOtherInstance(t *testing.T) {
	disk := memfs.New()
	p, err := open(disk, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, 8)
	w.join(p, 1, nil)
	w.run(time.Second)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := goesOn(t, disk, w.now.Add(-time.Minute-5*time.Second), map[numbered]inter.EventID{}); err != nil {
		t.Error(err)
	}
}

// What the journal has and the ledger lacks is waited for, or connected again; nothing is made
// before.
func TestALedgerThatLacksTheLastEventIsWaitedFor(t *testing.T) {
	w := start(t, 1, 3)
	n := w.nodes[0]
	w.pay(1, 0)
	w.run(3 * time.Second)
	last := n.em.journal.id()
	event, _, err := eventsOf(n.em.journal.last.content)
	if err != nil {
		t.Fatal(err)
	}
	raw := append(last[:], event...)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"only the id, as go-opera writes it", raw[:32], ErrSyncOngoing.Error()},
		{"an event whose self-parent lacks", raw, ErrSyncOngoing.Error()},
	} {
		p, err := open(memfs.New(), 1, true)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := vfs.WriteDurably(p.disk, "/last", c.file); err != nil {
			t.Fatal(err)
		}
		again := newWorld(t, 1)
		again.now = w.now
		other := again.join(p, 1, func(o *Options) { o.Journal = "/last" })
		again.run(20 * time.Second)
		if len(again.sent) != 0 || len(other.said) == 0 || !strings.Contains(other.said[0], c.want) {
			t.Errorf("%s: %d events, %q", c.name, len(again.sent), other.said)
		}
		for _, l := range w.inOrder(t) {
			other.inbox = append(other.inbox, letter{again.now, l})
		}
		again.run(20 * time.Second)
		if ids := again.numbers(t, w.sent); len(again.sent) == 0 || ids != nil {
			t.Errorf("%s: once it is there: %d events, %v, %q", c.name, len(again.sent), ids, other.said)
		}
		if other.em.journal.id() == last {
			t.Errorf("%s: the journal is as it was", c.name)
		}
	}
}

// numbers fails if what was sent here and elsewhere has one number twice.
func (w *world) numbers(t *testing.T, elsewhere map[inter.EventID][]byte) error {
	t.Helper()
	ids := map[numbered]inter.EventID{}
	for _, list := range []map[inter.EventID][]byte{elsewhere, w.sent} {
		for _, raw := range list {
			if err := checkSigned(ids, raw); err != nil {
				return err
			}
		}
	}
	return nil
}

// inOrder is what was sent, parents first.
func (w *world) inOrder(t *testing.T) (list [][]byte) {
	t.Helper()
	err := w.nodes[0].Events(inter.EventID{}, func(_ inter.EventID, raw []byte) bool {
		list = append(list, raw)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// An event that is not connected leaves the journal.
func TestAnEventThatIsNotConnectedLeavesTheJournal(t *testing.T) {
	w := newWorld(t, 5)
	p, err := open(memfs.New(), 2, true)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	n := w.join(p, 1, nil)
	w.run(time.Second)
	before := n.em.journal.id()
	// The context ends between the draft and the connection.
	calls := 0
	n.em.o.Writer = writer(func(work func(*chain.Chain) error) error {
		if calls++; calls%2 == 0 {
			return errors.New("the node ends")
		}
		return work(p.Chain)
	})
	w.now = w.now.Add(time.Hour)
	if e, err := n.em.Tick(t.Context()); e != nil || err == nil {
		t.Fatalf("%v, %v", e, err)
	}
	if got := n.em.journal.id(); got != before {
		t.Errorf("the journal has %v, which nobody has seen, not %v", got, before)
	}
	if j, err := openJournal(p.disk, "/emitter/last", nil); err != nil || j.id() != before {
		t.Errorf("the file has %v, %v", j.id(), err)
	}
}

// writer is a [Writer].
type writer func(work func(*chain.Chain) error) error

func (w writer) Do(_ context.Context, work func(*chain.Chain) error) error { return w(work) }

// The own events of a lone validator cost the log of events no sync, but for the first of an
// epoch. All of them are there again after a power cut, whatever it leaves of the log.
func TestALoneValidatorsEventsAreInTheJournalAlone(t *testing.T) {
	traced := errorfs.New(memfs.New())
	disk := recordfs.New(traced)
	p, err := open(disk, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, 9)
	n := w.join(p, 1, nil)
	w.run(time.Second)
	syncs, epoch := 0, n.Epoch().Epoch
	traced.Trace(func(op errorfs.Op, path string) {
		if op == errorfs.Sync && strings.HasPrefix(path, "/history/events") {
			syncs++
		}
	})
	for i := range uint64(12) {
		w.pay(1, i)
		w.run(time.Second)
	}
	if begun := int(n.Epoch().Epoch - epoch); syncs > begun {
		t.Errorf("the log of events was synced %d times, and %d epochs began", syncs, begun)
	}
	sent, head, lost := w.sent, n.Chain.Head().Number, 0
	for state := range disk.Recording().Some(recordfs.Options{From: disk.Position() - 1, Count: 10, Seed: 1}) {
		again, err := open(state.FS, 1, false)
		if err != nil {
			t.Fatal(err)
		}
		lost += int(head - again.Head().Number)
		alone := newWorld(t, 9)
		alone.now = w.now
		alone.join(again, 1, nil)
		alone.run(tick)
		for id := range sent {
			if raw, err := again.Event(id); err != nil || raw == nil {
				t.Errorf("event %v was sent, and is lost: %v", id, err)
			}
		}
		if again.Head().Number < head {
			t.Errorf("block %d was told of, there is %d", head, again.Head().Number)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d blocks were made again from the journal", lost)
}

// Whatever a power cut leaves of a validator's disk in a network, it connects again what its
// journal has without the others: they may have lost their power too, and their disks.
func TestWhatTheJournalHasNeedsNobodyElse(t *testing.T) {
	s := seed(t)
	w := newWorld(t, s)
	var disks []*recordfs.FS
	var begun []int
	for id := inter.ValidatorID(1); id <= 3; id++ {
		disk := recordfs.New(memfs.New())
		p, err := open(disk, 3, true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		disks, begun = append(disks, disk), append(begun, disk.Position())
		w.join(p, id, nil)
	}
	for i := range uint64(12) {
		w.pay(1+inter.ValidatorID(i%3), i/3)
		for _, err := range w.run(time.Second) {
			t.Fatal(err)
		}
		if i%4 == 3 { // the next block ends the epoch
			w.now = w.now.Add(11 * time.Minute)
		}
	}
	states := 0
	for i, disk := range disks {
		for state := range disk.Recording().Some(recordfs.Options{From: begun[i], Count: *crashStates / 3, Seed: s}) {
			states++
			p, err := open(state.FS, 3, false)
			if err != nil {
				t.Fatal(err)
			}
			alone := newWorld(t, s)
			alone.now = w.now
			n := alone.join(p, inter.ValidatorID(i+1), nil)
			if alone.run(tick); n.em.recovering {
				t.Fatalf("the last own event of validator %d lacks: %q\n%v", i+1, n.said, state)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d events, epoch %d, %d states", len(w.sent), w.nodes[0].Epoch().Epoch, states)
}
