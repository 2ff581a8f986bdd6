package vfs

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memoryAlign is what memory that goes to a disk begins at a multiple of.
const memoryAlign = 4096

func (osFS) OpenDirect(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		return nil, directError(err)
	}
	return directFile{osFile{f}}, nil
}

// directFile is a file whose writes go past the page cache.
type directFile struct{ osFile }

func (f directFile) WriteAt(b []byte, offset int64) (int, error) {
	n, err := f.osFile.WriteAt(alignedCopy(b), offset)
	return n, directError(err)
}

// directError says of what the kernel refuses that there is no way past the page cache.
func directError(err error) error {
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// alignedCopy is a copy where a disk can fetch it.
func alignedCopy(b []byte) []byte {
	room := make([]byte, len(b)+memoryAlign)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(room))) % memoryAlign
	return append(room[skip:skip], b...)
}
