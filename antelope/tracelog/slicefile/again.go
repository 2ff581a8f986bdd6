package slicefile

import (
	"maps"
	"slices"

	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
)

// again is what is known of blocks that the chain may tell another time.
type again struct {
	on     bool
	last   uint32 // newest block that may come again
	lib    uint32 // irreversible one of the files
	number uint32 // of the slice whose ids are in memory
	ids    map[uint32]types.Checksum256
	held   map[uint32]held // blocks that the files lack
	warned bool
}

// held is a block that the files lack, though they say that its number is irreversible. It
// is written when the chain says so too: an entry that comes in its place after that entry
// does not count.
type held struct {
	block *wire.Block
	ids   *wire.Transactions
}

// hold keeps a block until it is irreversible, in the place of those that it replaces.
func (a *again) hold(b *wire.Block, ids *wire.Transactions) {
	maps.DeleteFunc(a.held, func(num uint32, _ held) bool { return num >= b.Number })
	if a.held == nil {
		a.held = map[uint32]held{}
	}
	a.held[b.Number] = held{b, ids}
}

// fill writes the blocks that were held up to one that is irreversible.
func (l *Log) fill(num uint32) error {
	a := &l.again
	for _, n := range slices.Sorted(maps.Keys(a.held)) {
		if n > num {
			return nil
		}
		if err := l.append(a.held[n].block, a.held[n].ids); err != nil {
			return err
		}
		delete(a.held, n)
		a.ids = nil
	}
	return nil
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

// fate is what becomes of a block that is told.
type fate int

const (
	written fate = iota
	left         // as the files have it, or because it must not get there
	missed       // by files that say that its number is irreversible
)

// fate tells what becomes of a block.
func (l *Log) fate(num uint32, id types.Checksum256) (fate, error) {
	a := &l.again
	if num <= a.lib {
		return l.fateOfOld(num)
	}
	if a.on = a.on && num <= a.last; !a.on {
		return written, nil
	}
	old, there, err := l.known(num)
	if err != nil || there && old == id {
		return left, err
	}
	a.on = false // a fork: what follows in the files may be of another one
	return written, nil
}

// fateOfOld is that of a block whose number is irreversible in the files. If they have
// another block, this one is of a fork that has lost; Finalise tells whether it is of
// another chain.
func (l *Log) fateOfOld(num uint32) (fate, error) {
	_, there, err := l.known(num)
	if err != nil || there {
		return left, err
	}
	packed, err := l.fs.Exists(l.path(tracesPrefix, l.Slice(num), clogSuffix))
	if err != nil || !packed {
		return missed, err
	}
	if !l.again.warned {
		l.again.warned = true
		l.o.Logger.Warn("A block is not in its slice, which is compressed already; it stays missing", "block", num)
	}
	return left, nil
}
