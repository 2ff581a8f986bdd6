package replica

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/fleet"
	"tarn/fleet/fleettest"
	"tarn/fleet/stream"
	"tarn/opera/chain"
	"tarn/opera/chain/chaintest"
	"tarn/opera/eventfile"
	"tarn/opera/inter"
	"tarn/opera/workload"
	"tarn/store"
	"tarn/store/engine"
)

var seedFlag = flag.Uint64("replica.seed", 1, "seed of the chain and of what is told when")

// node is a chain whose blocks a fleet gets.
type node struct {
	*chaintest.Chain
	origin *Origin
}

// newNode makes the chain of a fakenet of one validator.
func newNode(t *testing.T) *node {
	t.Helper()
	n := &node{origin: NewOrigin(1<<30, slog.New(slog.NewTextHandler(t.Output(), nil)))}
	var err error
	if n.Chain, err = chaintest.New(t.TempDir(), 1, chaintest.Options{Pushed: n.origin.Pushed}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	n.begin(t)
	return n
}

// begin has the fleet told of the chain's blocks from now on.
func (n *node) begin(t *testing.T) {
	t.Helper()
	do := func(_ context.Context, f func(*chain.Chain) error) error { return f(n.Chain.Chain) }
	n.origin.Begin(n.Chain.Chain, do)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); n.origin.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
}

// events are those of a chain of transfers and contracts.
func events(t *testing.T) (list [][]byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events")
	shape := workload.Shape{Seed: *seedFlag, Accounts: 30, Transfers: 1600, PerEvent: 3, Slots: 50}
	if _, err := workload.Make(t.Context(), path, t.TempDir(), shape); err != nil {
		t.Fatal(err)
	}
	return eventsOf(t, path)
}

// eventsOf reads a file of events.
func eventsOf(t *testing.T, path string) (list [][]byte) {
	t.Helper()
	in, err := eventfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for raw, err := range in.All() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, slices.Clone(raw))
	}
	return list
}

