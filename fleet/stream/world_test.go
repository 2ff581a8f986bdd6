package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tarn/fleet"
	"tarn/fleet/fleettest"
	"tarn/fleet/natsserver"
	"tarn/store"
	"tarn/store/engine"
)

// deepest is how many blocks a fork takes back at most; what is deeper is irreversible.
const deepest = 5

// script is a chain with forks: each block follows one of those before it, and is applied in this order.
type script []fleet.Block

// newScript makes a chain of n blocks, one of about so many of which takes others back; 0 for none.
func newScript(r *rand.Rand, n, forks int) (s script) {
	branch, kept := []fleet.Point{{}}, 1
	for i := range n {
		kept = max(kept, len(branch)-deepest)
		if forks > 0 && r.IntN(forks) == 0 {
			branch = branch[:max(kept, len(branch)-r.IntN(deepest))]
		}
		parent := branch[len(branch)-1]
		at := fleet.Point{Revision: parent.Revision + 1}
		binary.LittleEndian.PutUint64(at.ID[:], uint64(i+1))
		at.ID[31] = 1
		s = append(s, fleet.Block{Parent: parent, Point: at})
		branch = append(branch, at)
	}
	return s
}

// branch are the blocks up to the i-th that lead to it.
func (s script) branch(i int) (list []fleet.Point) {
	known := make(map[fleet.Point]fleet.Point, i)
	for _, b := range s[:i+1] {
		known[b.Point] = b.Parent
	}
	for at := s[i].Point; at != (fleet.Point{}); at = known[at] {
		list = append(list, at)
	}
	slices.Reverse(list)
	return list
}

// ledger is a chain's state: what a block changes depends on its id and on the state before it.
type ledger struct {
	store  store.Store
	tables []store.Table
	branch []fleet.Point // what can be taken back, and the block before
}

var tableNames = []string{"accounts", "rows"}

func openLedger(t testing.TB, kind engine.Kind) *ledger {
	t.Helper()
	st, err := engine.Open(t.TempDir(), engine.Options{Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return &ledger{store: st, branch: []fleet.Point{{}}}
}

// begin makes the tables of an empty state.
func (l *ledger) begin() (err error) {
	l.tables = nil
	for _, name := range tableNames {
		t, e := l.store.CreateTable(name)
		l.tables, err = append(l.tables, t), errors.Join(err, e)
	}
	return err
}

func (l *ledger) head() fleet.Point { return l.branch[len(l.branch)-1] }

// backTo takes blocks back until one is the head.
func (l *ledger) backTo(p fleet.Point) error {
	if !slices.Contains(l.branch, p) {
		return fmt.Errorf("%w: there is no block %d (%s)", fleet.ErrDiffers, p.Revision, p.ID)
	}
	for l.head() != p {
		if err := l.store.Undo(); err != nil {
			return err
		}
		l.branch = l.branch[:len(l.branch)-1]
	}
	return nil
}

// execute applies a block of the script.
func (l *ledger) execute(b fleet.Block) error {
	if err := errors.Join(l.backTo(b.Parent), l.store.Begin()); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(b.ID[:]), 1))
	for range 1 + r.IntN(30) {
		t, key := l.tables[r.IntN(len(l.tables))], fmt.Append(nil, "key ", r.IntN(200))
		var err error
		if r.IntN(4) == 0 {
			if err = l.store.Delete(t, key); errors.Is(err, store.ErrNotFound) {
				err = nil
			}
		} else {
			value := make([]byte, r.IntN(300))
			if r.IntN(200) == 0 {
				value = make([]byte, 3<<20) // several messages, if it does not compress
			}
			for i := range value {
				value[i] = byte(r.Uint32())
			}
			err = l.store.Put(t, key, value)
		}
		if err != nil {
			return err
		}
	}
	return l.finish(b.Point)
}

// finish ends the open revision.
func (l *ledger) finish(p fleet.Point) error {
	l.branch = append(l.branch, p)
	return l.store.Push()
}

// final makes irreversible what cannot be taken back any more, and says what that is.
func (l *ledger) final() (fleet.Point, error) {
	if n := len(l.branch) - 1 - deepest; n > 0 {
		l.branch = slices.Clone(l.branch[n:])
	}
	return l.branch[0], l.store.Commit(l.branch[0].Revision)
}

