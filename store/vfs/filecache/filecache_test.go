package filecache

import (
	"errors"
	"sync"
	"testing"
)

// file is one that must not be closed while it is used, nor twice.
type file struct {
	t      *testing.T
	mu     sync.Mutex
	users  int
	closed bool
}

func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users > 0 || f.closed {
		f.t.Errorf("closed with %d users, closed before: %v", f.users, f.closed)
	}
	f.closed = true
	return nil
}

func (f *file) use(by int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errors.New("it is closed")
	}
	f.users += by
	return nil
}

// Whoever forgets files, and however many others are opened meanwhile, nobody's file is closed
// under him, and each is closed once.
func TestNoFileIsClosedUnderItsUsers(t *testing.T) {
	const most = 3
	var all []*file
	c := New(most, func(int) (*file, error) { // called with the cache's lock
		f := &file{t: t}
		all = append(all, f)
		return f, nil
	})
	var users sync.WaitGroup
	for u := range 4 {
		users.Go(func() {
			for i := range 300 {
				if i%7 == u {
					if err := c.Forget(i % 5); err != nil {
						t.Error(err)
					}
				}
				if err := c.Use((i*u)%5, func(f *file) error { return errors.Join(f.use(1), f.use(-1)) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	users.Wait()
	if open, users := c.Count(); open > most+4 || users != 0 {
		t.Errorf("%d files are open, with %d users", open, users)
	}
	h, err := c.Take(9)
	if err != nil || h.File.use(1) != nil {
		t.Fatal("a file cannot be used")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.File.use(-1), c.Leave(h)); err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if !f.closed {
			t.Error("a file stays open")
		}
	}
}

// With room for few, files that nobody uses are closed for others.
func TestFewFilesStayOpenThatNobodyUses(t *testing.T) {
	c := New(2, func(int) (*file, error) { return &file{t: t}, nil })
	for i := range 20 {
		if err := c.Use(i, func(*file) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if open, _ := c.Count(); open != 2 {
		t.Errorf("%d files are open, and nobody uses one", open)
	}
	failed := errors.New("no such file")
	c = New(2, func(int) (*file, error) { return nil, failed })
	if err := c.Use(1, func(*file) error { return nil }); !errors.Is(err, failed) {
		t.Errorf("a file that cannot be opened: %v", err)
	}
	if open, users := c.Count(); open != 0 || users != 0 {
		t.Errorf("%d files are open, with %d users", open, users)
	}
}
