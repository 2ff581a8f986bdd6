package page

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"runtime/debug"
	"slices"
	"time"
	"unsafe"

	"tarn/store"
)

// A checkpoint is one image on its way to the disk. The writer freezes the state
// (freeze), a goroutine writes it (run), and the writer takes the outcome in
// (settle) when it comes by next.
type checkpoint struct {
	snapshot *snapshot
	meta     meta
	runs     []extent // pages to write; raw tells which have no node header
	raw      bitmap
	fresh    bitmap   // chunks whose memory is not the file's: see Engine.back
	blobs    []extent // catalog, free list and undo data of this image
	catalog  []byte   // encoded
	started  time.Time
	pause    time.Duration
	returned int64 // bytes of memory given back
	named    bool  // its meta page may be on the disk
	err      error
	done     chan struct{}
}

// Wait implements store.Checkpoint.
func (c *checkpoint) Wait() error {
	<-c.done
	return c.err
}

// Done implements store.Checkpoint.
func (c *checkpoint) Done() <-chan struct{} { return c.done }

// Checkpoint implements store.Engine.
func (e *Engine) Checkpoint(im store.Image) (_ store.Checkpoint, err error) {
	switch {
	case e.opts.ReadOnly:
		return nil, store.ErrReadOnly
	case e.file == nil:
		return nil, errVolatile
	case e.failed != nil:
		return nil, e.failed
	}
	if e.pending != nil {
		e.pending.Wait() //nolint:errcheck // its own waiter gets it
		e.settle()
		if e.failed != nil {
			return nil, e.failed
		}
	}
	defer e.rescueWriter(debug.SetPanicOnFault(true), &err)
	if e.isSaved(im) {
		c := &checkpoint{done: make(chan struct{})}
		close(c.done)
		return c, nil
	}
	c, err := e.freeze(im)
	if err != nil {
		e.counters.checkpointsFailed.Add(1)
		return nil, err
	}
	e.pending = c
	go func() {
		defer close(c.done)
		e.run(c)
	}()
	return c, nil
}

// isSaved tells whether the durable image is the present state already. Every change of a
// table gives it another root, for nothing that the image reaches is changed in place. While
// the disk may give back the image of a checkpoint that failed, a newer one has to take its
// place: a start would prefer it.
func (e *Engine) isSaved(im store.Image) bool {
	return len(e.doubtful) == 0 && im.Head == e.image.head && im.Irreversible == e.image.irreversible &&
		e.opts.Mode == e.image.mode &&
		e.catalog != nil && bytes.Equal(e.catalog, encodeCatalog(e.tables))
}

// freeze makes the present state the image: it writes the catalog, the undo data
// and the free list into pages and notes which pages the disk does not have.
func (e *Engine) freeze(im store.Image) (*checkpoint, error) {
	c := &checkpoint{started: time.Now(), done: make(chan struct{})}
	e.reap()
	size := 0
	for _, j := range im.Undo {
		size += len(j) + 4
	}
	if size > maxRun {
		return nil, fmt.Errorf(
			"checkpoint of revision %d: undo data of %d bytes, %d are the most, until more revisions are "+
				"irreversible: %w",
			im.Head, size, maxRun, store.ErrFull)
	}
	if err := e.findInFile(); err != nil {
		return nil, fmt.Errorf("checkpoint of revision %d: %w", im.Head, err)
	}
	catalog, undo := encodeCatalog(e.tables), encodeUndo(im.Undo)
	// The free list grows by no more than a few runs while its own pages and
	// those of the others are taken.
	freeSize := len(encodeFree(e.imageFree(), e.space.end)) + 64
	pages := runPages(int64(len(catalog))) + runPages(int64(len(undo))) + runPages(int64(freeSize))
	if err := e.reserve(0, pages, e.roomForImage()); err != nil {
		return nil, fmt.Errorf("checkpoint of revision %d: %w", im.Head, err)
	}
	c.meta = meta{
		sequence: e.image.sequence + 1, head: im.Head, irreversible: im.Irreversible, generation: e.generation,
		mode: e.opts.Mode, catalog: e.writeRun(kindCatalog, 0, catalog),
	}
	if len(undo) > 0 {
		c.meta.undo = e.writeRun(kindUndo, 0, undo)
	}
	list := e.writeRun(kindFree, 0, make([]byte, freeSize))
	c.meta.end = e.space.end
	free := make([]byte, freeSize) // zeros end the list
	unreached := e.imageFree()
	copy(free, encodeFree(unreached, e.space.end))
	c.meta.free = e.fillRun(list, kindFree, 0, free)
	c.catalog = catalog
	c.blobs = []extent{runExtent(c.meta.catalog, e.generation), runExtent(list, e.generation)}
	if len(undo) > 0 {
		c.blobs = append(c.blobs, runExtent(c.meta.undo, e.generation))
	}
	c.takeDirty(e, unreached)
	c.snapshot = e.endGeneration(im.Head)
	if planted == writeInPlace {
		e.generation--
	}
	c.pause = time.Since(c.started)
	return c, nil
}

