package suite

import (
	"context"
	"fmt"
	"time"

	"tarn/bench/record"
)

// Subscribers is the name of the suite in which clients subscribe to a node's blocks.
const Subscribers = "subscribers"

// Names of its values.
const (
	lastTold        = "median time to the last client"
	lastNearAllTold = "99 % of times to the last client within"
	sentClients     = "sent to clients"
	lostClients     = "clients lost"
)

func subscribersSuite() Suite {
	return Suite{
		Name: Subscribers,
		How: "Clients subscribe to the blocks of the node, which follows the source, another node; the source takes " +
			"transfers at the rate. On Antelope each client has a connection to the state history, which sends " +
			"blocks, traces and rows. On Opera ten subscriptions (newHeads) share one WebSocket connection. The time " +
			"of a block starts when the source has it. The clients, the source and the node share the processors.",
		Article: "–",
		Time:    "--peer-for",
		Disk:    "the chain, twice",
		options: func(o *record.Options) []Option {
			return []Option{
				{"subscribers", "subscriptions to blocks in subscribers", &o.Subscribers,
					wrongIf(o.Subscribers < 1 || o.Subscribers > subscribersMost, "%d subscribers: from 1 to %d",
						o.Subscribers, subscribersMost)},
				{"filters", "filters in subscribers, of Opera: half of them for blocks, half for logs; a client asks for " +
					"the news of each every ten seconds", &o.Filters,
					wrongIf(o.Filters < 0 || o.Filters > subscribersMost, "%d filters: from 0 to %d",
						o.Filters, subscribersMost)},
				peerForOption(o), rateOption(o), sourceOption(o), sourceDirOption(o)}
		},
		check: neverIdle,
		needs: subscribes,
		chart: record.Chart{Metric: lastNearAllTold, Title: "time until the last client has a block, 99 % of blocks"},
		metrics: counts(of(percent, share), of(seconds, delay, nearAllTold, lastTold, lastNearAllTold),
			of(number, blocks), of(bitRate, sentClients), of(number, lostClients)),
		collect: []collector{privateMemory()},
		run: func(ctx context.Context, l *life, found *findings) error {
			also := func(n Node) (Node, error) {
				return l.network.(Subscribed).Subscribable(n, l.subscriptions())
			}
			return l.withFollower(ctx, also, func(from, s *server) error {
				return subscribedTo(ctx, l, from, s, found)
			})
		},
	}
}

// subscriptions are those that the options ask for.
func (l *life) subscriptions() Subscriptions {
	return Subscriptions{l.options.Subscribers, l.options.Filters}
}

// subscribedTo has clients subscribe to a node, which follows another that takes transfers, and ends it.
func subscribedTo(ctx context.Context, l *life, from, s *server, found *findings) error {
	clients, err := l.network.(Subscribed).Subscribe(ctx, s.Node, from.Node, l.subscriptions())
	if err != nil {
		return fmt.Errorf("subscribe %+v: %w", l.subscriptions(), err)
	}
	defer clients.Close()
	v, err := watchCrowd(ctx, l, clients, s, func(length time.Duration) error { return l.transfersTo(ctx, from, length) })
	if err != nil {
		return err
	}
	clients.Close()
	if _, _, err := s.stop(ctx); err != nil {
		return err
	}
	found.keep(Subscribers, s.Child, map[string]float64{
		share: v.share(), blocks: float64(v.sight.Blocks), sentClients: 8 * float64(v.sight.Bytes) / v.elapsed,
		delay: v.sight.Delays.Quantile(0.5) / 1e9, nearAllTold: v.sight.Delays.Quantile(0.99) / 1e9,
		lastTold: v.sight.Last.Quantile(0.5) / 1e9, lastNearAllTold: v.sight.Last.Quantile(0.99) / 1e9,
		lostClients: v.failures(),
	})
	return nil
}
