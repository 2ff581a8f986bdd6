package node

import (
	"sync/atomic"
	"time"

	"tarn/fleet/fleetnode"
	"tarn/httpserver/exposition"
	"tarn/nodemetrics"
	"tarn/opera/chain"
	"tarn/opera/inter"
	"tarn/opera/p2p"
	"tarn/store"
)

// metrics are what a node whose chain is open tells of itself: under go-opera's names what
// go-opera tells too, under tarn_ the rest. Its methods may be called by all goroutines.
type metrics struct {
	nodeMetrics *nodemetrics.Meter
	store       func() store.Stats
	history     func() chain.HistoryStats
	head        func() (headPosition, error)
	network     string
	fleet       *fleetnode.Member // nil for none
	made        madeTotals
	beside      atomic.Pointer[beside] // nil until it runs
}

// headPosition is where a chain is.
type headPosition struct {
	deserted bool // the epoch has no validators
	block    inter.BlockNumber
	epoch    inter.Epoch
	at       time.Time
}

// beside is what runs beside a chain.
type beside struct {
	peers     *p2p.Node                                  // nil without a network
	pool      interface{ Stats() (pending, queued int) } // nil for a replica
	validator *validator                                 // nil for none
	ahead     *overtaking                                // nil for none
}

// place returns where the chain is, as readers see it.
func (n *Node) place() (headPosition, error) {
	v, err := n.chain.View()
	if err != nil {
		return headPosition{}, err
	}
	defer v.Close()
	h := v.Head()
	return headPosition{block: h.Number, epoch: v.Epoch().Epoch, at: time.Unix(0, int64(h.Time)),
		deserted: v.Epoch().Validators.Len() == 0}, nil
}

// meter is what the node tells of its disk, memory and processor.
func (n *Node) meter() *nodemetrics.Meter {
	return nodemetrics.New(nodemetrics.Options{
		Stats: n.store.Stats, Durable: n.store.Durable,
		Files:   []nodemetrics.Files{{Name: "history", Written: n.written.Load}},
		Folders: []nodemetrics.Folder{{Name: "state", Path: n.stateDir()}, {Name: "history", Path: n.historyDir()}},
	})
}

func newMetrics(n *Node) *metrics {
	return &metrics{
		nodeMetrics: n.meter(), store: n.store.Stats, history: n.history.Stats,
		head: n.place, network: n.chain.Network().Name, fleet: n.fleet.part,
	}
}

// madeTotals are sums over blocks that were made.
type madeTotals struct {
	blocks, txs, skipped, gas atomic.Uint64
}

// block is told of each block by the writer.
func (t *madeTotals) block(b *chain.Block) {
	t.blocks.Add(1)
	t.txs.Add(uint64(len(b.Txs)))
	t.skipped.Add(uint64(len(b.Skipped)))
	t.gas.Add(b.GasUsed)
}

// append appends all metrics.
func (m *metrics) append(b []byte) []byte {
	w := exposition.To(b)
	w.Metric("tarn_opera_info", exposition.Gauge, "The network of this node; always 1")
	w.Sample(1, "network", m.network)
	m.chain(w)
	if r := m.beside.Load(); r != nil {
		r.append(w)
	}
	if at, err := m.head(); err == nil {
		m.fleet.Append(w, uint64(at.block))
	}
	m.sizes(w)
	m.nodeMetrics.Append(w)
	writeLibrary(w)
	return w.Bytes()
}

// chain is about the blocks (go-opera: gossip/c_block_callbacks.go).
func (m *metrics) chain(w *exposition.Writer) {
	if at, err := m.head(); err == nil {
		for _, name := range []string{"chain_head_block", "chain_head_header", "chain_head_receipt"} {
			w.Gauge(name, "Number of the newest block", float64(at.block))
		}
		age := time.Since(at.at)
		w.Gauge("chain_block_age", "Age of the newest block, in ns; it grows while the network has no transactions",
			float64(age))
		w.Gauge("tarn_head_age_seconds", "Age of the newest block", age.Seconds())
		w.Gauge("tarn_opera_epoch", "The present epoch", float64(at.epoch))
	}
	w.Count("tarn_opera_blocks_total", "Blocks made since the start", m.made.blocks.Load())
	w.Count("tarn_opera_transactions_total", "Transactions executed in those blocks", m.made.txs.Load())
	w.Count("tarn_opera_skipped_transactions_total", "Transactions in those blocks that could not be executed",
		m.made.skipped.Load())
	w.Count("tarn_opera_gas_total", "Gas used in those blocks", m.made.gas.Load())
}

