package slicefile

import (
	"errors"
	"fmt"
	"slices"

	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
)

// join compares the files with the chain, and makes irreversible what the chain says.
// Blocks that the chain does not tell again stay only if the chain has them.
func (l recovery) join(last uint32, c Chain) error {
	newest := max(last, l.lib) // blocks up to it may come again
	l.again = again{on: newest > 0, last: newest, lib: l.lib}
	if newest == 0 {
		return nil
	}
	if c.Head <= l.lib {
		ids, err := l.idsOf(l.Slice(c.Head))
		if old, there := ids[c.Head]; err == nil && there && old != c.ID {
			err = l.otherChain(c.Head, old, c.ID)
		}
		return err
	}
	common, err := l.common(last, c)
	if err != nil {
		return err
	}
	if common > l.lib {
		if err := l.confirm(common); err != nil {
			return err
		}
	}
	if common == c.Head {
		return nil
	}
	lost := last - min(last, l.lib)
	if lost > 0 {
		if err := l.takeBack(); err != nil {
			return fmt.Errorf("take back the blocks after %d: %w", l.lib, err)
		}
		l.mu.Lock()
		l.head = l.lib
		l.mu.Unlock()
	}
	l.again = again{on: l.lib > 0, last: l.lib, lib: l.lib}
	l.o.Logger.Warn(fmt.Sprintf(
		"The traces end with block %d, and the chain is at block %d: the blocks between them were applied without "+
			"the traces being recorded, and stay missing. A replay (--replay-blockchain) records them", l.lib, c.Head),
		"removed", lost)
	return nil
}

// common returns the last block that the files and the chain have, up to the head, if all
// between the irreversible one and it are of its branch; else that is 0.
func (l recovery) common(last uint32, c Chain) (uint32, error) {
	var ids map[uint32]types.Checksum256 // of a slice
	of := uint32(0)
	for num := min(last, c.Head); num > l.lib; num-- {
		id, known := c.ID, true
		if num < c.Head {
			var err error
			if id, known, err = c.known(num); err != nil {
				return 0, err
			}
		}
		if !known {
			continue
		}
		if ids == nil || l.Slice(num) != of {
			var err error
			of = l.Slice(num)
			if ids, err = l.idsOf(of); err != nil {
				return 0, err
			}
		}
		if old, there := ids[num]; !there || old != id {
			continue
		}
		leads, err := l.leadsTo(num, id)
		if err != nil || leads {
			return num, err
		}
	}
	return 0, nil
}

// leadsTo tells whether the blocks between the irreversible one and a block are those that
// come before it.
func (l recovery) leadsTo(num uint32, id types.Checksum256) (bool, error) {
	for ; num > l.lib; num-- {
		b, _, err := l.Read(num, nil)
		if errors.Is(err, ErrNotFound) { // recorded since the next one, if none is before it
			return l.noneIn(l.lib, num)
		}
		if err != nil || b.ID != id {
			return false, err
		}
		id = b.Previous
	}
	return true, nil
}

// noneIn tells whether there are no blocks above one and before another.
func (l recovery) noneIn(above, before uint32) (bool, error) {
	for _, number := range l.Slices() {
		if number < l.Slice(above) || number > l.Slice(before) {
			continue
		}
		ids, err := l.idsOf(number)
		if err != nil {
			return false, err
		}
		for num := range ids {
			if num > above && num < before {
				return false, nil
			}
		}
	}
	return true, nil
}

