package consensus

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

func TestASingleProducersBlocksAreIrreversibleOneBlockLater(t *testing.T) {
	n := newNode(t)
	n.produceMany(20)
	if n.head.BlockNum != 21 || n.lib() != 20 || n.head.ProposedIrreversible != 21 {
		t.Errorf("head %d, irreversible %d, proposed %d", n.head.BlockNum, n.lib(), n.head.ProposedIrreversible)
	}
}

// Leap: forked_tests.cpp, prune_remove_branch. The numbers are the original's.
func TestABranchWithMoreIrreversibleBeatsALongerOne(t *testing.T) {
	c := newNode(t)
	c.produceMany(10)
	c.propose("dan", "sam", "pam", "scott")
	c.produceMany(50)
	c2 := newNode(t)
	c2.sync(c, all)
	if c.head.BlockNum != 61 || c2.head.ID != c.head.ID {
		t.Fatalf("heads %d and %d, want 61", c.head.BlockNum, c2.head.BlockNum)
	}
	skip1, skip2 := uint32(1), uint32(1)
	for range 50 {
		p := c.head.ScheduledProducer(c.head.Header.Timestamp + types.BlockTimestamp(skip1)).Producer
		if p == types.N("dan") || p == types.N("sam") {
			c.produce(skip1)
			skip1 = 1
		} else {
			skip1++
		}
		if c2.head.ScheduledProducer(c2.head.Header.Timestamp+types.BlockTimestamp(skip2)).Producer == types.N("scott") {
			c2.produce(skip2)
			skip2 = 1
		} else {
			skip2++
		}
	}
	if c.head.BlockNum != 87 || c2.head.BlockNum != 73 {
		t.Fatalf("heads %d and %d, want 87 and 73", c.head.BlockNum, c2.head.BlockNum)
	}
	c.sync(c2, all)
	if c.head.BlockNum != 73 || c.head.ID != c2.head.ID {
		t.Errorf("head %d, want 73", c.head.BlockNum)
	}
}

// Leap: forked_tests.cpp, forking.
func TestTheLongerBranchWinsAndSchedulesChangeOnIt(t *testing.T) {
	c := newNode(t)
	c.produceMany(3)
	c.propose("dan", "sam", "pam")
	c.produceMany(30)
	c.until("dan", "sam")
	c.produce(1)
	c.propose("dan", "sam", "pam", "cam")
	c.until("sam", "pam")
	c2 := newNode(t)
	c2.sync(c, all)

	c2.produceMany(12) // pam
	if b := c2.produce(13); b.Header.Producer != types.N("sam") {
		t.Fatalf("%s produces, want sam", b.Header.Producer)
	}
	c2.produceMany(11 + 12)
	if b := c.produce(13); b.Header.Producer != types.N("dan") {
		t.Fatalf("%s produces, want dan", b.Header.Producer)
	}
	c.produceMany(11)
	alone := c.head
	c.sync(c2, all)
	if c.head.ID != c2.head.ID || c.db.Block(alone.ID) == nil {
		t.Fatalf("head %d, want %d", c.head.BlockNum, c2.head.BlockNum)
	}
	for range 200 {
		if c.head.ActiveSchedule.Version == 2 {
			break
		}
		c.produce(1)
	}
	if v := c.head.ActiveSchedule.Version; v != 2 || len(c.head.LastProduced) != 4 {
		t.Fatalf("version %d of the schedule, producers %v", v, c.head.LastProduced)
	}
	c2.sync(c, all)
	c.produceMany(60)
	c2.sync(c, all)
	if c2.head.ID != c.head.ID || c2.lib() != c.lib() || c.db.Block(alone.ID) != nil {
		t.Errorf("heads %d %d, roots %d %d", c.head.BlockNum, c2.head.BlockNum, c.lib(), c2.lib())
	}
}

// Leap: forked_tests.cpp, fork_with_bad_block.
func TestABadBlockGoesWithWhatFollowsIt(t *testing.T) {
	bios := newNode(t)
	bios.produceMany(3)
	bios.propose("a", "b", "c", "d", "e")
	bios.produceMany(3)
	bios.until("e", "a")
	remote := newNode(t)
	remote.sync(bios, all)
	bios.produceMany(6)
	head := bios.head
	var fork []*BlockState
	for slots := uint32(13); len(fork) < 7; slots = 1 {
		fork = append(fork, remote.produce(slots))
	}
	bios.bad[fork[3].ID] = true
	for i, b := range fork {
		err := bios.push(b.Block)
		switch {
		case i < 6 && err != nil:
			t.Fatalf("block %d: %v", b.BlockNum, err)
		case i == 6 && !exception.Is(err, exception.BlockValidate):
			t.Fatalf("the block that makes the bad branch the longer one: %v", err)
		}
	}
	if bios.head != head || bios.db.Head() != head {
		t.Errorf("head %d, want %d", bios.head.BlockNum, head.BlockNum)
	}
	for i, b := range fork {
		if there := bios.db.Block(b.ID) != nil; there != (i < 3) {
			t.Errorf("block %d of the branch: there %v", i, there)
		}
	}
	bios.produceMany(200)
	if bios.lib() <= head.BlockNum {
		t.Errorf("only %d is irreversible", bios.lib())
	}
}

