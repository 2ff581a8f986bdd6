package slicefile

import (
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"tarn/antelope/serial"
	"tarn/antelope/tracelog/clog"
	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
)

// fold makes a number of an id, which is another one if a few bits are. It is not 0.
func fold(id types.Checksum256) uint64 {
	n := uint64(1)
	for i := 0; i < len(id); i += 8 {
		n = n*31 + binary.LittleEndian.Uint64(id[i:])
	}
	return max(n, 1)
}

// checkConsistent returns an error unless the traces of a block agree with the index and with each other. The
// format has no checksum: of what actions did nothing else tells.
func (d *directory) checkConsistent(num uint32, x span, b *wire.Block) error {
	switch {
	case b.Number != num || types.BlockNum(b.ID) != num:
		return fmt.Errorf("they are of block %d, %s", b.Number, b.ID)
	case x.id != 0 && x.id != fold(b.ID):
		return fmt.Errorf("they are of block %s, and the index, %s, says another one",
			b.ID, d.path(indexPrefix, d.Slice(num), logSuffix))
	case types.BlockNum(b.Previous)+1 != num:
		return fmt.Errorf("they say that %s is the block before", b.Previous)
	}
	last := uint64(0) // sequence number of an action of the transactions before
	for i := range b.Transactions {
		t := &b.Transactions[i]
		if p := t.Place; p != nil &&
			(p.Number != num || p.Time != b.Timestamp || p.Producer != nil && *p.Producer != b.ID) {
			return fmt.Errorf("transaction %s says that it is of block %d at %s", t.ID, p.Number, p.Time)
		}
		end, err := inOrder(t, last)
		if err != nil {
			return err
		}
		last = end
	}
	return nil
}

// inOrder is an error unless the actions of a transaction have numbers of their own, which follow
// those of the transactions before. It returns the greatest.
func inOrder(t *wire.Transaction, last uint64) (uint64, error) {
	end, seen := last, make(map[uint64]struct{}, len(t.Actions))
	for i := range t.Actions {
		n := t.Actions[i].GlobalSequence
		if n == 0 { // it has no receipt
			continue
		}
		if _, twice := seen[n]; twice || n <= last {
			return 0, fmt.Errorf(
				"action %d of transaction %s has the number %d, which an action before has, or a later one", i, t.ID, n)
		}
		seen[n], end = struct{}{}, max(end, n)
	}
	return end, nil
}

// corrupt makes an error of damaged bytes one that wraps ErrCorrupt.
func corrupt(err error) error {
	if errors.Is(err, ErrCorrupt) || !errors.Is(err, serial.ErrValue) && !errors.Is(err, serial.ErrShort) &&
		!errors.Is(err, clog.ErrCorrupt) &&
		!errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) &&
		!errors.As(err, new(flate.CorruptInputError)) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}
