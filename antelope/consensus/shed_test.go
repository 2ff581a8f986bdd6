package consensus

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"tarn/antelope/feature"
	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// waitingTree is a fork database with a limit, in which nothing above the root is executed.
type waitingTree struct {
	*ForkDatabase
	t     *testing.T
	nonce uint64
}

func newWaitingTree(t *testing.T, limit int64) *waitingTree {
	w := &waitingTree{ForkDatabase: NewForkDatabase(feature.NewSet()), t: t}
	w.Limit(limit)
	w.Reset(Head{HeaderState: w.state(1, 0, types.Checksum256{}, 0).HeaderState})
	return w
}

// state is that of a block of a producer, which takes some bytes.
func (w *waitingTree) state(num uint32, p types.Name, previous types.Checksum256, bytes int) *BlockState {
	w.nonce++
	s := &HeaderState{Progress: Progress{BlockNum: num}, ID: types.Hash(binary.LittleEndian.AppendUint64(nil, w.nonce))}
	s.Header.Previous, s.Header.Producer = previous, p
	binary.BigEndian.PutUint32(s.ID[:], num)
	block := &types.SignedBlock{Extensions: types.Extensions{{Data: make([]byte, bytes)}}}
	return &BlockState{HeaderState: s, Block: block}
}

// add adds a block after another one.
func (w *waitingTree) add(p types.Name, on *HeaderState, bytes int) *BlockState {
	w.t.Helper()
	b := w.state(on.BlockNum+1, p, on.ID, bytes)
	if err := w.Add(b, false); err != nil {
		w.t.Fatal(err)
	}
	return b
}

const kib = 1 << 10

// Of blocks that lead nowhere those of the producer go that has most of them, the large ones first, whatever others
// have signed and however little room their blocks take; and what leads to the best block stays, however large.
func TestWhoSignsMostLosesBlocksFirst(t *testing.T) {
	w := newWaitingTree(t, 1024*kib)
	root := w.Root().HeaderState
	best := root
	for range 40 { // all together larger than the limit
		best = w.add(2, best, 100*kib).HeaderState
	}
	if gone := w.Shed(); len(gone) > 0 {
		t.Fatalf("%d blocks go, and all lead to the best one", len(gone))
	}
	// Another branch, on which a block of the dishonest producer is.
	first := w.add(3, root, 50*kib)
	second := w.add(7, first.HeaderState, kib)
	third := w.add(3, second.HeaderState, 50*kib)
	honest := []*BlockState{first, second, third}
	for i := range 200 {
		w.add(7, root, 90*kib)
		small := w.add(7, root, kib)
		gone := w.Shed()
		for _, id := range gone {
			for _, b := range honest {
				if id == b.ID {
					t.Fatalf("block %d of an honest branch goes at block %d of the flood", b.BlockNum, i)
				}
			}
		}
		if w.Block(small.ID) == nil {
			t.Fatalf("at block %d of the flood a small block goes, and large ones are there", i)
		}
		if aside := w.waiting - 40*(100*kib+fixedBytes); aside > 1100*kib {
			t.Fatalf("at block %d of the flood blocks that lead nowhere take %d bytes", i, aside)
		}
	}
	if w.PendingHead().ID != best.ID {
		t.Error("the best block is another one")
	}
	w.checkSum()
}

// checkSum compares the sum that is kept with one that is made.
func (w *waitingTree) checkSum() {
	w.t.Helper()
	var sum int64
	for _, n := range w.blocks {
		if !n.valid {
			sum += n.bytes
		}
	}
	if sum != w.waiting {
		w.t.Errorf("blocks that are not valid take %d bytes, and %d are counted", sum, w.waiting)
	}
}