// Leap: forked_tests.cpp, reopen_forkdb.
func TestTheForkDatabaseSurvivesItsFile(t *testing.T) {
	c1 := newNode(t)
	c1.produce(1)
	c1.propose("alice", "bob", "carol")
	c1.produceMany(3)
	if v := c1.head.ActiveSchedule.Version; v != 1 {
		t.Fatalf("version %d of the schedule", v)
	}
	c1.until("carol", "alice")
	c1.produce(1)
	c1.until("carol", "alice")
	c2 := newNode(t)
	c2.sync(c1, all)
	before := c1.lib()
	c1.produce(1)
	if c1.lib() <= before || c2.lib() != before {
		t.Fatalf("irreversible: %d, then %d; %d on the other node", before, c1.lib(), c2.lib())
	}
	head := c1.head
	first := c2.produce(25)
	second := c2.produce(1)
	if c2.lib() != before {
		t.Fatalf("irreversible %d, want %d", c2.lib(), before)
	}
	for _, b := range []*BlockState{first, second} {
		if err := c1.push(b.Block); err != nil {
			t.Fatal(err)
		}
	}
	if c1.head != head {
		t.Fatal("a longer branch with less irreversible won")
	}
	reload(t, c1)
}

// reload compares the fork database with what its file makes of it.
func reload(t *testing.T, n *node) {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	if found, err := NewForkDatabase(n.set).Load(path); found || err != nil {
		t.Fatalf("no file: %v, %v", found, err)
	}
	if err := n.db.Save(path); err != nil {
		t.Fatal(err)
	}
	again := NewForkDatabase(n.set)
	if found, err := again.Load(path); !found || err != nil {
		t.Fatalf("load: %v, %v", found, err)
	}
	a, errA := n.db.Encode()
	b, errB := again.Encode()
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("the file changes: %v, %v", errA, errB)
	}
	if again.Head().ID != n.db.Head().ID || again.Root().ID != n.db.Root().ID ||
		again.PendingHead().ID != n.db.PendingHead().ID {
		t.Error("head, root or pending head is another one")
	}
}

// Leap: forked_tests.cpp, read_modes and irreversible_mode.
func TestIrreversibleModeFollowsTheBestBranchWithHeadersOnly(t *testing.T) {
	main := newNode(t)
	main.produce(1)
	main.propose("producer1", "producer2")
	main.produce(1)
	main.until("producer1", "producer2")
	main.produce(1)
	head1, lib1 := main.head.BlockNum, main.lib()
	main.until("producer2", "producer1")
	head2 := main.head.BlockNum
	if main.lib() >= head1 {
		t.Fatalf("block %d is irreversible already", main.lib())
	}
	other := newNode(t)
	other.sync(main, all)
	for range 2 {
		main.produce(1)
		main.until("producer2", "producer1")
	}
	head3, lib3 := main.head.BlockNum, main.lib()
	if lib3 < head1 {
		t.Fatalf("only %d is irreversible, want %d", lib3, head1)
	}
	fork := other.produce(13)
	other.until("producer2", "producer1")
	for range 4 {
		other.produce(13)
		other.until("producer2", "producer1")
	}
	if other.head.BlockNum <= head3 || other.lib() >= head1 {
		t.Fatalf("other branch: head %d, irreversible %d", other.head.BlockNum, other.lib())
	}
	n := newNode(t)
	n.irreversible = true
	check := func(pending *BlockState, num, lib uint32) {
		t.Helper()
		if p := n.db.PendingHead(); p.BlockNum != num || pending != nil && p.ID != pending.ID ||
			n.head.BlockNum != lib || n.lib() != lib {
			t.Errorf("pending head %d, head %d, root %d, want %d, %d", p.BlockNum, n.head.BlockNum, n.lib(), num, lib)
		}
	}
	n.sync(main, head1)
	check(nil, head1, lib1)
	n.sync(other, all)
	check(other.head, other.head.BlockNum, other.lib())
	for num := head2 + 1; num <= head3; num++ {
		b := main.head.Block
		for b.BlockNum() > num {
			b = main.seen[b.Previous]
		}
		if err := n.push(b); err != nil {
			t.Fatal(err)
		}
	}
	check(main.head, head3, lib3)
	reload(t, n)
	if lib3 < fork.BlockNum && n.db.Block(fork.ID) == nil {
		t.Error("the branch that lost is gone before it may")
	}
	main.produceMany(24)
	n.sync(main, all)
	if n.db.Block(fork.ID) != nil {
		t.Error("the branch that lost is still there")
	}
}

