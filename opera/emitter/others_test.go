package emitter

import (
	"context"
	"errors"
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

// overtaken is a [Writer] of a node, some of whose events are overtaken between the journal and the
// ledger, and leave the journal again.
type overtaken struct {
	*node
	sequence, journalled uint64
}

func (o *overtaken) Do(_ context.Context, work func(*chain.Chain) error) error {
	if now := o.em.journal.last.sequence; now != o.sequence {
		if o.sequence, o.journalled = now, o.journalled+1; o.journalled%3 == 0 {
			return nil
		}
	}
	return work(o.Chain)
}

// Among few validators an own event that follows from others' mostly costs the log of events no sync.
// After a power cut, whatever it leaves of the log, a start needs nobody to have all own events again.
func TestWhatAnOwnEventFollowsFromIsInTheJournal(t *testing.T) {
	w := newWorld(t, 11)
	traced := errorfs.New(memfs.New())
	disk := recordfs.New(traced)
	for i, files := range []vfs.FS{disk, memfs.New(), memfs.New()} {
		p, err := open(files, 3, true)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		w.join(p, inter.ValidatorID(i+1), nil)
	}
	n := w.nodes[0]
	n.em.o.Writer = &overtaken{node: n}
	w.run(time.Second)
	syncs := 0
	traced.Trace(func(op errorfs.Op, path string) {
		if op == errorfs.Sync && strings.HasPrefix(path, "/history/events") {
			syncs++
		}
	})
	events := func() (own int) {
		for id := range w.sent {
			if h := n.Header(id); h != nil && h.Creator == 1 {
				own++
			}
		}
		return own
	}
	before := events()
	for i := range uint64(8) {
		w.pay(2, i)
		w.run(time.Second)
		_, others, err := eventsOf(n.em.journal.last.content)
		for _, raw := range others {
			p, wrong := n.Verifier().Decode(raw)
			if err = errors.Join(err, wrong); err == nil && p.Creator == 1 {
				t.Errorf("the own event %v is beside another one", p.ID())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if made := events() - before; made < 20 || syncs > made/4 {
		t.Errorf("the log of events was synced %d times for %d own events", syncs, made)
	}
	last, head := n.LastEvents()[1], n.Chain.Head().Number
	states, at := 0, disk.Position()
	for state := range disk.Recording().States(recordfs.Options{From: at, To: at, Count: 20, Seed: 1}) {
		states++
		p, err := open(state.FS, 3, false)
		if err != nil {
			t.Fatal(err)
		}
		alone := newWorld(t, 11)
		alone.now = w.now
		alone.join(p, 1, nil)
		alone.run(tick)
		if got := p.LastEvents()[1]; got != last || p.Head().Number < head {
			t.Errorf("the last own event is %v and the head %d, they were %v and %d\n%v",
				got, p.Head().Number, last, head, state)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d syncs, %d states", syncs, states)
}