func (n *node) feed(t *testing.T, list [][]byte) {
	t.Helper()
	_, err := n.Feed(t.Context(), func() ([]byte, error) {
		if len(list) == 0 {
			return nil, io.EOF
		}
		raw := list[0]
		list = list[1:]
		return raw, nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// settle waits until the fleet may hear of the node's head.
func (n *node) settle(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if head, final := n.origin.Line().Head(); head == PointOf(n.Head()) {
			if final != head {
				t.Fatalf("block %d is told as irreversible; it is block %d", final.Revision, head.Revision)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the fleet does not hear of block %d", n.Head().Number)
		}
	}
}

// follower is a replica, and where its files are.
type follower struct {
	*Replica
	chain.Follower
	store store.Store
	dir   string
	began inter.BlockNumber
	heard []inter.BlockNumber // of Connected
}

func (f *follower) options(t *testing.T, kind engine.Kind) chain.Options {
	t.Helper()
	history := chain.NewHistory(chain.HistoryOptions{Dir: filepath.Join(f.dir, "history"), Notice: func(err error) {
		t.Log(err)
	}})
	var err error
	if f.store, err = engine.Open(filepath.Join(f.dir, "state"),
		engine.Options{Kind: kind, BeforeCheckpoint: history.Sync}); err != nil {
		t.Fatal(err)
	}
	return chain.Options{Store: f.store, History: history,
		Connected: func(b *chain.Block) { f.heard = append(f.heard, b.Number) }}
}

// image is a snapshot of the node's present state, with so many blocks at most.
func image(t *testing.T, n *node, blocks int) []byte {
	t.Helper()
	im, err := n.origin.Image(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	im.Records = im.Records[max(0, len(im.Records)-blocks):]
	var file bytes.Buffer
	_, err = fleet.WriteImage(&file, im.ImageHeader, im.View, func(int64) error { return nil })
	if err = errors.Join(err, im.View.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// join makes a replica of the node's present state.
func join(t *testing.T, n *node, kind engine.Kind) *follower {
	t.Helper()
	return joinWith(t, image(t, n, snapshotBlocks), kind)
}

// joinWith is join with a snapshot.
func joinWith(t *testing.T, image []byte, kind engine.Kind) *follower {
	t.Helper()
	r, err := fleet.ReadImage(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f := &follower{dir: t.TempDir()}
	if err := Load(f.options(t, kind), r, func(int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Close(); err != nil {
		t.Fatal(err)
	}
	f.open(t, kind)
	f.began = f.Follower.Head().Number
	t.Cleanup(func() { f.close(t) })
	return f
}

func (f *follower) open(t *testing.T, kind engine.Kind) {
	t.Helper()
	var err error
	if f.Follower, err = chain.OpenFollower(f.options(t, kind)); err != nil {
		t.Fatal(err)
	}
	f.Replica = New(f.Follower, func(_ context.Context, do func(*chain.Chain) error) error {
		return do(f.Follower.Chain)
	})
}

// close ends the replica without a checkpoint, as a kill does.
func (f *follower) close(t *testing.T) {
	t.Helper()
	if err := errors.Join(f.Follower.Close(), f.store.Close()); err != nil {
		t.Error(err)
	}
}

// follow tells the replica all that is new, in moves of about size bytes.
func (f *follower) follow(t *testing.T, n *node, size int64) {
	t.Helper()
	for {
		head, _ := f.Replica.Head()
		m, err := n.origin.Line().Next(head, size)
		if err != nil {
			t.Fatal(err)
		}
		if m == nil {
			return
		}
		if m, err = fleet.DecodeMove(m.Append(nil)); err != nil {
			t.Fatal(err)
		}
		if err := applyMove(t, f, m); err != nil {
			t.Fatal(err)
		}
	}
}

// same compares what two chains say of themselves, and all their rows.
func (f *follower) same(t *testing.T, n *node) {
	t.Helper()
	f.sameSum(t, n)
	a, err := f.Follower.View()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := n.View()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if a.Head() != b.Head() || a.Epoch().Hash() != b.Epoch().Hash() {
		t.Fatalf("the replica is at %+v of epoch %d, the node at %+v of epoch %d",
			a.Head(), a.Epoch().Epoch, b.Head(), b.Epoch().Epoch)
	}
	for i, table := range chain.NewTeller(n.Chain.Chain).Tables() {
		if i == 0 {
			continue // the head's row has the node's own logs
		}
		if err := fleettest.SameRows(f.store, n.Store(), chain.NewTeller(f.Follower.Chain).Tables()[i].ID,
			table.ID); err != nil {
			t.Fatalf("at block %d, table %s: %v", a.Head().Number, table.Name, err)
		}
	}
	for back := range min(f.began, 256) { // contracts ask for them
		if number := f.began - back; a.BlockID(number) != b.BlockID(number) {
			t.Fatalf("block %d is %v, and %v of the node", number, a.BlockID(number), b.BlockID(number))
		}
	}
	for number := f.began; number <= a.Head().Number; number++ {
		f.sameBlock(t, n, a, b, number)
	}
	for e := inter.Epoch(1); e <= a.Epoch().Epoch; e++ {
		x, err := a.EpochRecord(e)
		y, other := b.EpochRecord(e)
		if err = errors.Join(err, other); err != nil || encode(t, x) != encode(t, y) {
			t.Fatalf("the records of epoch %d differ: %v", e, err)
		}
	}
}

// sameSum compares what a replica that verifies its state compares.
func (f *follower) sameSum(t *testing.T, n *node) {
	t.Helper()
	var sums [2]fleet.RowsSum
	for i, view := range []func() (store.View, error){f.Replica.View, chain.NewTeller(n.Chain.Chain).View} {
		v, err := view()
		if err != nil {
			t.Fatal(err)
		}
		sums[i], err = fleet.Sum(v, func(int64) error { return nil })
		if err = errors.Join(err, v.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if !sums[0].Same(&sums[1]) {
		t.Fatalf("the replica's rows have the sum %+v, the node's %+v", sums[0], sums[1])
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := rlp.EncodeToBytes(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// sameBlock compares a block, what clients find of it, and the state after it.
func (f *follower) sameBlock(t *testing.T, n *node, a, b *chain.View, number inter.BlockNumber) {
	t.Helper()
	x, err := a.BlockRecord(number)
	y, other := b.BlockRecord(number)
	if err = errors.Join(err, other); err != nil || encode(t, x) != encode(t, y) {
		t.Fatalf("block %d differs: %v", number, err)
	}
	full, err := a.Block(number)
	if err != nil {
		t.Fatal(err)
	}
	want, err := b.Block(number)
	if err != nil {
		t.Fatal(err)
	}
	for i, tx := range want.Txs {
		if full.Senders[i] != want.Senders[i] || encode(t, full.Receipts[i]) != encode(t, want.Receipts[i]) {
			t.Errorf("transaction %d of block %d differs", i, number)
		}
		found := false
		err := a.Places(tx.Hash(), func(p chain.TxPlace) bool {
			found = found || p == chain.TxPlace{Block: number, Index: uint(i)}
			return !found
		})
		if err != nil || !found {
			t.Errorf("transaction %d of block %d is not found: %v", i, number, err)
		}
	}
	if number > f.began {
		if !slices.Equal(full.Events, want.Events) {
			t.Errorf("the events of block %d differ", number)
		}
		for _, id := range want.Events {
			p, err := f.Event(id)
			q, other := n.Event(id)
			if err = errors.Join(err, other); err != nil || !bytes.Equal(p, q) {
				t.Errorf("event %v of block %d differs: %v", id, number, err)
			}
		}
	}
	one, err := a.StateAt(number)
	if err != nil {
		t.Fatalf("the state after block %d: %v", number, err)
	}
	two, err := b.StateAt(number)
	if err != nil {
		t.Fatal(err)
	}
	for _, sender := range want.Senders {
		hash := crypto.Keccak256Hash(sender[:])
		p, err := one.Account(hash)
		q, other := two.Account(hash)
		if err = errors.Join(err, other); err != nil || (p == nil) != (q == nil) || p != nil && *p != *q {
			t.Errorf("account %v after block %d is %+v, and %+v of the node: %v", sender, number, p, q, err)
		}
	}
}

// Replicas on all engines that begin at any block, and hear of the chain now and then, have after each time what the
// node has.
func TestReplicasHaveTheNodesChain(t *testing.T) {
	r := rand.New(rand.NewPCG(*seedFlag, 7))
	t.Logf("repeat with -replica.seed=%d", *seedFlag)
	n, list, kinds := newNode(t), events(t), engine.Kinds()
	replicas := make([]*follower, len(kinds))
	total, reopened := len(list), 0
	for len(list) > 0 {
		k := min(len(list), 1+r.IntN(12))
		n.feed(t, list[:k])
		list = list[k:]
		n.settle(t)
		for i, f := range replicas {
			switch {
			case f == nil && total-len(list) > i*total/(2*len(kinds)) && n.Head().Number > 2:
				replicas[i] = join(t, n, kinds[i])
			case f != nil && r.IntN(8) == 0:
				f.follow(t, n, r.Int64N(20_000))
				f.same(t, n)
				if r.IntN(4) == 0 { // as after a kill: it goes on from its last image
					if r.IntN(2) == 0 {
						if c, err := f.store.Checkpoint(); err != nil || c.Wait() != nil {
							t.Fatal(err)
						}
					}
					f.close(t)
					f.open(t, kinds[i])
					reopened++
				}
			}
		}
	}
	for i, f := range replicas {
		if f == nil {
			t.Fatalf("there is no replica on %s", kinds[i])
		}
		f.follow(t, n, 1<<20)
		f.same(t, n)
		if len(f.heard) == 0 {
			t.Errorf("nobody hears of the replica's blocks on %s", kinds[i])
		}
	}
	t.Logf("%d blocks of %d epochs, replicas opened again %d times", n.Head().Number, n.Epoch().Epoch, reopened)
	if n.Epoch().Epoch < 3 {
		t.Errorf("the chain has %d epochs", n.Epoch().Epoch)
	}
}

// A replica's state is no node's, and a node's no replica's.
func TestNoNodeGoesOnWithAReplica(t *testing.T) {
	n := newNode(t)
	n.feed(t, events(t)[:100])
	n.settle(t)
	f := join(t, n, engine.Page)
	f.close(t)
	o := f.options(t, engine.Page)
	if _, err := chain.Open(o); !errors.Is(err, chain.ErrFollows) {
		t.Errorf("a node opens a replica's state: %v", err)
	}
	if err := f.store.Close(); err != nil {
		t.Fatal(err)
	}
	f.open(t, engine.Page)
	if _, err := chain.OpenFollower(chain.Options{Store: n.Store(),
		History: chain.NewHistory(chain.HistoryOptions{Dir: t.TempDir()})}); !errors.Is(err, chain.ErrExecutes) {
		t.Errorf("a replica opens a node's state: %v", err)
	}
}

// What does not fit leaves the replica as it was, and what fits is taken after it.
func TestWhatDoesNotFitIsRefused(t *testing.T) {
	n := newNode(t)
	list := events(t)
	n.feed(t, list[:100])
	n.settle(t)
	f := join(t, n, engine.Page)
	n.feed(t, list[100:200])
	n.settle(t)
	head, _ := f.Replica.Head()
	move := func() *fleet.Move {
		m, err := n.origin.Line().Next(head, 1<<30)
		if err != nil || m == nil || len(m.Blocks) < 3 {
			t.Fatalf("%+v, %v", m, err)
		}
		if m, err = fleet.DecodeMove(m.Append(nil)); err != nil {
			t.Fatal(err)
		}
		return m
	}
	told := func(b *fleet.Block, change func(*chain.Told)) {
		x, err := decodeTold(b)
		if err != nil {
			t.Fatal(err)
		}
		change(x)
		b.Records[0].Data = []byte(encode(t, x))
	}
	withEvents := func(m *fleet.Move) *fleet.Block {
		for i := range m.Blocks {
			if x, err := decodeTold(&m.Blocks[i]); err == nil && len(x.Events) > 0 {
				m.Blocks = m.Blocks[:i+1]
				return &m.Blocks[i]
			}
		}
		t.Fatal("no block has transactions")
		return nil
	}
	for _, c := range []struct {
		name   string
		change func(*fleet.Move)
	}{
		{"a block is left out", func(m *fleet.Move) { m.Blocks = slices.Delete(m.Blocks, 1, 2) }},
		{"the first block is left out", func(m *fleet.Move) { m.Blocks = m.Blocks[1:] }},
		{"no record", func(m *fleet.Move) { m.Blocks[0].Records = nil }},
		{"another record", func(m *fleet.Move) { m.Blocks[0].Records = m.Blocks[1].Records }},
		{"a record of another kind", func(m *fleet.Move) { m.Blocks[0].Records[0].Log = 9 }},
		{"half a record", func(m *fleet.Move) { r := &m.Blocks[0].Records[0]; r.Data = r.Data[:len(r.Data)/2] }},
		{"the rows of another block", func(m *fleet.Move) { m.Blocks[0].Rows = m.Blocks[2].Rows }},
		{"no rows", func(m *fleet.Move) { m.Blocks[0].Rows = nil }},
		{"an event is missing", func(m *fleet.Move) {
			told(withEvents(m), func(x *chain.Told) { x.Events = x.Events[1:] })
		}},
		{"an event that is another", func(m *fleet.Move) {
			told(withEvents(m), func(x *chain.Told) { x.Events[0].ID[31] ^= 1 })
		}},
		{"an event that is none", func(m *fleet.Move) {
			told(withEvents(m), func(x *chain.Told) { x.Events[0].Raw = x.Events[0].Raw[:10] })
		}},
		{"what it replaced is no such thing", func(m *fleet.Move) {
			told(&m.Blocks[0], func(x *chain.Told) { x.Before = []byte{1, 2, 3} })
		}},
		{"an event of no place", func(m *fleet.Move) {
			told(withEvents(m), func(x *chain.Told) { x.Block.Events[0] = 1 << 40 })
		}},
	} {
		m := move()
		c.change(m)
		err := applyMove(t, f, m)
		if !errors.Is(err, fleet.ErrDiffers) && !errors.Is(err, fleet.ErrDamaged) {
			t.Errorf("%s: %v", c.name, err)
		}
		if f.Failed() != nil {
			t.Fatalf("%s: the chain cannot go on: %v", c.name, f.Failed())
		}
		head, _ = f.Replica.Head()
	}
	f.follow(t, n, 1<<20)
	f.same(t, n)
}

// applyMove brings a move to a replica.
func applyMove(t *testing.T, f stream.Replica, m *fleet.Move) error {
	t.Helper()
	apply, err := f.Prepare(m.Blocks, m.Final)
	if err != nil {
		return err
	}
	return apply(t.Context(), m.Base())
}
