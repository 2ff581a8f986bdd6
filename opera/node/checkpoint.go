package node

import (
	"errors"
	"fmt"
	"time"

	"tarn/nodeupkeep"
	"tarn/opera/chain"
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

// damageRemedy adds to the error of files that are not what was written what helps.
func damageRemedy(err error) error {
	return fmt.Errorf(
		"Files of the node are damaged. Test the machine's memory and disk, which may have damaged them. Stop "+
			"the node; "+
			"`tarn opera --datadir DIR check` lists all that is damaged. Restore chaindata from a backup, or "+
			"rebuild it with --genesis FILE or `import datadir`; "+
			"a validator keeps its go-opera/emitter: %w", err)
}

// remedy adds to the error of a disk or a store that is full, or of files that are damaged, what helps.
func remedy(err error) error {
	if err != nil && chain.Damaged(err) {
		return damageRemedy(err)
	}
	if helped, ok := nodeupkeep.Remedy(err); ok {
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
