package rpc

import (
	"context"
	"encoding/json"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/inter"
)

// hub tells subscribers of what is new. Who shows blocks and the pool leave what is new and go on:
// nothing that they wait for grows with what strangers ask. A goroutine of the hub reads each block
// once for all; each subscriber has a goroutine that looks for what it wants.
type hub struct {
	s *Service
	// blocks, pending, sync and peers are what subscribers hear.
	blocks, pending, sync, peers *stream
	matching                     chan struct{} // has an element for each subscriber that looks through logs
	syncing                      atomic.Bool   // as it was told last

	mu          sync.Mutex
	from, until inter.BlockNumber // shown and not told
	wake        chan struct{}     // holds one

	ctx    context.Context // until close
	cancel context.CancelFunc
	all    sync.WaitGroup
}

// toldBlock is a block as subscribers are told of it.
type toldBlock struct {
	head  json.RawMessage
	logs  []*types.Log
	texts []atomic.Pointer[json.RawMessage] // of the logs, which are encoded once for all
}

func newHub(s *Service) *hub {
	l := &s.limits
	h := &hub{
		s: s, blocks: newStream(l.KeptNews, l.KeptBytes), pending: newStream(l.KeptNews, l.KeptTold),
		sync: newStream(l.KeptNews, l.KeptTold), peers: newStream(l.KeptNews, l.KeptTold),
		matching: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), wake: make(chan struct{}, 1),
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.all.Go(h.run)
	h.all.Go(h.watch)
	h.all.Go(h.hear())
	return h
}

func (h *hub) close() {
	h.cancel()
	h.all.Wait()
}

// tellBlocks tells of blocks that requests can read from now on.
func (h *hub) tellBlocks(first, last inter.BlockNumber) {
	if !h.blocks.heard() {
		return
	}
	h.mu.Lock()
	if h.from > h.until || h.until == 0 {
		h.from = first
	}
	h.until = last
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// tellTransactions tells of transactions that came into the pool.
func (h *hub) tellTransactions(hashes []common.Hash) {
	for len(hashes) > 0 {
		n := min(len(hashes), newsHashes)
		h.pending.push(news{hashes[:n:n], int64(n) * common.HashLength})
		hashes = hashes[n:]
	}
}

// run reads blocks for subscribers.
func (h *hub) run() {
	for {
		select {
		case <-h.wake:
		case <-h.ctx.Done():
			return
		}
		h.mu.Lock()
		from, until := h.from, h.until
		h.from, h.until = 1, 0
		h.mu.Unlock()
		if until-from >= inter.BlockNumber(h.s.limits.KeptNews) && from <= until {
			h.blocks.lose()
			from = until
		}
		for n := from; n <= until && h.ctx.Err() == nil; n++ {
			h.tell(n)
		}
	}
}

// tell reads a block and adds it to what subscribers hear. If that is not possible, they miss it.
func (h *hub) tell(n inter.BlockNumber) {
	b, root, err := h.read(n)
	if err != nil || b == nil {
		h.blocks.lose()
		return
	}
	t := &toldBlock{head: newHeadJSON(b, root)}
	size := int64(len(t.head))
	for _, r := range b.Receipts {
		t.logs = append(t.logs, r.Logs...)
	}
	for _, l := range t.logs {
		size += logWeight(l)
	}
	t.texts = make([]atomic.Pointer[json.RawMessage], len(t.logs))
	h.blocks.push(news{t, size})
}

// logWeight is how many bytes a log takes, with its text.
func logWeight(l *types.Log) int64 { return 1000 + 3*int64(len(l.Data)) }

// log returns a log of the block as JSON.
func (t *toldBlock) log(i int) (json.RawMessage, error) {
	if text := t.texts[i].Load(); text != nil {
		return *text, nil
	}
	raw, err := json.Marshal(logJSON(t.logs[i]))
	if err != nil {
		return nil, err
	}
	text := json.RawMessage(raw)
	t.texts[i].Store(&text)
	return text, nil
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

// tellLogs calls tell for the logs of a block that fit, until it fails. Subscribers take turns at
// looking through logs, and have none while they tell.
func (h *hub) tellLogs(ctx context.Context, t *toldBlock, c *Criteria, tell func(json.RawMessage) error) error {
	for from := 0; from < len(t.logs); from += eachAtOnce {
		select {
		case h.matching <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		var fitting []int
		for i := from; i < min(from+eachAtOnce, len(t.logs)); i++ {
			if c.in(t.logs[i]) && c.match(t.logs[i]) {
				fitting = append(fitting, i)
			}
		}
		<-h.matching
		for _, i := range fitting {
			text, err := t.log(i)
			if err == nil {
				err = tell(text)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// in tells whether a new log's block is among those wanted.
func (c *Criteria) in(l *types.Log) bool {
	n := BlockTag(l.BlockNumber)
	return (c.From == nil || *c.From < 0 || *c.From <= n) && (c.To == nil || *c.To < 0 || n <= *c.To)
}
