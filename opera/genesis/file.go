package genesis

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ethereum/go-ethereum/rlp"
)

const (
	// intro begins each unit: a mark and the version of the form.
	intro = "\x64\x1b\x00\xac\x00\x02\x00\x01"
	// headerLimit is how long a unit may be before its content (go-opera,
	// opera/genesisstore).
	headerLimit = 100_000
)

// unitHeader is the RLP after the intro.
type unitHeader struct {
	Name   string
	Header Header
}

// Unit is one unit of a file.
type Unit struct {
	Name string
	Root [32]byte // of the hashes of the content's pieces
	// Size of the content as the header claims it: for progress, nothing depends on
	// it.
	Size uint64
	// Offset and Length of the compressed body in the file.
	Offset, Length int64
}

// Options of a file that is read.
type Options struct {
	// Progress, unless nil, is told after each piece how much of a unit's content
	// was read, and the unit's size.
	Progress func(unit string, read, size uint64)
}

// File is an open genesis file. Several loops over it may run at once, each with the
// memory of a piece (64 MiB in go-opera's files, at most 256 MiB with the hashes).
type File struct {
	name    string
	in      io.ReaderAt
	options Options
	header  Header
	units   []Unit
	close   func() error
}

var _ Source = (*File)(nil)

// Open opens a genesis file and reads the headers of its units.
func Open(path string, options Options) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open a genesis file: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		var file *File
		if file, err = NewFile(path, f, info.Size(), options); err == nil {
			file.close = f.Close
			return file, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

// NewFile reads the headers of the units of a genesis of that many bytes. The name is
// for errors.
func NewFile(name string, in io.ReaderAt, size int64, options Options) (*File, error) {
	f := &File{name: name, in: in, options: options, close: func() error { return nil }}
	names := map[string]bool{}
	for at := int64(0); at < size || at == 0; {
		header, unit, err := f.readUnit(at, size)
		if err == nil {
			err = f.accept(header, unit, names)
		}
		if err != nil {
			return nil, &Error{File: name, Unit: unit.Name, Offset: at, Err: err}
		}
		names[unit.Name] = true
		f.header = header
		f.units = append(f.units, unit)
		at = unit.Offset + unit.Length
	}
	return f, nil
}

// readUnit reads what precedes the content of the unit at that offset.
func (f *File) readUnit(at, size int64) (Header, Unit, error) {
	raw := make([]byte, min(headerLimit, size-at))
	if _, err := f.in.ReadAt(raw, at); err != nil && !errors.Is(err, io.EOF) {
		return Header{}, Unit{}, fmt.Errorf("read a unit's header: %w", err)
	}
	if !bytes.HasPrefix(raw, []byte(intro[:4])) {
		return Header{}, Unit{}, ErrNotGenesis
	}
	if !bytes.HasPrefix(raw, []byte(intro)) {
		return Header{}, Unit{}, fmt.Errorf("%w: %x, not %x", ErrVersion, raw[4:min(8, len(raw))], intro[4:])
	}
	content, rest, err := rlp.SplitList(raw[len(intro):])
	if err != nil {
		return Header{}, Unit{}, fmt.Errorf("%w header: %w", ErrMalformed, err)
	}
	var h unitHeader
	list := raw[len(intro) : len(raw)-len(rest)]
	if err := rlp.DecodeBytes(list, &h); err != nil {
		return Header{}, Unit{}, fmt.Errorf("%w header of %d bytes: %w", ErrMalformed, len(content), err)
	}
	unit := Unit{Name: h.Name}
	if len(rest) < 48 {
		return h.Header, unit, ErrTruncated
	}
	unit.Root = [32]byte(rest)
	length := binary.BigEndian.Uint64(rest[32:])
	unit.Size = binary.BigEndian.Uint64(rest[40:])
	unit.Offset = at + int64(len(intro)+len(list)+48)
	if length > uint64(size-unit.Offset) {
		return h.Header, unit, fmt.Errorf("%w: its body has %d bytes, %d are left",
			ErrTruncated, length, size-unit.Offset)
	}
	unit.Length = int64(length)
	return h.Header, unit, nil
}

// accept tells whether a unit may follow those that the file has.
func (f *File) accept(header Header, unit Unit, names map[string]bool) error {
	switch {
	case unit.Name == "":
		return fmt.Errorf("%w: a unit without a name", ErrMalformed)
	case len(f.units) > 0 && header != f.header:
		return fmt.Errorf("%w: %v, then %v", ErrHeader, f.header, header)
	case names[unit.Name]:
		return ErrDuplicate
	}
	return nil
}

// Header returns the header that all units have.
func (f *File) Header() Header { return f.header }

// Hashes returns the roots that the headers of the units name. That contents have
// them is known of what was read to its end without an error.
func (f *File) Hashes() Hashes {
	h := make(Hashes, len(f.units))
	for _, u := range f.units {
		h[u.Name] = u.Root
	}
	return h
}

// Close closes the file. No loop over it may be running.
func (f *File) Close() error { return f.close() }
