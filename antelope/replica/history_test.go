package replica

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/ship"
	"tarn/antelope/ship/shiplog"
	"tarn/antelope/state"
	"tarn/antelope/tracelog"
	"tarn/antelope/tracelog/slicefile"
	"tarn/antelope/types"
	"tarn/fleet"
	"tarn/store/engine"
)

// histories are what a chain's blocks leave.
type histories struct {
	dir    string
	ship   *ship.History
	traces *tracelog.History
}

func keep(t *testing.T, c *chain.Chain) *histories {
	t.Helper()
	k := &histories{dir: t.TempDir()}
	var err error
	if k.ship, err = ship.Open(ship.Options{Dir: k.dir, Traces: true, State: true, Finality: true}); err != nil {
		t.Fatal(err)
	}
	if k.traces, err = tracelog.Open(tracelog.Options{
		Files: slicefile.Options{Dir: t.TempDir(), Stride: 50}}); err != nil {
		t.Fatal(err)
	}
	c.Subscribe(k.ship.Hooks(source{c}))
	c.Subscribe(k.traces.Hooks())
	t.Cleanup(func() { // a second time it fails, harmlessly
		_ = k.ship.Close()
		_ = k.traces.Close()
	})
	return k
}

// source is what a history reads of a chain that has no logs.
type source struct{ c *chain.Chain }

func (s source) View() (*state.View, error) { return s.c.View() }

func (s source) Block(uint32, types.Checksum256) ([]byte, error) { return nil, nil }

func (s source) BlockID(uint32) (id types.Checksum256, ok bool, err error) { return id, false, nil }

func (s source) Earliest() uint32 { return 1 }

func (s source) FirstStored() uint32 { return 1 }

func (s source) ChainID() types.Checksum256 { return s.c.ID() }

func (s source) Irreversible() (uint32, types.Checksum256) {
	root := s.c.Fork().Root()
	return root.BlockNum, root.ID
}

