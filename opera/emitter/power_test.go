package emitter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"
	"time"

	"tarn/opera/chain"
	"tarn/opera/inter"
	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// grid is a network whose validators' machines lose their power, one or all at a time.
type grid struct {
	*world
	homes  []*home
	guard  time.Duration // the protection against signing twice
	ids    map[numbered]inter.EventID
	made   map[inter.ValidatorID]inter.EventID // the newest event of each that anybody saw
	blocks map[inter.BlockNumber][32]byte      // that anybody was told of
	nonces map[inter.ValidatorID]uint64        // of the next payments
	ends   map[string]int                      // how lives ended
	head   inter.BlockNumber                   // the highest block that anybody was told of
}

// home is a validator's machine.
type home struct {
	*node // nil while there is no power
	grid  *grid
	id    inter.ValidatorID
	disk  *recordfs.FS // since the power was cut last
	calls *errorfs.FS  // of this process
	dead  func() int   // calls to the disk that came too late; nil while nothing is to come
	told  inter.BlockNumber
	asked time.Time       // when others were asked for what lacks
	back  time.Time       // when the power returns
	gone  bool            // for good
	state *recordfs.State // of the disk after the last power cut
}

// In a network whose validators lose their power at any call to their disks, one or all at a
// time, and again while they recover, nobody signs twice, all agree about the blocks that
// anybody was ever told of, and once the power is back there are new ones.
func TestANetworkOutlivesPowerCuts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	s := seed(t)
	ends, worlds, events, blocks, epochs := map[string]int{}, uint64(0), 0, 0, 0
	for states := 0; states < 3**crashStates; worlds++ {
		g := newGrid(t, s+worlds)
		func() {
			defer func() {
				if t.Failed() {
					t.Logf("in the network of -crash.seed=%d -crash.states=1", s+worlds)
				}
			}()
			g.live()
		}()
		for how, n := range g.ends {
			ends[how] += n
			states += n
		}
		events, blocks = events+len(g.ids), blocks+len(g.blocks)
		for _, h := range g.homes {
			if h.node != nil {
				epochs = max(epochs, int(h.Epoch().Epoch))
			}
		}
		g.close()
	}
	t.Logf("%d networks, %d events, %d blocks, up to %d epochs, ends: %v", worlds, events, blocks, epochs, ends)
}

func newGrid(t *testing.T, seed uint64) *grid {
	t.Helper()
	g := &grid{
		world: newWorld(t, seed), ids: map[numbered]inter.EventID{}, made: map[inter.ValidatorID]inter.EventID{},
		blocks: map[inter.BlockNumber][32]byte{}, nonces: map[inter.ValidatorID]uint64{}, ends: map[string]int{},
	}
	if g.random.IntN(2) == 0 {
		g.guard = 2 * time.Second
	}
	validators := 3 + min(1, g.random.IntN(3))
	begun := memfs.New()
	p, err := open(begun, validators, true)
	if err == nil {
		err = p.Close()
	}
	if err == nil {
		err = vfs.MkdirAll(begun, "/emitter")
	}
	if err == nil && g.random.IntN(2) == 0 { // a journal whose halves are full soon
		j := journal{salt: g.random.Uint64()}
		err = vfs.WriteDurably(begun, "/emitter/last", append(j.header(noEvent(), 2<<10), make([]byte, 4<<10)...))
	}
	if err != nil {
		t.Fatal(err)
	}
	for id := range inter.ValidatorID(validators) {
		h := &home{grid: g, id: id + 1}
		h.insert(begun.Clone())
		g.homes = append(g.homes, h)
	}
	return g
}

// live is a network's life: the power fails a few times, at last everywhere, and all come
// back, or all but one of four.
func (g *grid) live() {
	g.run(2 * time.Second)
	for range 4 + g.random.IntN(4) {
		g.run(time.Duration(g.random.IntN(5000)) * time.Millisecond)
		if g.random.IntN(4) == 0 {
			g.leave()
		}
		g.fail(g.random.IntN(2) == 0)
	}
	if len(g.homes) == 4 && g.random.IntN(2) == 0 {
		g.homes[g.random.IntN(4)].gone = true
	}
	g.fail(true)
	g.resume()
}

// run lets time pass.
func (g *grid) run(d time.Duration) {
	for end := g.now.Add(d); g.now.Before(end); {
		g.step()
	}
}

// step has each node do what is to be done, in any order.
func (g *grid) step() {
	if g.random.IntN(20) == 0 {
		payer := g.homes[g.random.IntN(len(g.homes))].id
		g.pay(payer, g.nonces[payer])
		g.nonces[payer]++
	}
	for _, i := range g.random.Perm(len(g.homes)) {
		h := g.homes[i]
		err := h.work()
		if h.died() {
			h.end()
		} else if err != nil {
			g.t.Fatalf("validator %d: %v\n%v", h.id, err, h.state)
		}
	}
	g.now = g.now.Add(tick)
}

