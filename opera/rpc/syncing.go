package rpc

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// watchEvery is the time between two looks at whether the node is syncing.
const watchEvery = 250 * time.Millisecond

// syncNews is what a subscriber gets when the node begins to sync; false says that it has
// ended. The fields are those of go-ethereum 1.10, whose names go-opera has there.
type syncNews struct {
	Syncing bool         `json:"syncing"`
	Status  syncProgress `json:"status"`
}

type syncProgress struct {
	StartingBlock, CurrentBlock, HighestBlock, PulledStates, KnownStates uint64
}

// watch tells subscribers when the node begins or has ended to sync, which is also a matter
// of time.
func (h *hub) watch() {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			h.tellSync()
		case <-h.done:
			return
		}
	}
}

// watched tells whether anybody wants to know whether the node is syncing.
func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.live {
		if l.kind == ofSync {
			return true
		}
	}
	return false
}

func (h *hub) tellSync() {
	if !h.watched() {
		return
	}
	now, err := read(h.s, h.s.syncing)
	if err != nil {
		return
	}
	var told any = false
	at, syncing := now.(*syncJSON)
	if syncing {
		told = &syncNews{true, syncProgress{
			CurrentBlock: uint64(at.CurrentBlock), HighestBlock: uint64(at.HighestBlock),
			PulledStates: uint64(at.PulledStates), KnownStates: uint64(at.KnownStates),
		}}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.live {
		if l.kind == ofSync && l.syncing != syncing {
			l.syncing = syncing
			l.send(told)
		}
	}
}

// Syncing tells when the node begins or has ended to sync. go-opera takes the subscription,
// and never tells anything.
func (e ethFilters) Syncing(ctx context.Context) (*rpc.Subscription, error) {
	now, err := read(e.s, e.s.syncing)
	if err != nil {
		return nil, err
	}
	_, syncing := now.(*syncJSON)
	return e.s.subscribe(ctx, &listener{kind: ofSync, syncing: syncing})
}
