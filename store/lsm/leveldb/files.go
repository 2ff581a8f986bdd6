package leveldb

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/syndtr/goleveldb/leveldb/storage"

	"tarn/store/lsm"
	"tarn/store/vfs"
)

// files is the library's way to its folder. It adds to the library's own what a
// store needs: a new file's name is durable when its bytes are; a log that ends
// in the middle of a record is shown up to the last whole one; and after a failed
// write of the log or of the list of files nothing is written any more, because
// the library would go on beyond the hole.
type files struct {
	storage.Storage
	disk    storage.Storage // the folder as it is, under what reading pretends
	path    string
	scratch bool

	log, lists atomic.Int64 // bytes written

	mu     sync.Mutex
	broken error
	ends   storage.FileDesc // the file that ends in the middle of a record, else the newest log with records
	sound  int64            // where its whole records end, -1 if there is nothing behind them
	tables map[int64]bool   // being written
	read   *lsm.List        // the list that was read, up to where its whole changes end; nil for none
	list   lsm.List         // the library's list, as far as it is durable
	next   lsm.List         // one that is written to be the list

	beforeRemoval func() error // of a log or a table; nil for nothing
}

func openFiles(path string, readOnly bool) (*files, error) {
	disk, err := storage.OpenFile(path, readOnly)
	if err != nil {
		return nil, err
	}
	f := &files{Storage: disk, disk: disk, path: path, scratch: readOnly, tables: map[int64]bool{}, sound: -1}
	if readOnly {
		f.Storage = newScratch(disk)
	}
	return f, nil
}

// failure is the first failure after which nothing is written.
func (f *files) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken
}

// fail notes a failure if it is of a file that must not have a hole.
func (f *files) fail(fd storage.FileDesc, err error) error {
	if err == nil || fd.Type&(storage.TypeJournal|storage.TypeManifest) == 0 {
		return err
	}
	return f.end(fmt.Errorf("%s: %w", fd, err))
}

// end lets nothing be written any more.
func (f *files) end(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken == nil {
		f.broken = err
	}
	return err
}

// Log implements storage.Storage: the library's chatter goes nowhere.
func (f *files) Log(string) {}

func (f *files) SetMeta(fd storage.FileDesc) error {
	if err := f.failure(); err != nil {
		return err
	}
	if err := f.fail(fd, f.Storage.SetMeta(fd)); err != nil {
		return err
	}
	f.mu.Lock()
	if f.next.Number == uint32(fd.Num) {
		f.list = f.next
	}
	f.mu.Unlock()
	f.sealList()
	return nil
}

func (f *files) Remove(fd storage.FileDesc) error {
	if err := f.failure(); err != nil {
		return err
	}
	if fd.Type&(storage.TypeJournal|storage.TypeTable) != 0 && f.beforeRemoval != nil {
		if err := f.beforeRemoval(); err != nil {
			return err
		}
	}
	err := f.Storage.Remove(fd)
	if fd.Type == storage.TypeManifest {
		f.fail(fd, err) //nolint:errcheck // noted
	}
	return err
}

func (f *files) Create(fd storage.FileDesc) (storage.Writer, error) {
	if err := f.failure(); err != nil {
		return nil, err
	}
	w, err := f.Storage.Create(fd)
	if err != nil {
		if fd.Type == storage.TypeManifest {
			f.fail(fd, err) //nolint:errcheck // noted
		}
		return nil, err
	}
	c := &writer{Writer: w, files: f, fd: fd}
	switch fd.Type {
	case storage.TypeJournal:
		c.counter = &f.log
	case storage.TypeManifest:
		c.counter = &f.lists
	case storage.TypeTable:
		f.begin(fd, true)
	}
	return c, nil
}

// noteList notes how far a list is durable.
func (f *files) noteList(l lsm.List) {
	f.mu.Lock()
	f.next = l
	current := f.list.Size > 0 && f.list.Number == l.Number
	if current {
		f.list = l
	}
	f.mu.Unlock()
	if current {
		f.sealList()
	}
}

// sealList seals the list when it has grown. Files are removed while the library lets nobody read, and the seal has
// what it needs by then; if it cannot be written, they stay.
func (f *files) sealList() {
	if f.beforeRemoval != nil {
		f.beforeRemoval() //nolint:errcheck // a removal tries again, and tells
	}
}

// durableList is the newest list that is written.
func (f *files) durableList() (lsm.List, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list, nil
}