// fail cuts the power of some, or all: of the first of them at a call to its disk, of the
// others before they hear of anything else.
func (g *grid) fail(all bool) {
	var some []*home
	for _, h := range g.homes {
		if h.node != nil && (all || g.random.IntN(len(g.homes)) == 0) {
			some = append(some, h)
			h.arm(20)
		}
	}
	for end := g.now.Add(3 * time.Second); len(some) > 0 && g.now.Before(end); {
		g.step()
		ended := false
		for _, h := range some {
			ended = ended || h.node == nil
		}
		if ended {
			break
		}
	}
	long := g.random.IntN(6) == 0
	for _, h := range some {
		if h.node != nil {
			h.end()
		}
		if h.back = g.now.Add(time.Duration(g.random.IntN(4000)) * time.Millisecond); long {
			h.back = h.back.Add(11 * time.Minute)
		}
	}
	if long && all { // nothing happens meanwhile
		g.now = g.now.Add(11 * time.Minute)
	}
}

// leave leaves one alone, which makes no blocks, but events that follow its own, until its
// power is cut, too.
func (g *grid) leave() {
	alone := g.random.IntN(len(g.homes))
	for i, h := range g.homes {
		if i == alone {
			h.back = g.now
			continue
		}
		if h.node != nil {
			h.end()
		}
		h.back = g.now.Add(time.Minute)
	}
	g.run(time.Minute)
	if h := g.homes[alone]; h.node != nil {
		h.end()
	}
}

// resume waits until there are blocks that nobody was told of before, and events of everybody.
func (g *grid) resume() {
	head, made := g.head, maps.Clone(g.made)
	for _, h := range g.homes {
		h.back = g.now
	}
	var lacks string
	for range 40 {
		g.run(2 * time.Second)
		if lacks = g.lacks(head, made); lacks == "" {
			return
		}
	}
	for _, h := range g.homes {
		if h.node == nil {
			lacks += fmt.Sprintf("\nvalidator %d: no power, for good: %v, until %v", h.id, h.gone, h.back.Sub(g.now))
		} else {
			lacks += fmt.Sprintf("\nvalidator %d, epoch %d, block %d: %q", h.id, h.Epoch().Epoch,
				h.Head().Number, h.said)
		}
	}
	g.t.Fatalf("the network does not go on after block %d: %s", head, lacks)
}

// lacks tells what is not new.
func (g *grid) lacks(head inter.BlockNumber, made map[inter.ValidatorID]inter.EventID) string {
	for _, h := range g.homes {
		switch {
		case h.gone:
		case h.node == nil:
			return fmt.Sprintf("validator %d has no power", h.id)
		case h.Head().Number <= head+1:
			return fmt.Sprintf("validator %d has no new block", h.id)
		case g.made[h.id] == made[h.id]:
			return fmt.Sprintf("validator %d has no new event", h.id)
		}
		for _, other := range g.homes {
			if h.node != nil && h.Forked(other.id) {
				g.t.Fatalf("validator %d has validator %d for a cheater", h.id, other.id)
			}
		}
	}
	return ""
}

func (g *grid) close() {
	for _, h := range g.homes {
		if h.node != nil {
			h.end()
		}
	}
}

// insert puts a disk into a machine.
func (h *home) insert(files *memfs.FS) {
	h.disk = recordfs.New(files)
	if err := h.disk.Adopt(files.Paths()...); err != nil {
		h.grid.t.Fatal(err)
	}
}

// arm has the power fail at one of the next calls to the disk, often at one of the journal's.
func (h *home) arm(calls int) {
	f := errorfs.Fault{Ops: errorfs.Change, Nth: 1 + h.grid.random.IntN(calls), Ever: true,
		Err: syscall.ESRCH, Part: true}
	if calls > 1 && h.grid.random.IntN(3) == 0 {
		f.Path, f.Nth = "last", 1+h.grid.random.IntN(4)
	}
	h.calls.Clear()
	h.dead = h.calls.Inject(f)
}

func (h *home) died() bool { return h.dead != nil && h.dead() > 0 }

// start starts the node on what is on the disk. Sometimes its power will fail again soon.
func (h *home) start() error {
	g := h.grid
	h.calls, h.dead = errorfs.New(h.disk), nil
	if g.random.IntN(5) == 0 {
		h.arm(40)
	}
	p, err := open(h.calls, len(g.homes), false)
	if err != nil {
		return err
	}
	n, err := g.tryJoin(p, h.id, func(o *Options) {
		o.Intervals.DoubleSign, o.Writer, o.Network = g.guard, h, h
	})
	if err != nil {
		return errors.Join(err, p.Close())
	}
	h.node, h.told = n, n.Head().Number-1
	return h.look()
}

