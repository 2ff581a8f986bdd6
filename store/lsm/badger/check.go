package badger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
func checkTables(path string) error {
	names, err := listedTables(path)
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

// listedTables returns the files of the tables that the library's list names.
func listedTables(path string) ([]string, error) {
	name := filepath.Join(path, badger.ManifestFilename)
	f, err := os.Open(name)
	if err != nil {
		return nil, tableDamaged(name, err)
	}
	defer f.Close()
	m, _, err := badger.ReplayManifestFile(f, 0, badger.Options{Logger: &logger{}})
	if err != nil {
		return nil, tableDamaged(name, err)
	}
	var names []string
	for id, t := range m.Tables {
		if t.Compression != options.Snappy {
			return nil, tableDamaged(name, fmt.Errorf("table %d has compression %d", id, t.Compression))
		}
		names = append(names, table.NewFilename(id, path))
	}
	return names, nil
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
	names, err := listedTables(b.folder.Path())
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
