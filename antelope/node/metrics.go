package node

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/producer"
	"tarn/antelope/ship"
	"tarn/antelope/tracelog"
	"tarn/fleet/fleetnode"
	"tarn/httpserver/exposition"
	"tarn/nodemetrics"
)

// metrics are what /v1/prometheus/metrics shows: nodeos' under nodeos' names, and
// the node's own account of itself. Its methods may be called by all goroutines.
type metrics struct {
	// Where the numbers are; network and log may be nil.
	head        func() *producer.Head
	network     func() p2p.Metrics
	nodeMetrics *nodemetrics.Meter
	waiting     func() uint64                         // scheduled transactions in the state
	history     func() (ship.Stats, ship.ServerStats) // nil if none is kept
	traces      func() tracelog.Stats                 // nil if none are recorded
	fleet       *fleetnode.Member                     // nil for none
	information []string                              // labels of nodeos_info

	served  sync.Map // target of requests -> *atomic.Uint64
	answers answers
	blocksTimes
	producers    producers
	certificates certificates

	scrapes atomic.Uint64
	bytes   atomic.Uint64 // of answers to scrapes

	mu          sync.Mutex // over what follows
	block       uint32     // that was begun here last
	produced    producedTotals
	speculative blockTotals
	incoming    incomingTotals
}

// blockTotals are sums over blocks that were begun here.
type blockTotals struct {
	blocks                           uint64
	total, idle, other               time.Duration
	succeeded, failed, transient     uint64
	successTime, failTime, attempted time.Duration
}

func (t *blockTotals) add(b *producer.BlockTime) {
	t.blocks++
	t.total, t.idle, t.other = t.total+b.Total, t.idle+b.Idle, t.other+b.Other
	t.succeeded, t.failed, t.transient = t.succeeded+uint64(b.Succeeded), t.failed+uint64(b.Failed), t.transient+
		uint64(b.Transient)
	t.successTime, t.failTime, t.attempted = t.successTime+b.SuccessTime, t.failTime+b.FailTime, t.attempted+b.Attempted
}

type producedTotals struct {
	blockTotals
	unapplied, billed, scheduled, transactions uint64
	cpu, net                                   uint64
	elapsed, time                              time.Duration
}

type incomingTotals struct {
	blocks, transactions, cpu, net uint64
	elapsed, time, latency         time.Duration
}

// events are what m listens to.
func (m *metrics) events() producer.Events {
	return producer.Events{
		Produced: func(b producer.ProducedBlock) {
			scheduled := m.waiting()
			m.mu.Lock()
			defer m.mu.Unlock()
			t := &m.produced
			t.add(&b.BlockTime)
			m.block = b.Num
			t.unapplied, t.billed = t.unapplied+uint64(b.Unapplied), t.billed+uint64(b.BilledAccounts)
			t.scheduled, t.transactions = t.scheduled+scheduled, t.transactions+uint64(b.Transactions)
			t.cpu, t.net, t.elapsed, t.time = t.cpu+b.CPU, t.net+b.Net, t.elapsed+b.Elapsed, t.time+b.Time
			m.produce.Observe(b.Time.Seconds())
		},
		Speculative: func(b producer.BlockTime) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.speculative.add(&b)
			m.block = b.Num
		},
		Incoming: func(b producer.IncomingBlock) {
			m.mu.Lock()
			defer m.mu.Unlock()
			t := &m.incoming
			t.blocks, t.transactions = t.blocks+1, t.transactions+uint64(b.Transactions)
			t.cpu, t.net = t.cpu+b.CPU, t.net+b.Net
			t.elapsed, t.time, t.latency = t.elapsed+b.Elapsed, t.time+b.Time, t.latency+b.Latency
			m.apply.Observe(b.Time.Seconds())
			m.late.Observe(b.Latency.Seconds())
		},
	}
}

// count counts a request.
func (m *metrics) count(target string) {
	n, ok := m.served.Load(target)
	if !ok {
		n, _ = m.served.LoadOrStore(target, new(atomic.Uint64))
	}
	n.(*atomic.Uint64).Add(1)
}

