package tracelog

import (
	"context"
	"errors"

	"tarn/antelope/writebehind"
)

// keeper compresses and removes slices, beside the chain.
type keeper struct {
	h       *History
	pending chan struct{}
	packed  uint32 // slices before it are compressed, as far as they are there
}

func newKeeper(h *History) *keeper { return &keeper{h: h, pending: make(chan struct{}, 1)} }

// wake tells that another block is irreversible.
func (k *keeper) wake() {
	select {
	case k.pending <- struct{}{}:
	default: // it is awake
	}
}

// due is the newest slice that so many irreversible blocks, and a slice's more, follow;
// false if there is none, or nothing is asked for (Leap:
// slice_directory::process_irreversible_slice_range).
func (k *keeper) due(least *uint32, lib uint32) (uint32, bool) {
	if least == nil {
		return 0, false
	}
	last := int64(lib) - int64(*least) - int64(k.h.o.Files.Stride)
	if last < 0 {
		return 0, false
	}
	return k.h.files.Slice(uint32(last)), true
}

func (k *keeper) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.pending:
		}
		if err := k.work(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, writebehind.ErrClosed) {
			k.h.o.Log.Error("Slices of traces could not be compressed or removed; it is tried again with the next "+
				"irreversible block", "error", err)
		}
	}
}

func (k *keeper) work(ctx context.Context) error {
	o, files := &k.h.o, k.h.files
	lib := files.Irreversible()
	list := files.Slices()
	var remove, compress []uint32
	end, some := k.due(o.Keep, lib)
	for _, n := range list {
		if some && n <= end {
			remove = append(remove, n)
		}
	}
	// Who compresses no later than he removes compresses nothing.
	end, some = k.due(o.Plain, lib)
	some = some && (o.Keep == nil || *o.Plain < *o.Keep)
	for _, n := range list[len(remove):] {
		if some && n >= k.packed && n <= end {
			compress = append(compress, n)
		}
	}
	if len(remove)+len(compress) == 0 {
		return nil
	}
	// From here on nothing is appended to them, whatever happens.
	if err := k.h.Sync(); err != nil {
		return err
	}
	for _, n := range remove {
		if files.Settled(n) {
			if err := files.Remove(n); err != nil {
				return err
			}
		}
	}
	if len(remove) > 0 {
		k.h.finder.drop()
	}
	for _, n := range compress {
		if !files.Settled(n) {
			break
		}
		if err := files.Compress(ctx, n); err != nil {
			return err
		}
		k.packed = n + 1
	}
	return nil
}
