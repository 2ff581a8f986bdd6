package appendonly

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"tarn/store/vfs"
)

// mergeInto adds the postings of runs, which follow each other, in order.
func (x *Index) mergeInto(parts []*run, add func(*posting) error) error {
	heads := make([]*merging, 0, len(parts))
	defer func() {
		for _, h := range heads {
			h.stop()
		}
	}()
	for _, r := range parts {
		h := x.walk(r, 0)
		heads = append(heads, h)
		if !h.next() && h.err != nil {
			return h.err
		}
	}
	for {
		var first *merging
		for _, h := range heads {
			if h.ok && (first == nil || bytes.Compare(h.at.key, first.at.key) < 0) {
				first = h // of equal keys the earlier run has the earlier entries
			}
		}
		if first == nil {
			return nil
		}
		if err := add(&first.at); err != nil {
			return err
		}
		if !first.next() && first.err != nil {
			return first.err
		}
	}
}

// merging walks a run block by block.
type merging struct {
	run    *run
	files  *files
	handle *handle
	block  int
	queue  []posting
	at     posting
	ok     bool
	err    error
}

// walk walks a run from a block on.
func (x *Index) walk(r *run, block int) *merging {
	m := &merging{run: r, files: x.files, block: block}
	m.handle, m.err = x.takeRun(r)
	return m
}

// next moves to the next posting, and tells whether there is one.
func (m *merging) next() bool {
	m.ok = false
	for m.err == nil && len(m.queue) == 0 && m.block < len(m.run.blocks) {
		one := *m.run
		one.blocks = m.run.blocks[m.block : m.block+1]
		m.block++
		m.err = one.scan(m.handle.File, 0, func(p *posting) (bool, error) {
			m.queue = append(m.queue, posting{bytes.Clone(p.key), p.number, bytes.Clone(p.value)})
			return true, nil
		})
	}
	if m.err != nil || len(m.queue) == 0 {
		return false
	}
	m.at, m.queue, m.ok = m.queue[0], m.queue[1:], true
	return true
}

func (m *merging) stop() {
	if m.handle != nil {
		m.err = errors.Join(m.err, m.files.Leave(m.handle))
	}
}

// readList opens the runs of the list, as far as they are whole and the log has their
// entries, and removes the others.
func (x *Index) readList() error {
	there, err := x.o.FS.Exists(x.listPath())
	if err != nil || !there {
		return err
	}
	listed, gone, err := x.loadList()
	var damage *CorruptError
	if errors.As(err, &damage) {
		// What it listed is made again from the log, over the files that it named.
		x.next = 1
		x.o.Notice(fmt.Errorf("%w. All runs are made again from the log", err))
		return x.writeList(nil, nil, x.next)
	}
	if err != nil {
		return err
	}
	whole := 0
	causes := map[*run]error{}
	for i, r := range listed {
		err := x.follows(r, listed[:i])
		if err != nil {
			x.o.Notice(fmt.Errorf("%w. It is given up, with those after it", err))
			break
		}
		if err := x.openRun(r); errors.As(err, &damage) {
			causes[r] = err
		} else if err != nil {
			return err
		}
		whole++
	}
	for _, r := range listed[whole:] {
		gone = append(gone, r.sequence)
	}
	x.runs = listed[:whole]
	if err := x.removeRuns(gone); err != nil {
		return err
	}
	if whole != len(listed) {
		if err := x.writeList(x.runs, nil, x.next); err != nil {
			return err
		}
	}
	for _, r := range listed[:whole] {
		if cause := causes[r]; cause != nil {
			if err := x.remake(r, cause); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeRuns removes files of runs that are in no list, and what a crash left of runs that were
// being written: those have the next sequences.
func (x *Index) removeRuns(gone []uint64) error {
	for sequence := x.next; ; sequence++ {
		there, err := x.o.FS.Exists(runPath(x.o.Dir, sequence))
		if err != nil {
			return err
		}
		if !there {
			break
		}
		gone = append(gone, sequence)
	}
	for _, sequence := range gone {
		if err := vfs.RemoveDurably(x.o.FS, runPath(x.o.Dir, sequence)); err != nil {
			return err
		}
	}
	return nil
}

// follows returns an error unless a run follows others, and the log has its entries.
func (x *Index) follows(r *run, before []*run) error {
	if n := len(before); n != 0 && before[n-1].to > r.from {
		return corrupt(r.path, 0, "run of entries from %d follows one up to %d", r.from, before[n-1].to)
	}
	if next := x.o.Log.Next(); r.to > next {
		return corrupt(r.path, 0, "run of entries up to %d, and the log has them up to %d", r.to, next)
	}
	return nil
}

// openRun opens a run.
func (x *Index) openRun(r *run) error {
	there, err := x.o.FS.Exists(r.path)
	if err != nil {
		return err
	}
	if !there {
		return corrupt(r.path, 0, "missing")
	}
	err = x.files.Use(r.path, r.open)
	if err != nil {
		return errors.Join(err, x.files.Forget(r.path))
	}
	return nil
}

// loadList reads which runs there are, and which are being removed.
func (x *Index) loadList() (listed []*run, gone []uint64, err error) {
	var raw []byte
	err = x.files.Use(x.listPath(), func(f vfs.File) error {
		size, err := f.Size()
		if err != nil {
			return err
		}
		if size > 64<<20 {
			return corrupt(x.listPath(), 0, "%d bytes", size)
		}
		raw = make([]byte, size)
		return vfs.ReadFull(f, raw, 0)
	})
	if err = errors.Join(err, x.files.Forget(x.listPath())); err != nil {
		return nil, nil, err
	}
	return x.parseList(raw)
}

func (x *Index) parseList(raw []byte) (listed []*run, gone []uint64, err error) {
	bad := corrupt(x.listPath(), 0, "not a list of runs")
	if len(raw) < 24 || string(raw[:8]) != listMagic ||
		checksum(raw[:len(raw)-4]) != binary.LittleEndian.Uint32(raw[len(raw)-4:]) {
		return nil, nil, bad
	}
	x.next = binary.LittleEndian.Uint64(raw[8:])
	n, b := int(binary.LittleEndian.Uint32(raw[16:])), raw[20:len(raw)-4]
	if len(b) < 28*n || (len(b)-28*n)%8 != 0 {
		return nil, nil, bad
	}
	for ; n > 0; n, b = n-1, b[28:] {
		r := &run{sequence: binary.LittleEndian.Uint64(b), level: binary.LittleEndian.Uint32(b[8:]),
			from: binary.LittleEndian.Uint64(b[12:]), to: binary.LittleEndian.Uint64(b[20:])}
		if r.from >= r.to {
			return nil, nil, fmt.Errorf("run %d: %w", r.sequence, bad)
		}
		r.path = runPath(x.o.Dir, r.sequence)
		listed = append(listed, r)
	}
	for ; len(b) != 0; b = b[8:] {
		gone = append(gone, binary.LittleEndian.Uint64(b))
	}
	return listed, gone, nil
}
