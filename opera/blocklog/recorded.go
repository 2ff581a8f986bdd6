package blocklog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// records are the blocks that came as records after the chain had begun, whichever they are,
// in the order in which they came. No store counts on them: what a crash took may come again.
type records struct {
	part
	span   atomic.Pointer[span]
	synced atomic.Uint64 // how many are durable
}

// span is the lowest and the highest number of some blocks.
type span struct{ lowest, highest inter.BlockNumber }

// record is an entry of their log.
type record struct {
	Number          inter.BlockNumber
	Lowest, Highest inter.BlockNumber // of all up to this one
	Block           Block
}

// kindNumber is a kind of key: the number of a block that came as a record.
const kindNumber = 'n'

// recordKeys emits the keys of a record: those of its block, with its number in the values.
// Those of addresses and topics end with which window of numbers it is in, so that a search
// finds what is in a window.
func recordKeys(_ uint64, entry []byte, emit func(key, value []byte)) error {
	r := new(record)
	if err := rlp.DecodeBytes(entry, r); err != nil {
		return fmt.Errorf("decode a block that came as a record: %w", err)
	}
	r.keys(emit)
	return nil
}

func (r *record) keys(emit func(key, value []byte)) {
	number := binary.BigEndian.AppendUint64(nil, uint64(r.Number))
	emit(append([]byte{kindNumber}, number...), nil)
	r.Block.keys(func(key, value []byte) {
		if key[0] != kindID && key[0] != kindTx {
			key = inWindow(key, r.Number)
		}
		emit(key, append(number[:8:8], value...))
	})
}

// inWindow makes the key of an address or topic one of a block's window.
func inWindow(key []byte, n inter.BlockNumber) []byte {
	return binary.BigEndian.AppendUint64(key[:len(key):len(key)], uint64(n/window))
}

// find finds what numbers there are.
func (r *records) find() error {
	next := r.log.Next()
	if next == 0 {
		return nil
	}
	last, err := r.read(next - 1)
	if err == nil {
		r.span.Store(&span{last.Lowest, last.Highest})
		r.synced.Store(next)
	}
	return err
}

func (r *records) read(entry uint64) (*record, error) {
	raw, err := r.log.Read(entry, nil)
	if err != nil {
		return nil, err
	}
	into := new(record)
	if err := rlp.DecodeBytes(raw, into); err != nil {
		return nil, fmt.Errorf("read entry %d of the blocks that came as records: %w", entry, err)
	}
	return into, nil
}

// AppendRecord adds a block that came as a record and is none of the chain's. They come in any
// order.
func (l *Log) AppendRecord(number inter.BlockNumber, b *Block) error {
	r := &record{Number: number, Lowest: number, Highest: number, Block: *b}
	if s := l.recorded.span.Load(); s != nil {
		r.Lowest, r.Highest = min(number, s.lowest), max(number, s.highest)
	}
	raw, err := rlp.EncodeToBytes(r)
	entry := uint64(0)
	if err == nil {
		entry, err = l.recorded.log.Append(raw)
	}
	if err == nil {
		err = l.recorded.index.AddKeys(entry, func(emit func(key, value []byte)) error {
			r.keys(emit)
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("append the record of block %d: %w", number, err)
	}
	l.recorded.span.Store(&span{r.Lowest, r.Highest})
	return nil
}

// FlushRecords writes the records that wait in memory, so that the end of the process does not
// lose them.
func (l *Log) FlushRecords() error { return l.recorded.log.Flush() }

// Records is how many blocks came as records.
func (l *Log) Records() uint64 { return l.recorded.log.Next() }

// DurableRecords is how many of them are synced.
func (l *Log) DurableRecords() uint64 { return l.recorded.synced.Load() }

// RecordSpan returns the lowest and the highest number of the blocks that came as records,
// between which some may be missing; zeros without any.
func (l *Log) RecordSpan() (lowest, highest inter.BlockNumber) {
	s := l.recorded.span.Load()
	if s == nil {
		return 0, 0
	}
	return s.lowest, s.highest
}

// HasRecord tells whether a block came as a record.
func (l *Log) HasRecord(number inter.BlockNumber) (bool, error) {
	_, found, err := l.recordAt(number)
	return found, err
}

func (l *Log) recordAt(number inter.BlockNumber) (entry uint64, found bool, err error) {
	if s := l.recorded.span.Load(); s == nil || number < s.lowest || number > s.highest {
		return 0, false, nil
	}
	err = l.recorded.index.Find(binary.BigEndian.AppendUint64([]byte{kindNumber}, uint64(number)), 0,
		func(n uint64, _ []byte) bool {
			entry, found = n, true
			return false
		})
	return entry, found, err
}

// Recorded returns a block that came as a record, nil if there is none. It is the caller's.
func (l *Log) Recorded(number inter.BlockNumber) (*Block, error) {
	entry, found, err := l.recordAt(number)
	if err != nil || !found {
		return nil, err
	}
	r, err := l.recorded.read(entry)
	if err != nil {
		return nil, err
	}
	return &r.Block, nil
}

// recordNumbers calls each for the numbers of records that have a key, with the rest of the value,
// and tells whether it wants more.
func (l *Log) recordNumbers(key []byte, each func(n inter.BlockNumber, rest []byte) bool) (more bool, err error) {
	more = true
	bad := error(nil)
	err = l.recorded.index.Find(key, 0, func(_ uint64, value []byte) bool {
		if len(value) < 8 {
			bad = fmt.Errorf("the index of records has a value of %d bytes for key %x", len(value), key)
			return false
		}
		more = each(inter.BlockNumber(binary.BigEndian.Uint64(value)), value[8:])
		return more
	})
	return more, errors.Join(err, bad)
}

// recordedTransactions is for [Log.Transactions].
func (l *Log) recordedTransactions(
	hash common.Hash, each func(block inter.BlockNumber, index uint) bool,
) (bool, error) {
	return l.recordNumbers(key(kindTx, hash[:]), func(n inter.BlockNumber, rest []byte) bool {
		index, _ := binary.Uvarint(rest)
		return each(n, uint(index))
	})
}
