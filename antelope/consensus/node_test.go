package consensus

import (
	"math"
	"slices"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// node is as much of a chain as headers need: it produces blocks, takes those of
// others and follows the best branch, the way nodeos does (Leap: tester.cpp,
// controller.cpp).
type node struct {
	t            *testing.T
	db           *ForkDatabase
	head         *BlockState
	set          *feature.Set
	irreversible bool // read mode
	proposal     *types.ProducerSchedule
	proposedIn   uint32
	own          map[types.Name]uint32        // the last block of each, ours or not
	log          map[uint32]types.Checksum256 // irreversible blocks
	bad          map[types.Checksum256]bool   // blocks that fail when they are applied
	seen         map[types.Checksum256]*types.SignedBlock
}

func newNode(t *testing.T) *node {
	t.Helper()
	g := types.DefaultGenesis()
	g.InitialTimestamp = 1577836800000000 // 2020-01-01
	set := builtinSet(t)
	n := &node{
		t: t, db: NewForkDatabase(set), set: set,
		own: map[types.Name]uint32{}, log: map[uint32]types.Checksum256{},
		bad: map[types.Checksum256]bool{}, seen: map[types.Checksum256]*types.SignedBlock{},
	}
	n.db.Reset(Head{HeaderState: Genesis(&g)})
	n.head = n.db.Head()
	return n
}

func schedule(version uint32, names ...string) *types.ProducerSchedule {
	s := &types.ProducerSchedule{Version: version}
	for _, name := range names {
		key := types.PublicKey{Point: [33]byte{2, 1}}
		s.Producers = append(s.Producers, types.ProducerAuthority{
			Producer:  types.N(name),
			Authority: types.BlockSigningAuthority{Threshold: 1, Keys: []types.KeyWeight{{Key: key, Weight: 1}}},
		})
	}
	return s
}

// propose lets the next block change the producers, as a contract would.
func (n *node) propose(names ...string) {
	version := n.head.ActiveSchedule.Version
	if n.head.HasPendingProducers() {
		version = n.head.Pending.Schedule.Version
	}
	n.proposal, n.proposedIn = schedule(version+1, names...), n.head.BlockNum+1
}

func (n *node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// produce makes a block some slots after the head, confirming what its producer
// has not confirmed yet.
func (n *node) produce(slots uint32, activate ...types.Checksum256) *BlockState {
	n.t.Helper()
	slot := n.head.Header.Timestamp + types.BlockTimestamp(slots)
	producer := n.head.ScheduledProducer(slot).Producer
	last := n.db.Root().BlockNum
	if own, ok := n.own[producer]; ok {
		last = max(last, own)
	}
	p, err := n.head.Next(slot, uint16(n.head.BlockNum-last))
	n.must(err)
	var proposed *types.ProducerSchedule
	if n.proposal != nil && n.proposedIn <= p.Irreversible && !p.Promoted &&
		len(p.PrevPending.Schedule.Producers) == 0 {
		proposed, n.proposal = n.proposal, nil
	}
	b := new(types.SignedBlock)
	b.SignedBlockHeader, err = p.Header(&Content{Actions: types.Checksum256{byte(slot)}, Schedule: proposed,
		Features: activate}, n.set)
	n.must(err)
	n.must(n.push(b))
	if n.head.Block != b {
		n.t.Fatalf("a produced block did not become the head")
	}
	return n.head
}

func (n *node) produceMany(count int) {
	n.t.Helper()
	for range count {
		n.produce(1)
	}
}

// push takes a block, and switches to its branch if that is the best.
func (n *node) push(b *types.SignedBlock) error {
	id := b.ID()
	if n.db.Block(id) != nil {
		return exception.New(exception.ForkDatabase, "we already know about this block")
	}
	prev := n.db.HeaderState(b.Previous)
	if prev == nil {
		return exception.New(exception.UnlinkableBlock, "unlinkable block")
	}
	s, err := NewBlockState(prev, b, n.set, nil)
	if err != nil {
		return err
	}
	n.seen[id] = b
	n.own[b.Producer] = max(n.own[b.Producer], s.BlockNum)
	n.must(n.db.Add(s, false))
	if !n.irreversible {
		if err := n.switchFork(); err != nil {
			return err
		}
	}
	n.advance()
	return nil
}

// switchFork follows the best branch, unless one of its blocks is bad: then that
// one goes, with what follows it.
func (n *node) switchFork() error {
	best := n.db.PendingHead()
	forward, _, err := n.db.FetchBranchFrom(best.ID, n.head.ID)
	n.must(err)
	for _, b := range slices.Backward(forward) {
		if n.bad[b.ID] {
			_, err := n.db.Remove(b.ID)
			n.must(err)
			return exception.New(exception.BlockValidate, "Block ID does not match")
		}
		n.must(n.db.MarkValid(b.ID, nil))
	}
	if len(forward) > 0 {
		n.head = best
	}
	return nil
}

// advance makes the root what has become irreversible.
func (n *node) advance() {
	head := n.db.Head()
	if n.irreversible {
		head = n.db.PendingHead()
	}
	if head.Irreversible <= n.db.Root().BlockNum {
		return
	}
	branch := n.db.FetchBranch(head.ID, head.Irreversible)
	for _, b := range slices.Backward(branch) {
		if n.irreversible {
			n.must(n.db.MarkValid(b.ID, nil))
			n.head = b
		}
		if old, twice := n.log[b.BlockNum]; twice {
			n.t.Fatalf("block %d became irreversible twice: %s, %s", b.BlockNum, old, b.ID)
		}
		n.log[b.BlockNum] = b.ID
	}
	_, err := n.db.AdvanceRoot(branch[0].ID)
	n.must(err)
}

// sync pushes the blocks of another node's branch, up to a number, that n does not
// know.
func (n *node) sync(from *node, upTo uint32) {
	n.t.Helper()
	var blocks []*types.SignedBlock
	for b := from.head.Block; b != nil && b.BlockNum() > 1; b = from.seen[b.Previous] {
		if b.BlockNum() <= upTo && n.db.HeaderState(b.ID()) == nil && n.log[b.BlockNum()] != b.ID() {
			blocks = append(blocks, b)
		}
	}
	for _, b := range slices.Backward(blocks) {
		n.must(n.push(b))
	}
}

func (n *node) lib() uint32 { return n.db.Root().BlockNum }

// until produces blocks until the head is the last of one producer's, and the
// other one comes next.
func (n *node) until(last, next string) {
	n.t.Helper()
	for range 1000 {
		after := n.head.ScheduledProducer(n.head.Header.Timestamp + 1).Producer
		if n.head.Header.Producer == types.N(last) && after == types.N(next) {
			return
		}
		n.produce(1)
	}
	n.t.Fatalf("%s never follows %s", next, last)
}

const all = math.MaxUint32
