package ship_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/logfinding"
	"tarn/antelope/serial"
	"tarn/antelope/ship"
	"tarn/antelope/ship/shiplog"
	"tarn/antelope/types"
	"tarn/internal/refdata"
	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
)

// springBlock is what Spring says of a block to indexers.
type springBlock struct {
	block *types.SignedBlock
	data  []byte // finality data; nil before the change of rules
}

// springBlocks are those of the chain of Spring's deep-mind test, from block 2 on.
func springBlocks(t *testing.T) (list []springBlock) {
	t.Helper()
	raw := func(text string) []byte {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for line := range strings.Lines(string(refdata.Read(t, "savanna/deep-mind.log.gz"))) {
		x := springBlock{block: new(types.SignedBlock)}
		var r *serial.Reader
		switch f := strings.Fields(line); f[1] {
		case "ACCEPTED_BLOCK":
			r = serial.NewReader(raw(f[3]))
			new(consensus.HeaderState).Read(r)
			r.Bool()
		case "ACCEPTED_BLOCK_V2":
			r, x.data = serial.NewReader(raw(f[5])), raw(f[6])
		default:
			continue
		}
		x.block.Read(r)
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		list = append(list, x)
	}
	if len(list) < 30 {
		t.Fatalf("%d blocks", len(list))
	}
	return list
}

// springGenesis is the genesis of Spring's tests.
func springGenesis(t *testing.T) *types.Genesis {
	t.Helper()
	g := types.DefaultGenesis()
	g.InitialTimestamp = chaintest.Begin
	var err error
	if g.InitialKey, err = types.ParsePublicKey("EOS5P52UyPoYL7vMiSREPvqxh6WebuMAunCMK4w53J7Gu6zmk4qyN"); err != nil {
		t.Fatal(err)
	}
	return &g
}

// begun is a chain with a genesis and nothing else, or the one that a store has.
func begun(t *testing.T, st store.Store, g *types.Genesis) *chaintest.Maker {
	t.Helper()
	c, err := chain.Open(st, chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if c.Head() == nil {
		if err := c.Genesis(g); err != nil {
			t.Fatal(err)
		}
	}
	return &chaintest.Maker{Chain: c, Genesis: *g}
}

// volatile is a store in memory.
func volatile(t *testing.T) store.Store {
	t.Helper()
	rows, err := page.OpenVolatile(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	st, err := revision.Open(rows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

func (n *node) push(b *types.SignedBlock) {
	n.t.Helper()
	x, err := n.Chain.Prepare(b, b.ID())
	if err == nil {
		err = n.Chain.PushBlock(x)
	}
	if err != nil {
		n.t.Fatalf("block %d: %v", b.BlockNum(), err)
	}
}

// listening is a server on a port of its own.
func listening() ship.ServerOptions {
	return ship.ServerOptions{Limits: ship.DefaultLimits(), Address: "127.0.0.1:0"}
}

// springABIBytes is how long the first frame of a server is that speaks as Spring does.
const springABIBytes = 35704

// firstFrame is how long the first frame of a new client is.
func (n *node) firstFrame() (int, *client) {
	n.t.Helper()
	c, frame := n.connect(0)
	return len(frame), c
}

// asked1 is a request of version 1 for the blocks from start to before end, with their finality data or
// not; nothing else is asked for.
func asked1(start, end uint32, finality bool) []byte {
	b := []byte{3}
	for _, n := range []uint32{start, end, 1 << 30} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return serial.AppendBool(append(b, 0, 0, 0, 0, 0), finality)
}

// finalityOf asks for the finality data of the blocks from start to before end; nil is for none.
func (n *node) finalityOf(start, end uint32) (list [][]byte) {
	n.t.Helper()
	_, c := n.firstFrame()
	c.send(asked1(start, end, true)...)
	for num := start; num < end; num++ {
		list = append(list, c.finality(num))
	}
	return list
}

// finality reads the answer about a block, and returns its finality data, nil for none.
func (c *client) finality(num uint32) []byte {
	c.t.Helper()
	r := serial.NewReader(c.read())
	kind := r.Varuint32()
	r.Raw(2 * 36)
	for i := range uint32(2) { // this block and the one before
		if r.Bool(); r.Uint32() != num-i {
			c.t.Fatalf("an answer about another block than %d", num)
		}
		r.Raw(32)
	}
	if kind != 2 || r.Bool() || r.Bool() || r.Bool() {
		c.t.Fatalf("block %d: an answer of kind %d with more than was asked for", num, kind)
	}
	var data []byte
	if r.Bool() {
		data = bytes.Clone(r.Bytes())
	}
	if err := r.End(); err != nil {
		c.t.Fatalf("block %d: %v", num, err)
	}
	return data
}

// finalityRange is which blocks the status says that there is finality data of.
func (n *node) finalityRange() (begin, end uint32) {
	n.t.Helper()
	_, c := n.firstFrame()
	c.send(4)
	b := c.read()
	if len(b) != 1+2*36+4*4+32+2*4 || b[0] != 3 {
		n.t.Fatalf("a status % x", b)
	}
	b = b[len(b)-8:]
	return binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
}

// Clients get the finality data that Spring tells of its own blocks, from memory, from the log and
// after another start: none before the change of rules, the genesis block's, those of blocks in
// transition and of proper ones, byte by byte. So it is if the logs are spread over files, or pruned.
func TestFinalityDataIsThatOfSpring(t *testing.T) {
	blocks := springBlocks(t)
	for name, change := range map[string]func(*ship.Options){
		"whole":  func(*ship.Options) {},
		"parted": func(o *ship.Options) { o.Partition = &shiplog.Partition{Retained: o.Dir, Stride: 7, MaxFiles: 100} },
		"pruned": func(o *ship.Options) { o.Retain = 1000 },
	} {
		t.Run(name, func(t *testing.T) {
			o := ship.Options{Dir: t.TempDir(), Finality: true, Spring: true}
			change(&o)
			springFinality(t, o, blocks)
			if name == "whole" {
				checkLog(t, o, blocks)
			}
		})
	}
}

func springFinality(t *testing.T, o ship.Options, blocks []springBlock) {
	t.Helper()
	check := func(n *node, where string) {
		t.Helper()
		last := blocks[len(blocks)-1].block.BlockNum()
		for i, got := range n.finalityOf(2, last+1) {
			if !bytes.Equal(got, blocks[i].data) {
				t.Errorf("%s: block %d has the finality data\n%x\nwant\n%x", where, i+2, got, blocks[i].data)
			}
		}
		if begin, end := n.finalityRange(); begin != 4 || end != last+1 {
			t.Errorf("%s: finality data of the blocks %d to %d", where, begin, end)
		}
		_, c := n.firstFrame()
		c.send(asked1(4, 5, false)...)
		if got := c.finality(4); got != nil {
			t.Errorf("%s: finality data that was not asked for: %x", where, got)
		}
	}
	for _, where := range []string{"first", "again"} { // the second replays beside the history
		n := serve(t, begun(t, volatile(t), springGenesis(t)), o, listening())
		if begin, end := n.finalityRange(); begin != 0 || end != 0 { // the head is before the change
			t.Errorf("%s: at the genesis there is finality data of the blocks %d to %d", where, begin, end)
		}
		for i := range blocks {
			n.push(blocks[i].block)
		}
		n.sync()
		check(n, where+", from memory")
		n.history.Forget()
		check(n, where+", from the log")
		n.end()
	}
}

// checkLog looks at the files: the log's entries are those blocks, and all of them can be verified.
func checkLog(t *testing.T, o ship.Options, blocks []springBlock) {
	t.Helper()
	verify := func() (found []string) {
		t.Helper()
		counts, err := ship.Verify(ship.VerifyOptions{Dir: o.Dir, Retained: o.Dir, Archive: o.Dir,
			Reporter: logfinding.Reporter{
				Found: func(f logfinding.Finding) { found = append(found, f.String()) },
				Read:  func(int64) error { return nil },
			}})
		if err != nil || counts.Files != 3 {
			t.Fatalf("%+v, %v", counts, err)
		}
		return found
	}
	if found := verify(); len(found) > 0 {
		t.Errorf("in files that are whole: %q", found)
	}
	l, err := shiplog.Open(shiplog.Options{Name: "finality_data_history", Dir: o.Dir})
	if err != nil {
		t.Fatal(err)
	}
	last := blocks[len(blocks)-1].block
	if first, end := l.Range(); first != 4 || end != last.BlockNum()+1 {
		t.Errorf("the log has blocks %d to %d", first, end)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	// An entry that is no finality data is found, and one of another block than the traces have.
	other := last.ID()
	for i := 4; i < 20; i++ {
		other[i] ^= 0xff
	}
	for want, x := range map[string]struct {
		id   types.Checksum256
		data []byte
	}{last.ID().String(): {other, blocks[len(blocks)-1].data}, "decode finality_data": {last.ID(), []byte{1, 2, 3}}} {
		replaceLast(t, o.Dir, x.id, last.Previous, x.data)
		if found := strings.Join(verify(), "\n"); !strings.Contains(found, want) {
			t.Errorf("found %q, want %q", found, want)
		}
	}
}

// replaceLast gives the log another last entry.
func replaceLast(t *testing.T, dir string, id, prev types.Checksum256, data []byte) {
	t.Helper()
	l, err := shiplog.Open(shiplog.Options{Name: "finality_data_history", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	write := func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
	third := prev // of a block that takes what has the number away
	for i := 4; i < 32; i++ {
		third[i] ^= 0x55
	}
	binary.BigEndian.PutUint32(third[:], types.BlockNum(id))
	for _, next := range []types.Checksum256{third, id} {
		if err := l.Append(next, prev, write); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// Clients of a chain that Leap can follow are spoken to as Leap does, and know nothing new. Those that
// connect when the chain has begun to change its rules are spoken to as Spring does, and whoever
// was there before goes on as before.
func TestClientsAreSpokenToAsTheChainNeeds(t *testing.T) {
	blocks := springBlocks(t)
	n := serve(t, begun(t, volatile(t), springGenesis(t)), ship.Options{Dir: t.TempDir()}, listening())
	n.push(blocks[0].block)
	n.push(blocks[1].block)
	n.sync()
	size, early := n.firstFrame()
	if size != leapABIBytes {
		t.Errorf("before the change the first frame has %d bytes", size)
	}
	_, curious := n.firstFrame()
	if curious.send(4); !curious.ended() {
		t.Error("a client of Leap's protocol is answered what only Spring knows")
	}
	n.push(blocks[2].block)
	n.sync()
	if size, _ := n.firstFrame(); size != springABIBytes {
		t.Errorf("after the genesis block the first frame has %d bytes", size)
	}
	early.ask(2, 5, 9)
	for want := uint32(2); want < 5; want++ {
		if num, _ := early.next(); num != want {
			t.Errorf("block %d, want %d", num, want)
		}
	}
	// No finality data is kept, so there is none, and the status says so.
	if got := n.finalityOf(4, 5)[0]; got != nil {
		t.Errorf("finality data %x of a history that has none", got)
	}
	if begin, end := n.finalityRange(); begin != 0 || end != 0 {
		t.Errorf("finality data of the blocks %d to %d", begin, end)
	}
}

// Spring does what it is asked for: it begins where it is told, also where there is nothing, and
// sends blocks that the client has.
func TestSpringSendsWhatIsAskedFor(t *testing.T) {
	n := serve(t, begun(t, volatile(t), new(types.DefaultGenesis())),
		ship.Options{Dir: t.TempDir(), Spring: true}, listening())
	_, c := n.firstFrame()
	c.send(asked1(0, 2, false)...)
	const head = 1 + 36 + 36
	for num := range byte(2) { // of block 0 nothing is known
		if b := c.read(); b[0] != 2 || b[head] != num {
			t.Errorf("block %d: % x", num, b)
		}
	}
	have := n.Chain.Head().ID
	request := append([]byte{1, 1, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 1, 1, 0, 0, 0}, have[:]...)
	c.send(append(request, 0, 0, 0, 0)...)
	if num, _ := c.next(); num != 1 {
		t.Errorf("block %d", num)
	}
}

// A log without blocks that is spread over several files begins and ends with 1 in Leap, 0 in Spring.
func TestAnEmptyLogHasTheBoundsOfItsVersion(t *testing.T) {
	for _, spring := range []bool{false, true} {
		dir := t.TempDir()
		parts := &shiplog.Partition{Retained: dir, Stride: 10, MaxFiles: 5}
		n := serve(t, begun(t, volatile(t), new(types.DefaultGenesis())),
			ship.Options{Dir: dir, Partition: parts, Finality: true, Spring: spring}, listening())
		_, c := n.firstFrame()
		c.send(0)
		b := c.read()
		want := byte(1)
		if spring {
			want = 0
			if begin, end := n.finalityRange(); begin != 0 || end != 0 {
				t.Errorf("finality data of the blocks %d to %d", begin, end)
			}
		}
		if traces := b[1+2*36:][:8]; !bytes.Equal(traces, []byte{want, 0, 0, 0, want, 0, 0, 0}) {
			t.Errorf("Spring: %t: the traces are said to be % x", spring, traces)
		}
	}
}

// finalised makes all blocks of a chain that forks and goes over to Savanna's rules, in the order in
// which they were made.
func finalised(t *testing.T, seed uint64, peers, blocks int) *chaintest.Peers {
	t.Helper()
	p, err := chaintest.NewPeers(peers, seed, func() (store.Store, error) { return volatile(t), nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if err := p.Finalise(); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(blocks); err != nil {
		t.Fatal(err)
	}
	return p
}

// A branch without finality data takes back that of the branch that has lost; when that one wins
// after all, it is recorded again.
func TestABranchBeforeTheChangeTakesFinalityDataBack(t *testing.T) {
	p := finalised(t, 3, 3, 0)
	run := func(blocks int) {
		if err := p.Run(blocks); err != nil {
			t.Fatal(err)
		}
	}
	for p.Chain(0).Head().Finality == nil {
		run(1)
	}
	run(4)
	list := branchOf(p, p.Chain(0).Head().ID)
	genesis := slices.IndexFunc(list, func(b *types.SignedBlock) bool {
		return slices.ContainsFunc(b.BlockHeader.Extensions,
			func(x types.Extension) bool { return x.Type == types.HeaderFinality })
	})
	// The other branch begins before the genesis block, and none of its blocks is one.
	m := begun(t, volatile(t), &p.Genesis)
	m.Key = p.Maker(0).Key
	n := serve(t, m, ship.Options{Dir: t.TempDir(), Finality: true, Spring: true}, listening())
	for _, b := range list[:genesis] {
		n.push(b)
	}
	branch := n.produce(2)
	n.sync()
	if begin, end := n.finalityRange(); begin != 0 || end != 0 {
		t.Fatalf("finality data of the blocks %d to %d", begin, end)
	}

	n = serve(t, begun(t, volatile(t), &p.Genesis),
		ship.Options{Dir: t.TempDir(), Finality: true, Spring: true}, listening())
	g := list[genesis].BlockNum()
	for _, x := range []struct {
		blocks     []*types.SignedBlock
		begin, end uint32
	}{{list[:genesis+1], g, g + 1}, {branch, 0, 0}, {list[genesis+1:], g, list[len(list)-1].BlockNum() + 1}} {
		for _, b := range x.blocks {
			n.push(b)
		}
		n.sync()
		if begin, end := n.finalityRange(); begin != x.begin || end != x.end {
			t.Errorf("head %d: finality data of the blocks %d to %d, want %d to %d",
				n.Chain.Head().BlockNum, begin, end, x.begin, x.end)
		}
		n.history.Forget()
		if got := n.finalityOf(g, g+1)[0]; (got != nil) != (x.begin > 0) {
			t.Errorf("head %d: the finality data of block %d is %x", n.Chain.Head().BlockNum, g, got)
		}
	}
}

// branchOf are the blocks up to one, from the chain's beginning on.
func branchOf(p *chaintest.Peers, id types.Checksum256) (list []*types.SignedBlock) {
	byID := make(map[types.Checksum256]*types.SignedBlock, len(p.Blocks))
	for _, b := range p.Blocks {
		byID[b.ID()] = b
	}
	for b := byID[id]; b != nil; b = byID[b.Previous] {
		list = append(list, b)
	}
	slices.Reverse(list)
	return list
}

// However a chain forks while its rules change and after it, the log has the finality data of the
// head's branch and nothing else.
func TestFinalityDataFollowsForks(t *testing.T) {
	for _, seed := range []uint64{1, 5} {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			p := finalised(t, seed, 3, 60)
			n := serve(t, begun(t, volatile(t), &p.Genesis),
				ship.Options{Dir: t.TempDir(), Finality: true, Spring: true, RecentBytes: 1 << 10}, listening())
			want := map[uint32][]byte{}
			var head uint32
			n.Chain.Subscribe(chain.Hooks{Record: func(x *chain.Executed) error {
				num, s := x.Block.BlockNum, x.Block.Finality
				for k := range want {
					if k >= num {
						delete(want, k)
					}
				}
				if head = num; s != nil {
					want[num] = s.AppendData(nil, x.Actions)
				}
				return nil
			}})
			for i, b := range p.Blocks {
				x, err := n.Chain.Prepare(b, b.ID())
				if err == nil {
					err = n.Chain.PushBlock(x)
				}
				if err != nil && !exception.Is(err, exception.UnlinkableBlock) { // of a branch that has lost
					t.Fatalf("block %d: %v", b.BlockNum(), err)
				}
				if i%10 == 0 || want[head] == nil {
					checkRange(t, n, want, head)
				}
			}
			checkRange(t, n, want, head)
			if len(want) < 15 {
				t.Fatalf("%d blocks with finality data", len(want))
			}
			first := head + 1 - uint32(len(want))
			for i, got := range n.finalityOf(first, head+1) {
				if !bytes.Equal(got, want[first+uint32(i)]) {
					t.Errorf("block %d has other finality data", first+uint32(i))
				}
			}
		})
	}
}

func checkRange(t *testing.T, n *node, want map[uint32][]byte, head uint32) {
	t.Helper()
	n.sync()
	begin, end := uint32(0), uint32(0)
	if len(want) > 0 {
		begin, end = head+1-uint32(len(want)), head+1
	}
	if b, e := n.finalityRange(); b != begin || e != end {
		t.Fatalf("head %d: finality data of the blocks %d to %d, want %d to %d", head, b, e, begin, end)
	}
}

// The history goes on where it was when a node starts again.
func TestFinalityDataGoesOnAfterAStart(t *testing.T) {
	blocks := springBlocks(t)
	for _, cut := range []int{2, 3, 9} {
		o := ship.Options{Dir: t.TempDir(), Finality: true, Spring: true}
		st, g := volatile(t), springGenesis(t)
		n := serve(t, begun(t, st, g), o, listening())
		for _, x := range blocks[:cut] {
			n.push(x.block)
		}
		n.end()
		n = serve(t, begun(t, st, g), o, listening())
		for _, x := range blocks { // from the last irreversible block on, as a start does
			if x.block.BlockNum() > n.Chain.Head().BlockNum {
				n.push(x.block)
			}
		}
		n.sync()
		for i, got := range n.finalityOf(2, uint32(len(blocks))+2) {
			if !bytes.Equal(got, blocks[i].data) {
				t.Errorf("with a start after block %d, block %d has other finality data", cut+1, i+2)
			}
		}
	}
}