// maxRun bounds the undo data of an image, in bytes.
const maxRun = 2 << 30

func runExtent(r runRef, generation uint64) extent {
	return extent{r.page, uint32(runPages(int64(r.size))), generation}
}

// imageFree is the set of pages that the image about to be made does not reach:
// the free ones, those that only older snapshots still block, and the older
// image's own.
func (e *Engine) imageFree() bitmap {
	free := bitmap(slices.Clone(e.space.free[:e.space.end>>6+1]))
	mark := func(x extent) {
		for p := x.page; p < x.page+x.pages; p++ {
			free.set(p)
		}
	}
	for _, s := range e.live {
		for _, x := range s.blocked {
			mark(x)
		}
	}
	for _, x := range e.blobs {
		mark(x)
	}
	for _, d := range e.doubtful {
		for _, x := range d.blobs {
			mark(x)
		}
	}
	return free
}

// takeDirty moves the dirty pages that the image reaches from the engine to the
// checkpoint. The others, which only views can see, may be freed and used anew
// while the checkpoint is under way.
func (c *checkpoint) takeDirty(e *Engine, unreached bitmap) {
	for w := range unreached {
		word := e.dirty[w] &^ unreached[w]
		unreached[w] = word // from here on: what is taken
		e.dirty[w] &^= word
		c.meta.pages += int64(bits.OnesCount64(word))
	}
	e.dirtyPages -= c.meta.pages
	unreached.runs(firstPage, e.space.end, func(page, pages uint32) {
		c.runs = append(c.runs, extent{page: page, pages: pages})
	})
	c.raw = slices.Clone(e.raw[:e.space.end>>6+1])
	c.fresh = e.mem.freshBelow(e.space.end)
}

// run makes the image durable. It reads frozen pages and writes the file, and
// touches nothing else of the engine that is not shared.
func (e *Engine) run(c *checkpoint) {
	err := e.commit(c)
	if e.opts.Mode == MappedPrivate && (err == nil || c.named) {
		c.giveBack(e)
	}
	if err != nil {
		c.err = fmt.Errorf("checkpoint of revision %d: %w", c.meta.head, err)
		e.counters.checkpointsFailed.Add(1)
		return
	}
	e.counters.noteFinished(c, time.Now())
}

func (e *Engine) commit(c *checkpoint) (err error) {
	defer e.rescue(debug.SetPanicOnFault(true), &err)
	if err := e.writePages(c.runs, c.raw, &e.counters.checkpoint); err != nil {
		return err
	}
	if planted != skipDataSync {
		if err := e.file.Sync(); err != nil {
			return &syncError{fmt.Errorf("sync %s: %w", e.path, err)}
		}
	}
	if e.opts.BeforeCheckpoint != nil && planted != logAfterMeta {
		if err := e.opts.BeforeCheckpoint(c.meta.head); err != nil {
			return fmt.Errorf("before the meta page: %w", err)
		}
	}
	c.meta.at = time.Now().UnixNano()
	c.meta.duration = int64(time.Since(c.started))
	c.named = true
	if err := e.writeMeta(&c.meta); err != nil || planted != logAfterMeta || e.opts.BeforeCheckpoint == nil {
		return err
	}
	return e.opts.BeforeCheckpoint(c.meta.head)
}