// logs closes the state history, and opens its logs.
func (k *histories) logs(t *testing.T) (list []*shiplog.Log) {
	t.Helper()
	if err := k.ship.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"trace_history", "chain_state_history", "finality_data_history"} {
		l, err := shiplog.Open(shiplog.Options{Name: name, Dir: k.dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		list = append(list, l)
	}
	return list
}

// entryOf is what a log has of a block.
func entryOf(t *testing.T, l *shiplog.Log, num uint32) (types.Checksum256, []byte) {
	t.Helper()
	e, err := l.Read(num)
	if err != nil {
		t.Fatalf("block %d: %v", num, err)
	}
	defer e.Close()
	b := make([]byte, e.Length)
	if err := e.Fill(b); err != nil {
		t.Fatalf("block %d: %v", num, err)
	}
	return e.ID, b
}

// A replica's histories have, of all blocks from its snapshot on, what the node's have, over forks and the change to
// Savanna's rules.
func TestReplicasHaveTheNodesHistories(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	p := forks(t, *seedFlag, 150)
	r := rand.New(rand.NewPCG(*seedFlag, 8))
	t.Logf("repeat with -replica.seed=%d", *seedFlag)
	n := newNode(t, p, true)
	var f *follower
	for i, b := range p.Blocks {
		n.push(t, b)
		switch {
		case f == nil && i >= len(p.Blocks)/6 && n.Head().BlockNum > 1:
			f = join(t, n, engine.Page, true)
		case f != nil && r.IntN(6) == 0:
			if !f.follow(t, n, r.Int64N(200_000)) {
				f = nil // it began with a block that was taken back
			}
		}
	}
	if *seedFlag == 1 && !n.Head().IsProper() { // chance decides with other seeds
		t.Fatalf("the node is at block %d", n.Head().BlockNum)
	}
	if f == nil || !f.follow(t, n, 1<<20) {
		if *seedFlag == 1 {
			t.Fatal("there is no replica at the end")
		}
		t.Skip("the replica began with a block that was taken back")
	}
	f.same(t, n)
	first, last := types.BlockNum(f.began)+1, n.Head().BlockNum
	n.kept.sameTraces(t, f.kept, first, last)
	n.kept.sameLogs(t, f.kept, first, last)
}

func (k *histories) sameTraces(t *testing.T, replica *histories, first, last uint32) {
	t.Helper()
	if err := errors.Join(k.traces.Sync(), replica.traces.Sync()); err != nil {
		t.Fatal(err)
	}
	actions := 0
	for num := first; num <= last; num++ {
		a, _, err := k.traces.Block(num, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := replica.traces.Block(num, nil)
		if err != nil || !bytes.Equal(a.Append(nil), b.Append(nil)) {
			t.Fatalf("block %d: the node has %+v, the replica %+v (%v)", num, a, b, err)
		}
		for i := range a.Transactions {
			actions += len(a.Transactions[i].Actions)
		}
	}
	t.Logf("blocks %d to %d with %d actions", first, last, actions)
	if actions == 0 {
		t.Fatal("no block has an action")
	}
}

func (k *histories) sameLogs(t *testing.T, replica *histories, first, last uint32) {
	t.Helper()
	of, to := k.logs(t), replica.logs(t)
	for i := range of {
		from, end := of[i].Range()
		if _, e := to[i].Range(); e != end || end != last+1 && from < end {
			t.Fatalf("%s ends with block %d, the replica's with %d; the head is %d", of[i].Path(), end-1, e-1, last)
		}
		for num := max(first, from); num < end; num++ {
			id, a := entryOf(t, of[i], num)
			other, b := entryOf(t, to[i], num)
			if id != other || !bytes.Equal(a, b) {
				t.Fatalf("%s, block %d: %d bytes of %s, the replica has %d bytes of %s",
					of[i].Path(), num, len(a), id, len(b), other)
			}
		}
	}
}

// A replica that is to keep what nobody tells does not begin; one that is told nonsense says that it differs.
func TestAHistoryThatIsNotToldIsMissed(t *testing.T) {
	p := forks(t, *seedFlag, 12)
	for name, c := range map[string]struct {
		records bool
		change  func(b *fleet.Block)
		want    error
	}{
		"a node without histories": {false, func(*fleet.Block) {}, ship.ErrNoEntry},
		"no traces": {true, func(b *fleet.Block) {
			b.Records = without(b.Records, chain.EntryTraceAPI)
		}, tracelog.ErrNoEntry},
		"traces of another block": {true, func(b *fleet.Block) {
			for i := range b.Records {
				if b.Records[i].Log == uint8(chain.EntryTraceAPI) {
					b.Records[i].Data[1] ^= 1
				}
			}
		}, fleet.ErrDiffers},
		"half of a root": {true, func(b *fleet.Block) {
			for i := range b.Records {
				if b.Records[i].Log == uint8(chain.EntryActions) {
					b.Records[i].Data = b.Records[i].Data[:16]
				}
			}
		}, fleet.ErrDiffers},
		"an entry before its block": {true, func(b *fleet.Block) {
			b.Records[0], b.Records[1] = b.Records[1], b.Records[0]
		}, fleet.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, p, c.records)
			n.push(t, p.Blocks[0])
			f := join(t, n, engine.Page, true)
			n.push(t, p.Blocks[1])
			head, _ := f.Head()
			m, err := n.origin.Line().Next(head, 1<<20)
			if err != nil || m == nil {
				t.Fatal(m, err)
			}
			if m, err = fleet.DecodeMove(m.Append(nil)); err != nil {
				t.Fatal(err)
			}
			c.change(&m.Blocks[0])
			if err := applyMove(t, f, m); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if at, _ := f.Head(); at != head {
				t.Errorf("the replica went to block %d", at.Revision)
			}
		})
	}
}

func without(list []fleet.Record, e chain.Entry) (rest []fleet.Record) {
	for _, r := range list {
		if r.Log != uint8(e) {
			rest = append(rest, r)
		}
	}
	return rest
}
