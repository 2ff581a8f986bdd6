package pebble

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"

	"github.com/cockroachdb/pebble/v2/record"

	"tarn/store"
	"tarn/store/lsm"
	"tarn/store/vfs/torntail"
)

// The library's list of its files, the MANIFEST, is a log of changes. At a change that is not whole
// the library stops reading, and takes what came before for all there is: rows of tables that are
// named behind it would be gone without a word.

// chunkHead is how many bytes a chunk of the list has before its content: a masked CRC-32C of the
// kind and the content, the content's length, and the kind.
const chunkHead = 4 + 2 + 1

// lastChunkKind is the last kind of the four that chunks of the list have.
const lastChunkKind = 4

// chunks finds whole chunks.
func chunks() *torntail.Records {
	return &torntail.Records{
		Head: chunkHead,
		Parse: func(head []byte) (content int64, sum uint32, ok bool) {
			masked := binary.LittleEndian.Uint32(head) - 0xa282ead8
			content, kind := int64(binary.LittleEndian.Uint16(head[4:])), head[6]
			return content, masked>>17 | masked<<15, content > 0 && kind > 0 && kind <= lastChunkKind
		},
		Prefixes: func(_ int64, head []byte) iter.Seq[[]byte] {
			return func(yield func([]byte) bool) { yield(head[6:7]) }
		},
	}
}

// checkList refuses a list in which a change is damaged that whole ones follow, or that was durable: no
// crash does that. A last change that no seal tells of may be torn.
func (f *files) checkList(folder *lsm.Folder) (err error) {
	path := f.list()
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the library says so
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	end := torntail.End{Path: path, Size: info.Size(), Durable: torntail.Unnoted}
	if end.Whole, err = wholeChanges(file); err != nil {
		return err
	}
	if number, ok := listNumber(path); ok {
		if err := folder.CheckList(path,
			lsm.List{Number: number, Size: uint32(min(end.Whole, math.MaxUint32))}); err != nil {
			return err
		}
	}
	end.Behind = func(offset int64) (int64, bool, error) { return chunks().Next(file, offset, end.Size) }
	err = end.Judge()
	if d, ok := errors.AsType[*torntail.Damage](err); ok {
		return &store.CorruptError{Path: path, Table: -1, Page: -1, Offset: d.Offset, Detail: d.Detail}
	}
	return err
}

// wholeChanges is the offset up to which all changes of a list are whole.
func wholeChanges(file io.Reader) (int64, error) {
	changes := record.NewReader(file, 0)
	for {
		at := changes.Offset()
		change, err := changes.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, change)
		}
		switch {
		case err == nil:
		case err == io.EOF, record.IsInvalidRecord(err):
			return at, nil
		default:
			return 0, err
		}
	}
}
