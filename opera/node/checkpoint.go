package node

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"tarn/store"
)

// saver decides when the state is saved: when the blocks since the last checkpoint took as
// long to make as a start may take to make them again, or after an hour. Only the writer
// uses it, and who opens and closes the node.
type saver struct {
	store      store.Store
	target     time.Duration
	checkpoint store.Checkpoint // under way, or the last one
	worked     time.Duration    // since that one was begun, without what is at hand
	since      time.Time        // when the work at hand began; zero while there is none
	at         time.Time        // when the last one was begun
}

// maxAge is how old an image gets on a chain that has next to no work.
const maxAge = time.Hour

func (s *saver) began(to store.Store, o Options) {
	s.store, s.target, s.at = to, o.Recovery, time.Now()
	s.work()
}

func (s *saver) work() { s.since = time.Now() }

func (s *saver) rest() {
	s.worked += time.Since(s.since)
	s.since = time.Time{}
}

// block begins a checkpoint if one is due, between blocks, and returns what became of the
// one before.
func (s *saver) block() error {
	now := time.Now()
	if !s.since.IsZero() {
		s.worked += now.Sub(s.since)
		s.since = now
	}
	if s.target == 0 || s.worked < s.target && now.Sub(s.at) < maxAge {
		return nil
	}
	err := s.wait(false)
	if s.checkpoint != nil {
		return nil // it is still under way
	}
	next, e := s.store.Checkpoint()
	if e == nil {
		s.checkpoint = next
	}
	s.worked, s.at = 0, now
	return errors.Join(err, e)
}

// wait takes the result of the last checkpoint, if it has one by now.
func (s *saver) wait(long bool) error {
	if s.checkpoint == nil {
		return nil
	}
	if !long {
		select {
		case <-s.checkpoint.Done():
		default:
			return nil
		}
	}
	err := s.checkpoint.Wait()
	s.checkpoint = nil
	return err
}

// save makes the head durable.
func (s *saver) save() error {
	err := s.wait(true)
	last, e := s.store.Checkpoint()
	if e == nil {
		e = last.Wait()
	}
	if e != nil {
		return errors.Join(err, e)
	}
	return nil // whatever the one before failed of
}

// remedy adds to the error of a disk or a store that is full what helps.
func remedy(err error) error {
	var at *fs.PathError
	switch {
	case errors.Is(err, syscall.ENOSPC) && errors.As(err, &at):
		return fmt.Errorf("free space on the disk of %s: %w", filepath.Dir(at.Path), err)
	case errors.Is(err, store.ErrGuard), errors.Is(err, store.ErrFull):
		return fmt.Errorf("the state has no more room: start with a larger --db.limit: %w", err)
	case errors.Is(err, store.ErrMemory):
		return fmt.Errorf("the memory does not suffice: start with another --db.mapmode: %w", err)
	}
	return err
}
