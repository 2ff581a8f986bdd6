package badger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/proto"

	"tarn/store"
	"tarn/store/lsm"
)

// checkTables reads every table that the library's list names and returns the
// first that is damaged.
func checkTables(folder *lsm.Folder) error {
	names, list, err := listedTables(folder.Path())
	if err == nil {
		err = folder.CheckList(filepath.Join(folder.Path(), badger.ManifestFilename), list)
	}
	if err != nil {
		return err
	}
	var (
		work  = make(chan string)
		first error
		mu    sync.Mutex
		wg    sync.WaitGroup
	)
	for range 2 {
		wg.Go(func() {
			for name := range work {
				if err := checkTable(name); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	for _, name := range names {
		work <- name
	}
	close(work)
	wg.Wait()
	return first
}

// listedTables returns the files of the tables that the library's list names, and where the list's whole changes end.
func listedTables(path string) ([]string, lsm.List, error) {
	name := filepath.Join(path, badger.ManifestFilename)
	f, err := os.Open(name)
	if err != nil {
		return nil, lsm.List{}, tableDamaged(name, err)
	}
	defer f.Close()
	m, whole, err := badger.ReplayManifestFile(f, 0, badger.Options{Logger: &logger{}})
	if err != nil {
		return nil, lsm.List{}, tableDamaged(name, err)
	}
	end, err := wholeEnd(f, 0)
	if err != nil {
		return nil, lsm.List{}, fmt.Errorf("read %s: %w", name, err)
	}
	if whole = min(whole, end); whole < listHead+changeHead {
		return nil, lsm.List{}, tableDamaged(name, errors.New("its first changes are not whole"))
	}
	list, err := listOf(f, whole)
	if err != nil {
		return nil, list, fmt.Errorf("read %s: %w", name, err)
	}
	var names []string
	for id, t := range m.Tables {
		if t.Compression != options.Snappy {
			return nil, list, tableDamaged(name, fmt.Errorf("table %d has compression %d", id, t.Compression))
		}
		names = append(names, table.NewFilename(id, path))
	}
	return names, list, nil
}

// listOf is a list of so many bytes. It begins with 8 bytes of magic and version; of the changes behind them each
// has its length u32 and its checksum u32, big-endian, before it.
func listOf(f *os.File, size int64) (lsm.List, error) {
	var first [listHead + changeHead]byte
	if size < int64(len(first)) || size > math.MaxUint32 {
		return lsm.List{}, nil
	}
	if _, err := f.ReadAt(first[:], 0); err != nil {
		return lsm.List{}, err
	}
	return lsm.List{Number: binary.BigEndian.Uint32(first[listHead+4:]), Size: uint32(size)}, nil
}

const listHead, changeHead = 8, 8

// wholeEnd is where the changes of a list end that are written, from where one begins; the library may be writing
// another. Changes of no bytes are zeros that a power cut has left there, but for the first ones of a new store; others
// may follow them.
func wholeEnd(f *os.File, from int64) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return from, err
	}
	end := max(from, listHead)
	for at := end; ; {
		var head [changeHead]byte
		if at+changeHead > info.Size() {
			return end, nil
		}
		if _, err := f.ReadAt(head[:], at); err != nil {
			return end, err
		}
		first, size := at == listHead, int64(binary.BigEndian.Uint32(head[:]))
		if at += changeHead + size; at > info.Size() {
			return end, nil
		}
		if first || size > 0 {
			end = at
		}
	}
}

// durableList makes the list durable as far as it is written.
func (b *Base) durableList() (_ lsm.List, err error) {
	name := filepath.Join(b.folder.Path(), badger.ManifestFilename)
	f, err := os.Open(name)
	if err != nil {
		return lsm.List{}, fmt.Errorf("look how long the list is: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// It is the list of last time, or one that the library has written anew.
	list, err := listOf(f, int64(b.list.Size))
	if err == nil && list != b.list {
		list = lsm.List{}
	}
	var end int64
	if err == nil {
		end, err = wholeEnd(f, int64(list.Size))
	}
	if err == nil {
		list, err = listOf(f, end)
	}
	if err != nil {
		return lsm.List{}, fmt.Errorf("look how long %s is: %w", name, err)
	}
	if list == b.list {
		return list, nil
	}
	if err := f.Sync(); err != nil {
		return list, fmt.Errorf("sync %s: %w", name, err)
	}
	b.list = list
	return list, nil
}

func tableDamaged(path string, err error) error {
	var damaged *store.CorruptError
	if errors.As(err, &damaged) {
		return err
	}
	return lsm.Damaged(path, err)
}

// checkTable reads a table from the disk: blocks, then the index, its length u32,
// its checksum, and the length of that u32, big-endian.
func checkTable(name string) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return tableDamaged(name, err)
	}
	defer f.Close()
	defer func() { // the index is code's to decode, and it has no other way to say no
		if r := recover(); r != nil {
			err = tableDamaged(name, fmt.Errorf("its index cannot be decoded: %v", r))
		}
	}()
	index, end, err := readIndex(f)
	if err != nil {
		return tableDamaged(name, err)
	}
	t := fb.GetRootAsTableIndex(index, 0)
	if t.OffsetsLength() == 0 {
		return tableDamaged(name, errors.New("it has no blocks"))
	}
	var block fb.BlockOffset
	var buf []byte
	for i := range t.OffsetsLength() {
		if !t.Offsets(&block, i) || int64(block.Offset())+int64(block.Len()) > end {
			return tableDamaged(name, fmt.Errorf("block %d lies outside", i))
		}
		if buf, err = checkBlock(f, buf, int64(block.Offset()), int(block.Len())); err != nil {
			damaged := lsm.Damaged(name, err)
			damaged.Offset = int64(block.Offset())
			return damaged
		}
	}
	return nil
}

// readIndex returns the index and where it begins.
func readIndex(f *os.File) ([]byte, int64, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	at := info.Size()
	field := func() ([]byte, error) {
		var size [4]byte
		if at < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		if _, err := f.ReadAt(size[:], at-4); err != nil {
			return nil, err
		}
		n := int64(binary.BigEndian.Uint32(size[:]))
		if at -= 4 + n; at < 0 {
			return nil, io.ErrUnexpectedEOF
		}
		b := make([]byte, n)
		_, err := f.ReadAt(b, at)
		return b, err
	}
	sum, err := field()
	if err != nil {
		return nil, 0, fmt.Errorf("its footer: %w", err)
	}
	index, err := field()
	if err != nil {
		return nil, 0, fmt.Errorf("its index: %w", err)
	}
	if err := checkSum(index, sum); err != nil {
		return nil, 0, fmt.Errorf("its index: %w", err)
	}
	return index, at, nil
}

// checkBlock reads a block: entries, their offsets, their number u32, the
// checksum of all that, its length u32, big-endian; compressed as a whole.
func checkBlock(f *os.File, buf []byte, at int64, size int) ([]byte, error) {
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	if _, err := f.ReadAt(buf, at); err != nil {
		return buf, err
	}
	b, err := snappy.Decode(nil, buf)
	if err != nil {
		return buf, fmt.Errorf("a block: %w", err)
	}
	if len(b) < 4 {
		return buf, errors.New("a block is too short")
	}
	n := int(binary.BigEndian.Uint32(b[len(b)-4:]))
	end := len(b) - 4 - n
	if n < 0 || end < 4 {
		return buf, errors.New("a block has no room for its checksum")
	}
	if err := checkSum(b[:end], b[end:end+n]); err != nil {
		return buf, fmt.Errorf("a block: %w", err)
	}
	if entries := int64(binary.BigEndian.Uint32(b[end-4:])); entries*4 > int64(end-4) {
		return buf, fmt.Errorf("a block of %d bytes has %d entries", end, entries)
	}
	return buf, nil
}

func checkSum(b, encoded []byte) error {
	var sum pb.Checksum
	if err := proto.Unmarshal(encoded, &sum); err != nil {
		return fmt.Errorf("decode its checksum: %w", err)
	}
	if sum.Algo != pb.Checksum_CRC32C && sum.Algo != pb.Checksum_XXHash64 {
		return fmt.Errorf("unknown checksum %d", sum.Algo) // the library panics
	}
	return y.VerifyChecksum(b, &sum)
}

// Verify implements lsm.Base: every block of every table is read from the disk.
// What logs and value files hold is checked by reading the rows.
func (b *Base) Verify(report func(error)) error {
	names, _, err := listedTables(b.folder.Path())
	if err != nil {
		report(err)
		return nil
	}
	for _, name := range names {
		err := checkTable(name)
		if _, gone := os.Stat(name); err != nil && gone == nil {
			report(err)
		}
	}
	return nil
}
