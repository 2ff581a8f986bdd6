package blocklog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/internal/racedetector"
	"tarn/opera/inter"
	"tarn/store/vfs/memfs"
)

// maker makes random blocks out of few addresses and topics.
type maker struct{ *rand.Rand }

func (m maker) hash(of int) (h common.Hash) {
	twice := byte(m.IntN(2)) // some share a key
	h[0], h[12], h[20] = byte(m.IntN(of)), twice, twice
	return h
}

func (m maker) block() *Block {
	b := &Block{Time: inter.Timestamp(m.Uint64()), GasUsed: m.Uint64(), Root: []byte{}, Senders: []common.Address{},
		Found: []byte{}}
	for i := range b.ID {
		b.ID[i] = byte(m.IntN(256))
	}
	for range m.IntN(4) {
		r := &types.ReceiptForStorage{Status: 1, CumulativeGasUsed: m.Uint64(), Logs: []*types.Log{}}
		for range m.IntN(3) {
			l := &types.Log{Data: []byte{1}, Topics: []common.Hash{}}
			l.Address[0], l.Address[19] = byte(m.IntN(4)), byte(m.IntN(2))
			for range m.IntN(5) {
				l.Topics = append(l.Topics, m.hash(6))
			}
			r.Logs = append(r.Logs, l)
		}
		b.Receipts = append(b.Receipts, r)
		b.Senders = append(b.Senders, common.Address{byte(m.IntN(256))})
		for range HashBytes {
			b.Found = append(b.Found, byte(m.IntN(4)))
		}
	}
	return b
}

func (m maker) query(last int) *Query {
	q := &Query{From: inter.BlockNumber(m.IntN(last)), To: inter.BlockNumber(m.IntN(last + 10))}
	for range m.IntN(3) {
		q.Addresses = append(q.Addresses, common.Address{byte(m.IntN(5))})
	}
	for range m.IntN(4) {
		var topics []common.Hash
		for range m.IntN(3) {
			topics = append(topics, m.hash(7))
		}
		q.Topics = append(q.Topics, topics)
	}
	return q
}

