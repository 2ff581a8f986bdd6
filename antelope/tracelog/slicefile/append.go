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
			index: tail{path: l.path(indexPrefix, number, logSuffix)}, ids: tail{path: l.path(idsPrefix, number, logSuffix)},
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

// announce makes the table of a slice that is appended to stay, and its sizes be in the
// mark if Begin would not cut it off otherwise.
func (l *Log) announce(p *part) error {
	t, err := l.load(p.number)
	if err != nil {
		return err
	}
	if err := l.bound(t, p.number); err != nil {
		return err
	}
	l.mu.Lock()
	s := l.slices[p.number]
	if s == nil {
		s = &slice{number: p.number}
		l.slices[p.number] = s
	}
	if s.table != nil && !s.live {
		l.kept -= s.table.blocks
	}
	s.table, s.live = t, true
	l.mu.Unlock()
	if l.mark.covers(p.number) {
		return nil
	}
	for _, t := range p.tails() {
		if t.dirty {
			if err := l.syncTail(t); err != nil {
				return fmt.Errorf("sync %s: %w", t.path, err)
			}
		}
	}
	m := l.mark
	m.slices = append(m.slices[:len(m.slices):len(m.slices)], p.sizes())
	return l.setMark(m)
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

// again is what is known of blocks that the chain may tell another time.
type again struct {
	on     bool
	last   uint32 // newest block that may come again
	lib    uint32 // irreversible one of the files
	number uint32 // of the slice whose ids are in memory
	ids    map[uint32]types.Checksum256
	warned bool
}

// known returns the id that a block has in the files, since before they were opened.
func (l *Log) known(num uint32) (types.Checksum256, bool, error) {
	a := &l.again
	if number := l.Slice(num); a.ids == nil || a.number != number {
		var err error
		if a.ids, err = l.idsOf(number); err != nil {
			return types.Checksum256{}, false, err
		}
		a.number = number
	}
	id, there := a.ids[num]
	return id, there, nil
}

// Append adds a block, and the ids of its transactions. One that the files had when they
// were opened is left as it is, until another block comes in the place of one. filled
// tells that the block was missing in files that say that it is irreversible.
func (l *Log) Append(b *wire.Block, ids *wire.Transactions) (filled bool, err error) {
	if l.failed != nil {
		return false, l.failed
	}
	skip, err := l.has(b.Number, b.ID)
	if err != nil {
		return false, err
	}
	if !skip {
		if err := l.append(b, ids); err != nil {
			return false, l.fail(err)
		}
	}
	l.mu.Lock()
	l.head = b.Number
	l.mu.Unlock()
	return l.again.on && !skip, nil
}

func (l *Log) append(b *wire.Block, ids *wire.Transactions) error {
	p, err := l.part(l.Slice(b.Number))
	if err != nil {
		return err
	}
	// The order is nodeos'. Nobody reads the entries before the table has them.
	where, at := span{from: p.ids.size}, span{from: p.traces.size}
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

// has tells whether a block is in the files already, or must not get there.
func (l *Log) has(num uint32, id types.Checksum256) (bool, error) {
	a := &l.again
	if !a.on || num > a.last {
		a.on = false
		return false, nil
	}
	old, there, err := l.known(num)
	if err != nil || there && old == id {
		return true, err
	}
	if num > a.lib { // a fork: what follows in the files may be of another one
		a.on = false
		return false, nil
	}
	if there { // of a fork that has lost already; Finalise tells whether it is another chain
		return true, nil
	}
	packed, err := l.fs.Exists(l.path(tracesPrefix, l.Slice(num), clogSuffix))
	if err == nil && packed && !a.warned {
		a.warned = true
		l.o.Logger.Warn("A block is not in its slice, which is compressed already; it stays missing", "block", num)
	}
	return packed, err
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
		return err
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

func (l *Log) otherChain(num uint32, old, id types.Checksum256) error {
	return fmt.Errorf("%w: block %d is %s in %s, and %s here. Move the files away, or name another trace-dir", ErrOtherChain, num, old, l.o.Dir, id)
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