// append appends all metrics.
func (m *metrics) append(b []byte) []byte {
	before := len(b)
	w := exposition.To(b)
	w.Metric("nodeos_info", exposition.Gauge, "About this node; always 1")
	w.Sample(1, m.information...)
	m.requests(w)
	m.answers.append(w)
	if m.network != nil {
		n := m.network()
		writeNetwork(w, &n)
		writeConnections(w, n.Connections)
	}
	head := m.head()
	w.Gauge("nodeos_last_irreversible", "Number of the last irreversible block", float64(head.IrreversibleNum))
	w.Gauge("nodeos_head_block_num", "Number of the newest block", float64(head.Num))
	w.Gauge("tarn_head_age_seconds", "Age of the newest block", time.Since(head.Time.TimePoint().Time()).Seconds())
	m.blocks(w)
	m.blocksTimes.append(w)
	m.producers.append(w)
	m.certificates.append(w)
	m.fleet.Append(w, uint64(head.Num))
	m.nodeMetrics.Append(w)
	if m.history != nil {
		kept, served := m.history()
		writeHistory(w, &kept, &served)
	}
	if m.traces != nil {
		recorded := m.traces()
		writeTraces(w, &recorded)
	}
	w.Counter("exposer_transferred_bytes_total", "Bytes of answers to scrapes before this one", float64(m.bytes.Load()))
	w.Counter("exposer_scrapes_total", "Scrapes before this one", float64(m.scrapes.Load()))
	b = w.Bytes()
	m.bytes.Add(uint64(len(b) - before))
	m.scrapes.Add(1)
	return b
}

func writeMicros(w *exposition.Writer, name, help string, d time.Duration) {
	w.Counter(name, help, float64(d.Microseconds()))
}

func (m *metrics) requests(w *exposition.Writer) {
	totals := map[string]uint64{}
	m.served.Range(func(target, n any) bool {
		totals[target.(string)] = n.(*atomic.Uint64).Load()
		return true
	})
	w.Metric("nodeos_http_requests_total", exposition.Counter, "HTTP requests to each endpoint")
	for _, target := range slices.Sorted(maps.Keys(totals)) {
		w.Sample(float64(totals[target]), "handler", target)
	}
}

// blocks are those that were begun here and those that came (Leap:
// prometheus_plugin/metrics.hpp).
func (m *metrics) blocks(w *exposition.Writer) {
	m.mu.Lock()
	block, p, s, in := m.block, m.produced, m.speculative, m.incoming
	m.mu.Unlock()
	w.Count("nodeos_unapplied_transactions_total",
		"Transactions that waited when a block was produced, over all produced blocks", p.unapplied)
	w.Count("nodeos_subjective_bill_account_size_total",
		"Accounts with a subjective bill when a block was produced, over all produced blocks", p.billed)
	w.Count("nodeos_scheduled_trxs_total",
		"Scheduled transactions when a block was produced, over all produced blocks", p.scheduled)
	w.Count("nodeos_trxs_produced_total", "Transactions in produced blocks", p.transactions)
	for _, u := range []struct {
		name, help         string
		produced, incoming uint64
	}{
		{"nodeos_cpu_usage_us_total", "CPU time billed in blocks, in us", p.cpu, in.cpu},
		{"nodeos_net_usage_us_total", "Bandwidth billed in blocks, in bytes, whatever the name says", p.net, in.net},
	} {
		w.Metric(u.name, exposition.Counter, u.help)
		w.Sample(float64(u.produced), "block_type", "produced")
		w.Sample(float64(u.incoming), "block_type", "incoming")
	}
	writeMicros(w, "nodeos_produced_elapsed_us_total", "Time in the transactions of produced blocks, in us", p.elapsed)
	writeMicros(w, "nodeos_produced_us_total", "Time in produced blocks, in us", p.time)
	w.Gauge("nodeos_block_num", "Number of the block that this node began last", float64(block))
	w.Count("nodeos_blocks_produced", "Blocks produced", p.blocks)
	writeTotals(w, "produced", &p.blockTotals)
	w.Count("nodeos_blocks_speculative_num", "Blocks that were begun and not finished", s.blocks)
	writeTotals(w, "speculative", &s)
	w.Count("nodeos_trxs_incoming_total", "Transactions in received blocks", in.transactions)
	writeMicros(w, "nodeos_incoming_elapsed_us_total", "Time in the transactions of received blocks, in us", in.elapsed)
	writeMicros(w, "nodeos_incoming_us_total", "Time in received blocks, in us", in.time)
	writeMicros(w, "nodeos_incoming_us_block_latency",
		"Sum of the ages of received blocks when they were applied, in us", in.latency)
	w.Count("nodeos_blocks_incoming", "Blocks received", in.blocks)
}