// append appends what runs beside the chain (go-opera: evmcore/tx_pool.go).
func (r *beside) append(w *exposition.Writer) {
	if r.pool != nil {
		pending, queued := r.pool.Stats()
		w.Gauge("txpool_pending", "Transactions that could be executed now", float64(pending))
		w.Gauge("txpool_queued", "Transactions that wait for others of their senders", float64(queued))
	}
	if r.peers != nil {
		block, epoch := r.peers.Highest()
		w.Gauge("tarn_opera_peers", "Peers that speak the protocol", float64(r.peers.PeerCount()))
		w.Gauge("tarn_opera_highest_block", "Newest block that a peer claims to have, or that this node has",
			float64(block))
		w.Gauge("tarn_opera_highest_epoch", "Epoch of that block", float64(epoch))
		w.Metric("tarn_opera_refused_handshakes_total",
			exposition.Counter, "Connections that ended because handshakes did not agree, on either side")
		r.peers.Refusals(func(why p2p.Reason, count uint64) { w.Sample(float64(count), "reason", why.String()) })
		t := r.peers.Taken()
		w.Metric("tarn_opera_records_total",
			exposition.Counter, "Votes and records of peers accepted outside of events")
		for _, part := range []struct {
			of    string
			count uint64
		}{{"epoch_votes", t.EpochVotes}, {"epochs", t.EpochRecords}, {"block_votes", t.BlockVotes},
			{"blocks", t.BlockRecords}} {
			w.Sample(float64(part.count), "of", part.of)
		}
		w.Whether("tarn_opera_synced", "1 once the node has seen a recent event", r.peers.Synced())
	}
	if r.ahead != nil {
		r.ahead.append(w)
	}
	silent := r.validator.silence() != nil
	w.Whether("tarn_opera_validating", "1 while the node emits events for a validator", r.validator != nil && !silent)
	w.Whether("tarn_opera_validator_silent",
		"1 if the node's validator has stopped until the next start", silent)
}

// append appends how far a node is on its way to a later epoch.
func (o *overtaking) append(w *exposition.Writer) {
	p, at := o.states.Progress(), o.at.Load()
	if at == nil {
		at = &stage{}
	}
	w.Gauge("tarn_opera_snap_epoch", "Epoch whose state is downloaded; 0 if none", float64(at.epoch))
	w.Gauge("tarn_opera_snap_share", "Share of that state that is downloaded, 0 to 1", p.Share)
	w.Gauge("tarn_opera_snap_bytes", "Bytes downloaded of the newest state", float64(p.Bytes))
	root := 0.0
	if at.roots {
		root = at.in.Finished()
	}
	w.Gauge("tarn_opera_snap_root_share", "Share of that state whose root is computed, 0 to 1", root)
}

// sizes are of what there is on disk (go-opera: cmd/opera/launcher/metrics, which measures
// all of the data folder).
func (m *metrics) sizes(w *exposition.Writer) {
	h := m.history()
	w.Metric("tarn_history_bytes", exposition.Gauge, "Size of the history beside the state; it is written once")
	for _, part := range []struct {
		of    string
		bytes int64
	}{{"events", h.Events.LogBytes}, {"blocks", h.Blocks.LogBytes}, {"states", h.States.LogBytes},
		{"indexes", h.IndexBytes()}} {
		w.Sample(float64(part.bytes), "of", part.of)
	}
	w.Gauge("db_size", "Size of the state and the history", float64(m.store().Size+h.Bytes()))
}
