package recordfs_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"tarn/store/vfs"
)

// toy is the smallest store with the page engine's order of writes: a file of
// two alternating meta pages and data pages that are never changed in place, and
// a log that must be ahead of it. It keeps one number, which all data pages
// repeat. Each field of mistakes breaks one rule of the order.
type toy struct {
	fs   vfs.FS
	file vfs.File
	log  vfs.File
	last uint64
	bad  mistakes
}

type mistakes struct {
	skipDataSync, skipMetaSync, skipDirSync, skipNewSync bool
	inPlace, logLate, retrySync                          bool
}

const (
	toyPage  = 1024
	toyPages = 3 // data pages of one image
	toyDir   = "/toy"
	toyFile  = toyDir + "/state"
	toyLog   = toyDir + "/log"
)

func toySum(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

// encode makes a page: number, checksum, and the number repeated.
func toyEncode(number uint64) []byte {
	b := make([]byte, toyPage)
	for i := 8; i < toyPage; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], number)
	}
	binary.LittleEndian.PutUint32(b, toySum(b[8:]))
	return b
}

func toyDecode(b []byte) (uint64, bool) {
	return binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint32(b) == toySum(b[8:])
}

// openToy opens a toy store, or makes one.
func openToy(fs vfs.FS, bad mistakes) (*toy, error) {
	t := &toy{fs: fs, bad: bad}
	if err := vfs.MkdirAll(fs, toyDir); err != nil {
		return nil, err
	}
	ok, err := fs.Exists(toyFile)
	if err == nil && !ok {
		err = t.create()
	}
	if err != nil {
		return nil, err
	}
	if t.file, err = fs.Open(toyFile, true); err != nil {
		return nil, err
	}
	if t.log, err = fs.Open(toyLog, true); err != nil {
		return nil, err
	}
	t.last, err = readToy(fs)
	return t, err
}

func (t *toy) create() error {
	log, err := t.fs.Create(toyLog)
	if err != nil {
		return err
	}
	f, err := t.fs.Create(toyFile + ".new")
	if err != nil {
		return err
	}
	for i := range int64(2 + toyPages) {
		if _, err := f.WriteAt(toyEncode(0), i*toyPage); err != nil {
			return err
		}
	}
	if !t.bad.skipNewSync {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close(), log.Close(), t.fs.Rename(toyFile+".new", toyFile))
	if err == nil && !t.bad.skipDirSync {
		err = t.fs.SyncDir(toyDir)
	}
	return err
}

// save makes number durable.
func (t *toy) save(number uint64) error {
	if !t.bad.logLate {
		if err := t.appendLog(number); err != nil {
			return err
		}
	}
	at := int64(2) + int64(number%2)*toyPages
	if t.bad.inPlace {
		at = 2
	}
	for i := range int64(toyPages) {
		if _, err := t.file.WriteAt(toyEncode(number), (at+i)*toyPage); err != nil {
			return err
		}
	}
	if !t.bad.skipDataSync {
		err := t.file.Sync()
		if err != nil && t.bad.retrySync {
			err = t.file.Sync()
		}
		if err != nil {
			return err
		}
	}
	if _, err := t.file.WriteAt(toyEncode(number), int64(number%2)*toyPage); err != nil {
		return err
	}
	if !t.bad.skipMetaSync {
		if err := t.file.Sync(); err != nil {
			return err
		}
	}
	if t.bad.logLate {
		if err := t.appendLog(number); err != nil {
			return err
		}
	}
	t.last = number
	return nil
}

func (t *toy) appendLog(number uint64) error {
	if _, err := t.log.WriteAt(toyEncode(number), int64(number-1)*toyPage); err != nil {
		return err
	}
	return t.log.Sync()
}

// readToy opens what a crash left: the newest valid meta page, its data pages,
// and a log that knows the number.
func readToy(fs vfs.FS) (uint64, error) {
	f, err := fs.Open(toyFile, false)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var best uint64
	found := false
	page := make([]byte, toyPage)
	for i := range int64(2) {
		if _, err := f.ReadAt(page, i*toyPage); err != nil {
			return 0, err
		}
		if n, ok := toyDecode(page); ok && (!found || n > best) {
			best, found = n, true
		}
	}
	if !found {
		return 0, errors.New("no valid meta page")
	}
	// Both images of a new store are number 0, in the first set of pages.
	at := int64(2) + int64(best%2)*toyPages
	for i := range int64(toyPages) {
		if _, err := f.ReadAt(page, (at+i)*toyPage); err != nil {
			return 0, err
		}
		if n, ok := toyDecode(page); !ok || n != best {
			return 0, fmt.Errorf("page %d holds %d, the meta page says %d", at+i, n, best)
		}
	}
	return best, checkToyLog(fs, best)
}

func checkToyLog(fs vfs.FS, number uint64) error {
	if number == 0 {
		return nil
	}
	log, err := fs.Open(toyLog, false)
	if err != nil {
		return err
	}
	defer log.Close()
	page := make([]byte, toyPage)
	if _, err := log.ReadAt(page, int64(number-1)*toyPage); err != nil {
		return fmt.Errorf("log is behind %d: %w", number, err)
	}
	if n, ok := toyDecode(page); !ok || n != number {
		return fmt.Errorf("log has %d instead of %d", n, number)
	}
	return nil
}
