package blocklog

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"testing"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/finality"
	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
)

var (
	seedFlag   = flag.Uint64("blocklog.seed", 1, "seed of the random tests; 0 takes one from the clock")
	statesFlag = flag.Int("blocklog.states", 1500, "crash states of each life to open")
)

// newRand returns a random source and logs how to repeat it.
func newRand(t testing.TB) *rand.Rand {
	s := *seedFlag
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with -blocklog.seed=%d", s)
	return rand.New(rand.NewPCG(s, 7))
}

// testFS lists what a memfs has, through whatever lies before it.
type testFS struct {
	vfs.FS
	mem *memfs.FS
}

func (f testFS) List(dir string) ([]string, error) {
	var names []string
	for _, p := range f.mem.Paths() {
		if path.Dir(p) == path.Clean(dir) {
			names = append(names, path.Base(p))
		}
	}
	return names, nil
}

func memory() testFS { m := memfs.New(); return testFS{m, m} }

// sample is a packed block with what a log needs to know of it.
type sample struct {
	num  uint32
	id   types.Checksum256
	data []byte
}

// chain makes blocks that link to each other.
type chain struct {
	rand *rand.Rand
	last sample
}

// next makes the next block, with about size bytes of content.
func (c *chain) next(size int) sample {
	b := types.SignedBlock{}
	b.Timestamp = types.BlockTimestamp(1000 + c.last.num)
	b.Producer = types.Name(c.rand.Uint64())
	b.Previous = c.last.id
	if c.last.num > 0 && c.last.data == nil {
		b.Previous[0], b.Previous[1] = byte(c.last.num>>24), byte(c.last.num>>16)
		b.Previous[2], b.Previous[3] = byte(c.last.num>>8), byte(c.last.num)
	}
	c.fill(b.ActionMRoot[:])
	c.fill(b.ProducerSignature.Compact[:])
	for size > 0 {
		n := min(size, 1+c.rand.IntN(600))
		tx := types.PackedTransaction{PackedTrx: make([]byte, n)}
		c.fill(tx.PackedTrx)
		r := types.TransactionReceipt{Packed: &tx}
		r.CPUUsageUS = c.rand.Uint32()
		b.Transactions = append(b.Transactions, r)
		size -= n
	}
	leaves := make([]types.Checksum256, len(b.Transactions))
	for i := range leaves {
		leaves[i] = b.Transactions[i].Digest()
	}
	b.TransactionMRoot = consensus.MerkleRoot(slices.Clone(leaves))
	if c.rand.IntN(2) == 0 {
		b.ScheduleVersion, b.TransactionMRoot = types.ProperSchedule, finality.Root(leaves)
	}
	data := b.Append(nil)
	c.last = sample{b.BlockNum(), b.ID(), data}
	return c.last
}

func (c *chain) fill(b []byte) {
	for i := range b {
		b[i] = byte(c.rand.Uint32())
	}
}

// newChain makes the chain whose next block has a number.
func newChain(r *rand.Rand, first uint32) *chain {
	return &chain{rand: r, last: sample{num: first - 1}}
}

var testChainID = types.Hash([]byte("a chain"))

const testDir = "/node/blocks"

func testOptions(fs logcatalog.FS) Options {
	return Options{Dir: testDir, FS: fs, Now: func() time.Time { return time.Unix(1700000000, 0) }}
}

func ptr[T any](v T) *T { return &v }

func mustOpen(t testing.TB, o Options) *Log {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// begin resets a log to the start of a chain and appends its first block if that is
// block 1.
func begin(t testing.TB, l *Log, c *chain) []sample {
	t.Helper()
	if c.last.num != 0 {
		must(t, l.Reset(testChainID, c.last.num+1))
		return nil
	}
	s := c.next(0)
	must(t, l.ResetGenesis(types.DefaultGenesis(), s.data))
	return []sample{s}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func add(t testing.TB, l *Log, c *chain, n, size int) []sample {
	t.Helper()
	var list []sample
	for range n {
		s := c.next(size)
		must(t, l.Append(s.num, s.id, s.data))
		list = append(list, s)
	}
	return list
}

// check compares a log with the blocks that it must have.
func check(l *Log, want []sample) error {
	num, id, ok := l.Head()
	if len(want) == 0 {
		if ok {
			return fmt.Errorf("head is block %d, expected none", num)
		}
		return nil
	}
	last := want[len(want)-1]
	if !ok || num != last.num || id != last.id {
		return fmt.Errorf("head is block %d (%v), expected %d", num, ok, last.num)
	}
	if l.First() != want[0].num {
		return fmt.Errorf("first is %d, expected %d", l.First(), want[0].num)
	}
	for _, s := range want {
		b, err := l.ReadRaw(s.num)
		if err != nil {
			return err
		}
		if string(b) != string(s.data) {
			return fmt.Errorf("block %d differs", s.num)
		}
	}
	for _, num := range []uint32{last.num + 1, want[0].num - 1} {
		if _, err := l.ReadRaw(num); err == nil {
			return fmt.Errorf("block %d was read", num)
		}
	}
	return nil
}