// syncError marks a failed sync: what was written before it may be lost.
type syncError struct{ error }

func (e *syncError) Unwrap() error { return e.error }

func (e *Engine) writeMeta(m *meta) error {
	off := int64(m.sequence&1) * pageSize
	if _, err := e.file.WriteAt(m.encode(), off); err != nil {
		return diskFull(fmt.Errorf("write meta page at offset %d of %s: %w", off, e.path, err))
	}
	e.counters.meta.Add(pageSize)
	if planted != skipMetaSync {
		if err := e.file.Sync(); err != nil {
			return &syncError{fmt.Errorf("sync meta page of %s: %w", e.path, err)}
		}
	}
	return nil
}

// writePages completes the headers of nodes and writes runs of pages to the file,
// or, in a shared mapping, leaves that to the sync that follows.
func (e *Engine) writePages(runs []extent, raw bitmap, written *counter) error {
	for _, x := range runs {
		for p := x.page; p < x.page+x.pages; p++ {
			if !raw.get(p) {
				n := e.nodeAt(p)
				n.checksum = sum(unsafe.Pointer(n), pageSize)
			}
		}
		size := int64(x.pages) << pageShift
		if e.opts.Mode == Mapped {
			e.counters.mapped.Add(size)
			continue
		}
		off := int64(x.page) << pageShift
		if _, err := e.file.WriteAt(e.mem.slice(x.page, x.pages), off); err != nil {
			return diskFull(fmt.Errorf("write %d pages at offset %d of %s: %w", x.pages, off, e.path, err))
		}
		written.Add(size)
	}
	return nil
}

// giveBack returns the memory of pages that now equal the file. They are verified
// again when they are next read from it.
func (c *checkpoint) giveBack(e *Engine) {
	for _, x := range c.runs {
		c.fresh.old(x, func(page, pages uint32) {
			if e.mem.drop(page, pages) != nil {
				return // it stays private; nothing is lost
			}
			// What lies before x may be in use for something else by now.
			e.uncheck(x.page, page, pages, c.raw)
			c.returned += int64(pages) << pageShift
		})
	}
}

// old calls fn for the parts of x that are not in fresh chunks.
func (fresh bitmap) old(x extent, fn func(page, pages uint32)) {
	if len(fresh) == 0 {
		fn(x.page, x.pages)
		return
	}
	end := x.page + x.pages
	for p := x.page; p < end; {
		chunk := p / hugePages
		if fresh.get(chunk) {
			p = min(fresh.nextClear(chunk, end/hugePages+1)*hugePages, end)
			continue
		}
		to := min(fresh.next(chunk, end/hugePages+1)*hugePages, end)
		fn(p, to-p)
		p = to
	}
}

// back makes fresh chunks the file's, where no page differs from it, and returns how
// much memory that gave back. The others wait for the next time. After an error the
// rest stays as it is, unless the error is a [holeError].
func (e *Engine) back() (returned int64, err error) {
	if e.opts.Mode != MappedPrivate {
		return 0, nil
	}
	before := e.privatePages
	used := (e.space.end + hugePages - 1) / hugePages
	for c := e.mem.fresh.next(0, used); c < used; c = e.mem.fresh.next(c, used) {
		first := c
		for c < used && c-first < backChunks && e.mem.fresh.get(c) &&
			e.dirty.next(c*hugePages, (c+1)*hugePages) == (c+1)*hugePages {
			c++
		}
		if c == first {
			c++
			continue
		}
		if err = e.mem.back(first, c-first); err != nil {
			break
		}
		e.uncheck(firstPage, first*hugePages, (c-first)*hugePages, e.raw)
		e.notPrivate(first*hugePages, (c-first)*hugePages)
	}
	return (before - e.privatePages) << pageShift, err
}

// backChunks bounds a mapping that is made: readers whose pages are not there wait for
// it, and a machine short of memory may refuse a large one.
const backChunks = 64 << 20 / hugePage

