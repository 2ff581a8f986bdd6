package state

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// run computes roots until the roots are closed or something fails. It takes the blocks
// that waited in the rows first.
func (r *Roots) run(p progress, first []task) {
	defer close(r.ended)
	w := &worker{roots: r, at: p.number, nodes: &nodeReader{tables: r.tables}, base: p.root}
	for {
		var t task
		if len(first) != 0 {
			t, first = first[0], first[1:]
		} else {
			t = <-r.queue
		}
		r.mu.Lock()
		closed := r.closed
		r.mu.Unlock()
		if closed {
			return
		}
		if err := w.do(t); err != nil {
			r.mu.Lock()
			r.err = fmt.Errorf("compute the root of block %d: %w", t.number, err)
			r.changed.Broadcast()
			r.mu.Unlock()
			return
		}
	}
}

// worker is what the goroutine of the roots alone knows.
type worker struct {
	roots  *Roots
	nodes  *nodeReader
	forest *forest     // nil until the first block
	base   common.Hash // the root that the forest begins with
	at     uint64      // the newest block in the forest
	behind bool        // whether a block of the forest was not handed to the writer
	// The blocks whose roots may be in no row yet, the oldest first.
	computed []uint64
}

func (w *worker) do(t task) (err error) {
	view, err := w.roots.from.View()
	if err != nil {
		return err
	}
	w.nodes.rows = view
	defer func() {
		w.nodes.rows = nil
		err = errors.Join(err, view.Close())
	}()
	if err := w.forget(); err != nil {
		return err
	}
	if w.forest == nil {
		if w.forest, err = newForest(w.nodes, w.base); err != nil {
			return err
		}
	}
	if t.settle == nil {
		return w.block(t)
	}
	if w.behind {
		if err := w.hand(); err != nil {
			return err // Settle hears of it when the goroutine has ended
		}
	}
	close(t.settle)
	return nil
}

// forget drops the batches and roots that the view's rows have.
func (w *worker) forget() error {
	p, err := w.roots.tables.progress(w.nodes.rows)
	if err != nil {
		return err
	}
	for len(w.nodes.batches) != 0 && w.nodes.batches[0].number <= p.number {
		w.nodes.batches = w.nodes.batches[1:]
	}
	r := w.roots
	r.mu.Lock()
	defer r.mu.Unlock()
	// The writer puts all of them into rows at once, so those that have none yet are the newest.
	for ; len(w.computed) != 0; w.computed = w.computed[1:] {
		number := w.computed[0]
		if _, waits := r.roots[number]; !waits {
			continue
		}
		if _, err := r.tables.RootAt(w.nodes.rows, number); err != nil {
			return nil
		}
		delete(r.roots, number)
	}
	return nil
}

func (w *worker) block(t task) error {
	if err := w.forest.apply(t.values); err != nil {
		return err
	}
	root := w.forest.root()
	w.at, w.behind = t.number, true
	r := w.roots
	r.mu.Lock()
	r.roots[t.number], r.known, r.begun = root, t.number, true
	r.changed.Broadcast()
	r.mu.Unlock()
	w.computed = append(w.computed, t.number)
	if w.forest.updates >= r.updates {
		return w.hand()
	}
	return nil
}

// hand makes the changed nodes ready for the writer.
func (w *worker) hand() error {
	b, err := w.forest.take(w.at)
	if err != nil {
		return err
	}
	w.behind = false
	w.roots.mu.Lock()
	defer w.roots.mu.Unlock()
	w.roots.ready = append(w.roots.ready, b)
	return nil
}
