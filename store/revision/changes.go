package revision

import (
	"bytes"
	"errors"
	"fmt"

	"tarn/store"
)

// Changes finds the changed rows in the head's undo journal, which has each of them once, and
// reads what they are now.
func (s *Store) Changes(
	of func(store.Table) bool, fn func(t store.Table, key, value []byte, present bool) error,
) error {
	if err := s.idle(); err != nil {
		return err
	}
	n := len(s.undo)
	if n == 0 {
		return fmt.Errorf("changes of revision %d: %w", s.head, store.ErrNothingToUndo)
	}
	return store.Changed(s.undo[n-1], func(t store.Table, key, old []byte, existed bool) error {
		if of != nil && !of(t) {
			return nil
		}
		value, err := s.engine.Get(t, key)
		switch {
		case errors.Is(err, store.ErrNotFound) && existed:
			return fn(t, key, nil, false)
		case errors.Is(err, store.ErrNotFound):
			return nil
		case err != nil:
			return fmt.Errorf("changes of revision %d: %w", s.head, err)
		case existed && bytes.Equal(value, old):
			return nil
		}
		return fn(t, key, value, true)
	})
}