// uncheck has pages verified again that are to be read from the file. A run is verified
// as a whole and marked at its first page, which may lie before them, but not before
// from.
func (ps *pages) uncheck(from, page, pages uint32, raw bitmap) {
	first := page
	for first > from && page-first < uint32(runPages(store.MaxValue)) && raw.get(first-1) {
		first--
	}
	ps.clearChecked(first, page-first+pages)
}

// settle takes in the outcome of a checkpoint that has ended.
func (e *Engine) settle() {
	c := e.pending
	if c == nil {
		return
	}
	select {
	case <-c.done:
	default:
		return
	}
	e.pending = nil
	if c.err != nil {
		e.abandon(c)
		return
	}
	e.image, e.catalog = c.meta, c.catalog
	if e.durable != nil {
		e.letGo(e.durable)
	}
	e.durable = c.snapshot
	e.spilled = false
	e.unprivate(c)
	for _, x := range e.blobs {
		e.release(x)
	}
	e.blobs = c.blobs
	for _, d := range e.doubtful {
		e.forget(d)
	}
	e.doubtful = nil
	e.reap()
	returned, err := e.back()
	e.counters.gaveBack(returned)
	if e.noteLoss(err) {
		return
	}
	e.tidy()
}

// noteLoss notes that a part of the memory may be gone, which is the end of the writer.
// That some could not be given back is not.
func (e *Engine) noteLoss(err error) bool {
	if hole := (*holeError)(nil); errors.As(err, &hole) {
		e.failed = fmt.Errorf("%w: %w", store.ErrFailed, err)
		return true
	}
	return false
}

// abandon takes in a checkpoint that failed. Up to the sync of its pages nothing
// on the disk names them: they are dirty again, to be written anew by the next
// one. After that they are durable, and the meta page may be: then the disk may
// give this image back, and all that it reaches stays untouched until a newer one
// is durable. Where pages cannot be written again from memory, a failed sync is
// the end of the writer.
func (e *Engine) abandon(c *checkpoint) {
	var lost *syncError
	if errors.As(c.err, &lost) && (e.spilled || e.opts.Mode == Mapped) {
		e.failed = fmt.Errorf("%w: changed pages that are not in private memory may be lost: %w",
			store.ErrFailed, c.err)
	}
	if c.named {
		e.unprivate(c)
		e.doubtful = append(e.doubtful, c)
		return
	}
	for _, x := range c.runs {
		for p := x.page; p < x.page+x.pages; p++ {
			if !e.space.free.get(p) && !e.dirty.get(p) {
				e.dirty.set(p)
				e.dirtyPages++
			}
		}
	}
	e.forget(c)
	e.reap()
}

// forget lets go of an image that never became durable and cannot any more.
func (e *Engine) forget(c *checkpoint) {
	for _, x := range c.blobs {
		e.release(x)
	}
	e.letGo(c.snapshot)
}

// unprivate notes that a checkpoint gave its pages' memory back.
func (e *Engine) unprivate(c *checkpoint) {
	if e.opts.Mode == MappedPrivate {
		for _, x := range c.runs {
			c.fresh.old(x, e.notPrivate)
		}
	}
}

func (ps *pages) notPrivate(page, pages uint32) {
	for p := page; p < page+pages; p++ {
		if ps.private.get(p) && !ps.dirty.get(p) {
			ps.private.clear(p)
			ps.privatePages--
		}
	}
}

// spill writes all dirty pages before their time and gives their memory back. The
// durable image does not reach them, so this is safe at any moment; ending the
// generation sees to it that a spilled page is not changed again in place.
func (e *Engine) spill() error {
	var runs []extent
	e.dirty.runs(firstPage, e.space.end, func(page, pages uint32) {
		runs = append(runs, extent{page: page, pages: pages})
	})
	e.spilled = true
	if err := e.writePages(runs, e.raw, &e.counters.spill); err != nil {
		return fmt.Errorf("make room under the bound of %d bytes for private memory: %w", e.opts.PrivateBytes, err)
	}
	e.generation++
	for _, x := range runs {
		for p := x.page; p < x.page+x.pages; p++ {
			e.dirty.clear(p)
		}
		e.dirtyPages -= int64(x.pages)
		var failed error
		e.mem.fresh.old(x, func(page, pages uint32) {
			if err := e.mem.drop(page, pages); err != nil {
				failed = err
				return
			}
			e.uncheck(firstPage, page, pages, e.raw)
			e.notPrivate(page, pages)
		})
		if failed != nil {
			return failed
		}
	}
	if _, err := e.back(); err != nil {
		if e.noteLoss(err) {
			return e.failed
		}
		return fmt.Errorf("make room under the bound of %d bytes for private memory: %w", e.opts.PrivateBytes, err)
	}
	e.dropFree()
	return nil
}

