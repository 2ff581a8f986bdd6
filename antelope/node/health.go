package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"tarn/antelope/producer"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/types"
	"tarn/antelope/variant"
	"tarn/store"
)

// defaultHeadAge is how many blocks old the newest one may be in a node that is
// ready: a minute.
const defaultHeadAge = 120

// health tells whether the node can do what it is there for.
type health struct {
	head  func() *producer.Head
	store func() store.Stats
	guard int64        // bytes; with less free, the state is full
	hurt  func() error // why the state cannot be trusted; nil for nobody to ask
	full  func() error // why a disk is full; nil for nobody to ask
	age   uint32       // blocks
}

func (n *Node) newHealth(p *producer.Producer, h *HTTP) *health {
	c := &health{head: p.Head, store: n.store.Stats, hurt: n.damage.err, guard: n.o.Engine.GuardBytes, full: h.DiskFull,
		age: h.HeadAge}
	if c.age == 0 {
		c.age = defaultHeadAge
	}
	return c
}

// ready returns why the node is not ready; nil if it is.
func (c *health) ready(now time.Time) error {
	if c.hurt != nil {
		if err := c.hurt(); err != nil {
			return err
		}
	}
	h := c.head()
	age := now.Sub(h.Time.TimePoint().Time())
	// With read-mode = irreversible the newest blocks wait in the fork database.
	known := h.ForkNum - min(h.Num, h.ForkNum)
	if allowed := time.Duration(c.age+known) * types.BlockIntervalMS * time.Millisecond; age > allowed {
		return fmt.Errorf(
			"the newest block, %d, is %v old; %v are allowed: the node catches up, its peers have no newer one, or "+
				"nobody produces",
			h.Num, age.Round(time.Second), allowed)
	}
	if s := c.store(); s.Limit > 0 && s.Free < c.guard {
		return fmt.Errorf(
			"the state is nearly full: only %d MiB of %d MiB are free; increase chain-state-db-size-mb and start again",
			s.Free>>20, s.Limit>>20)
	}
	if c.full != nil {
		return c.full()
	}
	return nil
}

// healthEndpoints are served at all addresses. They are not in nodeos' list.
func healthEndpoints(ready func() error) []nodeoshttp.Endpoint {
	return []nodeoshttp.Endpoint{
		// They have no turn to wait for: who asks wants to know of this moment.
		{Path: "/healthz", Category: nodeoshttp.All, Text: true, Hidden: true, Waits: true, AnyHost: true,
			Handle: func(_ *nodeoshttp.Request, b []byte) (int, []byte) {
				return http.StatusOK, append(b, "alive\n"...)
			}},
		{Path: "/readyz", Category: nodeoshttp.All, Text: true, Hidden: true, Waits: true, AnyHost: true,
			Handle: func(_ *nodeoshttp.Request, b []byte) (int, []byte) {
				if err := ready(); err != nil {
					return http.StatusServiceUnavailable, append(append(b, err.Error()...), '\n')
				}
				return http.StatusOK, append(b, "ready\n"...)
			}},
	}
}

var errStarting = errors.New(
	"the node is starting: its state is being opened, loaded from a snapshot, or brought to the head of the block log")

// Starting answers /healthz and /readyz at the addresses of the API, and anything else
// with 503, until the function that it returns is called: while the node is brought to
// its head, and before Serve.
func Starting(ctx context.Context, h *HTTP) (stop func() error, err error) {
	server := nodeoshttp.New(h.Server, startingFaults)
	if err := server.Add(healthEndpoints(func() error { return errStarting })...); err != nil {
		return nil, err
	}
	stop = func() error {
		ending, done := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer done()
		return server.Stop(ending)
	}
	if err := listen(ctx, server, h, nil); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

// startingFaults refuses, in the form of nodeos' errors, what cannot be answered yet.
func startingFaults(b []byte, r nodeoshttp.Refusal, n int64) (int, []byte) {
	if r != nodeoshttp.NotFound {
		return rpc.Faults(b, r, n)
	}
	b = append(b, `{"code":503,"message":"Busy","error":{"code":503,"name":"Busy","what":`...)
	b = variant.AppendString(b, errStarting.Error())
	return http.StatusServiceUnavailable, append(b, `,"details":[]}}`...)
}
