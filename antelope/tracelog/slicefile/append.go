package slicefile

import (
	"errors"
	"fmt"

	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// part is the files of a slice that is appended to.
type part struct {
	number             uint32
	traces, index, ids tail
}

// tail is a file that grows.
type tail struct {
	path  string
	file  vfs.File // nil while it is closed
	size  int64
	dirty bool // not durable
}

func (p *part) tails() [3]*tail { return [3]*tail{&p.traces, &p.index, &p.ids} }

func (p *part) close() (err error) {
	for _, t := range p.tails() {
		if t.file != nil {
			err = errors.Join(err, t.file.Close())
			t.file = nil
		}
	}
	return err
}

// mostOpen is how many slices have open files: blocks that are not irreversible yet may
// lie in many, if slices are short.
const mostOpen = 8

// part returns the files of a slice, open. A slice that is older than those of the mark
// gets into it before it is written to.
func (l *Log) part(number uint32) (*part, error) {
	p := l.parts[number]
	if p == nil {
		p = &part{
			number: number, traces: tail{path: l.path(tracesPrefix, number, logSuffix)},
			index: tail{path: l.path(indexPrefix, number, logSuffix)},
			ids:   tail{path: l.path(idsPrefix, number, logSuffix)},
		}
	}
	if p.traces.file != nil {
		return p, nil
	}
	open := 0
	for _, other := range l.parts {
		if other.traces.file != nil {
			open++
		}
	}
	for _, other := range l.parts {
		if open >= mostOpen && other.traces.file != nil {
			open--
			if err := other.close(); err != nil {
				return nil, err
			}
		}
	}
	if err := l.cover(number); err != nil {
		return nil, err
	}
	if err := l.openPart(p); err != nil {
		return nil, errors.Join(err, p.close())
	}
	if l.parts[number] == nil {
		if err := l.announce(p); err != nil {
			return nil, errors.Join(err, p.close())
		}
		l.parts[number] = p
	}
	return p, nil
}

// cover makes the mark tell how far a slice is durable, before more is written to it.
func (l *Log) cover(number uint32) error {
	if l.mark.covers(number) {
		return nil
	}
	m := l.mark
	m.open = max(m.open, l.reach(number))
	if _, named := m.find(number); !named && number < m.end {
		is, err := l.sizesOf(number)
		if err != nil {
			return err
		}
		m.slices = append(m.slices[:len(m.slices):len(m.slices)], is)
	}
	return l.setMark(m)
}

func (l *Log) openPart(p *part) error {
	for _, t := range p.tails() {
		there, err := l.fs.Exists(t.path)
		if err != nil {
			return err
		}
		if there {
			t.file, err = l.fs.Open(t.path, true)
		} else {
			t.file, err = l.fs.Create(t.path)
			t.dirty, l.names = true, true
		}
		if err != nil {
			return err
		}
		if t.size, err = t.file.Size(); err != nil {
			return err
		}
	}
	if p.index.size < indexHeader {
		p.index.size = 0
		return l.write(&p.index, header(), nil)
	}
	return nil
}

// announce makes the table of a slice that is appended to stay.
func (l *Log) announce(p *part) error {
	t, err := l.load(p.number)
	if err != nil {
		return err
	}
	if err := l.bound(t, p.number); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.slices[p.number]
	if s == nil {
		s = &slice{number: p.number}
		l.slices[p.number] = s
	}
	if s.table != nil && !s.live {
		l.kept -= s.table.blocks
	}
	s.table, s.live = t, true
	return nil
}

// bound gives the last entry of a table its end, which the next one moves.
func (l *Log) bound(t *table, number uint32) error {
	_, err := l.use(l.path(tracesPrefix, number, logSuffix), func(_ vfs.File, size int64) error {
		for _, page := range t.traces {
			for i := range page {
				if page[i].to == toEnd {
					page[i].to = size
				}
			}
		}
		return nil
	})
	return err
}

// write appends bytes to a file and counts them.
func (l *Log) write(t *tail, b []byte, count *uint64) error {
	t.dirty = true
	if _, err := t.file.WriteAt(b, t.size); err != nil {
		return fmt.Errorf("append to %s at offset %d: %w", t.path, t.size, err)
	}
	t.size += int64(len(b))
	if count != nil {
		l.mu.Lock()
		*count += uint64(len(b))
		l.mu.Unlock()
	}
	return nil
}

// Append adds a block, and the ids of its transactions. One that the files had when they
// were opened is left as it is, until another block comes in the place of one. filled
// tells that the block is missing in files that say that it is irreversible: they have it
// when the chain says so too.
func (l *Log) Append(b *wire.Block, ids *wire.Transactions) (filled bool, err error) {
	if l.failed != nil {
		return false, l.failed
	}
	f, err := l.fate(b.Number, b.ID)
	switch {
	case err != nil:
		return false, err
	case f == missed:
		l.again.hold(b, ids)
	case f == written:
		if err := l.append(b, ids); err != nil {
			return false, l.fail(err)
		}
	}
	l.mu.Lock()
	l.head = b.Number
	l.mu.Unlock()
	return f == missed, nil
}

func (l *Log) append(b *wire.Block, ids *wire.Transactions) error {
	p, err := l.part(l.Slice(b.Number))
	if err != nil {
		return err
	}
	// The order is nodeos'. Nobody reads the entries before the table has them.
	where, at := span{from: p.ids.size}, span{from: p.traces.size, id: fold(b.ID)}
	if err := l.write(&p.ids, wire.Entry{Transactions: ids}.Append(nil), &l.stats.IDs); err != nil {
		return err
	}
	if err := l.write(&p.traces, b.Append(nil), &l.stats.Traces); err != nil {
		return err
	}
	position := &wire.Position{ID: b.ID, Number: b.Number, Offset: uint64(at.from)}
	if err := l.write(&p.index, wire.Entry{Block: position}.Append(nil), &l.stats.Index); err != nil {
		return err
	}
	where.to, at.to = p.ids.size, p.traces.size
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.slices[p.number].table
	t.blocks++
	t.last = max(t.last, b.Number)
	if t.counts(t.traces, b.Number, t.lib) {
		t.traces.set(b.Number, at)
		t.ids.set(b.Number, where)
	}
	l.stats.Blocks++
	return nil
}

// Pass tells of a block that is not to be kept.
func (l *Log) Pass(num uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head = num
	l.passed = true
}

// Finalise adds that a block and all before it are irreversible. Files that say so of
// another block are of another chain.
func (l *Log) Finalise(num uint32, id types.Checksum256) error {
	if l.failed != nil {
		return l.failed
	}
	if num <= l.again.lib {
		old, there, err := l.known(num)
		if err == nil && there && old != id {
			err = l.otherChain(num, old, id)
		}
		if err != nil {
			return err
		}
	}
	if err := l.fill(num); err != nil {
		return l.fail(err)
	}
	if num <= l.again.lib {
		return nil
	}
	l.again.ids = nil
	if num <= l.Irreversible() {
		return nil
	}
	if err := l.finalise(num); err != nil {
		return l.fail(err)
	}
	return nil
}

// otherChain is the error for a block whose index has another id than the chain. If the traces have the chain's, the
// index is damaged.
func (l *Log) otherChain(num uint32, old, id types.Checksum256) error {
	b, _, err := l.Read(num, nil)
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	if err == nil && b.ID == id {
		return fmt.Errorf("%w: %s has the id %s for block %d, whose traces have %s, at %s", ErrCorrupt,
			l.path(indexPrefix, l.Slice(num), logSuffix), old, num, id, l.Where(num))
	}
	return fmt.Errorf("%w: block %d is %s in %s, and %s here. Move the files away, or name another trace-dir",
		ErrOtherChain, num, old, l.o.Dir, id)
}

func (l *Log) finalise(num uint32) error {
	p, err := l.part(l.Slice(num))
	if err != nil {
		return err
	}
	e := wire.Entry{Irreversible: &num}.Append(nil)
	if err := l.write(&p.index, e, &l.stats.Index); err != nil {
		return err
	}
	if err := l.write(&p.ids, e, &l.stats.IDs); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lib = num
	t := l.slices[p.number].table
	t.lib = max(t.lib, num)
	return nil
}
