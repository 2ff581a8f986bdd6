package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb/memorydb"
	"github.com/ethereum/go-ethereum/trie"

	"tarn/appendonly"
)

// archived is a chain with an archive, and what was to be seen after each block.
type archived struct {
	*chain
	archive *Archive
	seen    []string
}

func newArchived(t *testing.T, r *rand.Rand) *archived {
	a := &archived{chain: newChain(t, r)}
	a.openArchive(1)
	a.seen = []string{a.sight(a.tables.Flat(a.store))}
	return a
}

func (a *archived) openArchive(need uint64) {
	var err error
	a.archive, err = OpenArchive(ArchiveOptions{
		Log:   appendonly.LogOptions{FS: a.disk, Dir: "/archive", First: 1, Need: need, SegmentBytes: 20_000},
		Index: appendonly.IndexOptions{FS: a.disk, Dir: "/archive.index", MemoryBytes: 20_000, FanIn: 3},
	})
	check(a.t, err)
}

// sight is all of a state, its slots as a walk gives them.
func (a *archived) sight(s Source) string {
	b := NewBlock(s)
	out := sight(b)
	for i := range someAddresses {
		address := address(i + 1)
		check(a.t, s.Slots(crypto.Keccak256Hash(address[:]), common.Hash{}, func(s Slot) bool {
			out += fmt.Sprintf("%x: %x\n", s.Hash, s.Value)
			return true
		}))
	}
	check(a.t, b.Error())
	return out
}

func (a *archived) grow(blocks int) {
	for range blocks {
		a.block()
		check(a.t, a.archive.Append(a.made[len(a.made)-1]))
		a.seen = append(a.seen, a.sight(a.tables.Flat(a.store)))
		if a.r.IntN(10) == 0 {
			check(a.t, a.archive.Sync())
			cp, err := a.store.Checkpoint()
			check(a.t, err)
			check(a.t, cp.Wait())
			check(a.t, a.archive.Settle(a.store.Durable().Head))
		}
	}
}

func TestEachOldStateIsWhatItWas(t *testing.T) {
	a := newArchived(t, newRand(t))
	for range 3 {
		a.grow(20)
		head := uint64(len(a.made) - 1)
		view, err := a.store.View()
		check(t, err)
		for number := range head + 1 {
			old, err := a.archive.At(number, head, a.tables.Flat(view), 1_000_000)
			check(t, err)
			if got := a.sight(old); got != a.seen[number] {
				t.Fatalf("block %d at %d:\n%s\nwant\n%s", number, head, got, a.seen[number])
			}
		}
		// A view of before sees what was then, whatever has been archived since.
		a.grow(3)
		old, err := a.archive.At(head-5, head, a.tables.Flat(view), 1_000_000)
		check(t, err)
		if got := a.sight(old); got != a.seen[head-5] {
			t.Fatalf("block %d in a view of %d:\n%s\nwant\n%s", head-5, head, got, a.seen[head-5])
		}
		check(t, view.Close())
		// After a crash the archive is ahead, and is cut.
		check(t, a.archive.Close())
		a.crashTo()
	}
	check(t, a.archive.Verify(func(err error) { t.Error(err) }, nil))
	a.roots.Close()
	check(t, errors.Join(a.archive.Close(), a.store.Close()))
}

// crashTo loses what no checkpoint has, and makes the blocks again.
func (a *archived) crashTo() {
	a.roots.Close()
	check(a.t, a.store.Close())
	a.reopen()
	head := a.store.Head()
	a.openArchive(head + 1)
	check(a.t, a.archive.Cut(head))
	for _, c := range a.made[head+1:] {
		check(a.t, a.archive.Append(c))
		a.apply(c)
	}
}

