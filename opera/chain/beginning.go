package chain

import (
	"errors"
	"fmt"
	"sync"

	"tarn/opera/inter"
	"tarn/opera/state"
	"tarn/store"
)

// The state with which the present epoch began is what nodes give each other (go-opera,
// gossip/store.go, CaptureEvmKvdbSnapshot). A view holds it until the next epoch begins. The view is
// taken when the epoch's beginning is the chain's head: a chain that is opened in the middle of an
// epoch has none before the next one.

// Beginning is the state with which an epoch began. Any goroutine may use it until Release.
type Beginning struct {
	Epoch inter.Epoch
	Root  [32]byte

	block  inter.BlockNumber
	tables *state.Tables
	view   store.View

	mu    sync.Mutex
	holds int             // of whoever uses it, and one of the chain's
	tries *state.Provable // nil until somebody asks
}

// Beginning returns the state with which the present epoch began, nil if the chain does not hold it.
// It must be released. Any goroutine may call this.
func (c *Chain) Beginning() *Beginning {
	c.beginning.mu.Lock()
	defer c.beginning.mu.Unlock()
	b := c.beginning.now
	if b != nil {
		b.mu.Lock()
		b.holds++
		b.mu.Unlock()
	}
	return b
}

// State returns the state. The first call of an epoch makes the tries of what was not in their rows.
func (b *Beginning) State() (*state.Provable, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tries != nil {
		return b.tries, nil
	}
	p, err := b.tables.Provable(b.view, uint64(b.block))
	if err == nil && p.Root != b.Root {
		err = fmt.Errorf("its root is %x, and what was made has %x: %w", b.Root, p.Root, store.ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("the state with which epoch %d began: %w", b.Epoch, err)
	}
	b.tries = p
	return p, nil
}

// Release gives the state back.
func (b *Beginning) Release() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holds--; b.holds > 0 {
		return nil
	}
	b.tries = nil
	return b.view.Close()
}

// beginnings is the one that the chain holds.
type beginnings struct {
	mu  sync.Mutex
	now *Beginning

	limited bool // the store has a limit; the writer's
}

// replace holds another one, or none.
func (s *beginnings) replace(b *Beginning) error {
	s.mu.Lock()
	was := s.now
	s.now = b
	s.mu.Unlock()
	if was == nil {
		return nil
	}
	return was.Release()
}

// holdBeginning holds the published state as that of the epoch's beginning, which it is.
func (c *Chain) holdBeginning(root [32]byte) error {
	if !c.options.Beginnings {
		return nil
	}
	view, err := c.store.View()
	if err == nil && view.Revision() != uint64(c.block.LastBlock.Number) {
		err = errors.Join(fmt.Errorf("revision %d is shown", view.Revision()), view.Close())
	}
	if err != nil {
		return fmt.Errorf("hold the state with which epoch %d begins: %w", c.epoch.Epoch, err)
	}
	c.beginning.limited = c.store.Stats().Limit > 0
	return c.beginning.replace(&Beginning{Epoch: c.epoch.Epoch, Root: root, block: c.block.LastBlock.Number,
		tables: c.state, view: view, holds: 1})
}

// yieldBeginning gives the epoch's beginning up where a store with a limit has little room left: it
// keeps the pages that the epoch has changed.
func (c *Chain) yieldBeginning() error {
	const part = 8 // of the limit
	if !c.beginning.limited {
		return nil // Stats may ask a library for much more than that
	}
	if s := c.store.Stats(); s.Free < s.Limit/part {
		return c.beginning.replace(nil)
	}
	return nil
}