// node executes a script and has it published.
type node struct {
	chain fleet.ID
	age   time.Duration // of its blocks

	mu     sync.Mutex // of the writer
	ledger *ledger
	line   *fleet.Line
}

func newNode(t testing.TB, memory int64) *node {
	t.Helper()
	l := openLedger(t, engine.Page)
	if err := l.begin(); err != nil {
		t.Fatal(err)
	}
	return &node{ledger: l, line: fleet.NewLine(fleet.Point{}, l.store.Tables, memory)}
}

func (n *node) Line() *fleet.Line { return n.line }

func (n *node) Image(context.Context) (Image, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.ledger.store.Publish(); err != nil {
		return Image{}, err
	}
	v, err := n.ledger.store.View()
	return Image{ImageHeader: fleet.ImageHeader{Ledger: "test", Chain: n.chain, Point: n.ledger.head()}, View: v}, err
}

// apply executes blocks of the script; the last one is shown.
func (n *node) apply(blocks ...fleet.Block) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, b := range blocks {
		if err := n.ledger.execute(b); err != nil {
			return err
		}
		rows := &fleet.Rows{}
		if err := n.ledger.store.Changes(nil, rows.Add); err != nil {
			return err
		}
		n.line.Add(b, fleet.Later{Rows: rows})
	}
	final, err := n.ledger.final()
	if err == nil {
		n.line.Show(final, time.Now().Add(-n.age))
	}
	return err
}

// feed applies blocks of a script from one on, slowly, until something has come, and returns the next one.
func (n *node) feed(t *testing.T, s script, from int, what string, come func() bool) int {
	t.Helper()
	return feed(t, []*node{n}, s, from, what, come)
}

// feed is [node.feed] of several nodes.
func feed(t *testing.T, nodes []*node, s script, from int, what string, come func() bool) int {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !come(); from++ {
		if time.Now().After(end) || from == len(s) {
			t.Fatalf("not within two minutes: %s", what)
		}
		for _, n := range nodes {
			if err := n.apply(s[from]); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return from
}

// replica is a ledger that follows.
type replica struct {
	t *testing.T
	*ledger
	mu      sync.Mutex // of branch and store, for who looks on
	images  int
	applied int
	spoil   bool // the next block that comes leaves a row that the node does not have
	refuse  error
}

func (r *replica) Head() (head, final fleet.Point) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.head(), r.branch[0]
}

func (r *replica) load(im *fleet.ImageReader, _ Snapshot) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger = openLedger(r.t, []engine.Kind{engine.Page, engine.LevelDB, engine.Pebble, engine.Badger}[r.images%4])
	r.images++
	if err := im.Load(r.store, func(int64) error { return nil }); err != nil {
		return err
	}
	r.branch = []fleet.Point{im.Point}
	return r.begin()
}