// begin notes which tables are not finished.
func (f *files) begin(fd storage.FileDesc, begun bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if begun {
		f.tables[fd.Num] = true
	} else {
		delete(f.tables, fd.Num)
	}
}

func (f *files) isUnfinished(fd storage.FileDesc) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fd.Type == storage.TypeTable && f.tables[fd.Num]
}

// writer is a file of the library's being written.
type writer struct {
	storage.Writer
	files   *files
	fd      storage.FileDesc
	counter *atomic.Int64
	size    int64
	named   bool // its name is durable
}

func (w *writer) Write(p []byte) (int, error) {
	if err := w.files.failure(); err != nil {
		return 0, err
	}
	n, err := w.Writer.Write(p)
	if w.counter != nil {
		w.counter.Add(int64(n))
	}
	w.size += int64(n)
	return n, w.files.fail(w.fd, err)
}

func (w *writer) Sync() error {
	if err := w.files.failure(); err != nil {
		return err
	}
	err := w.Writer.Sync()
	if err == nil && !w.named && !w.files.scratch {
		err = vfs.OS.SyncDir(w.files.path)
		w.named = err == nil
	}
	if err == nil && w.fd.Type == storage.TypeManifest {
		w.files.noteList(listOf(w.fd, w.size))
	}
	return w.files.fail(w.fd, err)
}

// listOf is a list of so many bytes.
func listOf(fd storage.FileDesc, size int64) lsm.List {
	return lsm.List{Number: uint32(fd.Num), Size: uint32(min(size, math.MaxUint32))}
}

func (w *writer) Close() error {
	err := w.Writer.Close()
	if w.fd.Type == storage.TypeTable {
		w.files.begin(w.fd, false)
	}
	return err
}

// Open implements storage.Storage. Of the log that was written last, and of the list
// of files, it shows no more than the whole records.
func (f *files) Open(fd storage.FileDesc) (storage.Reader, error) {
	r, err := f.Storage.Open(fd)
	if err != nil || !f.mayEndTorn(fd) {
		return r, err
	}
	all, err := io.ReadAll(r)
	if err == nil {
		_, err = r.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", filepath.Join(f.path, fd.String()), err), r.Close())
	}
	end, damaged := soundEnd(all)
	f.noteEnd(fd, int64(end), int64(len(all)))
	if damaged {
		return r, nil // the library finds the damage and says what it is
	}
	return &limitedReader{r, int64(end)}, nil
}

// noteEnd notes where the whole records end of a file of a size that may have lost its end.
func (f *files) noteEnd(fd storage.FileDesc, end, size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fd.Type == storage.TypeManifest {
		read := listOf(fd, end)
		f.read = &read
	}
	switch {
	case end < size:
		f.ends, f.sound = fd, end
	case fd.Type == storage.TypeJournal && f.sound < 0 && (size > 0 || f.ends.Zero()):
		f.ends = fd
	}
}

// lastEnd returns the file that may have lost its end, "" if none was read.
func (f *files) lastEnd() (path string, end int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ends.Zero() {
		return "", -1
	}
	return filepath.Join(f.path, f.ends.String()), f.sound
}

// checkList refuses a list that has lost what was durable.
func (f *files) checkList(folder *lsm.Folder) error {
	f.mu.Lock()
	list := f.read
	f.mu.Unlock()
	if list == nil {
		return nil
	}
	fd := storage.FileDesc{Type: storage.TypeManifest, Num: int64(list.Number)}
	return folder.CheckList(filepath.Join(f.path, fd.String()), *list)
}

// mayEndTorn: the logs before the one that was written last were finished before it was
// begun. That is not the newest: an opening makes an empty log before the list of files
// leaves out those that it has recovered, and may be killed in between.
func (f *files) mayEndTorn(fd storage.FileDesc) bool {
	switch fd.Type {
	case storage.TypeManifest:
		return true
	case storage.TypeJournal:
		logs, err := f.List(storage.TypeJournal)
		return err == nil && !slices.ContainsFunc(logs, func(o storage.FileDesc) bool {
			return o.Num > fd.Num && f.isWritten(o)
		})
	}
	return false
}

// isWritten tells whether a file has bytes, or cannot be looked at.
func (f *files) isWritten(fd storage.FileDesc) bool {
	info, err := os.Stat(filepath.Join(f.path, fd.String()))
	return err != nil || info.Size() > 0
}

// limitedReader ends early. The library reads logs from end to end only.
type limitedReader struct {
	storage.Reader
	left int64
}

func (r *limitedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	n, err := r.Reader.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}