func TestStatesThatWereDroppedAreSaidToBe(t *testing.T) {
	a := newArchived(t, newRand(t))
	a.grow(250)
	head := uint64(len(a.made) - 1)
	check(t, a.archive.Drop(head-10))
	if _, err := a.archive.At(1, head, a.tables.Flat(a.store), 1000); !errors.Is(err, ErrNoState) {
		t.Errorf("state of a block that was dropped: %v", err)
	}
	old, err := a.archive.At(head-10, head, a.tables.Flat(a.store), 100_000)
	check(t, err)
	if got := a.sight(old); got != a.seen[head-10] {
		t.Errorf("the oldest that is kept:\n%s\nwant\n%s", got, a.seen[head-10])
	}
	far, err := a.archive.At(head-10, head, a.tables.Flat(a.store), 3)
	check(t, err)
	if err := far.Slots(common.Hash{}, common.Hash{}, func(Slot) bool { return true }); !errors.Is(err, ErrFar) {
		t.Errorf("a walk over the limit: %v", err)
	}
	if _, err := a.archive.At(head+1, head+1, a.tables.Flat(a.store), 3); err != nil {
		t.Errorf("the newest state needs no archive: %v", err)
	}
	if err := a.archive.Append(a.made[3]); err == nil {
		t.Error("a block was archived twice")
	}
	a.roots.Close()
	check(t, errors.Join(a.archive.Close(), a.store.Close()))
}

// proves checks a proof against the root that go-ethereum has for the block.
func (a *archived) proves(p *Proof, number uint64, address common.Hash) {
	a.t.Helper()
	if p.Number != number || p.Root != a.known[number] {
		a.t.Fatalf("proof of block %d with root %x, want %d and %x", p.Number, p.Root, number, a.known[number])
	}
	if p.Root == emptyRoot {
		if p.Account != nil || len(p.Nodes) != 0 {
			a.t.Fatalf("there is %+v in no state", p)
		}
		return
	}
	db := memorydb.New()
	for _, node := range p.Nodes {
		check(a.t, db.Put(crypto.Keccak256(node), node))
	}
	leaf, err := trie.VerifyProof(p.Root, address[:], db)
	check(a.t, err)
	if p.Account == nil {
		if leaf != nil {
			a.t.Fatalf("there is an account, %x", leaf)
		}
	} else if want, err := encodeLeaf(p.Account, p.Storage); err != nil || !bytes.Equal(leaf, want) {
		a.t.Fatalf("leaf %x, want %x (%v)", leaf, want, err)
	}
	for _, s := range p.Slots {
		db := memorydb.New()
		for _, node := range s.Nodes {
			check(a.t, db.Put(crypto.Keccak256(node), node))
		}
		if p.Storage == emptyRoot {
			if s.Value != (common.Hash{}) {
				a.t.Fatalf("slot %x is %x in no storage", s.Hash, s.Value)
			}
			continue
		}
		leaf, err := trie.VerifyProof(p.Storage, s.Hash[:], db)
		check(a.t, err)
		if got, err := decodeWord(leaf); err != nil || got != s.Value {
			a.t.Fatalf("slot %x is proved to be %x, and said to be %x", s.Hash, got, s.Value)
		}
	}
}

// Proofs hold against go-ethereum's roots: at the head, while the trie is behind it, and at
// blocks that it has passed.
func TestProofsHoldAtAnyBlock(t *testing.T) {
	a := newArchived(t, newRand(t))
	a.grow(60)
	view, err := a.store.View()
	check(t, err)
	head := uint64(len(a.made) - 1)
	for range 150 {
		number := 1 + uint64(a.r.IntN(int(head)))
		address := address(1 + a.r.IntN(someAddresses+1))
		hash := crypto.Keccak256Hash(address[:])
		var slots []common.Hash
		for i := range a.r.IntN(4) {
			key := slot(i)
			slots = append(slots, crypto.Keccak256Hash(key[:]))
		}
		p, err := a.tables.Prove(t.Context(), view, a.archive, number, 100_000, hash, slots)
		check(t, err)
		a.proves(p, number, hash)
		old, err := a.archive.At(number, head, a.tables.Flat(view), 0)
		check(t, err)
		account, err := old.Account(hash)
		check(t, err)
		if (account == nil) != (p.Account == nil) {
			t.Fatalf("account %v, proved %v", account, p.Account)
		}
		for _, s := range p.Slots {
			if want, err := old.Slot(hash, s.Hash); err != nil || want != s.Value {
				t.Fatalf("slot %x is %x, proved %x (%v)", s.Hash, want, s.Value, err)
			}
		}
	}
	if _, err := a.tables.Prove(t.Context(), view, a.archive, 1, 5, common.Hash{}, nil); !errors.Is(err, ErrFar) {
		t.Errorf("a proof over the limit: %v", err)
	}
	for _, number := range []uint64{0, head + 1} {
		archive := a.archive
		if number == 0 {
			archive = nil
		}
		_, err := a.tables.Prove(t.Context(), view, archive, number, 100_000, common.Hash{}, nil)
		if !errors.Is(err, ErrNoState) {
			t.Errorf("a proof of block %d: %v", number, err)
		}
	}
	check(t, view.Close())
	a.roots.Close()
	check(t, errors.Join(a.archive.Close(), a.store.Close()))
}

