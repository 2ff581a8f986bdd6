package blocklog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tarn/antelope/types"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
)

// references finds the reference logs of nodeos, which are not part of the project.
func references(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("TARN_LEAP_SNAPSHOTS"); dir != "" {
		return dir
	}
	for _, up := range []string{"../../../shared/data", "../../shared/data"} {
		dir := filepath.Join(up, "leap-snapshots")
		if _, err := os.Stat(filepath.Join(dir, LogName)); err == nil {
			return dir
		}
	}
	t.Skip("no reference logs; TARN_LEAP_SNAPSHOTS names their folder")
	return ""
}

func load(t *testing.T, fs testFS, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	must(t, err)
	fs.mem.Put(to, memfs.NewBlob(b))
}

func TestReferenceLogsAreReadAndGoneOnWith(t *testing.T) {
	for _, c := range []struct {
		dir    string
		blocks uint32
	}{{"", 3}, {"prod_sched", 5}} {
		fs := memory()
		load(t, fs, filepath.Join(references(t), c.dir, LogName), testDir+"/"+LogName)
		load(t, fs, filepath.Join(references(t), c.dir, IndexName), testDir+"/"+IndexName)
		log, index := fs.mem.Blob(testDir+"/"+LogName).Bytes(), fs.mem.Blob(testDir+"/"+IndexName).Bytes()

		l := mustOpen(t, testOptions(fs))
		if l.Recovery() != (Recovery{}) {
			t.Errorf("%s: repaired a sound log: %+v", c.dir, l.Recovery())
		}
		num, id, ok := l.Head()
		if !ok || num != c.blocks || l.First() != 1 || l.Version() != 2 {
			t.Fatalf("%s: blocks %d to %d, version %d", c.dir, l.First(), num, l.Version())
		}
		var previous types.Checksum256
		for n := range c.blocks {
			b, err := l.Read(n + 1)
			must(t, err)
			if b.Previous != previous || b.BlockNum() != n+1 {
				t.Errorf("%s: block %d does not link", c.dir, n+1)
			}
			previous = b.ID()
			raw, _ := l.ReadRaw(n + 1)
			if !bytes.Equal(b.Append(nil), raw) {
				t.Errorf("%s: block %d is encoded otherwise", c.dir, n+1)
			}
			if h, err := l.ReadHeader(n + 1); err != nil || h.ID() != previous {
				t.Errorf("%s: header of block %d: %v", c.dir, n+1, err)
			}
		}
		if previous != id {
			t.Errorf("%s: head id differs", c.dir)
		}
		must(t, l.Close())
		if !bytes.Equal(log, fs.mem.Blob(testDir+"/"+LogName).Bytes()) ||
			!bytes.Equal(index, fs.mem.Blob(testDir+"/"+IndexName).Bytes()) {
			t.Errorf("%s: opening and closing changed the files", c.dir)
		}
		if ok, _ := fs.Exists(testDir + "/" + TailName); ok {
			t.Error("the tail's file is left after closing")
		}

		l = mustOpen(t, testOptions(fs))
		next := &chain{rand: newRand(t), last: sample{num: num, id: id, data: log}}
		added := add(t, l, next, 3, 500)
		must(t, l.Close())
		l = mustOpen(t, testOptions(fs))
		if got, err := l.ReadRaw(num + 2); err != nil || !bytes.Equal(got, added[1].data) {
			t.Errorf("block appended to a log of nodeos: %v", err)
		}
		if l.Version() != 2 {
			t.Error("appending changed the version")
		}
		must(t, l.Close())
	}
}

func TestWhatIsAppendedIsRead(t *testing.T) {
	for _, first := range []uint32{1, 10} {
		for _, buffer := range []int{0, 3000, 1 << 20} {
			fs := memory()
			o := testOptions(fs)
			o.BufferBytes = buffer
			c := newChain(newRand(t), first)
			l := mustOpen(t, o)
			if _, _, ok := l.Head(); ok {
				t.Error("an empty folder has a head")
			}
			s := newChain(c.rand, first).next(0)
			if err := l.Append(s.num, s.id, s.data); !is(err, NotNext) {
				t.Errorf("append before a reset: %v", err)
			}
			want := begin(t, l, c)
			for range 20 {
				want = append(want, add(t, l, c, 3, c.rand.IntN(2000))...)
				must(t, check(l, want))
			}
			s = sample{num: 500}
			if err := l.Append(s.num, s.id, s.data); !is(err, NotNext) {
				t.Errorf("append out of order: %v", err)
			}
			must(t, l.Sync(want[len(want)-1].num))
			if l.Durable() != want[len(want)-1].num {
				t.Errorf("durable up to %d", l.Durable())
			}
			must(t, l.Close())
			if _, err := l.ReadRaw(first); !errors.Is(err, ErrClosed) {
				t.Errorf("read after close: %v", err)
			}
			l = mustOpen(t, o)
			must(t, check(l, want))
			if id, ok := l.ChainID(); !ok || first > 1 && id != testChainID {
				t.Error("the chain's id is another one")
			}
			must(t, l.Close())
		}
	}
}