// end ends the process where it is, mostly with the power.
func (h *home) end() {
	g := h.grid
	how := "killed"
	if h.arm(1); g.random.IntN(4) != 0 {
		how = "power cut"
	}
	if h.node != nil {
		g.nodes = slices.DeleteFunc(g.nodes, func(n *node) bool { return n == h.node })
		_ = h.em.journal.shut()
		_ = h.node.Close()
	}
	h.node, h.dead = nil, nil
	g.ends[how]++
	h.back = g.now.Add(time.Duration(g.random.IntN(2000)) * time.Millisecond)
	if how == "killed" {
		return
	}
	nth, at := g.random.IntN(8), h.disk.Position()
	for s := range h.disk.Recording().States(recordfs.Options{From: at, To: at, Count: 8, Seed: g.random.Uint64()}) {
		if h.state = &s; nth == 0 {
			break
		}
		nth--
	}
	h.insert(h.state.FS)
}

// work is what a node does in a moment.
func (h *home) work() error {
	g := h.grid
	if h.node == nil {
		if h.gone || g.now.Before(h.back) {
			return nil
		}
		return h.start()
	}
	if err := h.take(g.now); err != nil {
		return err
	}
	if g.now.Sub(h.asked) > time.Second {
		h.asked = g.now
		if err := h.ask(g.nodes[g.random.IntN(len(g.nodes))]); err != nil {
			return err
		}
	}
	if _, err := h.em.Tick(g.t.Context()); err != nil {
		return err
	}
	if g.random.IntN(1000) == 0 {
		done, err := h.Checkpoint()
		if err == nil {
			err = done.Wait()
		}
		if err != nil {
			return err
		}
	}
	return h.look()
}

// Do implements [Writer]. Events of others come between an own one's draft and its connection.
func (h *home) Do(_ context.Context, work func(*chain.Chain) error) error {
	if h.grid.random.IntN(4) == 0 {
		if err := h.take(h.grid.now); err != nil {
			return err
		}
	}
	return errors.Join(work(h.Chain), h.look())
}

// look is what readers of the ledger see: an own event as soon as the writer has begun to
// connect it, and blocks.
func (h *home) look() error {
	if last := h.LastEvents()[h.id]; !last.IsZero() && last != h.grid.made[h.id] {
		raw, err := h.Event(last)
		if err != nil {
			return err
		}
		h.show(last, raw, 2)
	}
	for ; h.told < h.Head().Number && !h.died(); h.told++ {
		if err := h.tell(h.told + 1); err != nil {
			return err
		}
	}
	return nil
}

// tell compares a block with what others, or former lives, have told of it.
func (h *home) tell(number inter.BlockNumber) error {
	g := h.grid
	r, err := h.BlockRecord(number)
	if err != nil || r == nil {
		return fmt.Errorf("block %d: %w", number, err)
	}
	hash := r.Block.Hash()
	if other, ok := g.blocks[number]; ok && other != hash {
		g.t.Fatalf("validator %d has another block %d than was told before\n%v", h.id, number, h.state)
	}
	g.blocks[number], g.head = hash, max(g.head, number)
	return nil
}

// show lets others have an event, each with a chance of some eighths.
func (h *home) show(id inter.EventID, raw []byte, eighths int) {
	g := h.grid
	if err := checkSigned(g.ids, raw); err != nil {
		g.t.Fatalf("%v\n%v", err, h.state)
	}
	g.made[h.id] = id
	for _, other := range g.homes {
		if other != h && other.node != nil && g.random.IntN(8) < eighths {
			other.inbox = append(other.inbox,
				letter{g.now.Add(time.Duration(1+g.random.IntN(80)) * time.Millisecond), raw})
		}
	}
}

// PeerCount implements [Network].
func (h *home) PeerCount() int { return len(h.grid.nodes) - 1 }

// Broadcast implements [Network].
func (h *home) Broadcast(p *inter.Payload) {
	raw, err := p.Encode()
	if err != nil {
		h.grid.t.Fatal(err)
	}
	if !h.died() {
		h.show(p.ID(), raw, 7)
	}
}

// Overtakes implements [Network].
func (h *home) Overtakes() bool { return false }

// Connected implements [Network].
func (h *home) Connected(inter.EventID) {}

// ask gets from another node the events that lack of the present epoch.
func (h *home) ask(other *node) error {
	if other == h.node {
		return nil
	}
	from := inter.NewEventID(h.Epoch().Epoch, 0, [32]byte{})
	var failed error
	err := other.Events(from, func(id inter.EventID, raw []byte) bool {
		there, err := h.HasEvent(id)
		if failed = err; err == nil && !there {
			h.inbox = append(h.inbox, letter{h.grid.now.Add(50 * time.Millisecond), raw})
		}
		return err == nil
	})
	return errors.Join(err, failed)
}
