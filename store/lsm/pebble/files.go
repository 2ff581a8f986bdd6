package pebble

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tarn/store/lsm"
)

// files is the library's way to the disk and its logger. It counts what is
// written by cause. After the first failure that the library holds for fatal it
// lets nothing be changed any more: the library would end the process there, and
// is not made for going on.
type files struct {
	vfs.FS

	mu      sync.Mutex
	causes  map[vfs.DiskWriteCategory]*atomic.Int64
	fatal   error
	log     string        // the last one that was opened to be read
	stated  string        // the list of options that was
	listed  string        // the list of files that was
	durable lsm.List      // the newest list that is written, as far as it is durable
	dead    chan struct{} // closed when fatal is set

	beforeRemoval func() error // of a log or a table; nil for nothing
}

func newFiles() *files {
	return &files{FS: vfs.Default, causes: map[vfs.DiskWriteCategory]*atomic.Int64{}, dead: make(chan struct{})}
}

func (f *files) cause(c vfs.DiskWriteCategory) *atomic.Int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.causes[c]
	if n == nil {
		n = new(atomic.Int64)
		f.causes[c] = n
	}
	return n
}

func (f *files) writtenBytes(c vfs.DiskWriteCategory) int64 { return f.cause(c).Load() }

// failure is the failure after which the library takes no more changes.
func (f *files) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fatal
}

// watch has the library do something. After a fatal failure that may never end,
// or end without a word of it.
func (f *files) watch(do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		if err == nil {
			err = f.failure()
		}
		return err
	case <-f.dead:
		return f.failure()
	}
}

// clear removes tables of a batch that a crash has interrupted. A table that the
// library has taken up has another name too.
func (f *files) clear(path string) error {
	names, err := f.List(path)
	if err != nil {
		return err
	}
	prefix, _, _ := strings.Cut(tablePattern, "%")
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			if err := f.Remove(filepath.Join(path, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Lock: the store's own lock keeps others out, and readers may be many.
func (f *files) Lock(string) (io.Closer, error) { return noLock{}, nil }

type noLock struct{}

func (noLock) Close() error { return nil }

func (f *files) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	f.mu.Lock()
	switch base := filepath.Base(name); {
	case strings.HasSuffix(base, ".log"):
		f.log = name
	case strings.HasPrefix(base, "OPTIONS-"):
		f.stated = name
	case strings.HasPrefix(base, "MANIFEST-"):
		f.listed = name
	}
	f.mu.Unlock()
	return f.FS.Open(name, o...)
}

// optionsWords are in what the library says of its list of options.
var optionsWords = regexp.MustCompile(`key=value|section|option|comparer name|merger name`)

// culprit is the file that an error of an opening is about, where the library names none; else the
// folder. It reads one log after the other.
func (f *files) culprit(folder string, err error) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := err.Error()
	switch {
	case f.log != "" && strings.Contains(text, "WAL"):
		return f.log
	case f.stated != "" && f.log == "" && optionsWords.MatchString(text):
		return f.stated
	}
	return folder
}

// lastLog is the newest log, "" if there was none.
func (f *files) lastLog() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log
}

// list is the list of files, "" if none was read.
func (f *files) list() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listed
}

// durableList is the newest list that is written.
func (f *files) durableList() (lsm.List, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.durable, nil
}

// listNumber is the number in the name of a list of files.
func listNumber(name string) (number uint32, ok bool) {
	text, ok := strings.CutPrefix(filepath.Base(name), "MANIFEST-")
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), ok && err == nil
}

func (f *files) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f.stopForever()
	file, err := f.count(c)(f.FS.Create(name, c))
	number, isList := listNumber(name)
	if err != nil || !isList {
		return file, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.durable = lsm.List{Number: number}
	return &listFile{File: file, files: f, number: number}, nil
}

// listFile is a list of files that is written, from one goroutine at a time.
type listFile struct {
	vfs.File
	files  *files
	number uint32
	size   int64
}

func (f *listFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.size += int64(n)
	return n, err
}

func (f *listFile) Sync() error { return f.note(f.File.Sync()) }

func (f *listFile) SyncData() error { return f.note(f.File.SyncData()) }

// note notes what a sync has made durable.
func (f *listFile) note(err error) error {
	f.files.mu.Lock()
	defer f.files.mu.Unlock()
	if err == nil && f.files.durable.Number == f.number && f.size <= math.MaxUint32 {
		f.files.durable.Size = uint32(f.size)
	}
	return err
}

func (f *files) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f.stopForever()
	return f.count(c)(f.FS.OpenReadWrite(name, c, o...))
}

func (f *files) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f.stopForever()
	if f.leave(from) != nil { // it stays, and the next opening removes it
		return f.count(c)(f.FS.Create(to, c))
	}
	return f.count(c)(f.FS.ReuseForWrite(from, to, c))
}

// leave is called before a file goes. Of logs and tables the list says that they are not needed.
func (f *files) leave(name string) error {
	if ext := filepath.Ext(name); f.beforeRemoval == nil || ext != ".log" && ext != ".sst" {
		return nil
	}
	return f.beforeRemoval()
}

// stopForever holds whoever makes a file after the failure. The library's own
// goroutines would try again without a pause, and they begin with a new file and
// without a lock.
func (f *files) stopForever() {
	if f.failure() != nil {
		select {}
	}
}

func (f *files) Remove(name string) error {
	if err := f.failure(); err != nil {
		return err
	}
	if err := f.leave(name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *files) Rename(from, to string) error {
	if err := f.failure(); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f *files) Link(from, to string) error {
	if err := f.failure(); err != nil {
		return err
	}
	return f.FS.Link(from, to)
}

func (f *files) Unwrap() vfs.FS { return f.FS }

func (f *files) count(c vfs.DiskWriteCategory) func(vfs.File, error) (vfs.File, error) {
	return func(file vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		return &countedFile{file, f, f.cause(c)}, nil
	}
}

type countedFile struct {
	vfs.File
	files *files
	bytes *atomic.Int64
}

func (f *countedFile) Write(p []byte) (int, error) {
	if err := f.files.failure(); err != nil {
		return 0, err
	}
	n, err := f.File.Write(p)
	f.bytes.Add(int64(n))
	return n, err
}

func (f *countedFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.files.failure(); err != nil {
		return 0, err
	}
	n, err := f.File.WriteAt(p, at)
	f.bytes.Add(int64(n))
	return n, err
}

// The library's logger: it is quiet, and a fatal failure ends the writing, not
// the process.

func (f *files) Infof(string, ...any)  {}
func (f *files) Errorf(string, ...any) {}

func (f *files) Fatalf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fatal != nil {
		time.Sleep(10 * time.Millisecond) // it is in a loop
		return
	}
	f.fatal = fmt.Errorf("the library gave up: "+format, args...)
	close(f.dead)
}

func (f *files) Eventf(context.Context, string, ...any) {}

func (f *files) IsTracingEnabled(context.Context) bool { return false }
