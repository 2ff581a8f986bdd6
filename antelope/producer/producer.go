// Package producer decides, on the writer of a node's chain, when which block is begun,
// made, signed and taken back, what goes into it and in which order (Leap:
// producer_plugin). Nobody else calls the chain's writing methods; all others ask it.
//
// It knows no wire formats and no rules of the chain: what a transaction or a block
// does, and whether it is valid, is the chain's to say. It opens no files but
// snapshots and their schedule.
//
// # Goroutines
//
// [Producer.Run] is the writer. All other methods, and those of the [Operator], may be
// called by any goroutine, also before Run, and after it has ended: then what would need the
// writer fails with [writerloop.ErrStopped]. Functions that are given to [Producer.Do], to
// [Producer.Subscribe] and to Producer.Submit run on the writer: they must neither block nor
// call what waits for the writer.
package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/resource"
	"tarn/antelope/types"
	"tarn/writerloop"
)

// ErrBusy means that a block is being made here, so that none from outside is taken just
// now; it may be given again.
var ErrBusy = errors.New("a block is being produced")

// Producer is the writer of a chain. See the package comment for goroutines. Most of its
// methods are the writer's decisions about the one pending block: when it is begun, what
// goes into it, whether it is finished, shown or given up. Each may end in another of them,
// which is why they are methods of one type. What needs no pending block is a thing of its
// own: arrivals, intake, turns, listeners, the queue, bills, snapshots, the [Operator].
type Producer struct {
	arrivals // blocks on their way here
	intake   // transactions on their way here
	turns
	listeners

	opt       Options
	log       loggers
	chain     *chain.Chain
	resources *resource.Manager

	writer *writerloop.Writer
	head   atomic.Pointer[Head]
	// schedules are the pending block's.
	schedules atomic.Pointer[consensus.Schedules]
	keys      foundKeys
	bills     *subjectiveBilling
	// speculation is what a block interrupts.
	speculation speculation
	snapshot    *snapshots

	// The rest is the writer's.
	producing bool // the pending block is one that is going to be signed
	queue     *queue
	shown     bool // views show something of the pending block
	failures  failures
	clock     blockClock
	applying  *Block              // the block that is being pushed
	waits     outdone             // better blocks that are waited for
	making    []types.Checksum256 // transactions from outside in the block that is being signed
	deadline  time.Time           // of the pending block
	leewaySet bool                // SetRuntimeOptions has set the leeway
}

// Head is where the chain stands. It is immutable.
type Head struct {
	Num      uint32
	ID       types.Checksum256
	Time     types.BlockTimestamp
	Producer types.Name
	State    *consensus.HeaderState

	IrreversibleNum  uint32
	IrreversibleID   types.Checksum256
	IrreversibleTime types.BlockTimestamp

	Spring bool // as [chain.Chain.Spring]

	// ForkNum and ForkID are the best block that there is, valid or not: the head,
	// except while a block is applied, and in irreversible mode.
	ForkNum uint32
	ForkID  types.Checksum256
}

// New makes the writer of a chain that stands at its head (chain.Resume has been
// called). Either Run or Close follows; the chain stays the caller's to close after it.
func New(c *chain.Chain, o Options) (*Producer, error) {
	o.Irreversible = c.IrreversibleMode()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	p := &Producer{
		opt: o, log: newLoggers(o), chain: c, resources: resource.New(c.State()),
		queue: newQueue(int64(o.QueueBytes)), failures: newFailures(o.MaxFailures, o.FailureWindow),
		bills: newSubjectiveBilling(o.DecayTime), speculation: speculation{chain: c},
	}
	if len(o.Producers) > 0 && c.LightValidation() {
		return nil, admintypes.NewBadOption("node cannot have any producer-name configured because block production is " +
			"not safe when validation_mode is not \"full\"")
	}
	p.writer = writerloop.New(writerloop.Options{Before: p.takeLate, Publish: p.publish, Ended: p.terminated})
	p.connect()
	greylist := make(map[types.Name]bool, len(o.Greylist))
	for _, n := range o.Greylist {
		greylist[n] = true
	}
	p.decide(func(now *execute.Policy) {
		now.Greylist, now.GreylistLimit, now.Leeway = greylist, o.GreylistLimit, o.Leeway
	})
	p.bills.disabled = o.NoP2PBilling && o.NoAPIBilling
	for _, n := range o.UnbilledAccounts {
		p.bills.exempt[n] = true
	}
	var err error
	if p.snapshot, err = openSnapshots(p); err != nil {
		return nil, err
	}
	if p.readers, err = execute.NewReaders(max(1, o.Readers), c.NewReader); err != nil {
		p.snapshot.stop()
		return nil, err
	}
	waits := o.Waits
	if waits == nil {
		waits = func() bool { return false }
	}
	p.intake.rehearsals = execute.NewRehearsals(waits, c.State().IsRecorded, c.NewReader)
	p.arrivals.rehearsals = p.intake.rehearsals
	c.Subscribe(p.hooks())
	p.updateHead()
	return p, nil
}