// The bound holds for any trees, nothing is left without what it follows, and the best block is not changed.
func TestTheBoundOfWaitingBlocksHolds(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		w := newWaitingTree(t, 300*kib)
		states := []*HeaderState{w.Root().HeaderState}
		for range 600 {
			on := states[r.IntN(len(states))]
			if w.HeaderState(on.ID) == nil {
				continue
			}
			b := w.add(types.Name(r.IntN(4)), on, r.IntN(20)*kib)
			states = append(states, b.HeaderState)
			if r.IntN(8) == 0 && (on.ID == w.Root().ID || w.IsValid(on.ID)) {
				if err := w.MarkValid(b.ID, nil); err != nil {
					t.Fatal(err)
				}
			}
			best := w.PendingHead().ID
			w.Shed()
			if w.PendingHead().ID != best {
				t.Fatalf("seed %d: the best block goes", seed)
			}
			aside := w.waiting
			for n := w.blocks[best]; n != nil && !n.valid; n = w.blocks[n.Header.Previous] {
				aside -= n.bytes
			}
			if aside > 300*kib {
				t.Fatalf("seed %d: %d bytes lead nowhere", seed, aside)
			}
			for _, n := range w.blocks {
				if w.blockOrRoot(n.Header.Previous) == nil {
					t.Fatalf("seed %d: block %s is left without the one before", seed, n.ID)
				}
			}
		}
		w.checkSum()
	}
}

// What a small header makes of a large list counts as what it takes, once for all who share it.
func TestPoliciesCountAsWhatTheyTake(t *testing.T) {
	header := func(num uint32, before types.Checksum256) *types.BlockHeader {
		h := &types.BlockHeader{Timestamp: types.BlockTimestamp(num), Previous: before,
			ScheduleVersion: types.ProperSchedule}
		return h
	}
	schedule := &types.ProducerSchedule{Producers: []types.ProducerAuthority{{Producer: 1}}}
	large := &types.FinalizerPolicy{Generation: 1, Threshold: 2, Finalizers: make([]types.Finalizer, 10_000)}
	for i := range large.Finalizers {
		large.Finalizers[i].Weight = uint64(i)
	}
	first := types.Checksum256{3: 1}
	f, err := finality.Genesis(header(2, first), schedule, &types.FinalityExtension{
		Finalizers: finality.DiffFinalizers(new(types.FinalizerPolicy), large)},
		finality.State{Activated: feature.NewActive()})
	if err != nil {
		t.Fatal(err)
	}
	genesis := &HeaderState{ID: f.ID, Finality: f, Header: types.SignedBlockHeader{BlockHeader: f.Header}}
	next := func(on *HeaderState, weight uint64) *BlockState {
		e := &types.FinalityExtension{Claim: on.Finality.Core.Claim()}
		if weight > 0 {
			changed := *large
			changed.Generation, changed.Finalizers = uint32(weight),
				append([]types.Finalizer{{Weight: weight}}, large.Finalizers...)
			e.Finalizers = finality.DiffFinalizers(on.Finality.LastProposed(), &changed)
		}
		f, err := on.Finality.Next(header(on.Finality.Num()+1, on.Finality.ID), e, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := &HeaderState{ID: f.ID, Finality: f, Header: types.SignedBlockHeader{BlockHeader: f.Header}}
		return &BlockState{HeaderState: s, Block: &types.SignedBlock{}}
	}
	const list = 10_000 * 100
	plain, proposes := next(genesis, 0), next(genesis, 2)
	if n := plain.grownBytes(genesis); n > 20*kib {
		t.Errorf("a block that proposes nothing takes %d bytes", n)
	}
	if n := proposes.grownBytes(genesis); n < list || n > 2*list {
		t.Errorf("a block that proposes 10,000 finalizers takes %d bytes", n)
	}
	after := next(proposes.HeaderState, 0)
	if n := after.grownBytes(proposes.HeaderState); n > 20*kib {
		t.Errorf("a block after it takes %d bytes", n)
	}
	var h Holding
	h.Add(proposes)
	both := h.Bytes()
	h.Add(after)
	if n := h.Bytes() - both; n > 20*kib {
		t.Errorf("a block after it adds %d bytes to what is held", n)
	}
	h.Remove(proposes)
	if n := h.Bytes(); n < list {
		t.Errorf("without it %d bytes are held, and the block after it has the list", n)
	}
	h.Remove(after)
	if n := h.Bytes(); n != 0 || len(h.shared) > 0 {
		t.Errorf("%d bytes are held for nothing", n)
	}
}
