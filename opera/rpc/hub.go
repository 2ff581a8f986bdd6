package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rpc"

	"tarn/opera/inter"
)

// hub tells filters and subscriptions of new blocks and transactions. Who shows blocks and the
// pool leave what is new in a queue and go on; a goroutine of the hub takes it from there.
type hub struct {
	s *Service

	mu      sync.Mutex
	wake    *sync.Cond
	queue   []news
	lost    bool // the queue was full
	closed  bool
	filters map[rpc.ID]*filter
	live    map[*listener]struct{}
	done    chan struct{}
}

// news is a block, or transactions that came into the pool, or what became of a connection.
type news struct {
	block inter.BlockNumber
	txs   []common.Hash
	peer  *p2p.PeerEvent
}

// queued is how much news may wait. When there is more, filters say that changes were
// dropped, and subscriptions end: nobody takes what has a hole for the whole.
const queued = 4096

// kind is what a filter or a subscription is of.
type kind int

const (
	ofBlocks kind = iota
	ofLogs
	ofPending
	ofSync
	ofPeers
)

// filter collects what a client asks for now and then.
type filter struct {
	kind     kind
	criteria Criteria
	hashes   []common.Hash
	logs     []*LogJSON
	over     bool // more came than is held
	asked    time.Time
}

// listener is a subscription. send is called by the hub's goroutine, and must not wait for
// the client.
type listener struct {
	kind     kind
	criteria Criteria
	whole    bool // who hears of transactions gets all of them, not hashes
	syncing  bool // what the listener of ofSync knows
	send     func(any)
	end      func() // like send; nothing is sent after it
}

func newHub(s *Service) *hub {
	h := &hub{s: s, filters: map[rpc.ID]*filter{}, live: map[*listener]struct{}{}, done: make(chan struct{})}
	h.wake = sync.NewCond(&h.mu)
	go h.run()
	go h.watch()
	go h.hear()
	return h
}

func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	h.wake.Broadcast()
	h.mu.Unlock()
	<-h.done
}

// shown tells of blocks that requests can read from now on.
func (h *hub) shown(first, last inter.BlockNumber) {
	for n := first; n <= last; n++ {
		h.push(news{block: n})
	}
}

func (h *hub) added(txs types.Transactions) {
	hashes := make([]common.Hash, len(txs))
	for i, tx := range txs {
		hashes[i] = tx.Hash()
	}
	h.push(news{txs: hashes})
}

func (h *hub) push(n news) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.filters)+len(h.live) == 0 {
		return
	}
	if len(h.queue) < queued {
		h.queue = append(h.queue, n)
	} else {
		h.lost = true
	}
	h.wake.Signal()
}

func (h *hub) run() {
	defer close(h.done)
	for {
		h.mu.Lock()
		for len(h.queue) == 0 && !h.closed {
			h.wake.Wait()
		}
		if h.closed {
			h.mu.Unlock()
			return
		}
		list := h.queue
		h.queue = nil
		h.expire()
		if h.lost {
			h.lose()
		}
		h.mu.Unlock()
		for _, n := range list {
			h.tell(n)
		}
	}
}

// lose tells everybody that news was lost. The caller holds the lock.
func (h *hub) lose() {
	h.lost = false
	for _, f := range h.filters {
		f.over = true
	}
	for l := range h.live {
		l.end()
	}
}

// expire forgets the filters that nobody asks for. The caller holds the lock.
func (h *hub) expire() {
	now := time.Now()
	for id, f := range h.filters {
		if now.Sub(f.asked) > h.s.limits.FilterTime {
			delete(h.filters, id)
		}
	}
}

func (h *hub) tell(n news) {
	if n.txs != nil {
		h.tellPending(n.txs)
		return
	}
	if n.peer != nil {
		h.tellPeer(n.peer)
		return
	}
	b, root, err := h.read(n.block)
	if err != nil || b == nil {
		return
	}
	var logs []*types.Log
	for _, r := range b.Receipts {
		logs = append(logs, r.Logs...)
	}
	var head any
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.filters {
		switch f.kind {
		case ofBlocks:
			f.hold(h.s.limits.FilterHeld, common.Hash(b.ID))
		case ofLogs:
			f.collect(h.s.limits.FilterHeld, logs)
		}
	}
	for l := range h.live {
		switch l.kind {
		case ofBlocks:
			if head == nil {
				head = newHeadJSON(b, root)
			}
			l.send(head)
		case ofLogs:
			for _, log := range logs {
				if l.criteria.in(log) && l.criteria.match(log) {
					l.send(logJSON(log))
				}
			}
		}
	}
}