// loadFrom begins with a node's state.
func (r *replica) loadFrom(n *node) {
	r.t.Helper()
	im, err := n.Image(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	defer im.View.Close() //nolint:errcheck // nothing was written
	var b bytes.Buffer
	if _, err := fleet.WriteImage(&b, im.ImageHeader, im.View, func(int64) error { return nil }); err != nil {
		r.t.Fatal(err)
	}
	read, err := fleet.ReadImage(&b)
	if err != nil {
		r.t.Fatal(err)
	}
	defer read.Close()
	if err := r.load(read, Snapshot{}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replica) Prepare(blocks []fleet.Block, _ fleet.Point) (Apply, error) {
	return func(_ context.Context, base fleet.Point) error { return r.apply(base, blocks) }, nil
}

func (r *replica) apply(base fleet.Point, blocks []fleet.Block) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.refuse; err != nil {
		r.refuse = nil
		return err
	}
	if err := r.backTo(base); err != nil {
		return err
	}
	for _, b := range blocks {
		if b.Parent != r.head() {
			return errors.New("a block does not follow the head")
		}
		if err := r.store.Begin(); err != nil {
			return err
		}
		if err := fleet.Apply(r.store, b.Rows); err != nil {
			return err
		}
		if r.spoil {
			r.spoil = false
			if err := r.store.Put(r.tables[0], []byte("of nobody"), nil); err != nil {
				return err
			}
		}
		if err := r.finish(b.Point); err != nil {
			return err
		}
		r.applied++
	}
	_, err := r.final()
	return err
}

// View implements Compared.
func (r *replica) View() (store.View, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.store.Publish(); err != nil {
		return nil, err
	}
	return r.store.View()
}

// live follows until ctx ends, from snapshot to snapshot if it must.
func (r *replica) live(ctx context.Context, o Options) error {
	f, err := NewFollower(o)
	if err != nil {
		return err
	}
	defer f.Close()
	for ctx.Err() == nil {
		if r.ledger == nil {
			err := f.Fetch(ctx, r.load)
			if errors.Is(err, ErrInterrupted) && ctx.Err() == nil { // as nodes do: from the newest one again
				r.mu.Lock()
				r.ledger, r.images = nil, r.images-1
				r.mu.Unlock()
				continue
			}
			if err != nil {
				return errUnless(ctx, err)
			}
		}
		switch err := f.Run(ctx, r); {
		case errors.Is(err, ErrBeginAgain):
			r.mu.Lock()
			r.ledger = nil
			r.mu.Unlock()
		case err != nil:
			return err
		}
	}
	return nil
}

func errUnless(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// at tells whether the replica stands at a block.
func (r *replica) at(p fleet.Point) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger != nil && r.head() == p
}

// standing tells where the replica stands, and whether it has begun.
func (r *replica) standing() (fleet.Point, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ledger == nil {
		return fleet.Point{}, false
	}
	return r.head(), true
}

// same compares the rows with those that the script's blocks make.
func (r *replica) same(s script, i int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	want := openLedger(r.t, engine.Page)
	if err := want.begin(); err != nil {
		return err
	}
	branch := s.branch(i)
	for _, b := range s[:i+1] {
		if !slices.Contains(branch, b.Point) {
			continue
		}
		if err := want.execute(b); err != nil {
			return err
		}
		if _, err := want.final(); err != nil {
			return err
		}
	}
	if r.head() != want.head() {
		return fmt.Errorf("the replica is at block %d (%s)", r.head().Revision, r.head().ID)
	}
	for _, t := range want.tables {
		if err := fleettest.SameTable(r.store, want.store, t); err != nil {
			return fmt.Errorf("at block %d, table %d: %w", r.head().Revision, t, err)
		}
	}
	return nil
}

// fleetOf is a fleet whose server is in this process.
func fleetOf(t *testing.T, dir string) (Options, *natsserver.Server) {
	t.Helper()
	s, err := natsserver.Start(natsserver.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return Options{Name: "test", InProcess: s, Log: slog.New(slog.NewTextHandler(testLog{t}, nil))}, s
}

// testLog is a test's log, until it ends.
type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Helper()
	l.t.Log(string(b[:len(b)-1]))
	return len(b), nil
}

var _ io.Writer = testLog{}

// group runs what ends with the test.
type group struct {
	t      *testing.T
	cancel context.CancelFunc
	wait   sync.WaitGroup
	ctx    context.Context
}

func newGroup(t *testing.T) *group {
	g := &group{t: t}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	t.Cleanup(g.stop)
	return g
}

func (g *group) stop() { g.cancel(); g.wait.Wait() }

func (g *group) run(f func(context.Context) error) {
	g.wait.Go(func() {
		if err := f(g.ctx); err != nil {
			g.t.Error(err)
		}
	})
}

// eventually waits for what must come.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within two minutes: %s\n%s", what, ownStacks())
		}
	}
}

// ownStacks are those of the goroutines that run something of this module: a server has hundreds of its own.
func ownStacks() string {
	all := make([]byte, 4<<20)
	all = all[:runtime.Stack(all, true)]
	var own []string
	for stack := range strings.SplitSeq(string(all), "\n\n") {
		if strings.Contains(stack, "\ntarn/") {
			own = append(own, stack)
		}
	}
	return strings.Join(own, "\n\n")
}
