package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rpc"

	"tarn/opera/inter"
)

// installed are the filters that clients have installed. A filter holds nothing of what is new: it
// remembers how far its client is, and what came since is looked for when the client asks.
type installed struct {
	s *Service

	mu      sync.Mutex
	filters map[rpc.ID]*filter
	// The hashes of the transactions that came into the pool last, and how many came at all.
	hashes []common.Hash
	came   uint64
}

// kind is what a filter is of.
type kind int

const (
	ofBlocks kind = iota
	ofLogs
	ofPending
)

// filter is what a client asks for now and then.
type filter struct {
	kind     kind
	criteria Criteria
	asked    time.Time
	give     func() // its place and its memory

	asking chan struct{}     // has an element while its client is answered
	block  inter.BlockNumber // the next one to tell of
	hash   uint64            // the next hash to tell of
}

var errNoFilter = errors.New("filter not found")

// install keeps a filter and returns its name.
func (i *installed) install(ctx context.Context, k kind, c Criteria) (rpc.ID, error) {
	next, err := read(i.s, func(v *view) (inter.BlockNumber, error) { return v.Head().Number + 1, nil })
	if err != nil {
		return "", err
	}
	give, err := i.s.place(i.s.filterPlaces, i.s.client(ctx), c.weight(), "filters")
	if err != nil { // those that nobody asks for may have the place
		i.expire()
		give, err = i.s.place(i.s.filterPlaces, i.s.client(ctx), c.weight(), "filters")
	}
	if err != nil {
		return "", err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	id := rpc.NewID()
	i.filters[id] = &filter{kind: k, criteria: c, asked: time.Now(), give: give, block: next, hash: i.came,
		asking: make(chan struct{}, 1)}
	return id, nil
}

// expire forgets the filters that nobody asks for.
func (i *installed) expire() {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now()
	for id, f := range i.filters {
		if i.isOld(f, now) {
			i.remove(id)
		}
	}
}

// isOld tells whether nobody has asked for a filter for too long. The caller holds the lock.
func (i *installed) isOld(f *filter, now time.Time) bool {
	return now.Sub(f.asked) > i.s.limits.FilterTime
}

// remove forgets a filter, if there is one. The caller holds the lock.
func (i *installed) remove(id rpc.ID) bool {
	f, ok := i.filters[id]
	if ok {
		f.give()
		delete(i.filters, id)
	}
	return ok
}

func (i *installed) uninstall(id rpc.ID) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.remove(id)
}

// find returns a filter that was not forgotten.
func (i *installed) find(id rpc.ID) (*filter, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f := i.filters[id]
	if f == nil {
		return nil, errNoFilter
	}
	if i.isOld(f, time.Now()) {
		i.remove(id)
		return nil, errNoFilter
	}
	return f, nil
}

// criteria returns those of a filter of logs.
func (i *installed) criteria(id rpc.ID) (Criteria, error) {
	f, err := i.find(id)
	if err != nil || f.kind != ofLogs {
		return Criteria{}, errNoFilter
	}
	return f.criteria, nil
}

// noteTransactions notes transactions that came into the pool, for all filters of them.
func (i *installed) noteTransactions(hashes []common.Hash) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.came += uint64(len(hashes))
	i.hashes = append(i.hashes, hashes...)
	// Twice as many are kept as are told, so that they are not moved each time.
	if most := i.s.limits.FilterHeld; len(i.hashes) > 2*most {
		i.hashes = append([]common.Hash(nil), i.hashes[len(i.hashes)-most:]...)
	}
}

// changes returns what came since the last call. Who asks while another is answered waits, but no longer than a
// request may take: it has a turn meanwhile.
func (i *installed) changes(ctx context.Context, id rpc.ID) (any, error) {
	f, err := i.find(id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, i.s.limits.RequestTime)
	defer cancel()
	select {
	case f.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, &busy{fmt.Errorf("the filter is being asked: %w", ctx.Err())}
	}
	defer func() { <-f.asking }()
	defer func() {
		i.mu.Lock()
		f.asked = time.Now()
		i.mu.Unlock()
	}()
	switch f.kind {
	case ofPending:
		return i.pending(f)
	case ofBlocks:
		return read(i.s, func(v *view) ([]common.Hash, error) { return f.blocks(ctx, v) })
	}
	return read(i.s, func(v *view) ([]*LogJSON, error) { return f.logs(ctx, v) })
}

// overflowError says that there was more than is told, and that it is told no more.
func (i *installed) overflowError() error {
	return fmt.Errorf("more than %d changes since the last call, which are dropped: ask more often, or for less",
		i.s.limits.FilterHeld)
}

// pending returns the hashes that came since the last call.
func (i *installed) pending(f *filter) ([]common.Hash, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := i.came - f.hash
	f.hash = i.came
	if n > uint64(i.s.limits.FilterHeld) {
		return nil, i.overflowError()
	}
	return append([]common.Hash{}, i.hashes[len(i.hashes)-int(n):]...), nil
}

// blocks returns the ids of the blocks since the last call. Where reading them takes too long, it returns those of the
// first, and the next call goes on from there.
func (f *filter) blocks(ctx context.Context, v *view) ([]common.Hash, error) {
	from, head := f.block, v.Head().Number
	if head < from {
		return []common.Hash{}, nil
	}
	if head-from >= inter.BlockNumber(v.service.limits.FilterHeld) {
		f.block = head + 1
		return nil, v.service.filters.overflowError()
	}
	ids := make([]common.Hash, 0, head-from+1)
	for ; f.block <= head && ctx.Err() == nil; f.block++ {
		ids = append(ids, common.Hash(v.BlockID(f.block)))
	}
	if len(ids) == 0 {
		return nil, ctx.Err()
	}
	return ids, nil
}

// logs returns the logs since the last call that fit. Where the search takes too long, it returns
// those of the first blocks, and the next call goes on from there.
func (f *filter) logs(ctx context.Context, v *view) ([]*LogJSON, error) {
	head := v.Head().Number
	from, to := f.block, head
	if c := &f.criteria; c.From != nil && *c.From >= 0 {
		from = max(from, inter.BlockNumber(*c.From))
	}
	if c := &f.criteria; c.To != nil && *c.To >= 0 {
		to = min(to, inter.BlockNumber(*c.To))
	}
	if from > to {
		f.block = max(f.block, head+1)
		return []*LogJSON{}, nil
	}
	found, err := v.search(ctx, &f.criteria, from, to, v.service.limits.FilterHeld)
	switch {
	case errors.Is(err, errMoreLogs):
		f.block = head + 1
		return nil, v.service.filters.overflowError()
	case errors.Is(err, context.DeadlineExceeded) && found.searched >= from:
		f.block = found.searched + 1
	case err != nil:
		return nil, err
	default:
		f.block = head + 1
	}
	return logsJSON(found.list), nil
}
