package chain

import (
	"fmt"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/control"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// pendingBlock is the block that is being built or validated.
type pendingBlock struct {
	header          *consensus.PendingHeader
	status          Status
	producerBlockID *types.Checksum256 // of the block that is validated
	activations     []types.Checksum256
	activated       int                     // how many of them have happened
	schedule        *types.ProducerSchedule // promoted in this block

	receipts   []types.TransactionReceipt
	digests    []types.Checksum256 // of receipts; unused if root is known
	root       *types.Checksum256  // of the transactions, from the block that is validated
	actions    []types.Checksum256 // digests of action receipts
	hasher     *hasher             // computes them and their root, if it is not nil
	executed   int                 // how many action receipts there are
	candidates []*Candidate        // input transactions that are in the block
	applied    []Transaction       // that left a receipt, if somebody records them
	report     Report
}

// blockMark is where a pending block stood.
type blockMark struct{ receipts, digests, actions int }

func (b *pendingBlock) mark() blockMark {
	return blockMark{len(b.receipts), len(b.digests), len(b.actions)}
}

func (b *pendingBlock) restore(m blockMark) {
	b.receipts, b.digests, b.actions = b.receipts[:m.receipts], b.digests[:m.digests], b.actions[:m.actions]
}

// addActions adds what a transaction that succeeded did.
func (b *pendingBlock) addActions(t *transaction) {
	b.executed += len(t.receipts)
	if b.hasher != nil {
		b.hasher.add(t.jobs)
		return
	}
	b.actions = append(b.actions, t.actionDigests...)
}

func (b *pendingBlock) push(r types.TransactionReceipt) {
	b.receipts = append(b.receipts, r)
	if b.root == nil {
		b.digests = append(b.digests, r.Digest())
	}
}

// Start is what a block is started with.
type Start struct {
	Time        types.BlockTimestamp
	Confirmed   uint16 // blocks before it that its producer confirms
	Activations []types.Checksum256
	Status      Status
	BlockID     *types.Checksum256 // of the block that is validated
	Block       *types.SignedBlock // that block
}

// StartBlock begins the block after the head (Leap: controller_impl::start_block).
// It is ended by ProduceBlock or AbortBlock; on an error it is already.
func (c *Chain) StartBlock(s Start) (err error) {
	if c.pending != nil {
		return exception.New(exception.BlockValidate, "pending block already exists")
	}
	c.hooks.startBlock(c.head.BlockNum + 1)
	header, err := c.head.Next(s.Time, s.Confirmed)
	if err != nil {
		return err
	}
	if !c.batch.joins() {
		if err := c.state.Begin(); err != nil {
			return fmt.Errorf("start block %d: %w", header.BlockNum, err)
		}
	}
	c.pending = &pendingBlock{
		header: header, status: s.Status, producerBlockID: s.BlockID, activations: s.Activations,
		digests: c.digests[:0], actions: c.actionDigests[:0],
	}
	c.last = nil // its trace is with whoever pushed it
	c.activeAt = 0
	if c.batch.open && s.Block != nil && !c.hooks.watched() {
		c.pending.hasher = newHasher(header.BlockNum, s.Block.ActionMRoot, c.hashed)
		c.batch.hashers = append(c.batch.hashers, c.pending.hasher)
	}
	if s.Status != Ephemeral {
		if err := c.prepareBlock(); err != nil {
			return c.abortAfter(err)
		}
	}
	return nil
}

// abortAfter aborts the pending block because of err.
func (c *Chain) abortAfter(err error) error {
	if _, e := c.AbortBlock(); e != nil {
		return fmt.Errorf("%w; then, aborting the block: %w", err, e)
	}
	return err
}

// prepareBlock does what is due before the first transaction.
func (c *Chain) prepareBlock() error {
	if err := c.activateFeatures(); err != nil {
		return err
	}
	if err := c.promoteSchedule(); err != nil {
		return err
	}
	if err := c.onblock(); err != nil {
		return err
	}
	// Expired is what expires before the block's time, which may be half a second
	// beyond a full one.
	now := c.pendingTime()
	before := now.Sec()
	if now%1_000_000 != 0 {
		before++
	}
	if _, err := c.state.ForgetTransactions(before); err != nil {
		return err
	}
	return c.updateProducersAuthority()
}

// promoteSchedule makes a proposed schedule the pending one once its proposal is
// irreversible.
func (c *Chain) promoteSchedule() error {
	g, err := c.state.Global()
	if err != nil {
		return err
	}
	b := c.pending
	if g.ProposedScheduleBlock == nil || *g.ProposedScheduleBlock > b.header.Irreversible || len(b.header.PrevPending.Schedule.Producers) > 0 {
		return nil
	}
	if g.ProposedSchedule.Version != b.header.ScheduleVersion+1 {
		return exception.New(exception.ProducerSchedule, "wrong producer schedule version specified")
	}
	schedule := g.ProposedSchedule
	b.schedule = &schedule
	if g, err = c.state.EditGlobal(); err != nil {
		return err
	}
	g.ProposedScheduleBlock, g.ProposedSchedule = nil, types.ProducerSchedule{}
	return nil
}

// onblock tells the system contract of the block before. Its failure is its own.
func (c *Chain) onblock() error {
	defer c.checking()()
	trx := c.implicit(types.Action{
		Account: nameEosio, Name: nameOnblock, Data: c.head.Header.BlockHeader.Append(nil),
		Authorization: []types.PermissionLevel{{Actor: nameEosio, Permission: nameActive}},
	})
	g, err := c.state.Global()
	if err != nil {
		return err
	}
	raw := trx.Append(nil)
	x := &Candidate{Kind: control.Implicit, Trx: trx, Raw: raw, ID: types.Hash(raw)}
	trace, err := c.PushTransaction(x, Billing{Explicit: true, CPU: int64(g.Configuration.MinTransactionCPUUsage)})
	if err != nil {
		if exception.Of(err) == nil {
			return err
		}
		c.opt.Log.Warn("on block transaction failed, but shouldn't impact block generation, system contract needs update", "error", err)
		return nil
	}
	if trace.Except != nil {
		c.opt.Log.Warn("onblock is rejecting", "block", c.head.BlockNum+1, "error", trace.Except)
	}
	return nil
}

// updateProducersAuthority lets the permissions of eosio.prods follow the active
// schedule.
func (c *Chain) updateProducersAuthority() error {
	producers := c.pending.header.ActiveSchedule.Producers
	n := uint32(len(producers))
	for _, p := range [...]struct {
		name     types.Name
		num, den uint32
	}{{nameActive, 2, 3}, {nameMajor, 1, 2}, {nameMinor, 1, 3}} {
		level := types.PermissionLevel{Actor: nameProds, Permission: p.name}
		permission, err := c.authority.Get(level)
		if err != nil {
			return err
		}
		threshold := n*p.num/p.den + 1
		if sameProducers(&permission.Authority, threshold, producers) {
			continue
		}
		a := types.Authority{Threshold: threshold}
		for i := range producers {
			a.Accounts = append(a.Accounts, types.PermissionLevelWeight{
				Permission: types.PermissionLevel{Actor: producers[i].Producer, Permission: nameActive}, Weight: 1,
			})
		}
		if err := c.setAuthority(level, a); err != nil {
			return err
		}
	}
	return nil
}

func sameProducers(a *types.Authority, threshold uint32, producers []types.ProducerAuthority) bool {
	if a.Threshold != threshold || len(a.Accounts) != len(producers) || len(a.Keys)+len(a.Waits) > 0 {
		return false
	}
	for i := range producers {
		w := a.Accounts[i]
		if w.Permission.Actor != producers[i].Producer || w.Permission.Permission != nameActive || w.Weight != 1 {
			return false
		}
	}
	return true
}

// setAuthority changes a permission without noting when.
func (c *Chain) setAuthority(l types.PermissionLevel, a types.Authority) error {
	p, err := c.state.Permissions.Edit(permissionKey(l))
	if err == nil {
		p.Authority = a
	}
	return err
}

// finishBlock ends the pending block's transactions and returns its unsigned
// header (Leap: controller_impl::finalize_block).
func (c *Chain) finishBlock() (types.SignedBlockHeader, error) {
	b := c.pending
	var none types.SignedBlockHeader
	if err := c.finishLimits(); err != nil {
		return none, err
	}
	root := b.root
	if root == nil {
		root = new(consensus.MerkleRoot(b.digests))
	}
	actions := consensus.MerkleRoot(b.actions)
	c.digests, c.actionDigests = b.digests, b.actions
	if b.hasher != nil {
		b.hasher.end()
		actions = b.hasher.want // to be compared when it is there
	}
	h, err := b.header.Header(*root, actions, b.schedule, b.activations, c.opt.Features)
	if err != nil {
		return none, err
	}
	id := h.ID()
	return h, c.state.SetBlockSummary(uint16(types.BlockNum(id)), id)
}

// AbortBlock drops the pending block, if there is one, and returns the input
// transactions that were in it.
func (c *Chain) AbortBlock() ([]*Candidate, error) {
	b := c.pending
	if b == nil {
		return nil, nil
	}
	c.pending = nil
	c.features.PopTo(c.head.BlockNum)
	c.activeAt = 0
	if c.batch.open {
		return b.candidates, c.dropBatch()
	}
	for c.state.Depth() > 0 {
		if err := c.state.Undo(); err != nil {
			return b.candidates, fmt.Errorf("abort block %d: %w", b.header.BlockNum, err)
		}
	}
	return b.candidates, nil
}

// commit finishes the pending block in the state: it is the head.
func (c *Chain) commit(b *consensus.BlockState) error {
	c.worked += max(c.pending.report.Elapsed, c.pending.report.Total)
	if c.batch.open {
		c.batch.blocks++
		c.batch.receipts += c.pending.executed
		c.head, c.pending = b, nil
		c.activeAt = 0
		return nil
	}
	if err := c.record(b); err != nil {
		return err
	}
	if err := c.state.SetHead(b.HeaderState.Append(nil)); err != nil {
		return err
	}
	if err := c.state.Push(); err != nil {
		return fmt.Errorf("finish block %d: %w", b.BlockNum, err)
	}
	c.report = c.pending.report
	valid := c.pending.status != Irreversible
	c.head, c.pending = b, nil
	c.activeAt = 0
	c.hooks.acceptedBlock(b, valid)
	return nil
}

// record lets those who keep histories keep the pending block.
func (c *Chain) record(b *consensus.BlockState) (err error) {
	if !c.hooks.records {
		return nil
	}
	x := &Executed{Block: b, Status: c.pending.status, Transactions: c.pending.applied}
	if c.hooks.changes {
		if x.Changes, err = c.state.Changes(); err != nil {
			return fmt.Errorf("record block %d: %w", b.BlockNum, err)
		}
	}
	if err := c.hooks.record(x); err != nil {
		return fmt.Errorf("record block %d: %w", b.BlockNum, err)
	}
	return nil
}

// PopBlock takes the head block back (Leap: controller_impl::pop_block).
func (c *Chain) PopBlock() error {
	if c.pending != nil {
		return exception.New(exception.BlockValidate, "pending block exists")
	}
	prev := c.fork.Block(c.head.Header.Previous)
	if prev == nil {
		root := c.fork.Root()
		if root == nil || root.ID != c.head.Header.Previous {
			return exception.New(exception.BlockValidate, "attempt to pop beyond last irreversible block")
		}
		prev = root
	}
	if err := c.state.Undo(); err != nil {
		return fmt.Errorf("take back block %d: %w", c.head.BlockNum, err)
	}
	c.head = prev
	c.features.PopTo(prev.BlockNum)
	c.activeAt = 0
	return nil
}

// validate applies a block to the state. On an error the state is as before
// (Leap: controller_impl::apply_block).
func (c *Chain) validate(p *Prepared, status Status) error {
	b := p.State.Block
	if err := c.StartBlock(Start{
		Time: b.Timestamp, Confirmed: b.Confirmed, Activations: p.State.Activations(), Status: status, BlockID: &p.State.ID, Block: b,
	}); err != nil {
		return err
	}
	if err := c.validatePending(p); err != nil {
		return c.abortAfter(err)
	}
	return nil
}

func (c *Chain) validatePending(p *Prepared) error {
	b := p.State.Block
	c.pending.root = &b.TransactionMRoot
	c.pending.receipts = make([]types.TransactionReceipt, 0, len(b.Transactions))
	c.pending.candidates = make([]*Candidate, 0, len(b.Transactions))
	start := time.Now()
	for i := range b.Transactions {
		if err := c.validateReceipt(p, i); err != nil {
			return err
		}
	}
	c.pending.report.Elapsed = time.Since(start)
	h, err := c.finishBlock()
	if err != nil {
		return err
	}
	if id := h.ID(); id != p.State.ID {
		return exception.New(exception.BlockValidate, "Block ID does not match: %s of the producer, %s here%s", p.State.ID, id, headerDiff(&b.BlockHeader, &h.BlockHeader))
	}
	c.pending.report.Total = time.Since(start)
	return c.commit(p.State)
}

// validateReceipt executes a block's transaction and compares the receipts.
func (c *Chain) validateReceipt(p *Prepared, i int) error {
	want := &p.State.Block.Transactions[i]
	n := len(c.pending.receipts)
	bill := Billing{Explicit: true, CPU: int64(want.CPUUsageUS)}
	var trace *types.TransactionTrace
	var err error
	if want.Packed != nil {
		var x *Candidate
		if x, err = p.candidate(c, i); err == nil {
			trace, err = c.PushTransaction(x, bill)
		}
	} else {
		trace, err = c.PushScheduled(want.ID, bill)
	}
	if err != nil {
		return err
	}
	if trace.Except != nil && (want.Status != types.StatusHardFail || want.Packed != nil) {
		return fmt.Errorf("transaction %s of block %d failed: %w", trace.ID, p.State.BlockNum, trace.Except)
	}
	if len(c.pending.receipts) != n+1 {
		return exception.New(exception.BlockValidate, "expected receipt was not added, block_num %d, block_id %s", p.State.BlockNum, p.State.ID)
	}
	if got := c.pending.receipts[n].TransactionReceiptHeader; got != want.TransactionReceiptHeader {
		return exception.New(exception.BlockValidate, "receipt does not match, %+v != %+v", got, want.TransactionReceiptHeader)
	}
	c.Recycle()
	return nil
}

// Recycle lets the next transaction use the memory of the last one that succeeded, its
// trace included, if nobody was told of it. Only who pushed it may call it, and may not
// look at the trace any more.
func (c *Chain) Recycle() {
	if !c.hooks.watched() {
		c.spare = c.last
	}
	c.last = nil
}

// headerDiff names the fields in which a block differs from what was computed.
func headerDiff(want, got *types.BlockHeader) string {
	var s string
	add := func(differs bool, name string, a, b any) {
		if differs {
			s += fmt.Sprintf("; %s %v != %v", name, a, b)
		}
	}
	add(want.Timestamp != got.Timestamp, "timestamp", want.Timestamp, got.Timestamp)
	add(want.Producer != got.Producer, "producer", want.Producer, got.Producer)
	add(want.Confirmed != got.Confirmed, "confirmed", want.Confirmed, got.Confirmed)
	add(want.Previous != got.Previous, "previous", want.Previous, got.Previous)
	add(want.TransactionMRoot != got.TransactionMRoot, "transaction_mroot", want.TransactionMRoot, got.TransactionMRoot)
	add(want.ActionMRoot != got.ActionMRoot, "action_mroot", want.ActionMRoot, got.ActionMRoot)
	add(want.ScheduleVersion != got.ScheduleVersion, "schedule_version", want.ScheduleVersion, got.ScheduleVersion)
	add((want.NewProducers == nil) != (got.NewProducers == nil), "new_producers", want.NewProducers, got.NewProducers)
	add(len(want.Extensions) != len(got.Extensions), "header_extensions", len(want.Extensions), len(got.Extensions))
	return s
}

// ProduceBlock signs the pending block and makes it the head (Leap:
// controller::finalize_block, sign_block, commit_block). On an error it is still
// pending, and nothing but AbortBlock may follow.
func (c *Chain) ProduceBlock(sign consensus.Signer, recoverKey consensus.Recover) (*consensus.BlockState, error) {
	if c.pending == nil || c.pending.status != Incomplete {
		return nil, exception.New(exception.BlockValidate, "it is not valid to finalize when there is no pending block")
	}
	b := c.pending
	h, err := c.finishBlock()
	if err != nil {
		return nil, err
	}
	block := &types.SignedBlock{SignedBlockHeader: h, Transactions: b.receipts}
	bs, err := consensus.SignBlock(b.header, block, c.opt.Features, sign, recoverKey)
	if err != nil {
		return nil, err
	}
	if err := c.addProduced(bs); err != nil {
		return nil, err
	}
	if err := c.commit(bs); err != nil {
		return nil, err
	}
	return bs, nil
}

// addProduced makes a block of our own the head of the fork database. It is durable
// before anybody hears of it: a node that lost it would sign another of its number.
func (c *Chain) addProduced(bs *consensus.BlockState) error {
	if err := c.fork.Add(bs, false); err != nil {
		return err
	}
	if err := c.fork.MarkValid(bs.ID); err != nil {
		return err
	}
	if c.opt.Reversible != nil {
		err := c.opt.Reversible.Append(bs.Block.Append(nil))
		if err == nil {
			err = c.opt.Reversible.Sync()
		}
		if err != nil {
			return fmt.Errorf("keep block %d: %w", bs.BlockNum, err)
		}
	}
	c.hooks.acceptedHeader(bs)
	if c.fork.Head().ID != bs.ID {
		// It stays a branch that the chain may switch to, as in nodeos.
		return exception.New(exception.ForkDatabase, "committed block did not become the new head in fork database")
	}
	return nil
}

// PendingInput returns the ids of the transactions from outside in the pending block.
func (c *Chain) PendingInput() []types.Checksum256 {
	if c.pending == nil {
		return nil
	}
	ids := make([]types.Checksum256, len(c.pending.candidates))
	for i, x := range c.pending.candidates {
		ids[i] = x.ID
	}
	return ids
}

// PendingNum is the number of the pending block, 0 without one.
func (c *Chain) PendingNum() uint32 {
	if c.pending == nil {
		return 0
	}
	return c.pending.header.BlockNum
}
