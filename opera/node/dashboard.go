package node

import (
	"context"
	"fmt"
	"math"
	"time"

	library "github.com/ethereum/go-ethereum/metrics"

	"tarn/livepage"
	"tarn/nodemetrics"
)

// shown are a node's metrics as a dashboard shows them. It is for the sampling goroutine.
type shown struct {
	m     *metrics
	watch *nodemetrics.Watch

	at              headPosition // zero while it is not known
	pending, queued int
	peers           int
	highest         uint64
	in, out         float64 // bytes from and to peers
	calls, failures float64
	times           []float64 // s, of JSON-RPC: median, 99 %, longest; empty for none
}

// openDashboard opens the page of a node that serves, if the options ask for one. What is
// returned closes it.
func (s *services) openDashboard(m *metrics) (end func() error, err error) {
	if s.Run.Dashboard == "" {
		return func() error { return nil }, nil
	}
	collectLibrary() // bytes of peers, requests
	v := &shown{m: m, watch: m.nodeMetrics.Watch()}
	o := livepage.Options{Title: "opera " + m.network, Version: s.build, Read: v.read, Panels: v.panels(),
		Figures: v.figures(), Trusted: s.trustedAddresses(), Log: s.log}
	d, err := livepage.Open(context.Background(), s.Run.Dashboard, o)
	if err != nil {
		return nil, fmt.Errorf("--dashboard.addr: %w", err)
	}
	s.log.Info("The dashboard is served", "url", d.URL())
	return d.Close, nil
}

func (v *shown) read() {
	v.watch.Read()
	v.at, _ = v.m.head() // zero with an error
	if r := v.m.beside.Load(); r != nil {
		if r.pool != nil {
			v.pending, v.queued = r.pool.Stats()
		}
		if r.peers != nil {
			v.peers = r.peers.PeerCount()
			block, _ := r.peers.Highest()
			v.highest = uint64(block)
		}
	}
	v.in, v.out = counter("p2p/ingress"), counter("p2p/egress")
	v.calls, v.failures = counter("rpc/requests"), counter("rpc/failure")
	v.times = nil
	if t, ok := library.DefaultRegistry.Get("rpc/duration/all").(*library.Timer); ok {
		if s := t.Snapshot(); s.Count() > 0 {
			for _, ns := range append(s.Percentiles([]float64{0.5, 0.99}), float64(s.Max())) {
				v.times = append(v.times, ns/float64(time.Second))
			}
		}
	}
}

// counter is what go-ethereum's library has counted under a name, NaN for nothing.
func counter(name string) float64 {
	switch m := library.DefaultRegistry.Get(name).(type) {
	case *library.Meter:
		return float64(m.Snapshot().Count())
	case *library.Gauge:
		return float64(m.Snapshot().Value())
	case *library.Counter:
		return float64(m.Snapshot().Count())
	}
	return math.NaN()
}

// headGauge is a number of the chain's head.
func (v *shown) headGauge(f func() float64) func() float64 {
	return func() float64 {
		if v.at.at.IsZero() {
			return math.NaN()
		}
		return f()
	}
}

func (v *shown) time(i int) func() float64 {
	return func() float64 {
		if i >= len(v.times) {
			return math.NaN()
		}
		return v.times[i]
	}
}

func (v *shown) panels() []livepage.Panel {
	list := append(v.watch.Disk(), v.watch.Memory()...)
	list = append(list, v.watch.Processor()...)
	rate := func(name string, scale float64, f func() float64) livepage.Series {
		return livepage.Series{Name: name, Rate: true, Scale: scale, Value: f}
	}
	const chain, net, api = "Chain", "Net", "API"
	made := &v.m.made
	return append(list,
		livepage.Panel{Group: chain, Title: "Age of the newest block", Unit: livepage.Seconds,
			Help: "A network without transactions makes few blocks.",
			Series: []livepage.Series{{Name: "age", Value: v.headGauge(func() float64 {
				return time.Since(v.at.at).Seconds()
			})}}},
		livepage.Panel{Group: chain, Title: "Transactions and blocks", Unit: livepage.PerSecond,
			Series: []livepage.Series{
				rate("transactions", 0, func() float64 { return float64(made.txs.Load()) }),
				rate("blocks", 0, func() float64 { return float64(made.blocks.Load()) }),
				rate("skipped transactions", 0, func() float64 { return float64(made.skipped.Load()) }),
			}},
		livepage.Panel{Group: chain, Title: "Gas", Unit: livepage.PerSecond,
			Series: []livepage.Series{rate("gas", 0, func() float64 { return float64(made.gas.Load()) })}},
		livepage.Panel{Group: chain, Title: "Transactions that wait", Unit: livepage.Count,
			Series: []livepage.Series{
				{Name: "can be executed", Value: func() float64 { return float64(v.pending) }},
				{Name: "wait for others", Value: func() float64 { return float64(v.queued) }},
			}},
		livepage.Panel{Group: net, Title: "From and to peers", Unit: livepage.BitsSecond, Series: []livepage.Series{
			rate("in", 8, func() float64 { return v.in }), rate("out", 8, func() float64 { return v.out }),
		}},
		livepage.Panel{Group: net, Title: "Peers", Unit: livepage.Count,
			Series: []livepage.Series{{Name: "peers", Value: func() float64 { return float64(v.peers) }}}},
		livepage.Panel{Group: api, Title: "Requests", Unit: livepage.PerSecond, Series: []livepage.Series{
			rate("all", 0, func() float64 { return v.calls }), rate("failed", 0, func() float64 { return v.failures }),
		}},
		livepage.Panel{Group: api, Title: "Time for an answer", Unit: livepage.Seconds,
			Help: "Of the last requests, as go-ethereum's library samples them.", Series: []livepage.Series{
				{Name: "median", Value: v.time(0)}, {Name: "99 %", Value: v.time(1)},
				{Name: "longest", Value: v.time(2)},
			}},
	)
}

func (v *shown) figures() []livepage.Figure {
	const group = "Chain"
	return append(v.watch.Figures(),
		livepage.Figure{Group: group, Title: "Newest block", Unit: livepage.Count,
			Value: v.headGauge(func() float64 { return float64(v.at.block) })},
		livepage.Figure{Group: group, Title: "Epoch", Unit: livepage.Count,
			Value: v.headGauge(func() float64 { return float64(v.at.epoch) })},
		livepage.Figure{Group: group, Title: "Behind its peers", Unit: livepage.Count,
			Help: "Blocks; peers claim them", Value: v.headGauge(func() float64 {
				return max(0, float64(v.highest)-float64(v.at.block))
			})},
		livepage.Figure{Group: group, Title: "Validator", Unit: livepage.Text, Words: func() string {
			r := v.m.beside.Load()
			switch {
			case r == nil || r.validator == nil:
				return "none"
			case r.validator.silence() != nil:
				return "silent until the next start; see the log"
			}
			return "speaks"
		}},
	)
}
