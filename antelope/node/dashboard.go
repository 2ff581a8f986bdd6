package node

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"tarn/antelope/logcatalog"
	"tarn/antelope/p2p"
	"tarn/antelope/producer"
	"tarn/antelope/rpc"
	"tarn/httpserver/exposition"
	"tarn/livepage"
	"tarn/nodemetrics"
	"tarn/store/vfs"
)

// written counts bytes that go to files of blocks.
type written struct{ blocks, reversible atomic.Int64 }

// countingFS is where files of blocks are kept, which are counted unless somebody else
// keeps them.
func countingFS(fs logcatalog.FS, n *atomic.Int64) logcatalog.FS {
	if fs != nil {
		return fs
	}
	return logcatalog.Through(vfs.Count(vfs.OS, n))
}

// meter is what the node tells of its disk, memory and processor.
func (n *Node) meter() *nodemetrics.Meter {
	o := nodemetrics.Options{
		Stats: n.store.Stats, Durable: n.store.Durable,
		Files: []nodemetrics.Files{{Name: "block log", Written: n.written.blocks.Load},
			{Name: "reversible blocks", Written: n.written.reversible.Load}},
		Folders: []nodemetrics.Folder{{Name: "blocks", Path: n.o.BlocksDir}, {Name: "state", Path: n.o.StateDir}},
	}
	if n.history != nil {
		o.Files = append(o.Files, nodemetrics.Files{Name: "state history", Written: func() int64 {
			s := n.history.Stats()
			return int64(s.Traces.Written + s.State.Written)
		}})
	}
	if n.traces != nil {
		o.Files = append(o.Files, nodemetrics.Files{Name: "traces", Written: func() int64 {
			s := n.traces.Stats()
			return int64(s.Files.Traces+s.Files.Index+s.Files.IDs+s.Files.Marks+s.Files.Compressed) + s.IndexNew
		}})
	}
	return nodemetrics.New(o)
}

// newServiceMetrics are the metrics of a node that begins to serve; nil if nobody asks for them.
func (n *Node) newServiceMetrics(p *producer.Producer, network *p2p.Network, s *Services) *metrics {
	h := s.HTTP
	if h == nil {
		h = &HTTP{}
	}
	if s.Dashboard == "" && h.Plugins&rpc.Prometheus == 0 {
		return nil
	}
	return n.newMetrics(p, network, h)
}

// dashboard opens the page of a node that begins to serve.
func (n *Node) dashboard(ctx context.Context, s *Services, m *metrics) (*livepage.Dashboard, error) {
	v := &shown{m: m, watch: m.nodeMetrics.Watch()}
	o := livepage.Options{Title: "nodeos", Version: s.Version.Full, Read: v.read, Panels: v.panels(),
		Figures: v.figures(), Trusted: s.HTTP.Server.Trusted, Log: n.o.Log}
	d, err := livepage.Open(ctx, s.Dashboard, o)
	if err != nil {
		return nil, fmt.Errorf("dashboard-address: %w", err)
	}
	n.o.Log.Info("The dashboard is served", "url", d.URL())
	return d, nil
}

// lately is over how many samples quantiles are taken.
const lately = 10

// shown are the metrics as a dashboard shows them. It is for the sampling goroutine.
type shown struct {
	m     *metrics
	watch *nodemetrics.Watch

	head    *producer.Head
	network p2p.Metrics
	blocks  blockSums
	all     produced
	forks   uint64

	samples int
	applied [lately + 1]exposition.Distribution // the newest at samples
	asked   [lately + 1]exposition.Distribution
	longest [lately]time.Duration
	errors  uint64        // answers of 500 and above
	heads   [60]time.Time // of the head at the last samples
}

// blockSums are what the panels need of the totals.
type blockSums struct {
	produced, incoming, producedTrx, incomingTrx uint64
	busy                                         time.Duration // of the writer
}

func (m *metrics) sums() blockSums {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, s, in := &m.produced, &m.speculative, &m.incoming
	return blockSums{p.blocks, in.blocks, p.transactions, in.transactions,
		p.total - p.idle + s.total - s.idle + in.time}
}

