package finalizer

import (
	"errors"
	"flag"
	"io/fs"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"tarn/antelope/crypto"
	"tarn/antelope/feature"
	"tarn/antelope/finality"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

var seed = flag.Uint64("finalizer.seed", 1, "seed of the lives of finalizers")

// twoKeys are those of finalizers that everybody may know.
func twoKeys() []*crypto.BLSPrivateKey {
	return []*crypto.BLSPrivateKey{crypto.NewBLSPrivateKey([32]byte{1}), crypto.NewBLSPrivateKey([32]byte{2})}
}

// chain makes blocks for the finalizers of twoKeys and of one that is not here.
type chain struct {
	t    *testing.T
	tips []*finality.State // the ends of its branches
	slot types.BlockTimestamp
}

func newChain(t *testing.T) *chain {
	t.Helper()
	keys := append(twoKeys(), crypto.NewBLSPrivateKey([32]byte{3}))
	policy := &types.FinalizerPolicy{Generation: 1, Threshold: 2}
	for _, k := range keys {
		policy.Finalizers = append(policy.Finalizers, types.Finalizer{Weight: 1, Key: k.Public()})
	}
	h := types.BlockHeader{Timestamp: 100, Producer: 1}
	e := types.FinalityExtension{Claim: types.QCClaim{Block: 1},
		Finalizers: finality.DiffFinalizers(new(types.FinalizerPolicy), policy)}
	h.Extensions = h.Extensions.Insert(types.HeaderFinality, e.Append(nil))
	schedule := types.ProducerSchedule{Producers: []types.ProducerAuthority{{Producer: 1}}}
	s, err := finality.Genesis(&h, &schedule, &e, finality.State{Activated: feature.NewActive()})
	if err != nil {
		t.Fatal(err)
	}
	return &chain{t: t, tips: []*finality.State{s}, slot: 100}
}

// next makes a block that follows one, and claims that the one before has a strong certificate if
// certified says so.
func (c *chain) next(on *finality.State, certified bool) *finality.State {
	c.t.Helper()
	c.slot++
	claim := on.Core.Claim()
	if certified && on.IsProper() {
		claim = types.QCClaim{Block: on.Num(), Strong: true}
	}
	h := types.BlockHeader{Timestamp: c.slot, Producer: 1, Previous: on.ID, ScheduleVersion: types.ProperSchedule}
	e := types.FinalityExtension{Claim: claim}
	h.Extensions = h.Extensions.Insert(types.HeaderFinality, e.Append(nil))
	s, err := on.Next(&h, &e, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

func open(t *testing.T, files vfs.FS, c *chain) *Finalizers {
	t.Helper()
	f, err := Open(Options{Keys: twoKeys(), Dir: "/node/finalizers", Files: files})
	if err != nil {
		t.Fatal(err)
	}
	ref := finality.Remember(c.tips[0].Ref())
	f.Begin(finality.Safety{Last: ref, Lock: ref})
	return f
}

func node(t *testing.T) *memfs.FS {
	t.Helper()
	mem := memfs.New()
	if err := mem.Mkdir("/node"); err != nil {
		t.Fatal(err)
	}
	return mem
}

func TestFinalizersVoteOnceForABlock(t *testing.T) {
	c := newChain(t)
	f := open(t, node(t), c)
	b := c.next(c.tips[0], false)
	votes, err := f.Vote(b)
	if err != nil || len(votes) != 2 {
		t.Fatalf("%d votes, %v", len(votes), err)
	}
	a := finality.NewAggregate(b)
	for i := range votes {
		if !votes[i].Strong || votes[i].Block != b.ID || len(a.Verify([]*finality.Vote{&votes[i]})) != 1 || a.Add(&votes[i]) != finality.Counted {
			t.Errorf("vote %d: %+v", i, votes[i])
		}
	}
	if qc := a.Best(); qc == nil || !qc.IsStrong() {
		t.Errorf("two of three are no quorum: %v", qc)
	}
	if votes, err := f.Vote(b); err != nil || len(votes) != 0 {
		t.Errorf("voted again: %d, %v", len(votes), err)
	}
	if votes, err := f.Vote(c.tips[0]); err != nil || len(votes) != 0 {
		t.Errorf("voted for the genesis block: %d, %v", len(votes), err)
	}
}

// One finalizer's vote makes durable where the others begin too: who goes on with the file must not take them
// for finalizers that are locked on nothing, which never vote.
func TestFinalizersThatHaveNotVotedAreInTheSafetyFile(t *testing.T) {
	c, files := newChain(t), node(t)
	f := open(t, files, c)
	keys, b := f.Keys(), c.next(c.tips[0], false)
	alone := *b
	alone.Finalizers = &types.FinalizerPolicy{Threshold: 1, Finalizers: []types.Finalizer{{Weight: 1, Key: keys[1]}}}
	if votes, err := f.Vote(&alone); err != nil || len(votes) != 1 || votes[0].Key != keys[1] {
		t.Fatalf("%d votes, %v", len(votes), err)
	}
	s, err := finality.OpenSafeties(files, "/node/finalizers/"+finality.SafetyFileName, keys)
	if err != nil {
		t.Fatal(err)
	}
	ref := finality.Remember(c.tips[0].Ref())
	if got, _ := s.Get(keys[0]); got != (finality.Safety{Last: ref, Lock: ref}) {
		t.Errorf("who has not voted remembers %+v, and begins with %+v", got, ref)
	}
	if got, _ := s.Get(keys[1]); got.Last.ID != b.ID {
		t.Errorf("who voted for %s remembers %+v", b.ID, got)
	}
}

func TestASecondProcessDoesNotVote(t *testing.T) {
	c, dir := newChain(t), t.TempDir()
	f, err := Open(Options{Keys: twoKeys(), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Keys: twoKeys(), Dir: dir}); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(Options{Keys: twoKeys(), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if votes, err := again.Vote(c.next(c.tips[0], false)); err != nil || len(votes) != 0 {
		t.Errorf("a finalizer that nobody told where to begin votes: %d, %v", len(votes), err)
	}
	twice, err := Open(Options{Keys: append(twoKeys(), twoKeys()...), Dir: t.TempDir()})
	if err != nil {
		t.Fatal("keys that are given twice:", err)
	}
	defer twice.Close()
	if len(twice.Keys()) != 2 {
		t.Errorf("two keys, given twice, are %d finalizers", len(twice.Keys()))
	}
}

// After a lost safety file a strong certificate tells what was voted for.
func TestACertificateTellsOfVotes(t *testing.T) {
	c := newChain(t)
	f := open(t, node(t), c)
	first := c.next(c.tips[0], false)
	second := c.next(first, true)
	a := finality.NewAggregate(second)
	votes, err := f.Vote(second)
	if err != nil {
		t.Fatal(err)
	}
	for i := range votes {
		a.Add(&votes[i])
	}
	lost := open(t, node(t), c)
	if err := lost.Learn(second, a.Best()); err != nil {
		t.Fatal(err)
	}
	other := c.next(c.tips[0], false) // claims nothing newer than the lock
	if votes, err := lost.Vote(other); err != nil || len(votes) != 0 {
		t.Errorf("%d votes for another branch, %v", len(votes), err)
	}
}

// A vote that could not be made durable was not cast: what certificates tell of an earlier life still
// counts.
func TestACertificateTellsOfVotesAfterAVoteThatFailed(t *testing.T) {
	c := newChain(t)
	disk := errorfs.New(node(t))
	f := open(t, disk, c)
	first := c.next(c.tips[0], false)
	second := c.next(first, true)
	disk.Inject(errorfs.Fault{Ops: errorfs.Write, Ever: true, Err: syscall.ENOSPC})
	if votes, err := f.Vote(first); !errors.Is(err, syscall.ENOSPC) || len(votes) > 0 {
		t.Fatalf("%d votes on a full disk: %v", len(votes), err)
	}
	disk.Clear()
	qc := &types.QuorumCertificate{Block: second.Num(),
		Active: types.QCSignature{Strong: types.NewBitset(3, 0, 1, 2)}}
	if err := f.Learn(second, qc); err != nil {
		t.Fatal(err)
	}
	for _, k := range f.Keys() {
		if s, _ := f.safeties.Get(k); s.Last.ID != second.ID {
			t.Errorf("what the certificate for block %d tells was not learnt: %+v", second.Num(), s)
		}
	}
}

// ballot is what was voted for in a slot.
type ballot struct {
	key  types.BLSPublicKey
	slot types.BlockTimestamp
}

// Finalizers are killed, lose their power, and meet disks that fail, at any moment; they never vote
// twice in a slot, and whoever finds their votes on the disk finds all that left.
func TestFinalizersThatLoseTheirPowerNeverVoteTwice(t *testing.T) {
	t.Logf("-finalizer.seed=%d", *seed)
	r := rand.New(rand.NewPCG(*seed, 3))
	for range 40 {
		c := newChain(t)
		cast := map[ballot]types.Checksum256{}
		disk := node(t)
		for range 6 {
			disk = oneLife(t, r, c, disk, cast)
		}
		if len(cast) == 0 {
			t.Fatal("nobody voted")
		}
	}
}

// oneLife lets finalizers vote until something ends them, and returns a disk that may be left.
func oneLife(t *testing.T, r *rand.Rand, c *chain, mem *memfs.FS, cast map[ballot]types.Checksum256) *memfs.FS {
	t.Helper()
	record := recordfs.New(mem)
	if err := record.Adopt(mem.Paths()...); err != nil {
		t.Fatal(err)
	}
	files := errorfs.New(record)
	f := open(t, files, c)
	defer f.Close()
	files.Inject(errorfs.Fault{Ops: errorfs.Change, Nth: 1 + r.IntN(60), Ever: r.IntN(2) == 0,
		Err: syscall.EIO, Part: true})
	for range 1 + r.IntN(12) {
		b := c.next(c.tips[r.IntN(len(c.tips))], r.IntN(3) > 0)
		if c.tips = append(c.tips, b); len(c.tips) > 4 {
			c.tips = append(c.tips[:1], c.tips[2:]...) // the first is where they begin
		}
		votes, err := f.Vote(b)
		if err != nil && !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
		for _, v := range votes {
			at := ballot{v.Key, b.Time()}
			if before, twice := cast[at]; twice && before != v.Block {
				t.Fatalf("a finalizer voted for %s and %s in slot %d", before, v.Block, b.Time())
			}
			cast[at] = v.Block
		}
		if err == nil && r.IntN(4) == 0 { // the same slot on another branch
			c.slot--
			other := c.next(c.tips[0], r.IntN(2) == 0)
			if votes, _ := f.Vote(other); len(votes) > 0 && len(cast) > 0 {
				for _, v := range votes {
					if before, twice := cast[ballot{v.Key, other.Time()}]; twice && before != v.Block {
						t.Fatalf("a finalizer voted for %s and %s in slot %d", before, v.Block, other.Time())
					}
				}
			}
		}
	}
	return leftByCrash(t, r, record)
}

// leftByCrash is one of the disks that a power cut may leave now.
func leftByCrash(t *testing.T, r *rand.Rand, record *recordfs.FS) *memfs.FS {
	t.Helper()
	var states []*memfs.FS
	for s := range record.Recording().States(recordfs.Options{From: record.Position(), Count: 12, Seed: r.Uint64()}) {
		states = append(states, s.FS)
	}
	disk := states[r.IntN(len(states))]
	if err := disk.Mkdir("/node"); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	return disk
}
