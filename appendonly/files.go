package appendonly

import (
	"tarn/store/vfs"
	"tarn/store/vfs/filecache"
)

// maxOpen is how many files of finished segments and runs are kept open for readers.
const maxOpen = 64

// files keeps some files open that many read, by their paths.
type files = filecache.Cache[string, vfs.File]

type handle = filecache.Handle[vfs.File]

func newFiles(fs vfs.FS) *files {
	return filecache.New(maxOpen, func(path string) (vfs.File, error) { return fs.Open(path, false) })
}
