package chain

import (
	"context"
	"iter"
	"runtime"
	"sync"
)

// inOrder is how many items are worked on ahead of who takes them.
const inOrder = 64

// processInOrder does some work for items on all processors, and hands what comes of it to the
// caller's function in the order of the items. It ends with the first error, of whichever
// item comes first, and when the context ends. The items are read by another goroutine.
func processInOrder[I, T any](
	ctx context.Context, items iter.Seq2[I, error], work func(I) (T, error), take func(T) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	type result struct {
		item  I
		value T
		err   error
		ready chan struct{}
	}
	order, jobs := make(chan *result, inOrder), make(chan *result, inOrder)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for r := range jobs {
				if r.err == nil {
					r.value, r.err = work(r.item)
				}
				close(r.ready)
			}
		})
	}
	all.Go(func() {
		defer close(order)
		defer close(jobs)
		for item, err := range items {
			r := &result{item: item, err: err, ready: make(chan struct{})}
			select {
			case order <- r:
			case <-ctx.Done():
				return
			}
			jobs <- r // it has as much room as order
			if err != nil {
				return
			}
		}
	})
	for r := range order {
		<-r.ready
		err := r.err
		if err == nil {
			err = take(r.value)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