// may tells by the bytes that keys have whether a block may have what a query wants.
func may(b *Block, q *Query) bool {
	one := func(same func(*types.Log) bool) bool {
		return slices.ContainsFunc(b.Receipts, func(r *types.ReceiptForStorage) bool {
			return slices.ContainsFunc(r.Logs, same)
		})
	}
	if len(q.Addresses) != 0 && !one(func(l *types.Log) bool {
		return slices.ContainsFunc(q.Addresses, func(a common.Address) bool { return a[0] == l.Address[0] })
	}) {
		return false
	}
	for i, topics := range q.Topics {
		if len(topics) != 0 && !one(func(l *types.Log) bool {
			return len(l.Topics) > i && slices.ContainsFunc(topics, func(t common.Hash) bool {
				return t[0] == l.Topics[i][0]
			})
		}) {
			return false
		}
	}
	return true
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Blocks of a genesis and of the chain's own are found as a list of them says, through
// reopening, sorting and cutting.
func TestBlocksAreFound(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	m := maker{rand.New(rand.NewPCG(seed, 0))}
	const first = 200
	blocks := map[inter.BlockNumber]*Block{}
	o := Options{FS: memfs.New(), Dir: "/blocks", First: first, IndexBytes: 20_000, Notice: func(err error) {
		t.Error(err)
	}}
	l, err := Open(o)
	must(t, err)
	for n := inter.BlockNumber(first - 1); n >= 50; n-- {
		blocks[n] = m.block()
		must(t, l.AppendBrought(n, blocks[n]))
	}
	if l.AppendBrought(60, m.block()) == nil {
		t.Error("blocks of a genesis are taken out of order")
	}
	next := inter.BlockNumber(first)
	for range 12 {
		for range m.IntN(60) {
			blocks[next] = m.block()
			must(t, l.Append(next, blocks[next]))
			must(t, l.AppendRoot(next, [32]byte{byte(next)}))
			next++
		}
		must(t, l.Settle(next-min(next-first, 10)))
		if m.IntN(3) == 0 {
			cut := next - min(next-first, 5)
			must(t, l.Cut(cut, cut))
			for ; next > cut; next-- {
				delete(blocks, next-1)
			}
		}
		if m.IntN(3) == 0 {
			must(t, l.Sync())
			must(t, l.Close())
			o.Brought, o.Need, o.NeedRoots = first-50, next, next
			l, err = Open(o)
			must(t, err)
		}
		compare(t, m, l, blocks, int(next))
	}
	if l.own.index.Stats().Runs == 0 || l.brought.index.Stats().Runs == 0 {
		t.Error("nothing was sorted")
	}
	must(t, l.Verify(func(err error) { t.Error(err) }, nil))
	must(t, l.Close())
}

func compare(t *testing.T, m maker, l *Log, blocks map[inter.BlockNumber]*Block, next int) {
	t.Helper()
	for range 20 {
		n := inter.BlockNumber(m.IntN(next + 5))
		got, err := l.Block(n)
		must(t, err)
		if want := blocks[n]; (want == nil) != (got == nil) ||
			want != nil && !reflect.DeepEqual(got.Receipts, want.Receipts) && len(want.Receipts) != 0 {
			t.Fatalf("block %d is %+v, want %+v", n, got, want)
		}
		root, ok, err := l.Root(n)
		must(t, err)
		if own := blocks[n] != nil && n >= l.first; ok != own || own && root != [32]byte{byte(n)} {
			t.Fatalf("root of block %d: %x, %v", n, root, ok)
		}
		if want := blocks[n]; want != nil {
			checkFound(t, l, n, want)
		}
	}
	for range 10 {
		q := m.query(next)
		var got, want []inter.BlockNumber
		must(t, l.Logging(context.Background(), q, func(n inter.BlockNumber) bool {
			got = append(got, n)
			return true
		}))
		for n := q.From; n <= q.To; n++ {
			if b := blocks[n]; b != nil && may(b, q) {
				want = append(want, n)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: blocks %v, want %v", q, got, want)
		}
	}
}

// Topics that differ only where addresses, numbers or short texts differ have keys of their own,
// or each block with such a topic would be read for a search.
func TestWhatTopicsAreAsksForDifferentKeys(t *testing.T) {
	keys := map[string]common.Hash{}
	for i := range 1000 {
		for _, topic := range []common.Hash{
			common.BigToHash(new(big.Int).Lsh(big.NewInt(int64(i)), 90)),
			common.BigToHash(big.NewInt(int64(1_000_000 + i))),
			common.BytesToHash(common.RightPadBytes([]byte(fmt.Sprintf("text %d", i)), 32)),
		} {
			k := string(topicKey(0, topic))
			if other, had := keys[k]; had && other != topic {
				t.Fatalf("%x and %x have one key", other, topic)
			}
			keys[k] = topic
		}
	}
}

// checkFound looks a block up by its id and its transactions.
func checkFound(t *testing.T, l *Log, n inter.BlockNumber, b *Block) {
	t.Helper()
	var numbers []inter.BlockNumber
	must(t, l.Numbers(b.ID, func(n inter.BlockNumber) bool { numbers = append(numbers, n); return true }))
	if !slices.Contains(numbers, n) {
		t.Fatalf("block %d is not found by its id, but %v", n, numbers)
	}
	for i := range b.Receipts {
		var hash common.Hash
		copy(hash[:], b.Found[i*HashBytes:][:HashBytes])
		found := false
		must(t, l.Transactions(hash, func(of inter.BlockNumber, index uint) bool {
			found = found || of == n && index == uint(i)
			return true
		}))
		if !found {
			t.Fatalf("transaction %d of block %d is not found", i, n)
		}
	}
}

// The id of a block is had without the block, whose logs take many times their bytes in memory.
func TestAnIDIsReadWithoutItsBlock(t *testing.T) {
	racedetector.SkipMeasure(t)
	l, err := Open(Options{FS: memfs.New(), Dir: "/blocks", First: 2})
	must(t, err)
	large := &Block{ID: inter.EventID{1, 2, 3}, Receipts: []*types.ReceiptForStorage{{}}}
	for range 20_000 {
		large.Receipts[0].Logs = append(large.Receipts[0].Logs, &types.Log{Topics: make([]common.Hash, 4)})
	}
	must(t, l.AppendBrought(1, large))
	must(t, l.Append(2, large))
	must(t, l.AppendRecord(5, large))
	bytes := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for n := inter.BlockNumber(1); n <= 2; n++ {
		whole := bytes(func() {
			_, err := l.Block(n)
			must(t, err)
		})
		of := bytes(func() {
			id, found, err := l.ID(n)
			must(t, err)
			if !found || id != large.ID {
				t.Errorf("the id of block %d is %x, %v", n, id, found)
			}
		})
		t.Logf("the id of block %d takes %d KiB, the block %d", n, of>>10, whole>>10)
		if of > whole/2 {
			t.Errorf("the id of block %d takes %d bytes, the block %d", n, of, whole)
		}
	}
	if id, found, err := l.ID(5); err != nil || found && id != large.ID {
		t.Errorf("the id of a record: %x, %v, %v", id, found, err)
	}
	if _, found, err := l.ID(3); err != nil || found {
		t.Errorf("the id of no block: %v, %v", found, err)
	}
	must(t, l.Close())
}

func TestASearchEndsWithItsContext(t *testing.T) {
	l, err := Open(Options{FS: memfs.New(), Dir: "/blocks", First: 1})
	must(t, err)
	m := maker{rand.New(rand.NewPCG(1, 2))}
	must(t, l.Append(1, m.block()))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Logging(ctx, &Query{To: 1}, func(inter.BlockNumber) bool { return true }); err == nil {
		t.Error("it goes on")
	}
}

// Topics that are named again, or others that have the same key, are looked for once, and what many keys find of the same
// blocks takes no memory for each of them.
func TestAThousandTopicsOfTheSameBlocksTakeNoMemory(t *testing.T) {
	racedetector.SkipMeasure(t)
	const blocks, named = 4000, 1000
	topics := func(salt byte) (list []common.Hash) { // of one key, and of as many as there are salts
		for i := range named {
			var topic common.Hash
			binary.BigEndian.PutUint32(topic[:], uint32(i))
			binary.BigEndian.PutUint32(topic[8:], uint32(i))
			topic[7] = salt
			list = append(list, topic)
		}
		return list
	}
	several := topics(0)
	for i := range several {
		several[i] = topics(byte(i % 100))[0]
	}
	l, err := Open(Options{FS: memfs.New(), Dir: "/blocks"})
	must(t, err)
	all := &Block{Receipts: []*types.ReceiptForStorage{{Logs: []*types.Log{}}}}
	for salt := range 100 {
		all.Receipts[0].Logs = append(all.Receipts[0].Logs, &types.Log{Topics: topics(byte(salt))[:1]})
	}
	for n := range inter.BlockNumber(blocks) {
		must(t, l.Append(n, all))
	}
	for what, list := range map[string][]common.Hash{"one key": topics(0), "a hundred keys": several} {
		var before, after runtime.MemStats
		found := 0
		runtime.ReadMemStats(&before)
		must(t, l.Logging(t.Context(), &Query{To: blocks, Topics: [][]common.Hash{list}}, func(inter.BlockNumber) bool {
			found++
			return true
		}))
		runtime.ReadMemStats(&after)
		took := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d KiB", what, took>>10)
		if found != blocks || took > 4<<20 {
			t.Errorf("%s: %d blocks are found, with %d KiB", what, found, took>>10)
		}
	}
	must(t, l.Close())
}

// A search looks for no further key when its time is over.
func TestASearchForManyKeysEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	_, err := ofEach(ctx, [][][]byte{{{1}, {2}, {3}}}, inter.BlockNumber(0), func([]byte, func(inter.BlockNumber)) error {
		asked++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || asked != 1 {
		t.Errorf("%d keys are looked for: %v", asked, err)
	}
}