func TestBlocksAreIteratedInOrder(t *testing.T) {
	fs := memory()
	o := testOptions(fs)
	o.Stride, o.BufferBytes = ptr(uint32(50)), 5000
	c := newChain(newRand(t), 1)
	l := mustOpen(t, o)
	want := append(begin(t, l, c), add(t, l, c, 199, 100)...)
	want = append(want, add(t, l, c, 30, 0)...)
	for _, r := range [][2]uint32{{1, 230}, {40, 60}, {51, 51}, {200, 230}, {229, 230}} {
		it := l.Blocks(context.Background(), r[0], r[1])
		n := r[0]
		for ; it.Next(); n++ {
			e := it.Entry()
			if e.Num != n || !bytes.Equal(e.Data, want[n-1].data) {
				t.Fatalf("entry %d instead of block %d", e.Num, n)
			}
		}
		if it.Err() != nil || n != r[1]+1 {
			t.Errorf("blocks %v: ended before %d: %v", r, n, it.Err())
		}
		it.Close()
	}
	it := l.Blocks(context.Background(), 225, 240)
	for it.Next() {
	}
	if !errors.Is(it.Err(), ErrNotFound) {
		t.Errorf("beyond the head: %v", it.Err())
	}
	it.Close()
	ctx, cancel := context.WithCancel(context.Background())
	it = l.Blocks(ctx, 1, 230)
	cancel()
	for it.Next() {
	}
	if it.Entry().Num != 230 && it.Err() == nil {
		t.Error("a cancelled iteration ended as if it were whole")
	}
	it.Close()
	must(t, l.Close())
}

func TestReadersRunBesideTheAppender(t *testing.T) {
	for name, o := range map[string]Options{
		"basic":       {BufferBytes: 4000},
		"partitioned": {Stride: ptr(uint32(20)), MaxRetainedFiles: ptr(uint32(3)), BufferBytes: 2000},
		"pruned":      {RetainBlocks: ptr(uint32(30)), PruneBytes: 4096},
	} {
		t.Run(name, func(t *testing.T) {
			fs := memory()
			o.Dir, o.FS, o.SyncBytes = testDir, fs, 20000
			l := mustOpen(t, o)
			c := newChain(newRand(t), 1)
			var mu sync.Mutex
			all := begin(t, l, c)
			done := make(chan struct{})
			var readers sync.WaitGroup
			for range 4 {
				readers.Go(func() {
					for n := uint32(0); ; n++ {
						select {
						case <-done:
							return
						default:
						}
						head, _, _ := l.Head()
						num := 1 + n*7%head
						b, err := l.ReadRaw(num)
						if errors.Is(err, ErrNotFound) && num < l.First() {
							continue
						}
						if err != nil {
							t.Errorf("block %d of %d: %v", num, head, err)
							return
						}
						mu.Lock()
						want := all[num-1].data
						mu.Unlock()
						if !bytes.Equal(b, want) {
							t.Errorf("block %d differs", num)
							return
						}
					}
				})
			}
			readers.Go(func() { // a checkpoint
				for {
					select {
					case <-done:
						return
					default:
					}
					if num, _, ok := l.Head(); ok {
						if err := l.Sync(num); err != nil || l.Durable() < num {
							t.Errorf("sync up to %d: %d are durable: %v", num, l.Durable(), err)
							return
						}
					}
				}
			})
			for range 400 {
				s := c.next(c.rand.IntN(1500))
				mu.Lock()
				all = append(all, s)
				mu.Unlock()
				must(t, l.Append(s.num, s.id, s.data))
				if c.rand.IntN(20) == 0 {
					must(t, l.Sync(s.num))
				}
			}
			close(done)
			readers.Wait()
			must(t, l.Close())
		})
	}
}

func TestOptionsAreRefusedAllAtOnceInNodeosWords(t *testing.T) {
	o := Options{RetainBlocks: ptr(uint32(5)), Stride: ptr(uint32(0)), PruneBytes: 3}
	err := o.Validate()
	for _, want := range []string{
		"block-log-retain-blocks cannot be specified together with blocks-retained-dir, blocks-archive-dir or blocks-log-stride or max-retained-block-files.",
		"blocks-dir", "blocks-log-stride", "power of 2",
	} {
		if !bytes.Contains(fmt.Append(nil, err), []byte(want)) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
	if !is(err, BadOption) {
		t.Errorf("%v is of another kind", err)
	}
	if err := (&Options{Dir: "x"}).Validate(); err != nil {
		t.Error(err)
	}
}

// An append that finds a sync under way returns at once. Its block must not wait in memory
// for the append after it: a process may end before there is one.
func TestAnAppendBesideASyncIsWrittenWhenTheSyncIsDone(t *testing.T) {
	m := memfs.New()
	slow := errorfs.New(m)
	o := testOptions(testFS{slow, m})
	o.SyncBytes = 1
	l := mustOpen(t, o)
	must(t, l.Reset(testChainID, 5))
	c := newChain(rand.New(rand.NewPCG(1, 1)), 5)
	first, second := c.next(100), c.next(100)
	beside := make(chan error, 1)
	var once sync.Once
	slow.Trace(func(op errorfs.Op, path string) {
		if op == errorfs.Sync && filepath.Base(path) == LogName {
			once.Do(func() {
				go func() { beside <- l.Append(second.num, second.id, second.data) }()
				must(t, <-beside)
			})
		}
	})
	must(t, l.Append(first.num, first.id, first.data))
	slow.Trace(nil)
	l.mu.RLock()
	waiting := len(l.pending)
	l.mu.RUnlock()
	if waiting > 0 || l.written != second.num {
		t.Errorf("%d blocks are in memory only, block %d is the last that is written", waiting, l.written)
	}
	must(t, l.Close())
}

// is tells whether an error is of a kind.
func is(err error, f Fault) bool {
	var e *Error
	return errors.As(err, &e) && e.Fault == f
}
