package ship_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/ship"
	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
)

// pair is a node with the history of a chain from its genesis on, and a replica whose history begins with a later block
// of the same chain, and which asks the node for what is older.
type pair struct {
	node, replica *node
	begin         uint32                                // block of the replica's snapshot
	other         func(wire.OlderRequest) *ship.History // who answers in the node's place; nil, or nil for nobody
	asked         atomic.Int64
	fails         atomic.Pointer[error] // what the replica is told instead of an answer
	silent        atomic.Bool           // nodes answer nothing, for as long as a fleet waits
}

func (p *pair) ask(ctx context.Context, request []byte) ([]byte, error) {
	p.asked.Add(1)
	if p.silent.Load() {
		ctx, done := context.WithTimeout(ctx, 5*time.Second)
		defer done()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := p.fails.Load(); err != nil {
		return nil, *err
	}
	h := p.node.history
	if q, err := wire.DecodeOlderRequest(request); err == nil && p.other != nil {
		if instead := p.other(q); instead != nil {
			h = instead
		}
	}
	return h.AnswerOlder(ctx, request)
}

// pairOf begins the replica's history with a block.
func pairOf(t *testing.T, blocks []*types.SignedBlock, g *types.Genesis, begin uint32, o ship.Options) *pair {
	t.Helper()
	p := new(pair)
	o.Finality = true
	of := func(older func(context.Context, []byte) ([]byte, error)) ship.Options {
		o := o
		o.Dir, o.Older = t.TempDir(), older
		return o
	}
	p.node = serveFrom(t, begun(t, volatile(t), g), of(nil), listening(), 1)
	st := volatile(t)
	before := &node{t: t, Maker: begun(t, st, g)}
	if err := before.Chain.Resume(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		p.node.push(b)
		if b.BlockNum() <= begin {
			before.push(b)
		}
	}
	p.node.sync()
	if err := before.Chain.Close(); err != nil {
		t.Fatal(err)
	}
	p.replica = serveFrom(t, begun(t, st, g), of(p.ask), listening(), begin)
	p.begin, _ = p.replica.Irreversible()
	p.replica.from = p.begin + 1
	p.replica.ids.Clear()
	p.replica.packed.Clear()
	for num := p.begin + 1; num <= p.replica.Chain.Head().BlockNum; num++ {
		id, _ := p.node.ids.Load(num)
		p.replica.ids.Store(num, id)
		b, _ := p.node.packed.Load(id)
		p.replica.packed.Store(id, b)
	}
	for _, b := range blocks {
		if b.BlockNum() > p.replica.Chain.Head().BlockNum {
			p.replica.push(b)
		}
	}
	p.replica.sync()
	return p
}

// of is a block of the node.
func (p *pair) of(num uint32) wire.Position {
	id, _ := p.node.ids.Load(num)
	return wire.Position{Num: num, ID: id.(types.Checksum256)}
}

// numberOf is the number of the block of a message.
func numberOf(b []byte) uint32 { return binary.LittleEndian.Uint32(b[1+36+36+1:]) }

// savanna is a pair on a chain that goes over to Savanna's rules.
func savanna(t *testing.T, o ship.Options) *pair {
	t.Helper()
	var blocks []*types.SignedBlock
	for _, x := range springBlocks(t) {
		blocks = append(blocks, x.block)
	}
	o.Spring = true
	return pairOf(t, blocks, springGenesis(t), 20, o)
}

// heavyBlock is the one of heavy of which there is much.
const heavyBlock = 5

// heavy is a pair on a chain with a block of which there are so many bytes of each kind, and more.
func heavy(t *testing.T, size int, o ship.Options) *pair {
	t.Helper()
	m, err := chaintest.New(volatile(t), chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Chain.Close()
	if err := m.Chain.Resume(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	var blocks []*types.SignedBlock
	for num := uint32(2); num < 20; num++ {
		var actions []types.Action
		if num == heavyBlock {
			actions = append(actions, chaintest.SetABI(types.N("eosio"), bytes.Repeat([]byte{1, 2, 3, 4}, size/4)))
		}
		b, err := m.Block(actions...)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	return pairOf(t, blocks, &m.Genesis, 10, o)
}

// ask asks for blocks with all that there is of them, as the first message's version does.
func (n *node) askAll(start, end uint32, have ...wire.Position) *client {
	n.t.Helper()
	c, frame := n.connect(0)
	b := []byte{3}
	if len(frame) == leapABIBytes {
		b[0] = 1
	}
	for _, x := range []uint32{start, end, end - start} {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	b = binary.AppendUvarint(b, uint64(len(have)))
	for _, p := range have {
		b = append(binary.LittleEndian.AppendUint32(b, p.Num), p.ID[:]...)
	}
	b = append(b, 0, 1, 1, 1)
	if frame := len(frame); frame != leapABIBytes {
		b = append(b, 1)
	}
	c.send(b...)
	return c
}

// blocksOf are the messages about blocks, without where the history stands.
func (n *node) blocksOf(start, end uint32, have ...wire.Position) (list [][]byte) {
	n.t.Helper()
	c := n.askAll(start, end, have...)
	for range int(end-start) - len(have) {
		list = append(list, c.read()[1+36+36:])
	}
	return list
}

// compare demands of a replica the node's blocks from several on.
func (p *pair) compare(t *testing.T, starts ...uint32) {
	t.Helper()
	head := p.node.Chain.Head().BlockNum
	for _, start := range starts {
		asked := p.asked.Load()
		want, got := p.node.blocksOf(start, head+1), p.replica.blocksOf(start, head+1)
		for i := range want {
			if !bytes.Equal(want[i], got[i]) {
				t.Errorf("from %d on, block %d has %d bytes, and %d from the node", start, start+uint32(i), len(got[i]),
					len(want[i]))
			}
		}
		if start < p.begin && p.asked.Load() == asked {
			t.Errorf("from %d on, the node was not asked", start)
		}
	}
}

// Clients of a replica get the node's blocks from before the replica, to the byte, in one go with its own, with and
// without room in memory.
func TestAReplicaAsksForWhatIsOlder(t *testing.T) {
	for name, room := range map[string]int64{"room": 0, "no room": 1} {
		t.Run(name, func(t *testing.T) {
			p := savanna(t, ship.Options{RecentBytes: room})
			p.compare(t, 1, 2, 10, p.begin-1, p.begin, p.begin+1, p.begin+2)
		})
		t.Run(name+", large blocks", func(t *testing.T) {
			p := heavy(t, 600_000, ship.Options{RecentBytes: room})
			p.compare(t, 1, heavyBlock, heavyBlock+1, p.begin-1, p.begin, p.begin+1, p.begin+2)
		})
	}
}

// What a client says it has is held against the node's blocks: what it has is left out, and a stream begins with the
// first block that it has otherwise.
func TestAReplicaKnowsWhichOlderBlocksAClientHas(t *testing.T) {
	p := heavy(t, 4, ship.Options{})
	other := p.of(4)
	other.ID[20] ^= 1
	for name, x := range map[string]struct {
		start uint32
		have  []wire.Position
		want  []uint32
	}{
		"it has two":               {3, []wire.Position{p.of(4), p.of(6)}, []uint32{3, 5, 7, 8}},
		"it has another before":    {8, []wire.Position{other, p.of(5)}, []uint32{4, 6, 7, 8}},
		"it has what the node has": {8, []wire.Position{p.of(4), p.of(5)}, []uint32{8, 9, 10, 11}},
	} {
		for who, n := range map[string]*node{"node": p.node, "replica": p.replica} {
			c := n.askAll(x.start, 15, x.have...)
			for _, want := range x.want {
				if got := numberOf(c.read()); got != want {
					t.Errorf("%s, %s: block %d, want %d", name, who, got, want)
				}
			}
		}
	}
}

// A replica says that it has what its node has.
func TestAReplicasStatusHasTheNodesBlocks(t *testing.T) {
	p := savanna(t, ship.Options{})
	status := func(n *node) []byte {
		_, c := n.firstFrame()
		c.send(4)
		return c.read()
	}
	if node, replica := status(p.node), status(p.replica); !bytes.Equal(node, replica) {
		t.Errorf("the node says\n%x\nthe replica\n%x", node, replica)
	}
}

// Where no node answers, or has less than it said, a client is ended, and gets nothing that is wrong.
func TestWithoutANodeAClientGetsNothingOlder(t *testing.T) {
	p := heavy(t, 4, ship.Options{})
	head := p.node.Chain.Head().BlockNum
	ends := func(why string, err error) {
		t.Helper()
		p.fails.Store(&err)
		defer p.replica.history.ForgetFailure()
		defer p.fails.Store(nil)
		if c := p.replica.askAll(3, head+1); !c.ended() {
			t.Errorf("%s: the client got something", why)
		}
		if got := p.replica.blocksOf(12, head+1); len(got) != int(head-11) {
			t.Errorf("%s: %d blocks of the replica's own", why, len(got))
		}
	}
	ends("before the node was asked", errors.New("nobody"))
	p.compare(t, 3)
	ends("later", errors.New("nobody"))
	begun := time.Now()
	ends("busy", fmt.Errorf("%w: for ever", ship.ErrOlderBusy))
	if took := time.Since(begun); took < time.Second {
		t.Errorf("a node that was busy was asked for %s", took)
	}
	p.compare(t, 3)
}

// A block of which there is too much is not passed on: its client is told nothing of it, and others go on.
func TestABlockThatIsTooLongIsNotPassedOn(t *testing.T) {
	p := heavy(t, 4<<20, ship.Options{})
	c := p.replica.askAll(heavyBlock-1, 20)
	if got := numberOf(c.read()); got != heavyBlock-1 {
		t.Errorf("block %d", got)
	}
	if !c.ended() {
		t.Error("it got more than the block before")
	}
	p.compare(t, heavyBlock+1)
}

// A node refuses what no replica asks, and tells of no block that may still be taken back.
func TestANodeAnswersReplicasAlone(t *testing.T) {
	p := heavy(t, 4, ship.Options{})
	for name, q := range map[string]wire.OlderRequest{
		"many ids":   {IDs: make([]uint32, 1001)},
		"much":       {Start: 1, End: 2, Most: 1<<20 + 1},
		"everything": {IDs: make([]uint32, 1001), Start: 0, End: 1 << 31, Most: 1 << 31},
	} {
		if _, err := p.node.history.AnswerOlder(t.Context(), q.Append(nil)); !errors.Is(err, ship.ErrOlderRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, b := range [][]byte{nil, {1}, bytes.Repeat([]byte{0xff}, 100), append(new(wire.OlderRequest).Append(nil), 0)} {
		if _, err := p.node.history.AnswerOlder(t.Context(), b); !errors.Is(err, ship.ErrOlderRequest) {
			t.Errorf("%x: %v", b, err)
		}
	}
	last, _ := p.node.Irreversible()
	q := wire.OlderRequest{IDs: []uint32{1, last}, Start: last, End: 1 << 31, Most: 1 << 20,
		Want: [wire.Kinds]bool{true, true, true}}
	b, err := p.node.history.AnswerOlder(t.Context(), q.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]wire.OlderRequest{
		"an id that may be taken back":           {IDs: []uint32{1, last + 1}},
		"what may be taken back":                 {Start: last + 1, End: last + 2, Most: 100},
		"finality data, which there is none of":  {Start: 3, End: 4, Most: 100, Want: [wire.Kinds]bool{wire.KindFinality: true}},
		"changes of a block that is not applied": {Start: 0, End: 4, Most: 100, Want: [wire.Kinds]bool{wire.KindDeltas: true}},
	} {
		if _, err := p.node.history.AnswerOlder(t.Context(), q.Append(nil)); !errors.Is(err, ship.ErrOlderMissing) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, err := wire.DecodeOlder(b)
	if err != nil || len(a.IDs) != 2 || len(a.Blocks) != 1 || a.Blocks[0].Num != last {
		t.Errorf("%d ids, %d blocks, %v", len(a.IDs), len(a.Blocks), err)
	}
}

// Nodes of a fleet need not have the same: where the one that is asked has less, another is.
func TestANodeWithLessThanAnotherIsPassedOver(t *testing.T) {
	p := heavy(t, 4, ship.Options{})
	var refused atomic.Int64                          // several questions may be asked at a time
	p.other = func(wire.OlderRequest) *ship.History { // the node has what the others have, and every second time has less
		if refused.Add(1)%2 == 0 {
			return p.replica.history
		}
		return nil
	}
	p.compare(t, 1, 2, p.begin-1, p.begin, p.begin+1)
	have := []wire.Position{p.of(5)}
	for range 1000 { // which is no more than two blocks
		have = append(have, p.of(4))
	}
	for who, n := range map[string]*node{"node": p.node, "replica": p.replica} {
		if got := numberOf(n.askAll(12, 15, have...).read()); got != 12 {
			t.Errorf("%s: block %d", who, got)
		}
	}
}

// Where a node has no block any more, but what its histories keep of it, a client gets that.
func TestOlderHistoryWithoutItsBlocks(t *testing.T) {
	p := savanna(t, ship.Options{})
	p.node.from = p.begin - 2
	p.node.history.Forget()
	p.compare(t, 3, p.begin-3, p.begin-2)
}

// Who names more blocks from before a replica than are looked up is ended.
func TestAClientThatNamesManyOlderBlocksIsEnded(t *testing.T) {
	p := heavy(t, 4, ship.Options{})
	p.replica.from = 2000 // and the blocks before are not known here
	var have []wire.Position
	for num := uint32(100); num < 1200; num++ {
		have = append(have, wire.Position{Num: num})
	}
	if c := p.replica.askAll(1500, 1510, have...); !c.ended() {
		t.Error("it is answered")
	}
}

// within demands something soon.
func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%s: not within three seconds", what)
			return
		}
	}
}

// Clients that wait for a node that is silent, and go, leave nothing; others are served, and the server ends.
func TestASilentNodeHoldsNobody(t *testing.T) {
	p := heavy(t, 4, ship.Options{})
	p.compare(t, 3)
	live := p.replica.askAll(12, 30)
	for range 12 - 3 {
		if num := numberOf(live.read()); num == 19 {
			break
		}
	}
	p.silent.Store(true)
	var waiting []*client
	before := p.replica.server.Stats().Sessions
	for range 16 {
		waiting = append(waiting, p.replica.askAll(3, 20))
	}
	begun := time.Now()
	live.send(0)
	live.read()
	if took := time.Since(begun); took > time.Second {
		t.Errorf("another client's status took %s", took)
	}
	for _, c := range waiting[:12] {
		c.c.Close()
	}
	within(t, "clients that are gone leave", func() bool { return p.replica.server.Stats().Sessions == before+4 })
	begun = time.Now()
	p.replica.server.Close() //nolint:errcheck // how long it takes counts
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("the end took %s", took)
	}
}

// Clients that take nothing of a node's blocks hold half of the memory at most, and give it back.
func TestWhatNodesSendHasAShareOfTheMemory(t *testing.T) {
	const room = 8 << 20
	p := heavy(t, 4, ship.Options{RecentBytes: room})
	var list []*client
	for range 20 {
		c, _ := p.replica.connect(0)
		b := []byte{1}
		for _, x := range []uint32{2, 20, 1} {
			b = binary.LittleEndian.AppendUint32(b, x)
		}
		c.send(append(b, 0, 0, 1, 1, 1)...)
		if got := numberOf(c.read()); got != 2 {
			t.Fatalf("block %d", got)
		}
		list = append(list, c)
		if held := p.replica.history.OlderHeld(); held > room/2 {
			t.Fatalf("%d bytes are held", held)
		}
	}
	within(t, "clients that may be sent nothing hold nothing", func() bool { return p.replica.history.OlderHeld() == 0 })
	p.compare(t, 1)
	for _, c := range list {
		c.c.Close()
	}
	within(t, "nothing is held", func() bool { return p.replica.history.OlderHeld() == 0 })
}

// A damaged entry is passed on to nobody: its end has a checksum.
func TestADamagedOlderEntryIsPassedOnToNobody(t *testing.T) {
	p := heavy(t, 4000, ship.Options{})
	q := wire.OlderRequest{Start: heavyBlock, End: heavyBlock + 1, Most: 1 << 20,
		Want: [wire.Kinds]bool{wire.KindTraces: true}}
	p.node.history.Forget()
	want, err := p.node.history.AnswerOlder(t.Context(), q.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(p.node.dir, "trace_history.log")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for at := 100; at < len(whole); at += 7 {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x10
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		p.node.history.Forget()
		switch got, err := p.node.history.AnswerOlder(t.Context(), q.Append(nil)); {
		case err != nil:
			refused++
		case !bytes.Equal(got, want):
			t.Fatalf("a bit of byte %d is another, and the answer too", at)
		}
	}
	if refused < 5 {
		t.Errorf("%d damaged entries were refused", refused)
	}
}

// Until a round of questions has ended nobody counts on the first answer, which may be of a node with less.
func TestTheFirstAnswerIsNotAllThatNodesHave(t *testing.T) {
	p := heavy(t, 4, ship.Options{})
	var asked atomic.Int64
	hold := make(chan struct{})
	p.other = func(q wire.OlderRequest) *ship.History {
		if q.End > 0 || len(q.IDs) > 0 {
			return nil
		}
		if asked.Add(1) == 1 {
			return p.replica.history // which has less
		}
		<-hold
		return nil
	}
	first, _ := p.replica.connect(0)
	first.send(0) // a status, which has nodes asked
	within(t, "nodes are asked", func() bool { return asked.Load() > 1 })
	c := p.replica.askAll(3, 15)
	time.AfterFunc(100*time.Millisecond, func() { close(hold) })
	if got := numberOf(c.read()); got != 3 {
		t.Errorf("the first block is %d", got)
	}
}

// Nodes that let go of blocks end a client once at most.
func TestWhatNodesLetGoIsKnownSoon(t *testing.T) {
	p := heavy(t, 4, ship.Options{})
	p.compare(t, 3)
	p.node.from = 5
	p.node.history.Forget()
	time.Sleep(1100 * time.Millisecond) // nodes are asked anew only after a while
	p.compare(t, 3)
}

// Who names an older block, acknowledges, and goes while a node is silent, leaves at once. What large requests list counts
// while they wait.
func TestRequestsThatWaitForANode(t *testing.T) {
	p := heavy(t, 4, ship.Options{})
	p.compare(t, 3)
	p.silent.Store(true)
	before := p.replica.server.Stats().Sessions
	for range 16 {
		c := p.replica.askAll(8, 15, p.of(4))
		for range 3 {
			c.send(2, 1, 0, 0, 0)
		}
		time.AfterFunc(200*time.Millisecond, func() { c.c.Close() })
	}
	time.Sleep(200 * time.Millisecond)
	within(t, "clients that are gone leave", func() bool { return p.replica.server.Stats().Sessions == before })
	const list = 7 << 20 / 36
	first := p.of(4)
	b := []byte{1}
	for _, x := range []uint32{8, 15, 1} {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	b = binary.AppendUvarint(b, list)
	for range list {
		b = append(binary.LittleEndian.AppendUint32(b, first.Num), first.ID[:]...)
	}
	b = append(b, 0, 1, 1, 1)
	for range 12 { // of 7 MiB, where all may have 64
		c, _ := p.replica.connect(0)
		_ = c.c.WriteMessage(websocket.BinaryMessage, b) // unless it is ended
	}
	within(t, "lists of 84 MiB end a client", func() bool { return p.replica.server.Stats().Sessions < before+12 })
}

// An answer that nobody waits for any more is not made.
func TestAnAnswerForReplicasEndsWithItsRequest(t *testing.T) {
	p := heavy(t, 4, ship.Options{})
	p.node.history.Forget()
	defer p.node.history.Work()()
	q := wire.OlderRequest{Start: 3, End: 4, Most: 1 << 20, Want: [wire.Kinds]bool{wire.KindBlock: true}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.node.history.AnswerOlder(ctx, q.Append(nil)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ends with %v", err)
	}
	q = wire.OlderRequest{IDs: []uint32{1}}
	if _, err := p.node.history.AnswerOlder(ctx, q.Append(nil)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ids are looked for when nobody waits: %v", err)
	}
}