// connect makes the parts that others than the writer use, and lets them reach it.
func (p *Producer) connect() {
	p.arrivals.chain, p.arrivals.writer, p.arrivals.log, p.arrivals.keys = p.chain, p.writer, &p.log, &p.keys
	p.hurry, p.take, p.arrivals.refuse = p.speculation.giveWay, p.applyBlock, p.tellRejected
	p.arrivals.header, p.headers.votes = p.tellHeader, p.chain
	p.irreversible = func() uint32 { return p.head.Load().IrreversibleNum }
	p.wary = func() bool { return len(p.opt.Producers) > 0 || !p.head.Load().Spring }

	p.intake.head = &p.head
	p.intake.opt, p.intake.chain, p.intake.writer, p.intake.log, p.intake.keys = &p.opt, p.chain, p.writer,
		&p.log, &p.keys
	p.maxTime.Store(p.opt.MaxTransactionTime.Microseconds())
	p.intake.incoming, p.acked = p.incoming, p.tellAcked

	p.turns.opt, p.turns.chain, p.turns.log = &p.opt, p.chain, &p.log
	p.votes.opt = &p.opt
	p.paused.Store(p.opt.Paused)
	p.production, p.watermarks = p.opt.StaleProduction, watermarks{}
	p.maxLIBAge, p.effort = p.opt.MaxIrreversibleAge, blockEffort(p.opt.ProduceOffset)
}

// Close ends a producer whose Run is never called.
func (p *Producer) Close() error {
	p.writer.Close()
	p.snapshot.stop()
	return p.stopReading()
}

// Run is the writer, until ctx ends or the block is applied after which the node is
// to stop (terminate-at-block): then it returns nil. It aborts the pending block,
// answers whoever waits, and ends the writing of snapshots. An error is one after
// which the chain must not be used, for instance of the store.
func (p *Producer) Run(ctx context.Context) error {
	ended := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		defer close(ended)
		p.speculation.giveWay()
		p.chain.EndApplication(true)
	})
	p.start()
	p.schedule()
	failed := p.writer.Run(ctx)
	if !unwatch() {
		<-ended
		p.chain.EndApplication(false)
	}
	if failed == nil && p.terminated() {
		p.sayTerminated()
	}
	return errors.Join(failed, p.shutdown())
}

// sayTerminated says that the block was reached after which the node is to stop. Scripts read the line.
func (p *Producer) sayTerminated() {
	line := fmt.Sprintf("Reached configured maximum block %d; terminating", p.opt.StopAt)
	if p.chain.Spring() {
		line = fmt.Sprintf("Block %d reached configured maximum block %d; terminating",
			p.chain.Head().BlockNum, p.opt.StopAt)
	}
	p.log.main.Info(line)
}

// start says what the node is going to do.
func (p *Producer) start() {
	p.log.main.Info("producer plugin:  plugin_startup() begin")
	switch o := &p.opt; {
	case o.NoP2PBilling && o.NoAPIBilling:
		p.log.main.Info("Subjective CPU billing disabled")
	case o.NoP2PBilling:
		p.log.main.Info("Subjective CPU billing of P2P trxs disabled ")
	case o.NoAPIBilling:
		p.log.main.Info("Subjective CPU billing of API trxs disabled ")
	default:
		p.log.main.Info("Subjective CPU billing enabled")
	}
	p.lib = p.head.Load().IrreversibleTime.TimePoint().Time()
	if n := len(p.opt.Producers); n > 0 {
		p.log.main.Info(fmt.Sprintf("Launching block production for %d producers at %s.", n, timeText(time.Now())))
	}
	p.log.main.Info("producer plugin:  plugin_startup() end")
	p.clock.reset(time.Now())
}