// dropFree gives back the memory of free pages.
func (e *Engine) dropFree() {
	if e.opts.Mode != MappedPrivate {
		return
	}
	e.space.warm = e.space.warm[:0]
	e.private.runs(firstPage, e.space.end, func(page, pages uint32) {
		e.space.free.runs(page, page+pages, func(page, pages uint32) {
			if e.mem.drop(page, pages) == nil {
				e.notPrivate(page, pages)
			}
		})
	})
}

func encodeCatalog(tables []table) []byte {
	le := binary.LittleEndian
	b := le.AppendUint16(nil, uint16(len(tables)))
	for _, t := range tables {
		b = append(b, byte(len(t.name)))
		b = append(b, t.name...)
		b = append(b, t.height)
		b = append(b, childBytes(t.root)...)
		b = le.AppendUint64(b, uint64(t.rows))
		b = le.AppendUint64(b, uint64(t.bytes))
	}
	return b
}

func decodeCatalog(b []byte) ([]table, error) {
	const fixed = 1 + 8 + 8 + 8
	le := binary.LittleEndian
	if len(b) < 2 {
		return nil, errors.New("catalog is cut short")
	}
	tables := make([]table, 0, min(int(le.Uint16(b)), maxTables))
	for n, rest := int(le.Uint16(b)), b[2:]; ; {
		if len(tables) == n {
			if len(rest) > 0 {
				return nil, errors.New("catalog has bytes after its end")
			}
			return tables, nil
		}
		size := 1
		if len(rest) > 0 {
			size += int(rest[0])
		}
		if len(rest) < size+fixed {
			return nil, errors.New("catalog is cut short")
		}
		t := table{name: string(rest[1:size])}
		f := rest[size:]
		t.height = f[0]
		t.root = ref{le.Uint32(f[1:]), le.Uint32(f[5:])}
		t.rows, t.bytes = int64(le.Uint64(f[9:])), int64(le.Uint64(f[17:]))
		if t.height > maxHeight || t.name == "" || (t.height == 0) != (t.root == ref{}) {
			return nil, fmt.Errorf("catalog entry %d contradicts itself", len(tables))
		}
		tables, rest = append(tables, t), f[fixed:]
	}
}

func encodeUndo(journals [][]byte) []byte {
	if len(journals) == 0 {
		return nil
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(journals)))
	for _, j := range journals {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(j)))
		b = append(b, j...)
	}
	return b
}

// decodeUndo reads undo data of that many tables.
func decodeUndo(b []byte, tables int) ([][]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	le := binary.LittleEndian
	if len(b) < 4 {
		return nil, errors.New("undo data is cut short")
	}
	var journals [][]byte
	n, rest := le.Uint32(b), b[4:]
	for range n {
		if len(rest) < 4 || uint64(len(rest)) < 4+uint64(le.Uint32(rest)) {
			return nil, errors.New("undo data is cut short")
		}
		size := le.Uint32(rest)
		j := slices.Clip(rest[4 : 4+size])
		if err := store.Changed(j, func(t store.Table, _, _ []byte, _ bool) error {
			if t == 0 || int(t) > tables {
				return fmt.Errorf("no table %d", t)
			}
			return nil
		}); err != nil {
			return nil, fmt.Errorf("undo data: %w", err)
		}
		journals, rest = append(journals, j), rest[4+size:]
	}
	if len(rest) > 0 {
		return nil, errors.New("undo data has bytes after its end")
	}
	return journals, nil
}
