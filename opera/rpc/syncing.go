package rpc

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

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
	expiry := time.NewTicker(expireEvery)
	defer expiry.Stop()
	for {
		select {
		case <-expiry.C:
			h.s.filters.expire()
		case <-ticker.C:
			if h.sync.heard() {
				h.tellSync()
			}
		case <-h.ctx.Done():
			return
		}
	}
}

// tellSync tells whether the node is syncing, if that has changed.
func (h *hub) tellSync() {
	now, err := read(h.s, h.s.syncing)
	if err != nil {
		return
	}
	at, syncing := now.(*syncJSON)
	if h.syncing.Swap(syncing) == syncing {
		return
	}
	var told any = false
	if syncing {
		told = &syncNews{true, syncProgress{
			CurrentBlock: uint64(at.CurrentBlock), HighestBlock: uint64(at.HighestBlock),
			PulledStates: uint64(at.PulledStates), KnownStates: uint64(at.KnownStates),
		}}
	}
	if text, err := json.Marshal(told); err == nil {
		h.sync.push(news{json.RawMessage(text), int64(len(text))})
	}
}

// Syncing tells when the node begins or has ended to sync. go-opera takes the subscription,
// and never tells anything.
func (e ethFilters) Syncing(ctx context.Context) (*rpc.Subscription, error) {
	if !e.s.hub.sync.heard() {
		now, err := read(e.s, e.s.syncing)
		if err != nil {
			return nil, err
		}
		_, syncing := now.(*syncJSON)
		e.s.hub.syncing.Store(syncing)
	}
	return e.s.subscribe(ctx, &hearing{of: e.s.hub.sync, tell: sendTold})
}
