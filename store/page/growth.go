package page

import (
	"errors"
	"fmt"
	"syscall"

	"tarn/store"
)

// Tables that grow, files that grow and shrink, memory that is bounded: all that
// happens around a change so that the change itself cannot fail half way.

// changePages is the most single pages that one change can take: a copy of each
// level, and a few splits on the way down.
const changePages = 4 * maxHeight

// allowance says where pages are found: how long, in bytes, the file may become for them,
// whether they may be any that are free or only those below the limit, and what they are
// for.
//
// The limit is about rows: they take pages below it. Above it lie parts of images that
// found no room below, so that a full store can be made durable, and rows that an undo
// brought back. What these leave is theirs again: were it to become room for rows, the
// next image's parts would go above them, and so on.
type allowance struct {
	ceiling int64
	all     bool
	use     use
}

// use is what pages are for.
type use uint8

const (
	forChange use = iota // it is refused where there is no room, and can be undone on a disk that is full by then
	forUndo              // whatever the disk says, it goes on
	forImage
)

func (e *Engine) roomToAdd() allowance { return allowance{e.opts.LimitBytes, false, forChange} }

// roomToRemove: a store that is full, or that an undo or a lowered limit has filled
// beyond its limit, must be able to shrink.
func (e *Engine) roomToRemove() allowance {
	return allowance{e.opts.LimitBytes + e.slack(), true, forChange}
}

func (e *Engine) roomToUndo() allowance { return allowance{capacity(e.opts.LimitBytes), true, forUndo} }

// roomForImage: those of the durable image, of the next, and of one that failed fit
// above the limit, wherever an undo has taken the file.
func (e *Engine) roomForImage() allowance {
	least := int64(e.space.end)<<pageShift + e.slack()
	return allowance{min(max(e.opts.LimitBytes+4*e.slack(), least), capacity(e.opts.LimitBytes)), true, forImage}
}

// prepare is called before every change.
func (e *Engine) prepare(run int64, r allowance) error {
	if e.failed != nil {
		return e.failed
	}
	if e.opts.ReadOnly {
		return store.ErrReadOnly
	}
	if e.privatePages<<pageShift > e.opts.PrivateBytes && e.opts.Mode == MappedPrivate {
		if err := e.relieveFor(r.use); err != nil {
			return err
		}
	}
	e.room = r
	if run == 0 && e.space.among(r.all) >= changePages {
		return nil
	}
	return e.reserve(changePages, run, r)
}

// reserve makes sure that single pages and a run of pages can be allocated.
func (e *Engine) reserve(singles, run int64, r allowance) error {
	e.room = r
	ceiling := r.ceiling
	free := int64(e.space.among(r.all))
	end := int64(e.space.end)
	if r.use == forChange {
		run += e.undoRoom(end+singles+run, ceiling)
	}
	if ready := max(min(e.size, ceiling)>>pageShift-end, 0); ready >= singles+run || run == 0 && free+ready >= singles {
		return nil
	}
	if singles == 0 && r.all {
		if _, ok := e.space.highRun(uint32(run)); ok {
			return nil
		}
	}
	if need := (end + singles + run) << pageShift; need <= ceiling {
		return e.grow(need, min((need+e.opts.GrowBytes-1)/e.opts.GrowBytes*e.opts.GrowBytes, ceiling))
	}
	if e.settle(); e.failed != nil {
		return e.failed
	}
	e.reap()
	if free = int64(e.space.among(r.all)); free >= singles+run {
		if run == 0 {
			return nil
		}
		if _, ok := e.space.run(uint32(run), int(e.space.end), r.all); ok {
			return nil
		}
	}
	left := max(ceiling>>pageShift-int64(e.space.end), 0)
	if run == 0 && free+left >= singles {
		return e.grow(ceiling, ceiling)
	}
	return &store.FullError{
		Path: e.path, Need: (singles + run) << pageShift, Free: (free + left) << pageShift, Limit: e.opts.LimitBytes,
	}
}

// undoRoom is how many pages a change leaves allocated at the end of the file, in a
// shared mapping, so that undos of an ordinary size find room in the file of a disk that
// is full by then, and can be made durable there. A larger one goes on in memory
// (e.extendInMemory), where other modes have all of it.
func (e *Engine) undoRoom(end, ceiling int64) int64 {
	if e.opts.Mode != Mapped || e.file == nil {
		return 0
	}
	return max(min(undoRoomPages, ceiling>>pageShift-end), 0)
}

const undoRoomPages = 16 << 20 >> pageShift

// capacity is what addresses are reserved for. An undo may find no page that views and
// the durable image do not still need, and leaves, in the worst order of keys and sizes
// of rows, pages that are a third full: it may use three times the limit above it.
func capacity(limit int64) int64 { return min(4*limit+64<<20, maxCapacity) }

// maxCapacity can still be numbered in pages.
const maxCapacity = 15 << 40

// slack is what the parts of an image may use above the limit.
func (e *Engine) slack() int64 { return max(e.opts.LimitBytes/64, 4<<20) }