// asks is a context that ends when it has been asked a number of times whether it has.
type asks struct {
	context.Context
	left int
}

func (a *asks) Err() error {
	if a.left--; a.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// A proof ends with its context wherever it is: while changes are read, applied and taken back, and while nodes
// are read.
func TestAProofEndsWithItsContext(t *testing.T) {
	a := newArchived(t, newRand(t))
	a.grow(20)
	view, err := a.store.View()
	check(t, err)
	hash := crypto.Keccak256Hash(common.Address{}.Bytes())
	for _, number := range []uint64{1, uint64(len(a.made) - 1)} {
		slots := make([]common.Hash, 10)
		whole := &asks{t.Context(), 1 << 20}
		_, err := a.tables.Prove(whole, view, a.archive, number, 100_000, hash, slots)
		check(t, err)
		asked := 1<<20 - whole.left
		if asked < len(slots) {
			t.Errorf("a proof of block %d asks %d times", number, asked)
		}
		for n := range asked {
			_, err := a.tables.Prove(&asks{t.Context(), n}, view, a.archive, number, 100_000, hash, slots)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("a proof of block %d, which ends at %d of %d: %v", number, n, asked, err)
			}
		}
	}
	check(t, view.Close())
	a.roots.Close()
	check(t, errors.Join(a.archive.Close(), a.store.Close()))
}

// FuzzValues reads changes that are anything.
func FuzzValues(f *testing.F) {
	f.Add(encodeValues([]accountValue{{hash: slot(1), account: &Account{Code: emptyCode, Nonce: 3},
		slots: []slotValue{{slot(1), slot(2)}, {slot(3), common.Hash{}}}}, {hash: slot(2), wiped: true}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := decodeValues(data)
		n := 0
		e := archiveKeys(0, data, func(_, _ []byte) { n++ })
		if (err == nil) != (e == nil) {
			t.Fatalf("%v, %v", err, e)
		}
		for i := range values {
			n -= 1 + len(values[i].slots)
		}
		if err == nil && n != 0 {
			t.Fatalf("%d keys too many", n)
		}
	})
}

// Slots that one block has changed are read together, however many there are.
func TestTheChangesOfABlockAreNotReadForEachSlot(t *testing.T) {
	const slots = 2000
	a := newArchived(t, newRand(t))
	changeAll := func(value byte) {
		a.blockOf(1, func(both []vm.StateDB, _ uint64) {
			for _, db := range both {
				db.SetNonce(address(1), 1, tracing.NonceChangeUnspecified)
				for i := range slots {
					db.SetState(address(1), slot(i), common.Hash{31: value})
				}
			}
		})
		check(t, a.archive.Append(a.made[len(a.made)-1]))
	}
	a.grow(1)
	changeAll(1)
	changeAll(2)
	head := uint64(len(a.made) - 1)
	old, err := a.archive.At(head-1, head, a.tables.Flat(a.store), 1_000_000)
	check(t, err)
	entry, err := a.archive.log.Read(head, nil)
	check(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range slots {
		s := slot(i)
		got, err := old.Slot(crypto.Keccak256Hash(address(1).Bytes()), crypto.Keccak256Hash(s[:]))
		check(t, err)
		if got != (common.Hash{31: 1}) {
			t.Fatalf("slot %d is %x", i, got)
		}
	}
	runtime.ReadMemStats(&after)
	if took, most := after.TotalAlloc-before.TotalAlloc, uint64(slots/10*len(entry)); took > most {
		t.Errorf("reading %d slots takes %d bytes of memory, more than %d: the %d of their block are read again",
			slots, took, most, len(entry))
	}
	a.roots.Close()
	check(t, errors.Join(a.archive.Close(), a.store.Close()))
}
