package producer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a directFile gathers, in bytes.
const (
	directPart  = 2 << 20  // for one write
	directParts = 3        // being filled, being written, and one between them
	directAlign = 4 << 10  // of memory, offsets and sizes past the page cache
	directBegin = 16 << 20 // after which the disk is told to begin, where there is no way past the cache
)

// directFile writes a new file past the page cache, if the file system knows how: what
// is written once and not read needs none, and finding memory for it takes longer than
// the disk does. It writes on a goroutine of its own, so that what goes into the file is
// made meanwhile. One goroutine may use it.
type directFile struct {
	file    *os.File // through the cache: the end, and what is changed afterwards
	direct  *os.File // past it; nil if there is no such way
	part    []byte   // being filled
	from    int64    // where it goes in the file
	pos     int64    // of the next write
	patches []patch  // of what lies before from
	ready   chan patch
	spare   chan []byte // to be filled
	done    chan struct{}
	failed  atomic.Pointer[error]
}

// patch is bytes for an offset of the file.
type patch struct {
	bytes []byte
	at    int64
}

// createDirect creates a file. It is whole after commit, and needs close in any case.
func createDirect(path string) (*directFile, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	// Where that fails all goes through the cache.
	direct, _ := os.OpenFile(path, os.O_WRONLY|syscall.O_DIRECT, 0)
	d := &directFile{
		file: f, direct: direct, part: alignedPart(),
		ready: make(chan patch), spare: make(chan []byte, directParts), done: make(chan struct{}),
	}
	for range directParts - 1 {
		d.spare <- alignedPart()
	}
	go d.run(d.ready)
	return d, nil
}

func alignedPart() []byte {
	b := make([]byte, directPart+directAlign)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % directAlign
	return b[skip:][:0:directPart]
}

// run writes until there is no more. After an error it writes nothing.
func (d *directFile) run(ready <-chan patch) {
	defer close(d.done)
	since := 0 // bytes since the disk was told
	for p := range ready {
		if d.failed.Load() == nil {
			if err := d.write(p); err != nil {
				d.failed.Store(&err)
			}
		}
		if since += len(p.bytes); d.direct == nil && since >= directBegin {
			since = 0
			// It is advice: what fails here fails again at the sync.
			_ = unix.SyncFileRange(int(d.file.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
		}
		d.spare <- p.bytes[:0]
	}
}

// write writes a part. A file system that opens files for writing past the cache may
// still refuse to do it.
func (d *directFile) write(p patch) error {
	if d.direct != nil && len(p.bytes)%directAlign == 0 {
		if _, err := d.direct.WriteAt(p.bytes, p.at); !errors.Is(err, syscall.EINVAL) {
			return err
		}
	}
	_, err := d.file.WriteAt(p.bytes, p.at)
	return err
}

// Write is io.Writer's. An error of the file may come with a later call, or with
// commit.
func (d *directFile) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := d.put(rest)
		d.pos += int64(n)
		rest = rest[n:]
		if len(d.part) == cap(d.part) {
			if err := d.pass(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// put takes some of what is written at pos.
func (d *directFile) put(p []byte) int {
	switch {
	case d.pos < d.from:
		p = p[:min(int64(len(p)), d.from-d.pos)]
		d.patches = append(d.patches, patch{bytes.Clone(p), d.pos})
		return len(p)
	case d.pos < d.size():
		return copy(d.part[d.pos-d.from:], p)
	}
	n := copy(d.part[len(d.part):cap(d.part)], p)
	d.part = d.part[:len(d.part)+n]
	return n
}

func (d *directFile) size() int64 { return d.from + int64(len(d.part)) }

// pass gives what there is to the goroutine.
func (d *directFile) pass() error {
	d.ready <- patch{d.part, d.from}
	d.from = d.size()
	d.part = <-d.spare
	if err := d.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Seek is io.Seeker's, within what was written.
func (d *directFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += d.pos
	case io.SeekEnd:
		offset += d.size()
	}
	if offset < 0 || offset > d.size() {
		return 0, fmt.Errorf("seek offset %d in the %d bytes of %s: %w", offset, d.size(), d.file.Name(), os.ErrInvalid)
	}
	d.pos = offset
	return offset, nil
}

// commit writes the rest and makes the file durable. Nothing but close may follow.
func (d *directFile) commit() error {
	if err := d.pass(); err != nil {
		return err
	}
	d.finish()
	if err := d.failed.Load(); err != nil {
		return *err
	}
	for _, p := range d.patches {
		if _, err := d.file.WriteAt(p.bytes, p.at); err != nil {
			return err
		}
	}
	return d.file.Sync()
}

// finish waits for the goroutine.
func (d *directFile) finish() {
	if d.ready != nil {
		close(d.ready)
		d.ready = nil
	}
	<-d.done
}

func (d *directFile) close() error {
	d.finish()
	err := d.file.Close()
	if d.direct != nil {
		err = errors.Join(err, d.direct.Close())
	}
	return err
}
