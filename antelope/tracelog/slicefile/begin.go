package slicefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"tarn/antelope/serial"
	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/store/vfs/torntail"
)

// Chain is what the files are compared with: a chain that goes on after its head, which is
// irreversible.
type Chain struct {
	Head uint32
	ID   types.Checksum256 // of the head
	// Known is the id of a block before the head, false if the chain does not have it; nil
	// knows none. Without it blocks that are not known to be irreversible are taken back
	// where the head is not among them.
	Known func(num uint32) (types.Checksum256, bool, error)
}

func (c *Chain) known(num uint32) (types.Checksum256, bool, error) {
	if c.Known == nil {
		return types.Checksum256{}, false, nil
	}
	return c.Known(num)
}

// Begin makes the files ready for the blocks after the head of the chain: it cuts off what
// a crash may have left, repairs what another program left, and takes back blocks that may
// be of a branch that has lost.
func (l *Log) Begin(c Chain) error {
	if err := (recovery{l}).begin(c); err != nil {
		return l.fail(fmt.Errorf("go on with the traces in %s after block %d: %w", l.o.Dir, c.Head, err))
	}
	return nil
}

// recovery is a log that is not yet appended to: what makes its files ready.
type recovery struct{ *Log }

func (l recovery) begin(c Chain) error {
	m, ok, err := l.readMark()
	if err != nil {
		return err
	}
	again := ok && c.Head <= m.head // the chain tells all that follows the mark
	switch {
	case again:
		l.mark = m
		if err = l.cut(&m, c.Head); err == nil {
			err = l.mend(m.end) // what is left there is not ours
		}
		if err == nil {
			err = l.syncAfter(&m)
		}
	default:
		l.mark = mark{lib: m.lib}
		if err = l.cutUnsure(&m); err == nil {
			err = l.mend(m.open)
		}
		if len(l.slices) > 0 {
			l.mark.end = l.newest() + 1
		}
		if err == nil {
			err = l.syncAfter(&m)
		}
	}
	if err != nil {
		return err
	}
	last, err := l.goOn(m.lib)
	if err != nil {
		return err
	}
	if !again {
		l.mark.head, l.mark.lib = max(last, c.Head), l.lib // what follows is ours
		if err := l.setMark(l.mark); err != nil {
			return err
		}
	}
	l.settle(l.Slice(l.lib))
	return l.join(last, c)
}

