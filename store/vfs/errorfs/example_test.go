package errorfs_test

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
)

// A file is replaced on a full disk: each change on the way to it fails in turn, and the old file or
// the new one is there.
func Example() {
	disk := memfs.New()
	if err := vfs.WriteDurably(disk, "/settings", []byte("old")); err != nil {
		fmt.Println(err)
	}
	files := errorfs.New(disk)
	for n := 1; ; n++ {
		files.Clear()
		files.Inject(errorfs.Fault{Ops: errorfs.Change, Nth: n, Ever: true, Err: syscall.ENOSPC, Part: true})
		err := vfs.WriteDurably(files, "/settings", []byte("new"))
		fmt.Printf("change %d: full %v, the file is %s\n", n, errors.Is(err, syscall.ENOSPC),
			content(disk, "/settings"))
		if err == nil { // so many changes there are not
			return
		}
	}
	// Output:
	// change 1: full true, the file is old
	// change 2: full true, the file is old
	// change 3: full true, the file is old
	// change 4: full true, the file is old
	// change 5: full true, the file is new
	// change 6: full false, the file is new
}

func content(files vfs.FS, path string) string {
	f, err := files.Open(path, false)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	text := make([]byte, 3)
	if _, err := f.ReadAt(text, 0); err != nil && err != io.EOF {
		return err.Error()
	}
	return string(text)
}