// read returns a block that is shown.
func (h *hub) read(n inter.BlockNumber) (*block, common.Hash, error) {
	type found struct {
		b    *block
		root common.Hash
	}
	f, err := read(h.s, func(v *view) (f found, err error) {
		if f.b, err = v.block(n); err == nil && f.b != nil {
			f.root, err = v.rootOf(n)
		}
		return f, err
	})
	return f.b, f.root, err
}

func (h *hub) tellPending(hashes []common.Hash) {
	whole := h.whole(hashes)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.filters {
		if f.kind == ofPending {
			f.hold(h.s.limits.FilterHeld, hashes...)
		}
	}
	for l := range h.live {
		if l.kind == ofPending {
			for i, hash := range hashes {
				switch {
				case !l.whole:
					l.send(hash)
				case i < len(whole) && whole[i] != nil:
					l.send(whole[i])
				}
			}
		}
	}
}

// whole returns what the pool has of transactions, each nil that it has no more, and nothing if
// nobody hears of more than hashes.
func (h *hub) whole(hashes []common.Hash) []*TxJSON {
	h.mu.Lock()
	wanted := false
	for l := range h.live {
		wanted = wanted || l.whole
	}
	h.mu.Unlock()
	if !wanted {
		return nil
	}
	all := make([]*TxJSON, len(hashes))
	for i, hash := range hashes {
		if tx := h.s.options.Pool.Get(hash); tx != nil {
			all[i] = pendingJSON(tx)
		}
	}
	return all
}

func (f *filter) hold(limit int, hashes ...common.Hash) {
	if f.over = f.over || len(f.hashes)+len(hashes) > limit; !f.over {
		f.hashes = append(f.hashes, hashes...)
	}
}

func (f *filter) collect(limit int, logs []*types.Log) {
	for _, l := range logs {
		if !f.criteria.in(l) || !f.criteria.match(l) {
			continue
		}
		if f.over = f.over || len(f.logs) >= limit; f.over {
			return
		}
		f.logs = append(f.logs, logJSON(l))
	}
}

// in tells whether a new log's block is among those wanted.
func (c *Criteria) in(l *types.Log) bool {
	n := BlockTag(l.BlockNumber)
	return (c.From == nil || *c.From < 0 || *c.From <= n) && (c.To == nil || *c.To < 0 || n <= *c.To)
}

var errNoFilter = errors.New("filter not found")

// install keeps a filter and returns its name.
func (h *hub) install(k kind, c Criteria) (rpc.ID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.expire(); len(h.filters) >= h.s.limits.Filters {
		return "", fmt.Errorf("too many filters, the limit is %d", h.s.limits.Filters)
	}
	id := rpc.NewID()
	h.filters[id] = &filter{kind: k, criteria: c, asked: time.Now()}
	return id, nil
}

func (h *hub) uninstall(id rpc.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.filters[id]
	delete(h.filters, id)
	return ok
}

// criteria returns those of a filter of logs.
func (h *hub) criteria(id rpc.ID) (Criteria, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expire()
	f := h.filters[id]
	if f == nil || f.kind != ofLogs {
		return Criteria{}, errNoFilter
	}
	return f.criteria, nil
}

// changes returns what came since the last call.
func (h *hub) changes(id rpc.ID) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expire()
	f := h.filters[id]
	if f == nil {
		return nil, errNoFilter
	}
	hashes, logs, over := f.hashes, f.logs, f.over
	f.hashes, f.logs, f.over, f.asked = nil, nil, false, time.Now()
	switch {
	case over:
		return nil, fmt.Errorf("more than %d changes since the last call, which are dropped: ask more often, or for less", h.s.limits.FilterHeld)
	case f.kind == ofLogs:
		return append([]*LogJSON{}, logs...), nil
	}
	return append([]common.Hash{}, hashes...), nil
}

// listen adds a subscription, and returns what ends it.
func (h *hub) listen(l *listener) (func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.live) >= h.s.limits.Subscriptions {
		return nil, fmt.Errorf("too many subscriptions, the limit is %d", h.s.limits.Subscriptions)
	}
	h.live[l] = struct{}{}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.live, l)
	}, nil
}

// newHeadJSON is a header as subscribers get it: Ethereum's with what go-opera fills in.
func newHeadJSON(b *block, root common.Hash) json.RawMessage {
	h := b.ethHeader(root)
	h.ReceiptHash, h.Bloom = b.receipts, b.bloom
	text, err := json.Marshal(headOf(h, b))
	if err != nil {
		return nil
	}
	return text
}
