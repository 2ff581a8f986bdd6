package stream

import (
	"context"
	"errors"
	"fmt"

	"tarn/fleet"
)

// strange notes that a message is none that this program can read.
func (w *walk) strange(err error) {
	if w.strangers++; w.strangers == 1 {
		w.Log.Warn("The fleet's stream has something that is no move; it is left out", "fleet", w.Name, "message", w.at,
			"error", err)
	}
}

// pass says that the replica is to begin again if a message does not let it go on, however often it is read, and the
// newest snapshot comes after that message.
func (w *walk) pass(ctx context.Context, err error) error {
	refuses := errors.Is(err, fleet.ErrDamaged) || errors.Is(err, fleet.ErrGap) || errors.Is(err, fleet.ErrTooLarge)
	if !refuses || errors.Is(err, fleet.ErrDiffers) || errors.Is(err, ErrBeginAgain) || errors.Is(err, errApply) {
		return err
	}
	before := w.refused
	if w.refused = w.at; before != w.at {
		return err
	}
	if s, failed := w.newest(ctx); failed != nil || s.Sequence <= w.at {
		return err
	}
	return fmt.Errorf("%w: %w", ErrBeginAgain, err)
}
