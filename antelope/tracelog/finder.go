package tracelog

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"tarn/antelope/tracelog/slicefile"
	"tarn/antelope/types"
	"tarn/appendonly"
)

// finder tells in which block a transaction is. Irreversible blocks are in an index on
// disk, which lags behind; the others, and those that it lags behind with, in memory. What
// neither has, while the index of older files is being made, is looked for in the files.
type finder struct {
	files *slicefile.Log
	o     *Options

	mu      sync.Mutex
	change  sync.Cond
	recent  map[types.Checksum256]uint32 // the last block with a transaction
	blocks  map[uint32][]types.Checksum256
	low     uint32 // blocks from it on are in memory
	next    uint32 // blocks before it are in the index
	index   *appendonly.Index
	known   uint32 // irreversible block of the files when they were opened
	dropped bool   // slices were removed
	stale   bool   // the index lacks blocks that have come into the files since
	ended   bool   // nothing gets into the index any more
	awake   chan struct{}

	using    sync.RWMutex  // the index, among those who look into it and who makes it again
	scanning chan struct{} // holds one: who looks through the files
}

func newFinder(files *slicefile.Log, o *Options) *finder {
	f := &finder{
		files: files, o: o, recent: map[types.Checksum256]uint32{}, blocks: map[uint32][]types.Checksum256{},
		awake:    make(chan struct{}, 1),
		scanning: make(chan struct{}, 1),
	}
	f.change.L = &f.mu
	return f
}

// begin tells that blocks after the newest of the files are going to be added.
func (f *finder) begin() { f.low, f.known = f.files.Head()+1, f.files.Irreversible() }

// add adds a block, in the place of another one with its number. filled tells that the
// files lacked one that an index, which has only later ones, cannot take any more.
func (f *finder) add(num uint32, ids []types.Checksum256, filled bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stale = f.stale || filled
	if num > f.known { // else the files are looked into
		f.put(num, ids)
	}
}

// put adds a block to those in memory; with the lock held.
func (f *finder) put(num uint32, ids []types.Checksum256) {
	f.take(num)
	f.blocks[num] = ids
	for _, id := range ids {
		f.recent[id] = max(num, f.recent[id])
	}
}

// take takes a block out of memory; with the lock held.
func (f *finder) take(num uint32) []types.Checksum256 {
	ids := f.blocks[num]
	for _, id := range ids {
		if f.recent[id] == num {
			delete(f.recent, id)
		}
	}
	delete(f.blocks, num)
	return ids
}

// mostBehind is how many blocks the index may lag behind before recording waits for it.
const mostBehind = 20_000

// wait waits while the index lags too far behind.
func (f *finder) wait() {
	lib := f.files.Irreversible()
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.index != nil && !f.ended && int64(lib)-int64(f.next) > mostBehind {
		f.change.Wait()
	}
}

// wake tells that another block is irreversible.
func (f *finder) wake() {
	select {
	case f.awake <- struct{}{}:
	default: // it is awake
	}
}

// drop tells that slices were removed.
func (f *finder) drop() {
	f.mu.Lock()
	f.dropped = true
	f.mu.Unlock()
	f.wake()
}

// run makes the index, and keeps it up to date.
func (f *finder) run(ctx context.Context) {
	err := f.open(ctx)
	for err == nil {
		if err = f.follow(ctx); err != nil {
			break
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-f.awake:
		}
	}
	f.mu.Lock()
	f.ended = true
	f.change.Broadcast()
	f.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	f.o.Log.Error("The index of transactions cannot be written: until the node starts again, older transactions are "+
		"looked for in all traces, which takes long",
		"folder", f.dir(), "error", err)
	f.withoutIndex(ctx)
}

// withoutIndex lets go of blocks in memory that are irreversible.
func (f *finder) withoutIndex(ctx context.Context) {
	for {
		lib := f.files.Irreversible()
		f.mu.Lock()
		for ; f.low <= lib; f.low++ {
			f.take(f.low)
		}
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-f.awake:
		}
	}
}

func (f *finder) dir() string {
	return filepath.Join(f.o.Files.Dir, fmt.Sprintf("trace_find_%010d", f.o.Files.Stride))
}

// open opens the index, and adds to it what it lacks of the files; then nothing has to be
// looked for in them.
func (f *finder) open(ctx context.Context) error {
	lib := f.files.Irreversible()
	x, err := appendonly.OpenIndex(appendonly.IndexOptions{
		FS: f.files.FS(), Dir: f.dir(), Log: entries{ctx, f.files, uint64(lib) + 1}, Keys: keys, MemoryBytes: 16 << 20,
		Notice: func(err error) { f.o.Log.Warn("A part of the index of transactions is made again", "error", err) },
	})
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.index, f.next = x, lib+1
	low := f.low
	f.mu.Unlock()
	for num := low; num > lib+1; num-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		ids, err := f.files.IDs(num - 1)
		if err != nil {
			return err
		}
		f.mu.Lock()
		if _, there := f.blocks[num-1]; !there {
			f.put(num-1, ids)
		}
		f.low = num - 1
		f.mu.Unlock()
	}
	f.mu.Lock()
	f.low = min(f.low, lib+1)
	f.mu.Unlock()
	return nil
}

