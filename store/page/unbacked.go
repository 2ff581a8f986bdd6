package page

import "fmt"

// Pages of a shared mapping that have no place in the file yet. What an undo needs depends
// on what the durable image and views hold, on the order of keys, and on how often states
// are published while one revision after the other is taken back: no share of the disk
// that could be kept for it is surely enough. So an undo that finds the disk full does what
// it does in the other modes: it changes memory. The next checkpoint needs the room, and
// fails until it is there; so does every change that makes the file longer.

// extendInMemory makes the memory longer than the file, so that need bytes can be used.
// Little more is taken: the room for it has to be found before the next image.
func (e *Engine) extendInMemory(need int64) error {
	size := min((need+hugePage-1)&^(hugePage-1), e.mem.reserved)
	if err := e.mem.lay(e.size, size, true); err != nil {
		return err
	}
	e.size = size
	return nil
}

// moveToFile gives the pages that are in memory only their place in the file, which has the
// blocks for them by now. Whoever reads there meanwhile finds the same bytes.
func (e *Engine) moveToFile() error {
	if e.backed == e.size {
		return nil
	}
	from, to := e.backed, min(int64(e.space.end)<<pageShift, e.size)
	if from < to {
		b := e.mem.slice(uint32(from>>pageShift), uint32((to-from)>>pageShift))
		if _, err := e.file.WriteAt(b, from); err != nil {
			return fmt.Errorf("write %d pages of an undo at offset %d: %w", (to-from)>>pageShift, from, err)
		}
	}
	if err := e.mem.lay(e.backed, e.size, false); err != nil {
		if e.noteLoss(err) {
			return e.failed
		}
		return err
	}
	e.backed = e.size
	return nil
}

// findInFile makes sure, before an image, that all pages in use have a place in the file.
func (e *Engine) findInFile() error {
	if e.backed == e.size {
		return nil
	}
	size := max(int64(e.space.end)<<pageShift, e.backed)
	if err := e.extend(size); err != nil {
		return diskFull(fmt.Errorf("grow %s from %d to %d bytes: %w", e.path, e.backed, size, err))
	}
	e.size, e.backed = size, size
	return nil
}