// grow extends the file and the memory over it to size bytes, or, if the disk has
// less, to need. For an undo the memory alone will do.
func (e *Engine) grow(need, size int64) error {
	if size <= e.size {
		return nil
	}
	err := e.extend(size)
	if full(err) && need > e.size && need < size {
		size = need
		err = e.extend(size)
	}
	if err != nil && e.failed == nil && e.opts.Mode == Mapped && e.room.use == forUndo {
		return e.extendInMemory(need)
	}
	if err != nil {
		return diskFull(fmt.Errorf("grow %s from %d to %d bytes: %w", e.path, e.size, size, err))
	}
	if err := e.mem.grow((size+hugePage-1)&^(hugePage-1), true); err != nil {
		return err
	}
	e.size, e.backed = size, size
	return nil
}

// extend makes the file longer. In a shared mapping the blocks are reserved now,
// because a full disk could not be told from a broken one when the kernel writes
// a page back. Other modes take no blocks now.
func (e *Engine) extend(size int64) error {
	switch {
	case e.file == nil:
		return nil
	case e.opts.Mode == Mapped:
		if size > e.backed {
			if err := e.file.Allocate(e.backed, size-e.backed); err != nil {
				return err
			}
		}
		return e.moveToFile()
	}
	return e.file.Truncate(size)
}

// diskFull adds to an error of a disk without room that the store is full.
func diskFull(err error) error {
	if full(err) {
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return err
}

// full tells whether an error says that the disk, or the user's share of it, has no room.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// relieveFor relieves before a change. An undo goes on over the bound when the disk takes
// nothing: it must not fail, and the bound is about reclaim, not about need. It asks again
// when there is an eighth more, and not for each row.
func (e *Engine) relieveFor(u use) error {
	if u == forUndo && e.privatePages < e.unrelieved+e.opts.PrivateBytes>>pageShift/8 {
		return nil
	}
	e.unrelieved = 0
	err := e.relieve()
	if err == nil || u != forUndo || e.failed != nil {
		return err
	}
	e.unrelieved = e.privatePages
	return nil
}

// relieve brings private memory below its bound: first by what a checkpoint
// under way or free pages give back, then by writing changed pages early.
func (e *Engine) relieve() error {
	if e.pending != nil {
		e.pending.Wait() //nolint:errcheck // its own waiter gets it
		e.settle()
		if e.failed != nil {
			return e.failed
		}
	}
	e.dropFree()
	if e.privatePages<<pageShift <= e.opts.PrivateBytes/4*3 {
		return nil
	}
	return e.spill()
}

// tidy gives free space back after a checkpoint: private memory at once, and the
// end of the file and large holes in it when much is free.
func (e *Engine) tidy() {
	e.dropFree()
	used := int64(e.space.end - e.space.count)
	if int64(e.space.count) <= used/2 {
		return
	}
	e.truncate()
	if e.opts.Mode != Mapped {
		e.punch()
	}
}

// truncate cuts the free end off the file, all but a growth step. Failing to do
// so is no error: the space is only given back later.
func (e *Engine) truncate() {
	tail := e.space.tail()
	step := e.opts.GrowBytes
	size := (int64(tail)<<pageShift + step - 1) / step * step
	if size+step > e.size || e.backed < e.size || e.file.Truncate(size) != nil {
		return
	}
	e.space.take(tail, e.space.end-tail)
	e.space.end = tail
	e.end.Store(tail)
	e.space.cursor = min(e.space.cursor, tail)
	if e.mem.mode.Anonymous() {
		e.mem.drop(uint32(size>>pageShift), uint32((e.mem.mapped-size)>>pageShift)) //nolint:errcheck // stays in use
	}
	e.size, e.backed = size, size
}

// shorten gives the file system the blocks that a shared mapping had for changes to come,
// when the store ends. No page of an image or of the newest state lies there, so it does
// not matter whether a crash undoes it; failing to do so is no error. Where there are
// revisions to undo, the room for that stays: the disk may be full when the store is
// opened again.
func (e *Engine) shorten() {
	if e.opts.Mode != Mapped || e.file == nil {
		return
	}
	size, image := int64(e.space.end)<<pageShift, e.image
	if e.pending != nil && e.pending.err == nil {
		image = e.pending.meta // it has ended, and the writer has not come by
	}
	if image.head > image.irreversible {
		size += undoRoomPages << pageShift
	}
	if size < e.backed {
		e.file.Truncate(size) //nolint:errcheck // see above
	}
}

// punch gives whole free chunks inside the file back to the file system.
func (e *Engine) punch() {
	chunks := uint32(len(e.space.chunks))
	for c := uint32(0); c < min(chunks, e.space.end/chunkPages); c++ {
		if e.space.chunks[c] != chunkPages || e.space.holes.get(c) {
			continue
		}
		first := c
		for c+1 < e.space.end/chunkPages && e.space.chunks[c+1] == chunkPages {
			c++
		}
		off := int64(first) * chunkPages << pageShift
		if e.file.Punch(off, int64(c-first+1)*chunkPages<<pageShift) != nil {
			return
		}
		for i := first; i <= c; i++ {
			e.space.holes.set(i)
		}
	}
}