// terminated tells whether the last block has been applied that was asked for.
func (p *Producer) terminated() bool {
	return p.opt.StopAt > 0 && p.chain.Head().BlockNum >= p.opt.StopAt
}

// shutdown ends what Run has begun.
func (p *Producer) shutdown() error {
	// Also after a failure: what the node makes durable now must be whole blocks.
	_, err := p.chain.AbortBlock()
	p.schedules.Store(nil)
	if err != nil {
		p.writer.Fail(err)
	}
	p.writer.Close()
	p.queue.clear(writerloop.ErrStopped)
	p.snapshot.stop()
	err = errors.Join(err, p.stopReading())
	p.log.plugin.Info("exit shutdown")
	return err
}

// fail ends Run if err is not an exception: then it says something of the node.
func (p *Producer) fail(err error) bool {
	if err == nil || exception.Of(err) != nil {
		return false
	}
	p.writer.Fail(err)
	return true
}

// Head tells where the chain stands; it never waits.
func (p *Producer) Head() *Head { return p.head.Load() }

// Schedules are those of the block that is being made, or of one whose time is over if the head is another than
// the block before it; nil if none is being made. While a block is applied they are those from before. It never waits.
func (p *Producer) Schedules() *consensus.Schedules { return p.schedules.Load() }

// updateHead publishes where the chain stands, and answers who waited for it.
func (p *Producer) updateHead() {
	h, fork := p.chain.Head(), p.chain.Fork()
	root, best := fork.Root(), fork.PendingHead()
	next := &Head{
		Num: h.BlockNum, ID: h.ID, Time: h.Header.Timestamp, Producer: h.Header.Producer, State: h.HeaderState,
		ForkNum: h.BlockNum, ForkID: h.ID, Spring: p.chain.Spring(),
	}
	if root != nil {
		next.IrreversibleNum, next.IrreversibleID, next.IrreversibleTime = root.BlockNum, root.ID, root.Header.Timestamp
	}
	if best != nil {
		next.ForkNum, next.ForkID = best.BlockNum, best.ID
	}
	p.head.Store(next)
	p.snapshot.settleAll()
}

// Do runs f on the writer, between blocks: the pending block is aborted first, and
// another is begun afterwards. An error of f that is no exception is the caller's,
// not the node's. When ctx ends before f begins, f never does; then it is waited for.
func (p *Producer) Do(ctx context.Context, f func(*chain.Chain) error) error {
	return p.writer.Call(ctx, func() error {
		if err := p.abort(); err != nil {
			return err
		}
		defer p.schedule()
		before := p.chain.Head()
		err := f(p.chain)
		if p.chain.Head() != before {
			p.between()
		}
		return err
	})
}

// decide changes the policy, on the writer.
func (p *Producer) decide(change func(*execute.Policy)) {
	now := p.chain.Policy()
	change(&now)
	p.chain.SetPolicy(now)
}

// Chain is the chain that p writes. What its package allows for any goroutine may
// be called; the rest is the writer's.
func (p *Producer) Chain() *chain.Chain { return p.chain }

// Producers are the producers of this node.
func (p *Producer) Producers() []types.Name { return slices.Clone(p.opt.Producers) }

// Signs tells whether this node has a provider for a key.
func (p *Producer) Signs(k types.PublicKey) bool { return p.opt.Signers[k] != nil }

// Sign signs a digest with a key that this node has a provider for. Any goroutine may call it; it waits for a
// wallet.
func (p *Producer) Sign(k types.PublicKey, digest types.Checksum256) (types.Signature, error) {
	sign := p.opt.Signers[k]
	if sign == nil {
		return types.Signature{}, exception.New(exception.ProducerPrivKeyNotFound,
			"Local producer has no private key in config.ini corresponding to public key ${key}", "key", k)
	}
	return sign(digest)
}

// Subjective is the CPU that an account is billed by this node alone, in
// microseconds.
func (p *Producer) Subjective(account types.Name, now time.Time) int64 {
	return p.bills.Subjective(account, now)
}

// Greylisted tells whether only an account's own stake counts.
func (p *Producer) Greylisted(account types.Name) bool { return p.chain.Policy().Greylist[account] }
