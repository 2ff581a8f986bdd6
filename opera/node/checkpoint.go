package node

import (
	"errors"
	"fmt"
	"time"

	"tarn/node"
	"tarn/store"
)

// effort is how long the writer has worked on the chain. Only the writer uses it, and who
// opens the node.
type effort struct {
	spent time.Duration // without what is at hand
	since time.Time     // when the work at hand began; zero while there is none
}

func (e *effort) begin() { e.since = time.Now() }

func (e *effort) end() { e.spent, e.since = e.total(), time.Time{} }

func (e *effort) total() time.Duration {
	if e.since.IsZero() {
		return e.spent
	}
	return e.spent + time.Since(e.since)
}

// remedy adds to the error of a disk or a store that is full what helps.
func remedy(err error) error {
	if helped, ok := node.Room(err); ok {
		return helped
	}
	switch {
	case errors.Is(err, store.ErrGuard), errors.Is(err, store.ErrFull):
		return fmt.Errorf("the state has no more room: start with a larger --db.limit: %w", err)
	case errors.Is(err, store.ErrMemory):
		return fmt.Errorf("the memory does not suffice: start with another --db.mapmode: %w", err)
	}
	return err
}
