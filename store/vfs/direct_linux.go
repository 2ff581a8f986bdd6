package vfs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memoryAlign is what memory that goes to a disk begins at a multiple of.
const memoryAlign = 4096

// roomKept is the largest memory of a write that is kept for the next one.
const roomKept = 1 << 20

func (osFS) OpenDirect(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		return nil, directError(err)
	}
	return &directFile{osFile: osFile{f}}, nil
}

// directFile is a file whose writes go past the page cache.
type directFile struct {
	osFile
	room sync.Pool // of *[]byte, where a disk can fetch what is written
}

func (f *directFile) WriteAt(b []byte, offset int64) (int, error) {
	room, _ := f.room.Get().(*[]byte)
	if room == nil || cap(*room) < len(b) {
		room = alignedRoom(len(b))
	}
	n, err := f.osFile.WriteAt(append((*room)[:0], b...), offset)
	if len(b) <= roomKept {
		f.room.Put(room)
	}
	return n, directError(err)
}

// directError says of what the kernel refuses that there is no way past the page cache.
func directError(err error) error {
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// alignedRoom is memory for at least so many bytes from where a disk can fetch them.
func alignedRoom(size int) *[]byte {
	all := make([]byte, size+memoryAlign)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(all))) % memoryAlign
	room := all[skip:skip]
	return &room
}