// cut takes off what follows the mark. Slices that somebody else put there, before the one in which the chain
// goes on after its head, stay; 0 is for a chain that tells all again.
func (l recovery) cut(m *mark, head uint32) error {
	for _, number := range l.Slices() {
		_, named := m.find(number)
		unknown := !named && number >= m.end
		if unknown && number >= m.open && number < l.Slice(head) {
			continue
		}
		keep, err := false, error(nil)
		if unknown {
			keep, err = l.untold(number, head)
		}
		if err == nil {
			_, err = l.cutSlice(m, number, keep)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// untold tells whether a slice that no mark tells of may have blocks up to a head, which nobody tells again.
// What is irreversible is told of older slices too, which then have no traces.
func (l recovery) untold(number, head uint32) (bool, error) {
	is, err := l.sizesOf(number)
	if err != nil || is.traces == 0 || number != l.Slice(head) {
		return is.traces > 0 && number < l.Slice(head), err
	}
	ids, err := l.idsOf(number)
	if errors.Is(err, ErrCorrupt) {
		return true, nil
	}
	for num := range ids {
		if num <= head {
			return true, err
		}
	}
	return false, err
}

// cutUnsure takes off what this package may have written after the mark. After a power cut
// it can be anything, and the chain, which has gone ahead, does not tell it again.
func (l recovery) cutUnsure(m *mark) error {
	bytes := int64(0)
	for _, number := range l.Slices() {
		if number >= m.open {
			continue
		}
		n, err := l.cutSlice(m, number, true)
		if err != nil {
			return err
		}
		bytes += n
	}
	if bytes > 0 {
		l.o.Logger.Warn(fmt.Sprintf("The node ended before the traces after block %d were saved, and the chain has "+
			"gone ahead of them: they may be incomplete, so they are removed. A replay "+
			"(--replay-blockchain) records them", m.head),
			"folder", l.o.Dir, "bytes", bytes)
	}
	return nil
}

// cutSlice takes off what of a slice follows the mark, and tells how much that was. It is kept beside
// the files unless the chain tells it again.
func (l recovery) cutSlice(m *mark, number uint32, keep bool) (bytes int64, err error) {
	want, named := m.find(number)
	if !named && number < m.end {
		return 0, nil
	}
	packed, err := l.fs.Exists(l.path(tracesPrefix, number, clogSuffix))
	if err != nil || packed { // it was whole by then
		return 0, err
	}
	if !named {
		is, err := l.sizesOf(number)
		if err == nil && keep {
			err = l.keepSlice(is)
		}
		if err != nil {
			return 0, err
		}
		l.names = true
		return is.traces + is.index + is.ids, errors.Join(err, l.removeFiles(number))
	}
	for i, prefix := range prefixes {
		n, err := l.cutFile(l.path(prefix, number, logSuffix), want.of()[i], keep)
		if err != nil {
			return 0, err
		}
		bytes += n
	}
	return bytes, nil
}

// prefixes are those of a slice's files, in the order of a mark.
var prefixes = [...]string{tracesPrefix, indexPrefix, idsPrefix}

// sizesOf are those of a slice's files as they are; 0 for one that is not there.
func (d *directory) sizesOf(number uint32) (sizes, error) {
	var is [len(prefixes)]int64
	for i, prefix := range prefixes {
		if _, err := d.use(d.path(prefix, number, logSuffix), func(_ vfs.File, size int64) error {
			is[i] = size
			return nil
		}); err != nil {
			return sizes{}, err
		}
	}
	return sizes{number, is[0], is[1], is[2]}, nil
}

// keepSlice keeps the files of a slice, which are about to be removed, of these sizes.
func (d *directory) keepSlice(is sizes) error {
	for i, prefix := range prefixes {
		size, path := is.of()[i], d.path(prefix, is.number, logSuffix)
		if size == 0 {
			continue
		}
		f, err := d.fs.Open(path, false)
		if err != nil {
			return err
		}
		removed, err := torntail.Keep(d.fs, f, path, 0, size)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		d.o.Logger.Warn("Traces are taken out of the history", "file", path, "offset", 0, "bytes", size,
			"kept", removed.Kept)
	}
	return nil
}

// cutFile makes a file end after so many bytes, and tells how many it had more. They are kept
// beside it if nobody tells them again.
func (d *directory) cutFile(path string, size int64, keep bool) (more int64, err error) {
	f, err := d.fs.Open(path, true)
	if errors.Is(err, fs.ErrNotExist) {
		if size > 0 {
			return 0, fmt.Errorf(
				"%w: %s is missing, and had %d bytes. Restore it, or move all files of the folder away",
				ErrCorrupt, path, size)
		}
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	is, err := f.Size()
	if err == nil && is < size {
		err = fmt.Errorf("%w: %s has %d bytes, and had %d. Restore it, or move all files of the folder away",
			ErrCorrupt, path, is, size)
	}
	if err == nil && is > size {
		if keep {
			var removed torntail.Removed
			removed, err = torntail.Cut(d.fs, f, path, size, is)
			if err == nil {
				d.o.Logger.Warn("Traces at the end of a file are cut off", "file", path, "offset", size,
					"bytes", is-size, "kept", removed.Kept)
			}
		} else {
			d.o.Logger.Info("Traces that were not saved are cut off; their blocks come again", "file", path,
				"bytes", is-size)
			err = f.Truncate(size)
		}
		if err == nil {
			err = f.Sync() // a later mark may tell nothing of this file but that it is durable
		}
	}
	return max(0, is-size), errors.Join(err, f.Close())
}

// syncAfter makes what the mark does not tell of durable, before a mark tells of it. nodeos
// syncs what it writes; a folder that has lost its mark may have come from anywhere.
func (l recovery) syncAfter(m *mark) error {
	for _, number := range l.Slices() {
		if _, named := m.find(number); !named && number < m.end {
			continue
		}
		for _, prefix := range prefixes {
			t := tail{path: l.path(prefix, number, logSuffix)}
			if err := l.syncTail(&t); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("sync %s: %w", t.path, err)
			}
		}
	}
	l.names = true
	return nil
}

// mend cuts off an entry that another program has not finished, at the end of the two
// newest slices, unless they are before one that this package has cut.
func (l recovery) mend(from uint32) error {
	list := l.Slices()
	for _, number := range list[max(0, len(list)-2):] {
		if number < from {
			continue
		}
		packed, err := l.fs.Exists(l.path(tracesPrefix, number, clogSuffix))
		if err != nil {
			return err
		}
		if packed {
			continue
		}
		if err := l.mendSlice(number); err != nil {
			return fmt.Errorf("slice of blocks from %d on: %w", number*l.o.Stride, err)
		}
	}
	return nil
}

func (d *directory) mendSlice(number uint32) error {
	ids, err := d.scanIDs(number, func(*wire.Head, int64) error { return nil })
	if err != nil {
		return err
	}
	var blocks []wire.Head // with where each begins in the index, in Bytes
	whole, err := d.scanIndex(number, func(h *wire.Head, at int64) error {
		if h.Kind == wire.BlockKind {
			blocks = append(blocks, *h)
			blocks[len(blocks)-1].Bytes = at
		}
		return nil
	})
	if err != nil {
		return err
	}
	end := int64(0)
	for len(blocks) > 0 && end == 0 {
		h := &blocks[len(blocks)-1]
		if end, err = d.endOf(number, h); err != nil {
			return err
		}
		if end == 0 {
			whole, blocks = h.Bytes, blocks[:len(blocks)-1]
		}
	}
	// The index goes after the traces: what it tells too much of is found again after a crash.
	for i, size := range [...]int64{end, whole, ids} {
		if _, err := d.cutFile(d.path(prefixes[i], number, logSuffix), size, true); err != nil {
			return err
		}
	}
	return nil
}

// endOf is where the entry of a block ends that an index tells of last; 0 if the file
// does not have it whole.
func (d *directory) endOf(number uint32, h *wire.Head) (end int64, err error) {
	_, err = d.use(d.path(tracesPrefix, number, logSuffix), func(f vfs.File, size int64) error {
		at := int64(h.Offset)
		if at < 0 || at >= size || size-at > MaxEntry {
			return nil
		}
		b := make([]byte, size-at)
		if _, err := f.ReadAt(b, at); err != nil {
			return err
		}
		var x wire.Block
		r := serial.NewReader(b)
		if x.Read(r); r.Err() == nil && x.Number == h.Number && x.ID == h.ID {
			end = at + int64(r.Offset())
		}
		return nil
	})
	return end, err
}

// goOn opens the slices that may be appended to, and finds what is irreversible, which a
// mark may tell too. It returns the newest block.
func (l recovery) goOn(marked uint32) (last uint32, err error) {
	list := l.Slices()
	var live []uint32
	for _, number := range slices.Backward(list) {
		t, err := l.load(number)
		if err != nil {
			return 0, err
		}
		last, l.lib = max(last, t.last), max(l.lib, t.lib)
		live = append(live, number)
		if l.lib > 0 {
			break
		}
	}
	l.head = last
	for _, number := range slices.Backward(live) {
		packed, err := l.fs.Exists(l.path(tracesPrefix, number, clogSuffix))
		if err != nil {
			return 0, err
		}
		if packed || number < l.Slice(l.lib) {
			continue
		}
		if _, err := l.part(number); err != nil {
			return 0, err
		}
	}
	if l.lib >= marked || !slices.Contains(list, l.Slice(marked)) {
		return last, nil
	}
	// Its entry was cut off, with blocks that were taken back.
	packed, err := l.fs.Exists(l.path(tracesPrefix, l.Slice(marked), clogSuffix))
	if err != nil || packed {
		return last, err
	}
	return last, l.finalise(marked)
}

// removeFiles removes a slice's files, its index first, so that nobody finds what is not
// there any more.
func (l *Log) removeFiles(number uint32) error {
	l.mu.Lock()
	if s := l.slices[number]; s != nil {
		if s.table != nil && !s.live {
			l.kept -= s.table.blocks
		}
		delete(l.slices, number)
	}
	l.mu.Unlock()
	for _, path := range []string{
		l.path(indexPrefix, number, logSuffix), l.path(tracesPrefix, number, logSuffix),
		l.path(idsPrefix, number, logSuffix), l.path(tracesPrefix, number, clogSuffix),
	} {
		if err := l.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", path, err)
		}
	}
	return nil
}

// header is the bytes that an index begins with.
func header() []byte { return binary.LittleEndian.AppendUint32(nil, wire.IndexVersion) }
