package producer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
	"tarn/writer"
)

// Block is a block on its way to the writer. What can be found out about it before
// is found out on other goroutines, once, by whoever needs it first.
type Block struct {
	Signed *types.SignedBlock
	ID     types.Checksum256

	header     sync.Mutex
	state      *consensus.BlockState
	candidates func() ([]*execute.Candidate, error)
}

// NewBlock is a block that came from outside, with its id.
func (p *Producer) NewBlock(b *types.SignedBlock, id types.Checksum256) *Block {
	return &Block{Signed: b, ID: id, candidates: sync.OnceValues(func() ([]*execute.Candidate, error) {
		return p.chain.UnpackBlock(b, p.keys.get)
	})}
}

// headers are header states of blocks that were checked and are not in the fork
// database yet, so that blocks after them can be checked meanwhile.
type headers struct {
	mu    sync.Mutex
	known map[types.Checksum256]*consensus.HeaderState
	order []types.Checksum256
}

// maxHeaders is how far checked headers may be ahead of the chain.
const maxHeaders = 4096

func (h *headers) get(id types.Checksum256) *consensus.HeaderState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[id]
}

func (h *headers) put(s *consensus.HeaderState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil {
		h.known = make(map[types.Checksum256]*consensus.HeaderState)
	}
	if h.known[s.ID] != nil {
		return
	}
	h.known[s.ID] = s
	h.order = append(h.order, s.ID)
	for len(h.order) > maxHeaders {
		delete(h.known, h.order[0])
		h.order = h.order[1:]
	}
}

// drop forgets a header. Those that came first go first, so that the search is
// short.
func (h *headers) drop(id types.Checksum256) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known[id] == nil {
		return
	}
	delete(h.known, id)
	for i, x := range h.order {
		if x == id {
			h.order = append(h.order[:i:i], h.order[i+1:]...)
			return
		}
	}
}

// Knows tells whether the fork database has a block, or has it as its root.
func (p *Producer) Knows(id types.Checksum256) bool { return p.chain.Fork().HeaderState(id) != nil }

// CheckHeader checks a block's header and its producer's signature against the
// block before it, which need not have been applied yet: it is enough that its own
// header was checked. An error of kind exception.UnlinkableBlock means that it is
// not known. Any goroutine may call it, several for one block.
func (p *Producer) CheckHeader(b *Block) error {
	b.header.Lock()
	defer b.header.Unlock()
	if b.state != nil {
		return nil
	}
	prev := p.chain.Fork().HeaderState(b.Signed.Previous)
	if prev == nil {
		prev = p.headers.get(b.Signed.Previous)
	}
	if prev == nil {
		return exception.New(exception.UnlinkableBlock, "unlinkable block %s", b.ID)
	}
	s, err := p.chain.CheckHeader(prev, b.Signed, b.ID)
	if err != nil {
		return err
	}
	b.state = s
	p.headers.put(s.HeaderState)
	return nil
}

// Prepare unpacks the block's transactions and finds their keys. Any goroutine may
// call it, in any order.
func (p *Producer) Prepare(b *Block) error {
	_, err := b.candidates()
	return err
}

// Received tells the writer of a block that is on its way, so that it does not
// begin what the block would end. Block and Apply do it by themselves.
func (p *Producer) Received(num uint32) { p.received.Store(num) }

// Block takes a block from a peer or from push_block, and waits until it is
// applied, or known to be on a branch that is not the best. A block that is known
// already is no error. Errors are [ErrBusy], exceptions (UnlinkableBlock if the
// block before is not known), [writer.ErrStopped], or ctx's; the block may be applied even
// so.
func (p *Producer) Block(ctx context.Context, b *types.SignedBlock, id types.Checksum256) error {
	return p.give(ctx, p.NewBlock(b, id), false)
}

// Apply is Block in parts: CheckHeader and Prepare may have been called before. The
// writer applies blocks in the order of the calls. Instead of failing with [ErrBusy] it
// waits until the round is over that is being made here; a block that was overtaken by
// the irreversible one meanwhile is no error.
func (p *Producer) Apply(ctx context.Context, b *Block) error { return p.give(ctx, b, true) }

func (p *Producer) give(ctx context.Context, b *Block, patient bool) error {
	if p.Knows(b.ID) {
		p.headers.drop(b.ID)
		return nil
	}
	if limit := time.Now().Add(7 * time.Second); !b.Signed.Timestamp.TimePoint().Time().Before(limit) {
		return exception.New(exception.BlockFromTheFuture, "received a block from the future, ignoring it: %s", b.ID)
	}
	err := p.CheckHeader(b)
	if err == nil {
		p.received.Store(types.BlockNum(b.ID))
		err = p.Prepare(b)
	}
	if err != nil {
		if exception.Of(err) != nil && !exception.Is(err, exception.UnlinkableBlock) {
			p.rejected(b, err)
		}
		p.headers.drop(b.ID)
		p.received.CompareAndSwap(types.BlockNum(b.ID), 0)
		return err
	}
	defer p.headers.drop(b.ID)
	done := make(chan error, 1)
	take := func() {
		err := p.applyBlock(b)
		switch {
		case !errors.Is(err, ErrBusy):
		case patient:
			p.log.plugin.Warn(fmt.Sprintf("incoming block #%d id: %s waits for the end of the round that is made here", types.BlockNum(b.ID), b.ID))
			p.late = append(p.late, lateBlock{b, done})
			return
		default:
			p.log.plugin.Warn(fmt.Sprintf("dropped incoming block #%d id: %s", types.BlockNum(b.ID), b.ID))
		}
		done <- err
	}
	if !p.writer.Put(writer.Few, writer.Job{Do: take}) {
		return writer.ErrStopped
	}
	p.giveWay()
	return p.writer.Await(ctx, done)
}