// confirm writes that a block, which the files have, is irreversible, into each slice that
// has blocks up to it.
func (l recovery) confirm(num uint32) error {
	for _, number := range l.Slices() {
		if number < l.Slice(l.lib) || number > l.Slice(num) {
			continue
		}
		end := uint32(min(int64(number+1)*int64(l.o.Stride)-1, int64(num)))
		if end > l.lib {
			if err := l.finalise(end); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeBack removes the blocks above the irreversible one. Entries were only appended, so an
// entry goes with all that follow it in its slice. Irreversible blocks that came again with
// a switch of forks may be among those, and are missing from then on.
func (l recovery) takeBack() error {
	number := l.Slice(l.lib)
	// what goes is ours if the node ends meanwhile
	m := mark{head: l.mark.head, lib: l.lib, open: max(l.mark.open, l.newest()+1)}
	if l.lib > 0 {
		m.end = number + 1
		for _, s := range l.mark.slices { // more may have been written to them, which is not durable
			if s.number < number {
				m.slices = append(m.slices, s)
			}
		}
	}
	packed, err := l.fs.Exists(l.path(tracesPrefix, number, clogSuffix))
	if err != nil {
		return err
	}
	if m.end > 0 && !packed {
		s, err := l.certain(number)
		if err != nil {
			return err
		}
		m.slices = append(m.slices, s)
	}
	for _, n := range l.Slices() {
		if n >= number {
			if err := l.forget(n); err != nil {
				return err
			}
		}
	}
	// The mark must not tell of what is removed, before it is.
	if err := l.setMark(m); err != nil {
		return err
	}
	if err := l.cut(&m, 0); err != nil {
		return err
	}
	if m.end == 0 || packed {
		return nil
	}
	return l.finalise(l.lib)
}

// forget lets go of what is known of a slice whose files are about to be cut, and makes
// durable what they have.
func (l recovery) forget(number uint32) (err error) {
	if p := l.parts[number]; p != nil {
		for _, t := range p.tails() {
			if t.dirty {
				err = errors.Join(err, l.syncTail(t))
			}
		}
		err = errors.Join(err, p.close())
		delete(l.parts, number)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.slices[number]; s != nil {
		if s.table != nil && !s.live {
			l.kept -= s.table.blocks
		}
		s.table, s.live = nil, false
	}
	return err
}

// certain returns the sizes up to which the files of a slice have only irreversible blocks.
func (l recovery) certain(number uint32) (s sizes, err error) {
	s.number = number
	var index, ids []wire.Head
	end, err := l.scanIndex(number, func(h *wire.Head, _ int64) error {
		index = append(index, *h)
		return nil
	})
	if err == nil {
		_, err = l.scanIDs(number, func(h *wire.Head, _ int64) error {
			ids = append(ids, *h)
			return nil
		})
	}
	if err != nil || end == 0 {
		return s, err
	}
	is, err := l.sizesOf(number)
	if err != nil {
		return s, err
	}
	s.traces, s.index = is.traces, indexHeader
	stay := certain(index, l.lib)
	for _, h := range index[:stay] {
		s.index += h.Bytes
	}
	for _, h := range index[stay:] {
		if h.Kind == wire.BlockKind {
			s.traces = min(s.traces, int64(h.Offset))
			break
		}
	}
	name(ids, index)
	for _, h := range ids[:certain(ids, l.lib)] {
		s.ids += h.Bytes
	}
	return s, nil
}

// name gives the entries of a file of ids the ids of their blocks, if the index has entries
// of the same blocks in the same order.
func name(ids, index []wire.Head) {
	blocks := func(entries []wire.Head) (list []*wire.Head) {
		for i := range entries {
			if entries[i].Kind != wire.IrreversibleKind {
				list = append(list, &entries[i])
			}
		}
		return list
	}
	a, b := blocks(ids), blocks(index)
	if !slices.EqualFunc(a, b, func(x, y *wire.Head) bool { return x.Number == y.Number }) {
		return
	}
	for i := range a {
		a[i].ID = b[i].ID
	}
}

// certain is how many of the first entries of a slice can stay without the others: they
// have only blocks up to the irreversible one, and of each the entry that counts or, last,
// one of the same block.
func certain(entries []wire.Head, lib uint32) (stay int) {
	counts := map[uint32]int{}
	told := uint32(0)
	for i, h := range entries {
		if h.Kind == wire.IrreversibleKind {
			told = max(told, h.Number)
		} else if _, there := counts[h.Number]; !there || h.Number > told {
			counts[h.Number] = i
		}
	}
	replaced := map[uint32]bool{} // by an entry that comes later
	for i, h := range entries {
		if h.Kind != wire.IrreversibleKind {
			if h.Number > lib {
				break
			}
			c := counts[h.Number]
			if i == c || i < c && h.ID == entries[c].ID && !h.ID.IsZero() {
				delete(replaced, h.Number)
			} else if i < c {
				replaced[h.Number] = true
			}
		}
		if len(replaced) == 0 {
			stay = i + 1
		}
	}
	return stay
}
