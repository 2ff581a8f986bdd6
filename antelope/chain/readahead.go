package chain

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"tarn/antelope/execute"
	"tarn/antelope/types"
)

// readAhead reads blocks from the log and unpacks them on other goroutines than the
// writer's, in their order.
type readAhead struct {
	blocks <-chan unpackedBlock
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// unpackedBlock is a block that was read, or why it could not be.
type unpackedBlock struct {
	block      *types.SignedBlock
	candidates []*execute.Candidate
	err        error
	weight     int64 // of aheadBytes
}

// ahead is how many blocks are read before they are needed, and aheadBytes how many bytes they
// have in the log at most: unpacked they take some fifteen times as much. A larger block is read
// alone.
const (
	ahead      = 32
	aheadBytes = 2 << 20
)

// startReadAhead starts to read. Keys are found only where the checks ask for them.
func (r *resumption) startReadAhead(first, last uint32) *readAhead {
	ctx, cancel := context.WithCancel(r.ctx)
	// Each block has a place in the queue before it is unpacked, so that several are
	// unpacked at a time and still come in order.
	queue := make(chan chan unpackedBlock, ahead)
	work := make(chan func(), ahead)
	room := semaphore.NewWeighted(aheadBytes)
	out := make(chan unpackedBlock)
	f := &readAhead{blocks: out, cancel: cancel}
	f.done.Go(func() {
		defer close(queue)
		defer close(work)
		for n := first; n <= last; n++ {
			place := make(chan unpackedBlock, 1)
			raw, err := r.logs.blocks.ReadToExecute(n)
			weight := min(int64(len(raw)), aheadBytes)
			if room.Acquire(ctx, weight) != nil {
				return
			}
			job := func() {
				var next unpackedBlock
				if err != nil {
					next.err = fmt.Errorf("read the block log to replay it: %w", err)
				} else {
					next = r.unpackRaw(raw)
				}
				next.weight = weight
				place <- next
			}
			if !offer(ctx, work, job) || !offer(ctx, queue, place) || err != nil {
				return
			}
		}
	})
	for range max(1, r.opt.Threads) {
		f.done.Go(func() {
			for job := range work {
				job()
			}
		})
	}
	f.done.Go(func() {
		defer close(out)
		for place := range queue {
			select {
			case next := <-place:
				if !offer(ctx, out, next) {
					return
				}
				room.Release(next.weight)
			case <-ctx.Done():
				return
			}
		}
	})
	return f
}

// unpackRaw decodes a block and its transactions.
func (r *resumption) unpackRaw(raw []byte) unpackedBlock {
	f := unpackedBlock{block: new(types.SignedBlock)}
	if f.err = types.Decode(raw, f.block); f.err != nil {
		return f
	}
	if r.opt.ForceAllChecks {
		f.candidates, f.err = r.keys.Unpack(f.block, nil, 1)
	} else {
		f.candidates, f.err = execute.Unpack(f.block)
	}
	return f
}

// offer sends v unless ctx ends first.
func offer[T any](ctx context.Context, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

// stop ends the reading and waits for it.
func (f *readAhead) stop() {
	f.cancel()
	f.done.Wait()
}
