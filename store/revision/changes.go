package revision

import (
	"bytes"
	"errors"
	"fmt"

	"tarn/internal/invariants"
	"tarn/store"
)

// Changes finds the changed rows in the head's undo journal, which has each of them once. What they are now was
// noted, or is read.
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
	noted, whole := s.values.ofHead()
	err := store.Changed(s.undo[n-1], func(t store.Table, key, old []byte, existed bool) error {
		var value []byte
		var present bool
		if whole { // of each record, also of those that nobody wants
			value, present = noted.next(key, old)
		}
		if of != nil && !of(t) {
			return nil
		}
		if !whole {
			var err error
			if value, err = s.engine.Get(t, key); err != nil && !errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("changes of revision %d: %w", s.head, err)
			}
			present = err == nil
		}
		switch {
		case !present && !existed, present && existed && bytes.Equal(value, old):
			return nil
		}
		return fn(t, key, value, present)
	})
	invariants.Check(err != nil || !whole || noted.isAtEnd(), "more is noted than the head changed")
	return err
}
