package state

import (
	"encoding/binary"
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"tarn/appendonly"
	"tarn/internal/scratch"
	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
)

var (
	slotsFlag = flag.Int("state.slots", 9_000,
		"fresh slots that are written, 300 a transaction, for the bytes that reach the disk; 90,000 is the figure")
	accountsFlag = flag.Int("state.accounts", 100_000,
		"accounts, or slots of one contract, among which a benchmark reads")
)

// TestMain has the figures' folders on a disk.
func TestMain(m *testing.M) {
	if err := scratch.OnDisk(); err != nil {
		os.Stderr.WriteString(err.Error() + "\n") //nolint:errcheck // nobody is left to tell
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func onDisk(t testing.TB) (store.Store, *Tables, string) {
	dir := t.TempDir()
	e, err := page.Open(page.Options{Dir: dir, LimitBytes: 16 << 30})
	check(t, err)
	s, err := revision.Open(e)
	check(t, err)
	tables, err := Open(s)
	check(t, err)
	check(t, s.Publish())
	return s, tables, dir
}

func hashOf(n uint64) common.Hash {
	return crypto.Keccak256Hash(binary.BigEndian.AppendUint64(nil, n))
}

// Fresh slots, three transactions of 300 a block, with an archive and two checkpoints: the
// state's file, nodes of the trie, changes that waited for it, log and index together write
// at most 60 MB for 90,000; and at most three bytes for each of the archive's log.
func TestFreshSlotsAreWrittenOnce(t *testing.T) {
	s, tables, dir := onDisk(t)
	archive, err := OpenArchive(ArchiveOptions{
		Log: appendonly.LogOptions{Dir: dir + "/archive", First: 1},
		// Small, so that there are levels of merging as in an archive a thousand times as
		// large.
		Index: appendonly.IndexOptions{Dir: dir + "/index", MemoryBytes: int64(*slotsFlag) * 2},
	})
	check(t, err)
	roots, err := tables.StartRoots(s, RootsOptions{})
	check(t, err)
	blocks := uint64(*slotsFlag / 900)
	for number := uint64(1); number <= blocks; number++ {
		b := NewBlock(tables.Flat(s))
		for tx := range uint64(3) {
			b.SetNonce(address(1), number*3+tx, 0)
			for i := range uint64(300) {
				n := (number*3+tx)*300 + i
				b.SetState(address(2), hashOf(n), common.BigToHash(uint256.NewInt(n).ToBig()))
			}
			b.SetNonce(address(2), 1, 0)
			b.Finalise(london)
		}
		c, err := b.Finish(number)
		check(t, err)
		check(t, archive.Append(c))
		push(t, s, func() error { return errors.Join(tables.Write(s, c), roots.Write(s, c)) })
		check(t, roots.Follow(c))
		if number == blocks/2 || number == blocks {
			check(t, roots.Settle())
			check(t, roots.Collect(s))
			check(t, s.Publish())
			check(t, archive.Sync())
			cp, err := s.Checkpoint()
			check(t, err)
			check(t, cp.Wait())
		}
		check(t, archive.Settle(number))
	}
	stats, state := archive.Stats(), s.Stats().Written.Total()
	total := state + stats.LogBytes + stats.Index.Written
	perByte := float64(stats.LogBytes+stats.Index.Written) / float64(stats.LogBytes)
	t.Logf(
		"%d slots: state %.1f MB, log %.2f MB, runs %.2f MB (%d, %.2f MB now), together %.1f MB; %.2f bytes written "+
			"a byte of history",
		*slotsFlag, mega(state), mega(stats.LogBytes), mega(stats.Index.Written), stats.Index.Runs,
		mega(stats.Index.RunBytes), mega(total), perByte)
	if limit := int64(*slotsFlag) * 60_000_000 / 90_000; total > limit {
		t.Errorf("%d bytes written, more than %d", total, limit)
	}
	if perByte > 3 {
		t.Errorf("%.2f bytes written for a byte of history", perByte)
	}
	roots.Close()
	check(t, errors.Join(archive.Close(), s.Close()))
}

func mega(n int64) float64 { return float64(n) / 1e6 }

// distinct is how many different rows a benchmark reads before it reads one again: more than
// the processor's caches hold.
const distinct = 1 << 21

// readFlat puts rows, and has some of them read from a view, in random order.
func readFlat(
	b *testing.B, put func(s store.Store, tables *Tables, hash common.Hash, i uint64),
	read func(flat *Flat, hash common.Hash) bool,
) {
	s, tables, _ := onDisk(b)
	for i := range *accountsFlag {
		put(s, tables, hashOf(uint64(i)), uint64(i))
		if i%100_000 == 0 {
			check(b, s.Relieve())
		}
	}
	check(b, s.Publish())
	cp, err := s.Checkpoint()
	check(b, err)
	check(b, cp.Wait())
	view, err := s.View()
	check(b, err)
	flat := tables.Flat(view)
	hashes := make([]common.Hash, min(distinct, *accountsFlag))
	for i := range hashes {
		hashes[i] = hashOf(uint64(i) * 7919 % uint64(*accountsFlag))
	}
	b.ResetTimer()
	for i := range b.N {
		if !read(flat, hashes[i%len(hashes)]) {
			b.Fatalf("row %d of %d is not there, or wrong", i, *accountsFlag)
		}
	}
	b.StopTimer()
	check(b, errors.Join(view.Close(), s.Close()))
}

// BenchmarkFlatAccount reads accounts of a view, in random order.
func BenchmarkFlatAccount(b *testing.B) {
	readFlat(b, func(s store.Store, tables *Tables, hash common.Hash, i uint64) {
		a := &Account{Nonce: i, Code: emptyCode, Address: common.BytesToAddress(hash[:])}
		check(b, s.Put(tables.accounts, hash[:], appendAccount(nil, a)))
	}, func(flat *Flat, hash common.Hash) bool {
		a, err := flat.Account(hash)
		return err == nil && a != nil && a.Address == common.BytesToAddress(hash[:])
	})
}

// BenchmarkFlatSlot reads slots of one contract from a view, in random order.
func BenchmarkFlatSlot(b *testing.B) {
	contract := hashOf(1 << 40)
	readFlat(b, func(s store.Store, tables *Tables, hash common.Hash, i uint64) {
		check(b, s.Put(tables.slots, slotKey(nil, contract, hash),
			appendSlot(nil, common.BigToHash(uint256.NewInt(i+1).ToBig()), hash, true)))
	}, func(flat *Flat, hash common.Hash) bool {
		value, err := flat.Slot(contract, hash)
		return err == nil && value != common.Hash{}
	})
}