// lateBlock is a block that came while a round was made here.
type lateBlock struct {
	b    *Block
	done chan<- error
}

// takeLate applies the blocks that came late once the round is over, and answers for those
// that can be of no use any more.
func (p *Producer) takeLate() {
	for len(p.late) > 0 && p.writer.Failed() == nil {
		l, lib := p.late[0], p.head.Load().IrreversibleNum
		var err error
		if types.BlockNum(l.b.ID) > lib {
			err = p.applyBlock(l.b)
		}
		if errors.Is(err, ErrBusy) {
			return
		}
		p.late[0] = lateBlock{}
		p.late = p.late[1:]
		l.done <- err
	}
}

func (p *Producer) rejected(b *Block, err error) {
	p.log.main.Error(fmt.Sprintf("Exception on block %d: %v", types.BlockNum(b.ID), err))
	p.each(func(e *Events) {
		if e.Rejected != nil {
			e.Rejected(b.Signed, err)
		}
	})
}

// applyBlock gives a block to the chain (Leap: on_incoming_block).
func (p *Producer) applyBlock(b *Block) error {
	num := types.BlockNum(b.ID)
	now := time.Now()
	if p.producing && !p.early(now) {
		return ErrBusy
	}
	p.clock.idle(now)
	if p.logs(b.Signed, num, now) {
		p.log.plugin.Debug(fmt.Sprintf("received incoming block %d %s", num, b.ID))
	}
	if p.Knows(b.ID) || p.terminated() {
		return nil
	}
	if err := p.abort(); err != nil {
		return err
	}
	defer p.schedule()
	candidates, err := b.candidates()
	if err != nil {
		return err
	}
	p.applying = b
	err = p.chain.PushBlock(chain.NewPrepared(b.state, candidates))
	p.applying = nil
	if err != nil {
		p.updateHead()
		p.received.CompareAndSwap(num, 0)
		if exception.Is(err, exception.ForkDatabase) {
			p.log.main.Error(fmt.Sprintf("Cannot recover from %v. Shutting down.", err))
			p.writer.Fail(err)
		} else if !p.fail(err) {
			p.rejected(b, err)
		}
		return err
	}
	p.shown = false
	p.between()
	head := p.chain.Head()
	if now = time.Now(); !(head.Header.Timestamp + 1).TimePoint().Time().Before(now) {
		p.production = true
	}
	p.reportIncoming(b, now)
	return nil
}

// logs tells whether a block is worth a line: while a node catches up, most are
// not.
func (p *Producer) logs(b *types.SignedBlock, num uint32, now time.Time) bool {
	return now.Sub(b.Timestamp.TimePoint().Time()) < 5*time.Minute || num%1000 == 0
}

// reportIncoming says what came. Scripts read these lines.
func (p *Producer) reportIncoming(b *Block, now time.Time) {
	head, num, r := p.chain.Head(), types.BlockNum(b.ID), p.chain.Report()
	lib := p.chain.Fork().Root().BlockNum
	latency := now.Sub(b.Signed.Timestamp.TimePoint().Time())
	if p.logs(b.Signed, num, now) {
		p.log.main.Info(fmt.Sprintf("Received block %s... #%d @ %s signed by %s "+
			"[trxs: %d, lib: %d, confirmed: %d, net: %d, cpu: %d, elapsed: %d, time: %d, latency: %d ms]",
			b.ID.String()[8:24], num, b.Signed.Timestamp, b.Signed.Producer,
			len(b.Signed.Transactions), lib, b.Signed.Confirmed, r.Net, r.CPU,
			r.Elapsed.Microseconds(), r.Total.Microseconds(), latency.Milliseconds()))
		if !p.opt.Irreversible && head.ID != b.ID && head.Block != nil {
			p.log.main.Info(fmt.Sprintf("Block not applied to head %s... #%d @ %s signed by %s "+
				"[trxs: %d, dpos: %d, confirmed: %d, net: %d, cpu: %d, elapsed: %d, time: %d, latency: %d ms]",
				head.ID.String()[8:24], head.BlockNum, head.Header.Timestamp, head.Header.Producer,
				len(head.Block.Transactions), head.Irreversible, head.Header.Confirmed, r.Net, r.CPU,
				r.Elapsed.Microseconds(), r.Total.Microseconds(), now.Sub(head.Header.Timestamp.TimePoint().Time()).Milliseconds()))
		}
	}
	p.each(func(e *Events) {
		if e.Incoming != nil {
			e.Incoming(IncomingBlock{
				Transactions: len(b.Signed.Transactions), CPU: r.CPU, Net: r.Net, Elapsed: r.Elapsed, Time: r.Total,
				Latency: latency, Irreversible: lib, Head: num,
			})
		}
	})
}

// abort takes the pending block back; its transactions wait for the next one. An
// error has ended the node.
func (p *Producer) abort() error {
	pending, ok := p.chain.Pending()
	list, err := p.chain.AbortBlock()
	if err != nil {
		p.writer.Fail(err)
		return err
	}
	p.writer.Release()
	p.queue.addAborted(list)
	now := time.Now()
	p.clock.other(now)
	if ok {
		t := p.clock.report(now, pending.Num, pending.Producer)
		p.logTime(t)
		p.each(func(e *Events) {
			if e.Speculative != nil {
				e.Speculative(t)
			}
		})
	}
	p.clock.reset(now)
	p.producing = false
	return nil
}