// follow adds to the index what is irreversible.
func (f *finder) follow(ctx context.Context) error {
	lib := f.files.Irreversible()
	f.mu.Lock()
	next, drop, stale := f.next, f.dropped, f.stale && lib > f.known
	f.dropped, f.stale = false, f.stale && !stale
	f.mu.Unlock()
	if stale {
		return f.rebuild(ctx)
	}
	if drop {
		if err := f.index.Drop(); err != nil {
			return err
		}
	}
	for ; next <= lib; next++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		f.mu.Lock()
		ids := f.blocks[next]
		f.mu.Unlock()
		if err := f.index.Add(uint64(next), appendKeys(nil, ids)); err != nil {
			return err
		}
		f.mu.Lock()
		f.take(next)
		f.next = next + 1
		f.low = max(f.low, f.next)
		f.change.Broadcast()
		f.mu.Unlock()
	}
	return f.index.Settle(uint64(next))
}

// rebuild makes the index from the beginning.
func (f *finder) rebuild(ctx context.Context) error {
	f.o.Log.Info("Blocks that were missing are in the traces now: the index of transactions is made again")
	f.using.Lock()
	f.mu.Lock()
	x := f.index
	f.index, f.next = nil, 0
	f.mu.Unlock()
	err := x.Close()
	f.using.Unlock()
	names, e := f.files.FS().List(f.dir())
	err = errors.Join(err, e)
	for _, name := range names {
		err = errors.Join(err, f.files.FS().Remove(filepath.Join(f.dir(), name)))
	}
	if err != nil {
		return err
	}
	return f.open(ctx)
}

// find returns the last block with a transaction. Anybody can ask, and to look through files takes
// long: it is done for one at a time, until ctx ends.
func (f *finder) find(ctx context.Context, id types.Checksum256) (num uint32, ok bool, err error) {
	num, ok, err = f.look(ctx, id, false)
	if !errors.Is(err, errScan) {
		return num, ok, err
	}
	select {
	case f.scanning <- struct{}{}:
	case <-ctx.Done():
		return 0, false, ctx.Err()
	}
	defer func() { <-f.scanning }()
	return f.look(ctx, id, true)
}

// errScan says that files have to be looked through.
var errScan = errors.New("neither memory nor the index has all blocks")

// look is find, which looks through files only if it is to.
func (f *finder) look(ctx context.Context, id types.Checksum256, scan bool) (num uint32, ok bool, err error) {
	f.using.RLock()
	defer f.using.RUnlock()
	f.mu.Lock()
	num, ok = f.recent[id]
	x, low, next := f.index, f.low, f.next
	f.mu.Unlock()
	if ok {
		return num, true, nil
	}
	if first := max(next, f.files.First()); low > first {
		if !scan {
			return 0, false, errScan
		}
		if num, ok, err = f.scan(ctx, id, first, low); ok || err != nil {
			return num, ok, err
		}
	}
	if x == nil {
		return 0, false, nil
	}
	err = x.Find(id[:keyBytes], uint64(f.files.First()), func(n uint64, _ []byte) bool {
		num, ok = uint32(n), true
		return true
	})
	return num, ok, err
}

// scan looks through the files for the last block with a transaction, from first on and before
// end.
func (f *finder) scan(ctx context.Context, id types.Checksum256, first, end uint32) (num uint32, ok bool, err error) {
	for num := end; num > first; num-- {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		ids, err := f.files.IDs(num - 1)
		if err != nil {
			return 0, false, err
		}
		if slices.Contains(ids, id) {
			return num - 1, true, nil
		}
	}
	return 0, false, nil
}

func (f *finder) stats() (indexed uint32, written int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index == nil {
		return 0, 0
	}
	return f.next - 1, f.index.Stats().Written
}

func (f *finder) close() error {
	if f.index == nil {
		return nil
	}
	return f.index.Close()
}

// keyBytes is how much of an id the index has: nobody finds two that begin alike.
const keyBytes = 16

// entries are the ids of irreversible blocks as the index reads them.
type entries struct {
	ctx   context.Context
	files *slicefile.Log
	next  uint64
}

func (e entries) First() uint64 { return uint64(e.files.First()) }

func (e entries) Next() uint64 { return e.next }

func (e entries) Read(number uint64, buf []byte) ([]byte, error) {
	if err := e.ctx.Err(); err != nil {
		return nil, err
	}
	ids, err := e.files.IDs(uint32(number))
	return appendKeys(buf, ids), err
}

func appendKeys(b []byte, ids []types.Checksum256) []byte {
	for i := range ids {
		b = append(b, ids[i][:keyBytes]...)
	}
	return b
}

// keys are what an entry is found by.
func keys(_ uint64, entry []byte, emit func(key, value []byte)) error {
	if len(entry)%keyBytes != 0 {
		return errors.New("an entry is no list of keys")
	}
	for ; len(entry) > 0; entry = entry[keyBytes:] {
		emit(entry[:keyBytes], nil)
	}
	return nil
}
