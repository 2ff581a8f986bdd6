package genesis

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// recordLimit bounds a record, a key and a value. The largest block that rules ever
// allowed has a hundredth of it.
const recordLimit = 256 << 20

// Epochs implements [Source].
func (f *File) Epochs() iter.Seq2[*inter.EpochRecord, error] {
	return records[inter.EpochRecord](f, Epochs)
}

// Blocks implements [Source].
func (f *File) Blocks() iter.Seq2[*inter.BlockRecord, error] {
	return records[inter.BlockRecord](f, Blocks)
}

// Items implements [Source].
func (f *File) Items() iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		stopped := errors.New("stopped")
		var item Item
		err := f.parts(State, func(c *content, in *bufio.Reader) error {
			var err error
			if item.Key, err = readSized(in, item.Key); err != nil {
				return fmt.Errorf("read a key: %w", err)
			}
			if item.Value, err = readSized(in, item.Value); err != nil {
				return fmt.Errorf("read a value: %w", err)
			}
			if !yield(item, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield(Item{}, err)
		}
	}
}

// readSized reads a length of four bytes, and that many.
func readSized(in *bufio.Reader, buffer []byte) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return buffer, early(err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > recordLimit {
		return buffer, fmt.Errorf("%w: it has %d bytes", ErrTooLarge, n)
	}
	buffer, err := readAtMost(in, int64(n), buffer)
	return buffer, early(err)
}

// records yields the RLP values of a section.
func records[T any](f *File, section string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		stopped := errors.New("stopped")
		var raw []byte
		err := f.parts(section, func(c *content, in *bufio.Reader) error {
			var err error
			if raw, err = readRecord(in, raw); err != nil {
				return fmt.Errorf("read a record: %w", err)
			}
			record := new(T)
			if err := rlp.DecodeBytes(raw, record); err != nil {
				return fmt.Errorf("%w record: %w", ErrMalformed, err)
			}
			if !yield(record, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield(nil, err)
		}
	}
}

// readRecord reads one RLP list with its head.
func readRecord(in *bufio.Reader, buffer []byte) ([]byte, error) {
	first, err := in.Peek(1)
	if err != nil {
		return buffer, early(err)
	}
	if first[0] < 0xc0 {
		return buffer, fmt.Errorf("%w: %#x begins no RLP list", ErrMalformed, first[0])
	}
	head, size := 1, uint64(first[0])-0xc0
	if first[0] > 0xf7 {
		head = 1 + int(first[0]) - 0xf7
		raw, err := in.Peek(head)
		if err != nil {
			return buffer, early(err)
		}
		var padded [8]byte
		copy(padded[9-head:], raw[1:])
		size = binary.BigEndian.Uint64(padded[:])
	}
	if size > recordLimit {
		return buffer, fmt.Errorf("%w: it has %d bytes", ErrTooLarge, size)
	}
	buffer, err = readAtMost(in, int64(head)+int64(size), buffer)
	return buffer, early(err)
}

// parts opens the parts of a section, newest first, and calls next at each value that
// is not the end. An error of next ends it, with the value's place.
func (f *File) parts(section string, next func(*content, *bufio.Reader) error) error {
	byName := make(map[string]Unit, len(f.units))
	for _, unit := range f.units {
		byName[unit.Name] = unit
	}
	for part := lastPart; part >= 0; part-- {
		unit, ok := byName[UnitName(section, part)]
		if !ok {
			continue
		}
		if err := f.part(unit, next); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) part(unit Unit, next func(*content, *bufio.Reader) error) error {
	c, err := f.open(unit)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(c, 1<<16)
	for {
		at := c.position() - int64(in.Buffered())
		if _, err := in.Peek(1); errors.Is(err, io.EOF) {
			return nil
		}
		if err := next(c, in); err != nil {
			var placed *Error
			if errors.As(err, &placed) {
				return err
			}
			return c.failAt(at, err)
		}
	}
}

// Verify reads all units to their ends and compares their hashes, also those that are
// no section's. It decodes nothing.
func (f *File) Verify() error {
	for _, unit := range f.units {
		c, err := f.open(unit)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, c); err != nil {
			return err
		}
	}
	return nil
}
