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
)

// Begin makes the files ready for the blocks after the head of the chain, which is
// irreversible: it cuts off what a crash may have left, or repairs what another program
// left.
func (l *Log) Begin(head uint32, id types.Checksum256) error {
	if err := l.begin(head, id); err != nil {
		return l.fail(fmt.Errorf("go on with the traces in %s after block %d: %w", l.o.Dir, head, err))
	}
	return nil
}

func (l *Log) begin(head uint32, id types.Checksum256) error {
	m, ok, err := l.readMark()
	if err != nil {
		return err
	}
	// What another program has added since is not told again.
	ours := ok && head <= m.head
	if ours {
		l.mark = m
		err = l.cut(&m)
	} else {
		l.mark = mark{}
		if len(l.slices) > 0 {
			l.mark.end = l.newest() + 1
		}
		if err = l.mend(); err == nil {
			err = l.syncAfter(&m)
		}
	}
	if err != nil {
		return err
	}
	last, err := l.goOn()
	if err != nil {
		return err
	}
	if !ours {
		l.mark.head, l.mark.lib = max(last, head), l.lib // what follows is ours
		if err := l.setMark(l.mark); err != nil {
			return err
		}
	}
	l.settle(l.Slice(l.lib))
	return l.join(last, head, id)
}

// cut takes off what follows the mark.
func (l *Log) cut(m *mark) error {
	for _, number := range l.Slices() {
		want, named := m.find(number)
		if !named && number < m.end {
			continue
		}
		packed, err := l.fs.Exists(l.path(tracesPrefix, number, clogSuffix))
		if err != nil {
			return err
		}
		if packed { // it was whole by then
			continue
		}
		if !named {
			if err := l.removeFiles(number); err != nil {
				return err
			}
			continue
		}
		for _, f := range []struct {
			prefix string
			size   int64
		}{{tracesPrefix, want.traces}, {indexPrefix, want.index}, {idsPrefix, want.ids}} {
			if err := l.cutFile(l.path(f.prefix, number, logSuffix), f.size); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Log) cutFile(path string, size int64) error {
	f, err := l.fs.Open(path, true)
	if errors.Is(err, fs.ErrNotExist) {
		if size > 0 {
			return fmt.Errorf("%w: %s is missing, and had %d bytes. Restore it, or move all files of the folder away", ErrCorrupt, path, size)
		}
		return nil
	}
	if err != nil {
		return err
	}
	is, err := f.Size()
	if err == nil && is < size {
		err = fmt.Errorf("%w: %s has %d bytes, and had %d. Restore it, or move all files of the folder away", ErrCorrupt, path, is, size)
	}
	if err == nil && is > size {
		l.o.Logger.Info("Traces that were not saved are cut off; their blocks come again", "file", path, "bytes", is-size)
		err = f.Truncate(size)
	}
	return errors.Join(err, f.Close())
}

// syncAfter makes what the mark does not tell of durable, before a mark tells of it. nodeos
// syncs what it writes; a node of ours that was killed before its first mark did not.
func (l *Log) syncAfter(m *mark) error {
	for _, number := range l.Slices() {
		if !m.covers(number) {
			continue
		}
		for _, prefix := range []string{tracesPrefix, indexPrefix, idsPrefix} {
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
// newest slices.
func (l *Log) mend() error {
	list := l.Slices()
	for _, number := range list[max(0, len(list)-2):] {
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

func (l *Log) mendSlice(number uint32) error {
	ids := l.path(idsPrefix, number, logSuffix)
	whole := int64(0)
	_, err := l.use(ids, func(f vfs.File, size int64) (err error) {
		whole, err = scan(f, 0, size, func(h *wire.Head, _ int64) error { return l.mayHave(number, h, wire.IDsKind) })
		return err
	})
	if err == nil {
		err = l.cutFile(ids, whole)
	}
	if err != nil {
		return err
	}
	var blocks []wire.Head // with where each begins in the index, in Bytes
	index := l.path(indexPrefix, number, logSuffix)
	whole = 0
	_, err = l.use(index, func(f vfs.File, size int64) error {
		if size < indexHeader {
			return nil
		}
		if err := checkHeader(f); err != nil {
			return err
		}
		whole, err = scan(f, indexHeader, size, func(h *wire.Head, at int64) error {
			if h.Kind == wire.BlockKind {
				blocks = append(blocks, *h)
				blocks[len(blocks)-1].Bytes = at
			}
			return l.mayHave(number, h, wire.BlockKind)
		})
		return err
	})
	if err != nil {
		return err
	}
	end := int64(0)
	for len(blocks) > 0 && end == 0 {
		h := &blocks[len(blocks)-1]
		if end, err = l.endOf(number, h); err != nil {
			return err
		}
		if end == 0 {
			whole, blocks = h.Bytes, blocks[:len(blocks)-1]
		}
	}
	if err := l.cutFile(index, whole); err != nil {
		return err
	}
	return l.cutFile(l.path(tracesPrefix, number, logSuffix), end)
}

// endOf is where the entry of a block ends that an index tells of last; 0 if the file
// does not have it whole.
func (l *Log) endOf(number uint32, h *wire.Head) (end int64, err error) {
	_, err = l.use(l.path(tracesPrefix, number, logSuffix), func(f vfs.File, size int64) error {
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

// goOn opens the slices that may be appended to, and finds what is irreversible. It
// returns the newest block.
func (l *Log) goOn() (last uint32, err error) {
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
	return last, nil
}

// join compares the files with the chain, and makes irreversible what the chain says.
func (l *Log) join(last, head uint32, id types.Checksum256) error {
	l.again = again{on: last > 0, last: last, lib: l.lib}
	if last == 0 {
		return nil
	}
	if last < head {
		l.o.Logger.Warn(fmt.Sprintf("The traces end with block %d, and the chain is at block %d: the blocks between them were applied without "+
			"the traces being recorded, and stay missing. A replay (--replay-blockchain) records them", last, head))
		return nil
	}
	ids, err := l.idsOf(l.Slice(head))
	if err != nil {
		return err
	}
	old, there := ids[head]
	if there && old != id && head <= l.lib {
		return l.otherChain(head, old, id)
	}
	if !there || old != id {
		return nil
	}
	for _, number := range l.Slices() {
		if number < l.Slice(l.lib) || number > l.Slice(head) {
			continue
		}
		end := min(head, uint32(min(int64(number+1)*int64(l.o.Stride)-1, int64(head))))
		if end > l.lib {
			if err := l.finalise(end); err != nil {
				return err
			}
		}
	}
	return nil
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
