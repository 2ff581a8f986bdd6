// Package memfs is a file system in memory behind vfs.FS: files, names,
// directories and locks. It owns their content and cheap clones of it. It never
// forgets anything by itself: which changes a power cut would lose is the
// business of package recordfs, which builds its crash states here.
package memfs

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"tarn/store/vfs"
)

var errOffset = errors.New("negative offset")

// FS is a file system in memory, safe for concurrent use. Its root directory is
// there from the start, under the names "/" and ".".
type FS struct {
	mu    sync.Mutex
	files map[string]*node
	dirs  map[string]bool
	locks map[string]*lock
}

var _ vfs.FS = (*FS)(nil)

// node is a file apart from its name.
type node struct {
	mu   sync.RWMutex
	blob *Blob
}

type lock struct {
	exclusive bool
	holders   int
}

// New returns an empty file system.
func New() *FS {
	return &FS{
		files: map[string]*node{},
		dirs:  map[string]bool{"/": true, ".": true},
		locks: map[string]*lock{},
	}
}

// Clone returns a copy as another machine would find it: all files and names, no
// open files and no locks.
func (fs *FS) Clone() *FS {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	c := New()
	maps.Copy(c.dirs, fs.dirs)
	for path, n := range fs.files {
		n.mu.Lock()
		c.files[path] = &node{blob: n.blob.Clone()}
		n.mu.Unlock()
	}
	return c
}

// Put makes path name a file of this content, which the FS owns from now on. The
// directory is made if need be.
func (fs *FS) Put(path string, b *Blob) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	path = filepath.Clean(path)
	fs.mkdir(filepath.Dir(path))
	fs.files[path] = &node{blob: b}
}

// Blob returns a clone of a file's content, or nil if there is none.
func (fs *FS) Blob(path string) *Blob {
	n := fs.node(path)
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.blob.Clone()
}

// Paths lists the files in order.
func (fs *FS) Paths() []string {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return slices.Sorted(maps.Keys(fs.files))
}

// Export writes all files below a folder of the real file system, for a look at
// them with other tools.
func (fs *FS) Export(dir string) error {
	for _, path := range fs.Paths() {
		to := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, fs.Blob(path).Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (fs *FS) node(path string) *node {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.files[filepath.Clean(path)]
}

func (fs *FS) mkdir(dir string) {
	for ; !fs.dirs[dir]; dir = filepath.Dir(dir) {
		fs.dirs[dir] = true
	}
}

func (fs *FS) Open(path string, writable bool) (vfs.File, error) {
	n := fs.node(path)
	if n == nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
	}
	return &file{node: n, path: path, writable: writable}, nil
}

func (fs *FS) OpenDirect(path string) (vfs.File, error) { return fs.Open(path, true) }

func (fs *FS) Create(path string) (vfs.File, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	n, err := fs.create(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blob.Truncate(0)
	return &file{node: n, path: path, writable: true}, nil
}

// create finds or makes the file of a cleaned path.
func (fs *FS) create(path string) (*node, error) {
	if !fs.dirs[filepath.Dir(path)] {
		return nil, &os.PathError{Op: "create", Path: path, Err: syscall.ENOENT}
	}
	if fs.dirs[path] {
		return nil, &os.PathError{Op: "create", Path: path, Err: syscall.EISDIR}
	}
	n := fs.files[path]
	if n == nil {
		n = &node{blob: &Blob{}}
		fs.files[path] = n
	}
	return n, nil
}

func (fs *FS) Rename(from, to string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	from, to = filepath.Clean(from), filepath.Clean(to)
	n := fs.files[from]
	if n == nil || !fs.dirs[filepath.Dir(to)] {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.ENOENT}
	}
	delete(fs.files, from)
	fs.files[to] = n
	return nil
}

func (fs *FS) Remove(path string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	path = filepath.Clean(path)
	if fs.files[path] == nil {
		return &os.PathError{Op: "remove", Path: path, Err: syscall.ENOENT}
	}
	delete(fs.files, path)
	return nil
}

func (fs *FS) Mkdir(dir string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	dir = filepath.Clean(dir)
	switch {
	case fs.files[dir] != nil || fs.dirs[dir]:
		return &os.PathError{Op: "mkdir", Path: dir, Err: syscall.EEXIST}
	case !fs.dirs[filepath.Dir(dir)]:
		return &os.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOENT}
	}
	fs.dirs[dir] = true
	return nil
}

func (fs *FS) SyncDir(dir string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if !fs.dirs[filepath.Clean(dir)] {
		return &os.PathError{Op: "open", Path: dir, Err: syscall.ENOENT}
	}
	return nil
}

func (fs *FS) Exists(path string) (bool, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	path = filepath.Clean(path)
	return fs.files[path] != nil || fs.dirs[path], nil
}

func (fs *FS) InMemory(string) (bool, error) { return false, nil }

func (fs *FS) Lock(path string, exclusive bool) (io.Closer, string, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	path = filepath.Clean(path)
	n, err := fs.create(path)
	if err != nil {
		return nil, "", err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l := fs.locks[path]
	if l != nil && (exclusive || l.exclusive) {
		return nil, string(n.blob.Bytes()), vfs.ErrLocked
	}
	if l == nil {
		l = &lock{exclusive: exclusive}
		fs.locks[path] = l
	}
	l.holders++
	if exclusive {
		n.blob = NewBlob([]byte(strconv.Itoa(os.Getpid())))
	}
	return &held{fs: fs, path: path}, "", nil
}

// held is one holder's share of a lock.
type held struct {
	fs   *FS
	path string
	once sync.Once
}

func (h *held) Close() error {
	err := os.ErrClosed
	h.once.Do(func() {
		h.fs.mu.Lock()
		defer h.fs.mu.Unlock()
		if l := h.fs.locks[h.path]; l.holders == 1 {
			delete(h.fs.locks, h.path)
		} else {
			l.holders--
		}
		err = nil
	})
	return err
}
