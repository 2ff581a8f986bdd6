package leveldb

import (
	"errors"
	"io/fs"
	"slices"
	"sync"

	"github.com/syndtr/goleveldb/leveldb/storage"
)

// scratch shows a folder that it never changes: what is written goes to memory,
// what is removed only vanishes from sight. The library's own way to open for
// reading cannot read more than one log, which is what a crash may leave.
type scratch struct {
	disk, memory storage.Storage

	mu      sync.Mutex
	current storage.FileDesc
	removed map[storage.FileDesc]bool
}

func newScratch(disk storage.Storage) *scratch {
	return &scratch{disk: disk, memory: storage.NewMemStorage(), removed: map[storage.FileDesc]bool{}}
}

func (s *scratch) Lock() (storage.Locker, error) { return s.memory.Lock() }
func (s *scratch) Log(string)                    {}

func (s *scratch) SetMeta(fd storage.FileDesc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = fd
	return nil
}

func (s *scratch) GetMeta() (storage.FileDesc, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.current.Zero() {
		return s.current, nil
	}
	return s.disk.GetMeta()
}

func (s *scratch) List(kinds storage.FileType) ([]storage.FileDesc, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	onDisk, err := s.disk.List(kinds)
	if err != nil {
		return nil, err
	}
	inMemory, err := s.memory.List(kinds)
	if err != nil {
		return nil, err
	}
	onDisk = slices.DeleteFunc(onDisk, func(fd storage.FileDesc) bool {
		return s.removed[fd] || slices.Contains(inMemory, fd) // written over
	})
	return append(onDisk, inMemory...), nil
}

func (s *scratch) Open(fd storage.FileDesc) (storage.Reader, error) {
	r, err := s.memory.Open(fd)
	if !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.removed[fd] {
		return nil, fs.ErrNotExist
	}
	return s.disk.Open(fd)
}

func (s *scratch) Create(fd storage.FileDesc) (storage.Writer, error) { return s.memory.Create(fd) }

func (s *scratch) Remove(fd storage.FileDesc) error {
	if err := s.memory.Remove(fd); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed[fd] = true
	return nil
}

func (s *scratch) Rename(from, to storage.FileDesc) error { return s.memory.Rename(from, to) }

func (s *scratch) Close() error { return errors.Join(s.memory.Close(), s.disk.Close()) }
