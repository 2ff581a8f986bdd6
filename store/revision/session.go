package revision

import (
	"errors"
	"fmt"

	"tarn/store"
)

func (s *Store) Begin() error {
	if err := s.alive(); err != nil {
		return err
	}
	if len(s.marks) == 0 {
		if s.isCrowded() {
			return fmt.Errorf("begin revision %d: %w", s.head+1, store.ErrGuard)
		}
	}
	s.marks = append(s.marks, s.journal.Len())
	s.values.begin()
	return nil
}

func (s *Store) Squash() error {
	if err := s.alive(); err != nil {
		return err
	}
	if len(s.marks) < 2 {
		return fmt.Errorf("squash: %w", store.ErrNoSession)
	}
	s.marks = s.marks[:len(s.marks)-1]
	s.values.squash()
	s.journal.condense(s.marks[len(s.marks)-1])
	return nil
}

func (s *Store) Push() error {
	if err := s.alive(); err != nil {
		return err
	}
	switch len(s.marks) {
	case 0:
		return fmt.Errorf("push: %w", store.ErrNoSession)
	case 1:
	default:
		return fmt.Errorf("push with %d sessions: %w", len(s.marks), store.ErrSessionOpen)
	}
	s.undo = append(s.undo, s.values.compact(&s.journal))
	s.values.push()
	s.journal.truncate(0)
	s.marks = s.marks[:0]
	s.head++
	s.relieve()
	return nil
}

func (s *Store) Undo() error {
	if err := s.alive(); err != nil {
		return err
	}
	if n := len(s.marks); n > 0 {
		mark := s.marks[n-1]
		if err := s.restore(s.journal.Bytes()[mark:]); err != nil {
			return err
		}
		s.journal.truncate(mark)
		s.values.undo()
		s.marks = s.marks[:n-1]
		return nil
	}
	n := len(s.undo)
	if n == 0 {
		return store.ErrNothingToUndo
	}
	if err := s.restore(s.undo[n-1]); err != nil {
		return err
	}
	s.undo[n-1] = nil
	s.undo = s.undo[:n-1]
	s.values.undoHead()
	s.head--
	return nil
}

func (s *Store) UndoAll() error {
	if err := s.alive(); err != nil {
		return err
	}
	for len(s.marks)+len(s.undo) > 0 {
		if err := s.Undo(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) Commit(revision uint64) error {
	if err := s.alive(); err != nil {
		return err
	}
	if revision > s.head {
		return fmt.Errorf("commit revision %d with head %d: %w", revision, s.head, store.ErrRevision)
	}
	if revision <= s.irreversible {
		return nil
	}
	n := int(revision - s.irreversible)
	clear(s.undo[:n])
	s.undo = s.undo[n:]
	s.irreversible = revision
	return nil
}

func (s *Store) SetRevision(revision uint64) error {
	if err := s.idle(); err != nil {
		return err
	}
	if len(s.undo) > 0 || revision < s.head {
		return fmt.Errorf("set revision %d with head %d and %d undoable: %w",
			revision, s.head, len(s.undo), store.ErrRevision)
	}
	s.head, s.irreversible = revision, revision
	s.relieve()
	return nil
}

// restore puts back what a journal says, newest first. An engine keeps room for
// it; should it fail all the same, the state is neither old nor new.
func (s *Store) restore(journal []byte) error {
	s.detach()
	s.loans.checkKept()
	defer s.loans.recall()
	restored := 0
	err := store.Backward(journal, func(t store.Table, key, old []byte, existed bool) error {
		restored++
		return s.engine.Restore(t, key, old, existed)
	})
	if errors.Is(err, store.ErrReadOnly) && restored == 1 {
		return fmt.Errorf("undo: %w", err)
	}
	if err != nil { // the store is closed to further use of the writer's state
		s.failed = fmt.Errorf("%w: undo: %w", store.ErrFailed, err)
	}
	return s.failed
}

// isCrowded reports whether there is too little room for a revision, even after the
// checkpoint under way and the one that it may have kept from starting.
func (s *Store) isCrowded() bool {
	_, guard := s.engine.Pressure()
	for range 2 {
		if !guard || s.pending == nil {
			break
		}
		s.pending.Wait() //nolint:errcheck // counted in Stats.CheckpointsFailed
		s.relieve()
		_, guard = s.engine.Pressure()
	}
	return guard
}

func (s *Store) Relieve() error {
	if err := s.idle(); err != nil {
		return err
	}
	if s.pending != nil {
		select {
		case <-s.pending.Done():
			if err := s.pending.Wait(); err != nil {
				return err
			}
		default:
		}
	}
	s.relieve()
	return nil
}

// relieve starts the checkpoint that a memory bound asks for, unless one is
// under way. Its failure is the engine's to count and report: the revision that
// was just finished is not affected.
func (s *Store) relieve() {
	if due, _ := s.engine.Pressure(); !due {
		return
	}
	if s.pending != nil {
		select {
		case <-s.pending.Done():
		default:
			return
		}
	}
	s.Checkpoint() //nolint:errcheck // counted in Stats.CheckpointsFailed
}
