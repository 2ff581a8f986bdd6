package page

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"unsafe"

	"tarn/store"
	"tarn/store/vfs"
)

// Open opens the store in o.Dir, made if there is none (unless read-only). After
// a crash it finds the last durable image; there is nothing to repair. A refusal
// changes no file.
func Open(o Options) (_ *Engine, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	chosen := o.Mode != 0
	o.setDefaults()
	o.bound()
	e := &Engine{opts: o, fs: o.FS}
	e.path = filepath.Join(o.Dir, fileName)
	defer func() {
		if err != nil {
			err = errors.Join(err, e.discard())
		}
	}()
	exists, err := e.fs.Exists(e.path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if !exists && o.ReadOnly {
		return nil, &store.FormatError{Path: o.Dir, Detail: "there is no " + fileName}
	}
	if !exists {
		if err := vfs.MkdirAll(e.fs, o.Dir); err != nil {
			return nil, fmt.Errorf("make folder of store: %w", err)
		}
	}
	if err := e.acquire(); err != nil {
		return nil, err
	}
	// Somebody may have made the store, and finished with it, before we had the
	// lock: only what is there now may lead to a new one.
	if exists, err = e.fs.Exists(e.path); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := e.fitInMemory(chosen); err != nil {
		return nil, err
	}
	if !exists {
		if err := e.create(); err != nil {
			return nil, fmt.Errorf("create store %s: %w", e.path, err)
		}
	}
	if err := e.syncName(); err != nil {
		return nil, err
	}
	if err := e.load(); err != nil {
		return nil, err
	}
	return e, nil
}

// OpenVolatile returns a store in anonymous memory, without a file: the same tree
// for what need not survive. Its memory is given back by Close.
func OpenVolatile(limitBytes int64) (*Engine, error) {
	o := Options{Dir: "volatile", Mode: Heap, LimitBytes: (limitBytes + pageSize - 1) &^ (pageSize - 1)}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.setDefaults()
	e := &Engine{opts: o}
	e.path = "volatile store"
	if err := e.prepareMemory(nil); err != nil {
		return nil, errors.Join(err, e.discard())
	}
	e.generation = 1
	e.setEnd(firstPage)
	return e, e.Publish(0)
}

// acquire takes the folder's lock: shared for reading, so that many may read what
// nobody writes, exclusive for writing.
func (e *Engine) acquire() error {
	path := filepath.Join(e.opts.Dir, lockName)
	lock, holder, err := e.fs.Lock(path, !e.opts.ReadOnly)
	if errors.Is(err, vfs.ErrLocked) {
		pid := 0
		fmt.Sscanf(holder, "%d", &pid) //nolint:errcheck // zero is then shown
		return &store.LockedError{Path: e.opts.Dir, PID: pid}
	}
	if err != nil {
		return fmt.Errorf("lock store: %w", err)
	}
	e.lock = lock
	return nil
}

// fitInMemory: on tmpfs the file is memory already, and every mode but mapped would
// hold the state twice. One that was chosen is refused there.
func (e *Engine) fitInMemory(chosen bool) error {
	if e.opts.Mode == Mapped || e.opts.ReadOnly {
		return nil
	}
	in, err := e.fs.InMemory(e.opts.Dir)
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	if in && !chosen {
		e.opts.Mode = Mapped
		return nil
	}
	if in {
		return fmt.Errorf(
			"%s: mode %s on a file system in memory (tmpfs) would keep the state in memory twice; use mode %s there, "+
				"or a folder on a disk",
			e.opts.Dir, e.opts.Mode, Mapped)
	}
	return nil
}

// create makes an empty store under another name and renames it when it is whole.
func (e *Engine) create() (err error) {
	path := filepath.Join(e.opts.Dir, newName)
	f, err := e.fs.Create(path)
	if err != nil {
		return err
	}
	m := meta{generation: 1, end: firstPage, mode: e.opts.Mode}
	if _, err = f.WriteAt(append(m.encode(), make([]byte, pageSize)...), 0); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return e.fs.Rename(path, e.path)
}

// syncName makes the file's name durable. It is done at every open for writing:
// whoever made the file may have been killed before.
func (e *Engine) syncName() error {
	if e.opts.ReadOnly || planted == skipDirSync {
		return nil
	}
	if err := e.fs.SyncDir(e.opts.Dir); err != nil {
		return fmt.Errorf("sync folder of store: %w", err)
	}
	return nil
}

// load opens the file, chooses the image and makes it the present state.
func (e *Engine) load() (err error) {
	if e.view, err = e.fs.Open(e.path, false); err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	if !e.opts.ReadOnly {
		if e.file, err = e.fs.Open(e.path, true); err != nil {
			return fmt.Errorf("open store for writing: %w", err)
		}
	}
	if e.size, err = e.view.Size(); err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	m, fellBack, err := chooseMeta(e.path, e.view)
	if err != nil {
		return err
	}
	if int64(m.end)<<pageShift > capacity(e.opts.LimitBytes) {
		return &store.FullError{Path: e.path, Need: int64(m.end) << pageShift, Limit: e.opts.LimitBytes}
	}
	mapped := e.view
	if e.opts.Mode == Mapped && e.file != nil {
		mapped = e.file // a shared mapping that is written needs it
	}
	if err := e.prepareMemory(mapped); err != nil {
		return err
	}
	if e.opts.Mode == Mapped {
		if m.mode != Mapped {
			e.mem.forget()
		}
		if err := e.fillHoles(); err != nil {
			return err
		}
	}
	if err := e.adopt(m); err != nil {
		return err
	}
	if fellBack {
		// The newer meta page is damaged. After a crash in the middle of writing
		// it this image is whole; if it rotted, later writes may have touched
		// this one.
		var first error
		if err := e.Verify(func(problem error) { first = cmpError(first, problem) }); err != nil || first != nil {
			return fmt.Errorf("the newest image of %s is damaged, and the one before it: %w",
				e.path, cmpError(first, err))
		}
	}
	return e.anchor(m)
}

// anchor makes the image that was opened durable before anything is built on it. Its
// meta page may be in the page cache only: whoever wrote it may have been killed
// before the sync, or told by the sync that the page was lost, which no later sync
// makes good. What only the image before it reaches is free from now on, so a power
// cut must not bring that one back. Should the page be torn now, the image before it
// is whole, unless this one was durable already: then the same bytes are there.
func (e *Engine) anchor(m *meta) error {
	if e.file == nil || planted == trustCache {
		return nil
	}
	if err := e.writeMeta(m); err != nil {
		return fmt.Errorf("make the image that was found durable: %w", err)
	}
	return nil
}

// fillHoles reserves the blocks that a mode which writes by calls has left out: a
// shared mapping would find out about a full disk in the middle of a change. Such a
// session may have made the file longer without ever making an image, so this is done
// whoever wrote the image; where there are no holes it costs a walk over the extents.
func (e *Engine) fillHoles() error {
	if e.file == nil {
		return nil
	}
	if err := e.file.Allocate(0, e.size); err != nil {
		return diskFull(fmt.Errorf("reserve the %d bytes of %s for mode %s: %w", e.size, e.path, Mapped, err))
	}
	return nil
}

func cmpError(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// chooseMeta reads both meta pages and returns the newer sound one; fellBack says
// that the other page is neither sound nor still empty.
func chooseMeta(path string, f vfs.File) (m *meta, fellBack bool, err error) {
	buf := make([]byte, 2*pageSize)
	if n, err := f.ReadAt(buf, 0); err != nil {
		if n < len(buf) && isEOF(err) {
			return nil, false, &store.FormatError{Path: path, Detail: fmt.Sprintf("only %d bytes long", n)}
		}
		return nil, false, fmt.Errorf("read meta pages of %s: %w", path, err)
	}
	a, errA := decodeMeta(path, 0, buf[:pageSize])
	b, errB := decodeMeta(path, 1, buf[pageSize:])
	switch {
	case errA == nil && errB == nil:
		if a.sequence+1 != b.sequence && b.sequence+1 != a.sequence {
			return nil, false, corruptPage(path, 1, -1, fmt.Sprintf("meta pages have the sequences %d and %d",
				a.sequence, b.sequence))
		}
		if a.sequence > b.sequence {
			return a, false, nil
		}
		return b, false, nil
	case errA == nil:
		return a, !(a.sequence == 0 && allZero(buf[pageSize:])), nil
	case errB == nil:
		return b, true, nil
	}
	// Prefer the error that says more than "not one of ours".
	if errors.Is(errA, store.ErrFormat) && !errors.Is(errB, store.ErrFormat) {
		return nil, false, errB
	}
	return nil, false, errA
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// prepareMemory reserves addresses and bitmaps for the limit.
func (e *Engine) prepareMemory(file vfs.File) (err error) {
	total := (capacity(e.opts.LimitBytes) + hugePage - 1) &^ (hugePage - 1)
	if e.mem, err = newMemory(e.path, e.opts.Mode, e.opts.ReadOnly && !e.opts.Mode.Anonymous(), file,
		total); err != nil {
		return err
	}
	pages := total >> pageShift
	for _, b := range []*bitmap{&e.space.free, &e.dirty, &e.private, &e.raw, &e.checked} {
		if *b, err = newBitmap(pages + 64); err != nil {
			return err
		}
	}
	if e.space.holes, err = newBitmap(pages/chunkPages + 64); err != nil {
		return err
	}
	e.space.chunks = make([]uint16, pages/chunkPages+2)
	e.space.bound = uint32(e.opts.LimitBytes >> pageShift)
	e.spare, e.spare2 = scratchNode(), scratchNode()
	return nil
}

// adopt makes an image the present state.
func (e *Engine) adopt(m *meta) error {
	catalog, err := e.loadRun(m, m.catalog, kindCatalog)
	if err != nil {
		return err
	}
	list, err := e.loadRun(m, m.free, kindFree)
	if err != nil {
		return err
	}
	undo, err := e.loadRun(m, m.undo, kindUndo)
	if err != nil {
		return err
	}
	e.recovered = store.Image{Head: m.head, Irreversible: m.irreversible}
	if m.catalog.page != 0 {
		if e.tables, err = decodeCatalog(catalog); err != nil {
			return corruptPage(e.path, int64(m.catalog.page), -1, err.Error())
		}
		e.catalog = bytes.Clone(catalog)
	}
	if e.recovered.Undo, err = decodeUndo(undo, len(e.tables)); err != nil {
		return corruptPage(e.path, int64(m.undo.page), -1, err.Error())
	}
	e.setEnd(m.end)
	if err := decodeFree(list, m.end, func(page, pages uint32) { e.space.put(page, pages) }); err != nil {
		return corruptPage(e.path, int64(m.free.page), -1, err.Error())
	}
	tail := e.space.tail()
	if int64(tail)<<pageShift > e.size {
		return corruptPage(e.path, e.size>>pageShift, -1,
			fmt.Sprintf("the file is cut short: %d bytes, the image needs %d", e.size, int64(tail)<<pageShift))
	}
	if int64(e.space.end)<<pageShift > e.size { // the free end was cut off
		e.space.take(tail, e.space.end-tail)
		e.setEnd(tail)
	}
	// The file may be longer than the limit of today allows to map.
	e.size = min(e.size, e.mem.reserved) &^ (pageSize - 1)
	e.backed = e.size
	if err := e.mem.checkBound(int64(e.space.end-e.space.count) << pageShift); err != nil {
		return err
	}
	if err := e.mem.grow((e.size+hugePage-1)&^(hugePage-1), false); err != nil {
		return err
	}
	if e.opts.Mode.Anonymous() {
		if err := e.fill(); err != nil {
			return err
		}
	}
	for _, r := range []runRef{m.catalog, m.free, m.undo} {
		if r.page != 0 {
			e.blobs = append(e.blobs, runExtent(r, m.generation))
		}
	}
	e.image = *m
	e.counters.noteOpened(m)
	e.generation = m.generation
	e.durable = e.endGeneration(m.head)
	e.generation = m.generation + generationGap + rand.Uint64N(generationGap)
	return e.Publish(m.head)
}

// generationGap, and a random part, is left between an image and what follows its
// opening, so that pages which a killed process wrote for images that never came
// to be are not taken for new ones should a write of ours get lost.
const generationGap = 1 << 20

func (e *Engine) setEnd(end uint32) {
	e.space.end = end
	e.end.Store(end)
}

// loadRun reads and verifies one of an image's own runs.
func (e *Engine) loadRun(m *meta, r runRef, kind uint8) ([]byte, error) {
	if r.page == 0 {
		return nil, nil
	}
	b, err := readRunFile(e.path, e.view, e.size, r, kind, 0)
	if err != nil {
		return nil, err
	}
	if int64(r.page)+runPages(int64(r.size)) > int64(m.end) {
		return nil, corruptPage(e.path, int64(r.page), -1, "run reaches outside the file")
	}
	return b, nil
}

// readRunFile reads a run by file calls and returns its verified bytes.
func readRunFile(path string, f vfs.File, size int64, r runRef, kind uint8, t store.Table) ([]byte, error) {
	off, n := int64(r.page)<<pageShift, headerSize+int64(r.size)
	if r.page < firstPage || off+n > size {
		return nil, corruptPage(path, int64(r.page), -1, "run reaches outside the file")
	}
	words := make([]uint64, (n+7)/8) // aligned for the header
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
	if _, err := f.ReadAt(b, off); err != nil {
		return nil, fmt.Errorf("read %d bytes at offset %d of %s: %w", n, off, path, err)
	}
	if what := soundRun(unsafe.Pointer(unsafe.SliceData(words)), r, kind, t); what != "" && planted != skipChecksum {
		return nil, corruptPage(path, int64(r.page), -1, what)
	}
	return b[headerSize:], nil
}

// fill reads the pages in use into anonymous memory.
func (e *Engine) fill() error {
	const piece = 8 << 20 >> pageShift
	for p := e.space.free.nextClear(0, e.space.end); p < e.space.end; {
		end := min(e.space.free.next(p, e.space.end), p+piece)
		if _, err := e.view.ReadAt(e.mem.slice(p, end-p), int64(p)<<pageShift); err != nil {
			return fmt.Errorf("read %d pages at offset %d of %s: %w", end-p, int64(p)<<pageShift, e.path, err)
		}
		p = e.space.free.nextClear(end, e.space.end)
	}
	return nil
}

// Recovered implements store.Engine.
func (e *Engine) Recovered() store.Image { return e.recovered }

// Close implements store.Engine. With views open the memory stays mapped, and the
// store locked, until the last of them is closed.
func (e *Engine) Close() error {
	if e.closed.Swap(true) {
		return store.ErrClosed
	}
	if e.pending != nil {
		e.pending.Wait() //nolint:errcheck // its own waiter gets it
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left = true
	if e.views > 0 {
		return nil
	}
	return e.vacate()
}

// vacate gives memory, files and lock back, when nobody can come by any more.
func (e *Engine) vacate() error {
	err := e.unmap()
	if e.left {
		e.shorten()
	}
	return errors.Join(err, e.closeFiles())
}

func (e *Engine) unmap() error {
	if e.mem == nil {
		return nil
	}
	for _, b := range []*bitmap{&e.space.free, &e.dirty, &e.private, &e.raw, &e.checked, &e.space.holes} {
		b.release()
		*b = nil
	}
	return e.mem.close()
}

func (e *Engine) closeFiles() error {
	var errs []error
	if e.file != nil {
		errs = append(errs, e.file.Close())
	}
	if e.view != nil {
		errs = append(errs, e.view.Close())
	}
	if e.lock != nil {
		errs = append(errs, e.lock.Close())
	}
	return errors.Join(errs...)
}

// discard undoes a failed open.
func (e *Engine) discard() error {
	return e.vacate()
}

// Summary is what a meta page says of a store: enough to tell the age of its
// image without opening it.
type Summary struct {
	Path      string
	Durable   store.Durable
	Sequence  uint64 // checkpoints since the store was made
	Version   uint32
	SizeBytes int64
	Mode      Mode // that wrote the image
	Last      store.CheckpointStats
}

// Peek reads the meta pages of the store in dir, without its lock, so that it
// works beside a running writer. fs nil means vfs.OS.
func Peek(dir string, fs vfs.FS) (_ Summary, err error) {
	if fs == nil {
		fs = vfs.OS
	}
	path := filepath.Join(dir, fileName)
	f, err := fs.Open(path, false)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = &store.FormatError{Path: dir, Detail: "there is no " + fileName}
		}
		return Summary{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	m, _, err := chooseMeta(path, f)
	if err != nil {
		return Summary{}, err
	}
	size, err := f.Size()
	s := Summary{
		Path: path, Durable: store.Durable{Head: m.head, Irreversible: m.irreversible},
		Sequence: m.sequence, Version: formatVersion, SizeBytes: size, Mode: m.mode, Last: m.stats(),
	}
	return s, err
}