func writeTotals(w *exposition.Writer, kind string, t *blockTotals) {
	time := func(what, help string, d time.Duration) {
		writeMicros(w, "nodeos_"+what+"_time_us_"+kind+"_block", help+" of "+kind+" blocks, in us", d)
	}
	count := func(what string, n uint64) {
		w.Count("nodeos_num_"+what+"_trx_"+kind+"_block", "Transactions ("+what+") in "+kind+" blocks", n)
	}
	time("total", "Time", t.total)
	time("idle", "Time without work", t.idle)
	count("success", t.succeeded)
	time("success_trx", "Time in transactions that succeeded", t.successTime)
	count("failed", t.failed)
	time("fail_trx", "Time in transactions that failed", t.failTime)
	count("transient", t.transient)
	time("transient_trx", "Time in transactions that leave nothing", t.attempted)
	time("other", "All other time", t.other)
}

// writeNetwork are the connections together.
func writeNetwork(w *exposition.Writer, n *p2p.Metrics) {
	w.Count("nodeos_p2p_failed_connections", "Attempts to connect to a peer that failed", n.FailedConnections)
	w.Count("nodeos_p2p_dropped_trxs_total", "Transactions of peers that were dropped because too many waited",
		n.DroppedTransactions)
	w.Gauge("nodeos_p2p_peers", "Peers that this node is connected to", float64(n.Peers+n.BlockProducers))
	w.Gauge("nodeos_p2p_clients", "Peers that are connected to this node", float64(n.Clients))
	w.Count("tarn_p2p_refused_connections_total", "Refused incoming connections", n.RefusedConnections)
	both := func(name, help string, in, out uint64) {
		w.Metric(name, exposition.Counter, help)
		w.Sample(float64(in), "direction", "in")
		w.Sample(float64(out), "direction", "out")
	}
	both("tarn_p2p_bytes_total", "Bytes from and to all peers", n.BytesIn, n.BytesOut)
	both("tarn_p2p_blocks_total", "Blocks from peers, and blocks that peers asked for", n.BlocksIn, n.BlocksOut)
	both("tarn_p2p_transactions_total", "Transactions from and to peers", n.TransactionsIn, n.TransactionsOut)
	w.Count("tarn_p2p_duplicate_blocks_total", "Blocks that came again", n.DuplicateBlocks)
	w.Count("tarn_p2p_bad_blocks_total", "Blocks that were not valid", n.BadBlocks)
	w.Count("tarn_p2p_duplicate_transactions_total", "Transactions that came again", n.DuplicateTrx)
	w.Count("tarn_p2p_votes_total", "Votes of finalizers that came from peers", n.VotesIn)
	w.Count("tarn_p2p_good_votes_total", "New votes with a valid signature", n.VotesGood)
	w.Count("tarn_p2p_bad_votes_total", "Invalid votes; the node disconnects the peer that sent one", n.VotesBad)
	w.Gauge("tarn_p2p_waiting_transaction_bytes", "Transactions of peers that the chain has not answered",
		float64(n.TransactionBytes))
	w.Whether("tarn_p2p_syncing", "1 while this node catches up with a peer", n.Syncing)
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// writeConnections are the connections one by one. Two with one id cannot be told apart;
// the newer one is shown.
func writeConnections(w *exposition.Writer, all []p2p.ConnectionMetrics) {
	newest := map[string]int{}
	for i := range all {
		newest[all[i].NodeID] = i
	}
	list := make([]*p2p.ConnectionMetrics, 0, len(newest))
	for _, i := range slices.Sorted(maps.Values(newest)) {
		list = append(list, &all[i])
	}
	w.Metric("nodeos_p2p_addr", exposition.Gauge, "Address of a peer, in the labels")
	for _, c := range list {
		w.Sample(0, "connid", c.NodeID, "ipv6", netip.AddrFrom16(c.Address).String(), "address", c.P2PAddress)
	}
	each := func(name, help string, v func(*p2p.ConnectionMetrics) int64) {
		w.Metric("nodeos_p2p_"+name, exposition.Gauge, help)
		for _, c := range list {
			w.Sample(float64(v(c)), "connid", c.NodeID)
		}
	}
	each("port", "Port of a peer", func(c *p2p.ConnectionMetrics) int64 { return int64(c.Port) })
	each("connection_number", "Number of a connection, ascending", func(c *p2p.ConnectionMetrics) int64 {
		return int64(c.ID)
	})
	each("accepting_blocks", "1 if the node sends blocks to a peer", func(c *p2p.ConnectionMetrics) int64 {
		return bit(c.AcceptingBlocks)
	})
	each("last_received_block", "Number of the block that a peer sent last", func(c *p2p.ConnectionMetrics) int64 {
		return int64(c.LastReceivedBlock)
	})
	each("first_available_block", "First block that a peer has", func(c *p2p.ConnectionMetrics) int64 {
		return int64(c.FirstAvailableBlock)
	})
	each("last_available_block", "Last block that a peer has", func(c *p2p.ConnectionMetrics) int64 {
		return int64(c.LastAvailableBlock)
	})
	each("unique_first_block_count", "Blocks that a peer was the first to send", func(c *p2p.ConnectionMetrics) int64 {
		return int64(c.UniqueFirstBlocks)
	})
	each("latency", "Time of the round trip to a peer, in ns", func(c *p2p.ConnectionMetrics) int64 {
		return int64(max(0, c.Latency))
	})
	each("bytes_received", "Bytes from a peer", func(c *p2p.ConnectionMetrics) int64 { return c.BytesIn })
	each("last_bytes_received", "When a peer sent something last, in ns since 1970",
		func(c *p2p.ConnectionMetrics) int64 { return nanoseconds(c.LastIn) })
	each("bytes_sent", "Bytes to a peer", func(c *p2p.ConnectionMetrics) int64 { return c.BytesOut })
	each("last_bytes_sent", "When the node sent a peer something last, in ns since 1970",
		func(c *p2p.ConnectionMetrics) int64 { return nanoseconds(c.LastOut) })
	each("block_sync_bytes_received", "Bytes of blocks from a peer while catching up",
		func(c *p2p.ConnectionMetrics) int64 { return c.SyncBytesIn })
	each("block_sync_bytes_sent", "Bytes of blocks to a peer that catches up", func(c *p2p.ConnectionMetrics) int64 {
		return c.SyncBytesOut
	})
	each("block_sync_throttling", "1 while blocks to a peer that catches up are throttled",
		func(c *p2p.ConnectionMetrics) int64 {
			return bit(c.Throttled)
		})
	each("connection_start_time", "When the connection was made, in ns since 1970",
		func(c *p2p.ConnectionMetrics) int64 { return nanoseconds(c.Start) })
	w.Metric("nodeos_p2p_peer_addr", exposition.Gauge, "Address that a peer names, in the labels")
	for _, c := range list {
		w.Sample(0, "connid", c.NodeID, "address", c.P2PAddress)
	}
}

func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// scheduledCount is how many scheduled transactions there are.
func (n *Node) scheduledCount() uint64 {
	for _, t := range n.store.Tables() {
		if t.Name == "generated_transaction" {
			return uint64(max(0, t.Rows))
		}
	}
	return 0
}

// newMetrics returns the metrics of a node that begins to serve, and has them told what
// happens. Of h only the versions are used.
func (n *Node) newMetrics(p *producer.Producer, network *p2p.Network, h *HTTP) *metrics {
	m := &metrics{head: p.Head, nodeMetrics: n.meter(), waiting: n.scheduledCount, blocksTimes: newBlocksTimes(),
		answers: newAnswers(),
		fleet:   n.fleet.part}
	if network != nil {
		m.network = network.Metrics
	}
	if n.traces != nil {
		m.traces = n.traces.Stats
	}
	if n.history != nil {
		m.history = func() (ship.Stats, ship.ServerStats) { return n.history.Stats(), n.historyServer.Stats() }
	}
	first := n.log.First()
	if first == 0 {
		first = p.Head().IrreversibleNum
	}
	m.information = []string{"server_version", fmt.Sprintf("%08x", h.API.Version), "chain_id", n.chain.ID().String(),
		"server_version_string", h.API.VersionString, "server_full_version_string", h.API.FullVersion,
		"earliest_available_block_num", strconv.FormatUint(uint64(first), 10)}
	p.Subscribe(m.events())
	n.chain.Subscribe(m.producers.hooks())
	n.chain.Subscribe(m.certificates.hooks(n.certifiedBlock))
	return m
}