func TestBlocksAreRefusedWithTheOriginalsExceptions(t *testing.T) {
	n := newNode(t)
	n.produceMany(5)
	b := n.produce(1)
	prev := n.db.HeaderState(b.Header.Previous)
	for name, c := range map[string]struct {
		kind   *exception.Kind
		change func(h *types.SignedBlockHeader)
	}{
		"time of the one before": {exception.BlockValidate, func(h *types.SignedBlockHeader) { h.Timestamp = prev.Header.Timestamp }},
		"too much confirmed":     {exception.ProducerDoubleConfirm, func(h *types.SignedBlockHeader) { h.Confirmed = 1 }},
		"other previous":         {exception.UnlinkableBlock, func(h *types.SignedBlockHeader) { h.Previous[31] ^= 1 }},
		"other producer":         {exception.WrongProducer, func(h *types.SignedBlockHeader) { h.Producer++ }},
		"other version":          {exception.ProducerSchedule, func(h *types.SignedBlockHeader) { h.ScheduleVersion++ }},
		"schedule of two versions on": {exception.ProducerSchedule, func(h *types.SignedBlockHeader) {
			h.NewProducers = &types.LegacySchedule{Version: 2}
		}},
		"weighted schedule too early": {exception.ProducerSchedule, func(h *types.SignedBlockHeader) {
			h.Extensions = types.Extensions{{Type: types.HeaderScheduleChange, Data: schedule(1, "a").Append(nil)}}
		}},
		"unknown feature": {exception.ProtocolFeature, func(h *types.SignedBlockHeader) {
			h.Extensions = types.Extensions{{Type: types.HeaderProtocolFeatures,
				Data: types.AppendChecksums(nil, []types.Checksum256{{1}})}}
		}},
		"unknown extension": {exception.InvalidBlockHeaderExtension, func(h *types.SignedBlockHeader) {
			h.Extensions = types.Extensions{{Type: 7}}
		}},
	} {
		h := b.Block.SignedBlockHeader
		c.change(&h)
		if _, err := prev.Follow(&h, nil, n.set, nil); !exception.Is(err, c.kind) {
			t.Errorf("%s: %v, want %s", name, err, c.kind.Name)
		}
	}
	h := b.Block.SignedBlockHeader
	if _, err := prev.Follow(&h, []types.Signature{{}}, n.set, nil); !exception.Is(err, exception.ProducerSchedule) {
		t.Errorf("two signatures too early: %v", err)
	}
	if _, err := prev.Follow(&h, nil, n.set, nil); err != nil {
		t.Errorf("as it is: %v", err)
	}
	if p, err := prev.Next(0, 0); err != nil || p.Timestamp != prev.Header.Timestamp+1 {
		t.Errorf("no slot: %v", err)
	}
	none := *prev
	none.ActiveSchedule = &types.ProducerSchedule{}
	if _, err := none.Next(0, 0); !exception.Is(err, exception.BlockValidate) {
		t.Errorf("nobody to produce: %v", err)
	}
}

func TestABlockThatActivatesAScheduleProposesNone(t *testing.T) {
	n := newNode(t)
	n.produceMany(3)
	n.propose("a", "b", "c")
	n.produceMany(40)
	n.propose("a", "b")
	for !n.head.HasPendingProducers() {
		n.produce(1)
	}
	early, err := n.head.Next(0, 0) // not enough for the schedule to become active
	if err != nil || early.Promoted {
		t.Fatalf("promoted %v, %v", early.Promoted, err)
	}
	propose := func(p *PendingHeader, version uint32) error {
		h, err := p.Header(&Content{Schedule: schedule(version, "c")}, n.set)
		n.must(err)
		_, err = p.Finish(&h, nil, n.set, nil)
		return err
	}
	if err := propose(early, 2); !exception.Is(err, exception.ProducerSchedule) {
		t.Errorf("a second schedule while one is pending: %v", err)
	}
	for range 100 {
		p, err := n.head.Next(0,
			uint16(n.head.BlockNum-max(n.lib(), n.own[n.head.ScheduledProducer(n.head.Header.Timestamp+1).Producer])))
		n.must(err)
		if p.Promoted {
			if err := propose(p, 3); !exception.Is(err, exception.ProducerSchedule) ||
				!strings.Contains(err.Error(), "same block") {
				t.Errorf("a schedule in the block that makes the one before it active: %v", err)
			}
			n.produce(1)
			p, err := n.head.Next(0, 0)
			n.must(err)
			if err := propose(p, 3); err != nil {
				t.Errorf("a schedule one block later: %v", err)
			}
			return
		}
		n.produce(1)
	}
	t.Fatal("the schedule never becomes active")
}