func (v *shown) read() {
	v.watch.Read()
	v.head, v.blocks = v.m.head(), v.m.sums()
	v.all, v.forks = v.m.producers.totals()
	if v.m.network != nil {
		v.network = v.m.network()
	}
	v.samples++
	at := v.samples % (lately + 1)
	v.applied[at], v.asked[at] = v.m.apply.Read(), v.m.answers.all.Read()
	v.longest[v.samples%lately] = v.m.answers.takeLongest()
	v.errors = 0
	for code, n := range v.m.answers.byCode() {
		if code >= 500 {
			v.errors += n
		}
	}
	v.heads[v.samples%len(v.heads)] = v.head.Time.TimePoint().Time()
}

// quantile is that of the last samples.
func (v *shown) quantile(of *[lately + 1]exposition.Distribution, share float64) func() float64 {
	return func() float64 {
		d := of[v.samples%(lately+1)]
		return d.Since(of[(v.samples+1)%(lately+1)]).Quantile(share)
	}
}

// catchUp is in how many seconds the head will be there, at the pace of the last minute.
func (v *shown) catchUp() float64 {
	first := v.heads[(v.samples+1)%len(v.heads)]
	last := v.head.Time.TimePoint().Time()
	age := time.Since(last)
	if age < 10*time.Second || first.IsZero() {
		return math.NaN()
	}
	// So much more of the chain's time than of ours has gone by.
	gained := last.Sub(first) - time.Duration(len(v.heads)-1)*time.Second
	if gained <= 0 {
		return math.NaN()
	}
	return age.Seconds() / gained.Seconds() * float64(len(v.heads)-1)
}

func (v *shown) number(name string, value func() float64) livepage.Series {
	return livepage.Series{Name: name, Value: value}
}

func (v *shown) rate(name string, value func() uint64) livepage.Series {
	return livepage.Series{Name: name, Rate: true, Value: func() float64 { return float64(value()) }}
}

func (v *shown) panels() []livepage.Panel {
	writer := livepage.Series{Name: "the chain's writer", Rate: true, Scale: 100, Value: func() float64 {
		return v.blocks.busy.Seconds()
	}}
	api := livepage.Series{Name: "the API", Rate: true, Scale: 100, Value: func() float64 {
		return v.asked[v.samples%(lately+1)].Sum
	}}
	list := append(v.watch.Disk(), v.watch.Memory()...)
	list = append(list, v.watch.Processor(writer, api)...)
	list = append(list, v.chain()...)
	if v.m.network != nil {
		list = append(list, v.peers()...)
	}
	list = append(list, v.api()...)
	if v.m.history != nil {
		list = append(list, v.history()...)
	}
	return list
}

func (v *shown) chain() []livepage.Panel {
	const group = "Chain"
	return []livepage.Panel{
		{Group: group, Title: "Age of the newest block", Unit: livepage.Seconds,
			Help: "Half a second is normal. It is more while the node catches up, or while nobody produces.",
			Series: []livepage.Series{v.number("age", func() float64 {
				return time.Since(v.head.Time.TimePoint().Time()).Seconds()
			})}},
		{Group: group, Title: "Transactions in blocks", Unit: livepage.PerSecond, Series: []livepage.Series{
			v.rate("received", func() uint64 { return v.blocks.incomingTrx }), v.rate("produced here", func() uint64 {
				return v.blocks.producedTrx
			}),
		}},
		{Group: group, Title: "Blocks", Unit: livepage.PerSecond,
			Help: "Two a second are normal, many more while the node catches up.", Series: []livepage.Series{
				v.rate("received", func() uint64 { return v.blocks.incoming }), v.rate("produced here", func() uint64 {
					return v.blocks.produced
				}),
			}},
		{Group: group, Title: "Blocks that are not irreversible yet", Unit: livepage.Count,
			Help: "Two or three with Savanna's rules, some 330 with 21 producers and the rules before.",
			Series: []livepage.Series{v.number("blocks", func() float64 {
				return float64(v.head.Num) - float64(v.head.IrreversibleNum)
			})}},
		{Group: group, Title: "Time to apply a received block", Unit: livepage.Seconds,
			Help: "Of the last 10 s. Far below half a second is normal.", Series: []livepage.Series{
				v.number("median", v.quantile(&v.applied, 0.5)), v.number("99 %", v.quantile(&v.applied, 0.99)),
			}},
	}
}

