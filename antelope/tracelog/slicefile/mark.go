package slicefile

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"tarn/antelope/logcatalog"
)

// mark says how far the files are durable: those of the slices that it names up to these
// sizes, of others before end all, from there on nothing. In slices before open this
// package may have written more; what follows in others is another program's.
type mark struct {
	head, lib uint32
	end       uint32
	open      uint32
	slices    []sizes
}

// sizes are those of a slice's files, in bytes.
type sizes struct {
	number             uint32
	traces, index, ids int64
}

// of are the sizes in the order of prefixes.
func (s sizes) of() [3]int64 { return [3]int64{s.traces, s.index, s.ids} }

func (p *part) sizes() sizes { return sizes{p.number, p.traces.size, p.index.size, p.ids.size} }

// covers tells whether what is appended to a slice is cut off by a Begin after a crash.
func (m *mark) covers(number uint32) bool {
	_, named := m.find(number)
	return number < m.open && (named || number >= m.end)
}

// ahead is how many blocks after one that is written may be written, at least, before a
// mark has to tell of them. What another program wrote into a slice before that, after a
// crash, is cut off too.
const ahead = 1000

// reach is the slice before which a block, and some after it, may be written.
func (d *directory) reach(number uint32) uint32 { return number + 1 + ahead/d.o.Stride }

// find returns the sizes of a slice.
func (m *mark) find(number uint32) (sizes, bool) {
	for _, s := range m.slices {
		if s.number == number {
			return s, true
		}
	}
	return sizes{}, false
}

const (
	markMagic  = "tarntrac"
	sizesBytes = 4 + 3*8
	markBytes  = len(markMagic) + 4 + 4 + 4 + 4 + 4 // and the sizes
	mostMark   = 64 << 20
)

func (m *mark) append(b []byte) []byte {
	b = append(b, markMagic...)
	b = binary.LittleEndian.AppendUint32(b, m.head)
	b = binary.LittleEndian.AppendUint32(b, m.lib)
	b = binary.LittleEndian.AppendUint32(b, m.end)
	b = binary.LittleEndian.AppendUint32(b, m.open)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.slices)))
	for _, s := range m.slices {
		b = binary.LittleEndian.AppendUint32(b, s.number)
		for _, size := range s.of() {
			b = binary.LittleEndian.AppendUint64(b, uint64(size))
		}
	}
	return b
}

func decodeMark(b []byte) (m mark, err error) {
	if n := len(b); n < markBytes || (n-markBytes)%sizesBytes != 0 || string(b[:len(markMagic)]) != markMagic ||
		int(binary.LittleEndian.Uint32(b[markBytes-4:])) != (n-markBytes)/sizesBytes {
		return m, fmt.Errorf("%w: it has %d bytes", logcatalog.ErrMark, n)
	}
	r := b[len(markMagic):]
	m.head, m.lib, m.end = binary.LittleEndian.Uint32(r), binary.LittleEndian.Uint32(r[4:]),
		binary.LittleEndian.Uint32(r[8:])
	m.open = binary.LittleEndian.Uint32(r[12:])
	for r = r[20:]; len(r) > 0; r = r[sizesBytes:] {
		size := func(at int) int64 { return int64(binary.LittleEndian.Uint64(r[at:])) }
		m.slices = append(m.slices, sizes{binary.LittleEndian.Uint32(r), size(4), size(12), size(20)})
	}
	return m, nil
}

// markPath is where the mark is: one for each stride, whose files have names of their own.
func (d *directory) markPath() string {
	return filepath.Join(d.o.Dir, fmt.Sprintf("trace_durable_%010d.mark", d.o.Stride))
}

// readMark reads the mark; false if there is none. It was written durably, so that one
// that is not whole is damage.
func (d *directory) readMark() (m mark, ok bool, err error) {
	b, err := logcatalog.ReadMark(d.fs, d.markPath(), mostMark)
	if errors.Is(err, fs.ErrNotExist) {
		return mark{}, false, nil
	}
	if err == nil {
		m, err = decodeMark(b)
	}
	if errors.Is(err, logcatalog.ErrMark) {
		err = fmt.Errorf("%w: %s: %w. Remove it if the files beside it are known to be whole",
			ErrCorrupt, d.markPath(), err)
	}
	return m, err == nil, err
}

// newest is the number of the newest slice; with the lock held.
func (l *Log) newest() uint32 {
	newest := uint32(0)
	for n := range l.slices {
		newest = max(newest, n)
	}
	return newest
}

// setMark makes a mark durable, and before it the names of the files that it tells of.
func (l *Log) setMark(m mark) error {
	slices.SortFunc(m.slices, func(a, b sizes) int { return cmp.Compare(a.number, b.number) })
	if l.names {
		if err := l.fs.SyncDir(l.o.Dir); err != nil {
			return fmt.Errorf("sync %s: %w", l.o.Dir, err)
		}
		l.names = false
	}
	bytes, err := logcatalog.WriteMark(l.fs, l.markPath(), m.append(nil))
	if err != nil {
		return err
	}
	l.mark = m
	l.mu.Lock()
	l.stats.Marks += uint64(bytes)
	l.mu.Unlock()
	return nil
}

// Sync makes all blocks durable that were appended.
func (l *Log) Sync() error {
	if l.failed != nil {
		return l.failed
	}
	if err := l.sync(l.mark.open); err != nil {
		return l.fail(err)
	}
	return nil
}

// sync makes a mark that says up to which slice more may be written.
func (l *Log) sync(open uint32) error {
	l.mu.RLock()
	changed := l.passed || open != l.mark.open
	l.mu.RUnlock()
	for _, p := range l.parts {
		for _, t := range p.tails() {
			if !t.dirty {
				continue
			}
			if err := l.syncTail(t); err != nil {
				return fmt.Errorf("sync %s: %w", t.path, err)
			}
			changed = true
		}
	}
	if !changed {
		return nil
	}
	l.mu.Lock()
	m := mark{head: max(l.head, l.mark.head), lib: l.lib, end: l.newest() + 1, open: open}
	l.passed = false
	l.stats.Syncs++
	l.mu.Unlock()
	// A slice that ends before the irreversible block gets no more entries.
	done := l.Slice(m.lib)
	for number, p := range l.parts {
		if number >= done {
			m.slices = append(m.slices, p.sizes())
		}
	}
	if err := l.setMark(m); err != nil {
		return err
	}
	for number, p := range l.parts {
		if number < done {
			if err := p.close(); err != nil {
				return err
			}
			delete(l.parts, number)
		}
	}
	l.settle(done)
	return nil
}

func (d *directory) syncTail(t *tail) error {
	f := t.file
	if f == nil {
		var err error
		if f, err = d.fs.Open(t.path, true); err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // what was written is synced
	}
	if err := f.Sync(); err != nil {
		return err
	}
	t.dirty = false
	return nil
}
