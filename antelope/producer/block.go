package producer

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// errPaused is given for a block after the one at which the operator wants a pause.
var errPaused = errors.New("the node is paused at its head")

func (p *Producer) tellRejected(b *Block, err error) {
	p.log.main.Error(fmt.Sprintf("Exception on block %d: %v", types.BlockNum(b.ID), err))
	p.each(func(e *Events) {
		if e.Rejected != nil {
			e.Rejected(b.Signed, err)
		}
	})
}

// sayPaused says that the node stands still where the operator wants it to.
func (p *Producer) sayPaused() {
	p.complain(slog.LevelInfo, fmt.Sprintf("Pausing at block #%d", p.chain.Head().BlockNum))
}

// applyBlock gives a block to the chain (Leap: on_incoming_block).
func (p *Producer) applyBlock(b *Block) error {
	num := types.BlockNum(b.ID)
	now := time.Now()
	if p.producing && !p.early(now) {
		return ErrBusy
	}
	p.clock.idle(now)
	if worthALine(b.Signed, num, now) {
		p.log.plugin.Debug(fmt.Sprintf("received incoming block %d %s", num, b.ID))
	}
	if p.Knows(b.ID) || p.terminated() {
		return nil
	}
	if p.chain.Paused() {
		p.sayPaused()
		return errPaused
	}
	if err := p.abort(); err != nil {
		return err
	}
	defer p.schedule()
	candidates, err := b.candidates()
	if err != nil {
		return err
	}
	state, err := p.stateOf(b)
	if err != nil {
		return err
	}
	p.applying = b
	undo := p.interruptWhenDue()
	err = p.chain.PushBlock(chain.NewPrepared(state, candidates))
	undo()
	p.applying = nil
	if errors.Is(err, chain.ErrInterrupted) {
		p.updateHead()
		p.log.main.Info("interrupt while applying " + err.Error())
		return nil // as of a branch that is not the best
	}
	if err != nil {
		p.updateHead()
		p.received.CompareAndSwap(num, 0)
		if exception.Is(err, exception.ForkDatabase) {
			p.log.main.Error(fmt.Sprintf("Cannot recover from %v. Shutting down.", err))
			p.writer.Fail(err)
		} else if !p.fail(err) {
			p.tellRejected(b, err)
		}
		return err
	}
	p.shown = false
	p.between()
	head := p.chain.Head()
	now = time.Now()
	p.waits.since = now
	if !(head.Header.Timestamp + 1).TimePoint().Time().Before(now) {
		p.production = true
	}
	p.reportIncoming(b, now)
	return nil
}

// interruptWhenDue interrupts the block that is going to be applied when the next block of this node is to be
// finished: a block that never ends must not cost it its turn. Spring does so when the turn begins, and then leaves
// out the block of another that was only late. undo must be called when the block has been applied.
func (p *Producer) interruptWhenDue() (undo func()) {
	if len(p.opt.Producers) == 0 || p.forbidden() {
		return func() {}
	}
	now := time.Now()
	at, ok := p.wakeUpTime(p.effort, p.chain.Head().BlockNum, p.pendingSlot(now))
	if !ok {
		return func() {}
	}
	t := time.AfterFunc(max(0, at.Sub(now))+p.effort, p.chain.InterruptProper)
	return func() { t.Stop() }
}

// catchUp applies in irreversible mode what became irreversible while the chain stood still: it waits for
// no block to come.
func (p *Producer) catchUp() error {
	if !p.opt.Irreversible {
		return nil
	}
	if err := p.chain.LogIrreversible(); err != nil {
		p.updateHead()
		p.fail(err)
		return err
	}
	p.shown = false
	p.between()
	return nil
}

// worthALine tells whether a block is worth a line: while a node catches up, most are
// not.
func worthALine(b *types.SignedBlock, num uint32, now time.Time) bool {
	return now.Sub(b.Timestamp.TimePoint().Time()) < 5*time.Minute || num%1000 == 0
}

// reportIncoming says what came.
func (p *Producer) reportIncoming(b *Block, now time.Time) {
	num, r, lib := types.BlockNum(b.ID), p.chain.Report(), p.chain.Fork().Root().BlockNum
	latency := now.Sub(b.Signed.Timestamp.TimePoint().Time())
	if worthALine(b.Signed, num, now) {
		p.logReceived(b, now)
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
	p.queue.addAborted(list, p.producing)
	now := time.Now()
	p.clock.other(now)
	if ok {
		t := p.clock.report(now, pending.Num, pending.Producer)
		p.log.time(t)
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