// Meant for the race detector: what a reader gets hangs together while the tree
// changes.
func TestReadersSeeWholeTrees(t *testing.T) {
	n := newNode(t)
	n.produceMany(3)
	n.propose("a", "b", "c")
	n.produceMany(10)
	done := make(chan bool)
	go func() {
		defer close(done)
		for range 300 {
			head := n.db.Head()
			branch := n.db.FetchBranch(head.ID, all)
			for i, b := range branch {
				if b.BlockNum != head.BlockNum-uint32(i) {
					t.Errorf("block %d after %d", b.BlockNum, i)
				}
			}
			n.db.PendingHead()
			n.db.Root()
			n.db.FetchBranchFrom(head.ID, n.db.Root().ID) // the root may go on meanwhile
			if _, err := n.db.Encode(); err != nil {
				t.Error(err)
			}
		}
	}()
	for {
		select {
		case <-done:
			return
		default:
			n.produce(1)
		}
	}
}

// A producer signs very many blocks of one slot. When the branch that won becomes irreversible they go,
// in the time of their number and not of its square, which would be a minute.
func TestManyBlocksOfOneParentGoAtOnce(t *testing.T) {
	state := func(num uint32, nonce uint64, previous types.Checksum256) *BlockState {
		s := &HeaderState{Progress: Progress{BlockNum: num},
			ID: types.Hash(binary.LittleEndian.AppendUint64(nil, nonce))}
		s.Header.Previous = previous
		binary.BigEndian.PutUint32(s.ID[:], num)
		return &BlockState{HeaderState: s, Block: &types.SignedBlock{}}
	}
	f, root := NewForkDatabase(feature.NewSet()), state(1, 0, types.Checksum256{})
	f.Reset(Head{HeaderState: root.HeaderState})
	const siblings = 80_000
	won := state(2, 1, root.ID)
	next := state(3, 2, won.ID)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(f.Add(won, false))
	for i := range siblings {
		must(f.Add(state(2, uint64(i)+3, root.ID), false))
	}
	must(f.Add(next, false))
	must(f.MarkValid(won.ID, nil))
	must(f.MarkValid(next.ID, nil))
	begun := time.Now()
	gone, err := f.AdvanceRoot(won.ID)
	must(err)
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("%d blocks take %v to go", siblings, took)
	}
	if f.Len() != 1 || f.Head().ID != next.ID || len(gone) != siblings+2 {
		t.Errorf("%d blocks are left, the head is block %d", f.Len(), f.Head().BlockNum)
	}
}

// A finalizer asks it before it votes for a block that was not executed: whether what the block's certificate is about
// was, or something later on its branch.
func TestABranchIsValidSinceABlock(t *testing.T) {
	n := newNode(t)
	n.produceMany(3)
	n.propose("a", "b", "c", "d", "e") // so that blocks stay reversible
	n.produceMany(10)
	root := n.db.Root()
	var id [6]types.Checksum256
	prev := root.ID
	db := NewForkDatabase(n.db.set)
	db.Reset(Head{HeaderState: root.HeaderState})
	for i := range id {
		id[i] = types.Checksum256{3: byte(root.BlockNum) + byte(i) + 1, 31: byte(i)}
		h := *root.HeaderState
		h.ID, h.BlockNum, h.Header.Previous = id[i], root.BlockNum+uint32(i)+1, prev
		if err := db.Add(&BlockState{HeaderState: &h}, false); err != nil {
			t.Fatal(err)
		}
		prev = id[i]
	}
	check := func(when string, of, since types.Checksum256, want bool) {
		t.Helper()
		if is := db.ValidSince(of, since); is != want {
			t.Errorf("%s: %v", when, is)
		}
	}
	check("the root", root.ID, root.ID, true)
	check("down to the root", id[3], root.ID, true)
	check("down to before the root", id[3], types.Checksum256{1}, true)
	check("nothing is valid above the root", id[3], id[0], false)
	check("a block that is not there", types.Checksum256{9}, root.ID, false)
	for _, x := range id[:2] {
		if err := db.MarkValid(x, nil); err != nil {
			t.Fatal(err)
		}
	}
	check("the block itself", id[3], id[1], true)
	check("a later one", id[3], id[0], true)
	check("an earlier one", id[3], id[2], false)
	check("not valid itself", id[3], id[3], false)
}
