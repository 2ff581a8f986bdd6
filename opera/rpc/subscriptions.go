package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"tarn/httpserver"
)

// hearing is a subscription: what it hears, and what of that its client is told.
type hearing struct {
	of *stream
	// tell tells what of some news the client wants, until that fails.
	tell func(ctx context.Context, of any, send func(json.RawMessage) error) error
	size int64 // of what it remembers, in bytes
}

// subscribe tells a client what is new, until it goes or is too slow. Who is slower than what is
// kept of news loses the subscription, so that nobody takes what has a hole for the whole.
func (s *Service) subscribe(ctx context.Context, l *hearing) (*rpc.Subscription, error) {
	notifier, ok := rpc.NotifierFromContext(ctx)
	if !ok {
		return nil, rpc.ErrNotificationsUnsupported
	}
	if s.hub.ctx.Err() != nil {
		return nil, errServiceClosed
	}
	client := s.client(ctx)
	give, err := s.place(s.subscriptions, client, l.size, "subscriptions")
	if err != nil {
		return nil, err
	}
	sub := notifier.CreateSubscription()
	on := s.socket(ctx)
	var named <-chan struct{}
	if on != nil {
		named = on.awaits(sub.ID)
	}
	at := l.of.begin()
	running, end := context.WithCancel(s.hub.ctx)
	s.hub.all.Go(func() {
		defer give()
		defer l.of.end()
		defer end()
		if named != nil {
			select {
			case <-named:
			case <-running.Done():
				return
			}
		}
		s.follow(running, l, at, func(text json.RawMessage) error {
			// The library copies what it writes, and who waits behind another for the connection
			// holds that.
			held := copies * int64(len(text))
			if len(text) <= firstFrame { // there are so many subscriptions at most
				held = 0
			}
			if err := s.memory.Wait(running, client, held); err != nil {
				return err
			}
			defer s.memory.Give(client, held)
			return notifier.Notify(sub.ID, text)
		})
		if on != nil && running.Err() == nil { // so that its client does not wait for ever
			_ = on.dismiss(errLost)
			on.cancel()
		}
	})
	go func() {
		defer end()
		select {
		case <-sub.Err():
		case <-running.Done():
		}
	}()
	return sub, nil
}

var errLost = errors.New("news was lost: subscribe again")

// copies is how often what is told is in memory until it is written.
const copies = 3

// follow tells what is new from a number on.
func (s *Service) follow(ctx context.Context, l *hearing, at uint64, send func(json.RawMessage) error) {
	for ; ; at++ {
		of, ok := l.of.wait(ctx, at)
		if !ok || l.tell(ctx, of, send) != nil {
			return
		}
	}
}

// place takes a place, and memory for what is remembered at it, for a client. The function that is
// returned gives both back.
func (s *Service) place(of *httpserver.Shares, client httpserver.Client, size int64, what string) (func(), error) {
	if err := of.Take(client, 1); err != nil {
		return nil, tooMany(what, err)
	}
	if err := s.memory.Take(client, size); err != nil {
		of.Give(client, 1)
		return nil, &busy{fmt.Errorf("no memory for more %s: %w", what, err)}
	}
	return func() {
		of.Give(client, 1)
		s.memory.Give(client, size)
	}, nil
}

// tooMany says how many there may be.
func tooMany(what string, err error) error {
	if scarce, ok := err.(*httpserver.Scarce); ok {
		if scarce.Own {
			return fmt.Errorf("too many %s, the limit is %d for each address", what, scarce.Limit)
		}
		return fmt.Errorf("too many %s, the limit is %d", what, scarce.Limit)
	}
	return err
}

func (e ethFilters) NewHeads(ctx context.Context) (*rpc.Subscription, error) {
	return e.s.subscribe(ctx,
		&hearing{of: e.s.hub.blocks, tell: func(_ context.Context, of any, send func(json.RawMessage) error) error {
			return send(of.(*toldBlock).head)
		}})
}

// NewPendingTransactions tells the hashes of transactions that come into the pool, or, if so much
// is wanted, the transactions that are still there.
func (e ethFilters) NewPendingTransactions(ctx context.Context, whole *bool) (*rpc.Subscription, error) {
	textOf := func(hash common.Hash) (json.RawMessage, error) { return json.Marshal(hash) }
	if whole != nil && *whole {
		textOf = e.s.pendingText
	}
	return e.s.subscribe(ctx,
		&hearing{of: e.s.hub.pending, tell: func(_ context.Context, of any, send func(json.RawMessage) error) error {
			for _, hash := range of.([]common.Hash) {
				text, err := textOf(hash)
				if err == nil && text != nil {
					err = send(text)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}})
}

// pendingText is a transaction that waits as JSON, nil if there is none. The texts of the last ones are remembered, so
// that each is made once, however many hear it.
func (s *Service) pendingText(hash common.Hash) (json.RawMessage, error) {
	tx := s.options.Pool.Get(hash)
	if tx == nil {
		return nil, nil
	}
	if text, ok := s.pendingTexts.Get(hash); ok {
		return text, nil
	}
	text, err := json.Marshal(pendingJSON(tx))
	if err == nil {
		s.pendingTexts.Add(hash, text)
	}
	return text, err
}

func (e ethFilters) Logs(ctx context.Context, c Criteria) (*rpc.Subscription, error) {
	if err := e.s.checkFilter(&c); err != nil {
		return nil, err
	}
	return e.s.subscribe(ctx, &hearing{of: e.s.hub.blocks, size: c.weight(),
		tell: func(ctx context.Context, of any, send func(json.RawMessage) error) error {
			return e.s.hub.tellLogs(ctx, of.(*toldBlock), &c, send)
		}})
}

// sendTold sends what is the same for all who hear it.
func sendTold(_ context.Context, of any, send func(json.RawMessage) error) error {
	return send(of.(json.RawMessage))
}

// Added tells of transactions that came into the pool. It never waits.
func (s *Service) Added(txs types.Transactions) {
	hashes := make([]common.Hash, len(txs))
	for i, tx := range txs {
		hashes[i] = tx.Hash()
	}
	s.filters.noteTransactions(hashes)
	s.hub.tellTransactions(hashes)
}