func (v *shown) peers() []livepage.Panel {
	const group = "Net"
	bits := func(name string, value func() uint64) livepage.Series {
		s := v.rate(name, value)
		s.Scale = 8
		return s
	}
	return []livepage.Panel{
		{Group: group, Title: "From and to peers", Unit: livepage.BitsSecond, Series: []livepage.Series{
			bits("in", func() uint64 { return v.network.BytesIn }),
			bits("out", func() uint64 { return v.network.BytesOut }),
		}},
		{Group: group, Title: "Peers", Unit: livepage.Count, Series: []livepage.Series{
			v.number("outgoing", func() float64 { return float64(v.network.Peers + v.network.BlockProducers) }),
			v.number("incoming", func() float64 { return float64(v.network.Clients) }),
		}},
		{Group: group, Title: "Longest round trip to a peer",
			Unit: livepage.Seconds, Series: []livepage.Series{v.number("longest", func() float64 {
				worst := time.Duration(-1)
				for i := range v.network.Connections {
					worst = max(worst, v.network.Connections[i].Latency)
				}
				if worst < 0 {
					return math.NaN()
				}
				return worst.Seconds()
			})}},
	}
}

func (v *shown) api() []livepage.Panel {
	const group = "API"
	return []livepage.Panel{
		{Group: group, Title: "Answers", Unit: livepage.PerSecond, Series: []livepage.Series{
			v.rate("all", func() uint64 { return v.asked[v.samples%(lately+1)].Count() }),
			v.rate("errors (500 and above)", func() uint64 { return v.errors }),
		}},
		{Group: group, Title: "Time for an answer", Unit: livepage.Seconds,
			Help: "Of the last 10 s.", Series: []livepage.Series{
				v.number("median", v.quantile(&v.asked, 0.5)), v.number("99 %", v.quantile(&v.asked, 0.99)),
				v.number("longest", func() float64 {
					worst := time.Duration(0)
					for _, d := range v.longest {
						worst = max(worst, d)
					}
					if worst == 0 {
						return math.NaN()
					}
					return worst.Seconds()
				}),
			}},
	}
}

func (v *shown) history() []livepage.Panel {
	const group = "History"
	return []livepage.Panel{
		{Group: group, Title: "To clients of the state history", Unit: livepage.BitsSecond,
			Series: []livepage.Series{{Name: "sent", Rate: true, Scale: 8, Value: func() float64 {
				_, served := v.m.history()
				return float64(served.Bytes)
			}}}},
		{Group: group, Title: "Clients", Unit: livepage.Count,
			Series: []livepage.Series{v.number("clients", func() float64 {
				_, served := v.m.history()
				return float64(served.Sessions)
			})}},
		{Group: group, Title: "Slowest client: blocks behind",
			Unit: livepage.Count, Help: "Blocks that it asked for and has not received yet.",
			Series: []livepage.Series{v.number("blocks", func() float64 {
				_, served := v.m.history()
				return float64(served.Behind)
			})}},
		{Group: group, Title: "Behind the chain", Unit: livepage.Count,
			Help: "Blocks that are not recorded yet; a few are normal.",
			Series: []livepage.Series{v.number("blocks", func() float64 {
				kept, _ := v.m.history()
				return float64(v.head.Num) - float64(kept.Head)
			})}},
	}
}

func (v *shown) figures() []livepage.Figure {
	const group = "Chain"
	return append(v.watch.Figures(), []livepage.Figure{
		{Group: group, Title: "Newest block", Unit: livepage.Count,
			Value: func() float64 { return float64(v.head.Num) }},
		{Group: group, Title: "Last irreversible block", Unit: livepage.Count,
			Value: func() float64 { return float64(v.head.IrreversibleNum) }},
		{Group: group, Title: "Produced by", Unit: livepage.Text,
			Words: func() string { return v.head.Producer.String() }},
		{Group: group, Title: "Time until synced", Unit: livepage.Seconds, Help: "At the pace of the last minute",
			Value: v.catchUp},
		{Group: group, Title: "Missed blocks", Unit: livepage.Count,
			Help:  "Since the node began to serve; metrics say whose",
			Value: func() float64 { return float64(v.all.missed) }},
		{Group: group, Title: "Late blocks", Unit: livepage.Count, Help: "By more than a second",
			Value: func() float64 { return float64(v.all.late) }},
		{Group: group, Title: "Missing votes", Unit: livepage.Count,
			Help:  "In certificates of new blocks; metrics say whose",
			Value: func() float64 { return float64(v.m.certificates.missingVotes()) }},
		{Group: group, Title: "Fork switches", Unit: livepage.Count,
			Value: func() float64 { return float64(v.forks) }},
	}...)
}
