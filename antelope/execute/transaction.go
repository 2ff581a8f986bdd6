package execute

import (
	"math"
	"slices"
	"time"

	"tarn/antelope/authority"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/resource"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// Billing is how long a transaction may run and what it is billed. Durations are
// microseconds.
type Billing struct {
	// Deadline is the wall clock's; zero is none.
	Deadline time.Time
	// MaxTime bounds a transaction that is not yet in a block; 0 is no bound.
	MaxTime int64
	// Explicit says that CPU is the receipt's, to be billed whatever it took.
	Explicit bool
	// CPU is billed with Explicit; else it is what an earlier execution took.
	CPU int64
	// Subjective is what this node holds against the account besides.
	Subjective int64
}

// transaction is one being executed (Leap: transaction_context).
type transaction struct {
	e       *Executor
	kind    Kind
	trx     *types.Transaction
	packed  []byte                   // trx, encoded
	signed  *types.PackedTransaction // as it came; nil if nobody signed it
	cfd     [][]byte                 // context-free data
	id      types.Checksum256
	trace   *types.TransactionTrace
	session bool // it has one of its own in the state

	published        types.TimePoint
	delay            int64 // seconds
	input            bool
	applyContextFree bool
	enforceLists     bool

	leaves    leaves
	jobs      []receiptJob          // in place of leaves, for a hasher
	proposed  proposals             // by its contracts
	receipts  []types.ActionReceipt // what the trace's receipts point to
	billTo    []types.Name          // ascending
	verifyRAM []types.Name          // ascending
	tables    tableSlots

	netLimit, eagerNetLimit uint64
	netDueToBlock           bool
	netDueToGreylist        bool
	timer                   timer
	memory                  memoryBudget

	// For the machine, made once so that running an action allocates nothing.
	codeKey   state.CodeKey
	loadCode  func(types.Checksum256) ([]byte, error)
	compiling func(bool)
	checktime func() error
}

// newTransaction begins the execution of a transaction, in a session of its own
// unless it changes nothing or is replayed.
func (e *Executor) newTransaction(
	kind Kind, trx *types.Transaction, id types.Checksum256, start time.Time, b Billing,
) (*transaction, error) {
	e.policy = e.shared.policy.Load()
	t := e.blankTransaction()
	t.kind, t.trx, t.id = kind, trx, id
	t.applyContextFree, t.enforceLists, t.netDueToBlock = true, true, true
	t.trace.ID, t.trace.BlockNum, t.trace.BlockTime = id, e.head.BlockNum+1, e.block.header.Timestamp
	t.trace.ProducerBlockID = e.block.producerBlockID
	t.timer.begin(t, start, b)
	t.memory = newMemoryBudget(e.speculative())
	if kind != ReadOnly && !e.skipSessions() {
		if err := e.state.Begin(); err != nil {
			return nil, err
		}
		t.session = true
	}
	if d := t.deepMind(); d != nil {
		d.StartTransaction()
	}
	return t, nil
}

// blankTransaction returns a transaction to be filled in: the one that was recycled
// last, with its memory, or a new one.
func (e *Executor) blankTransaction() *transaction {
	t := e.spare
	e.spare = nil
	if t == nil {
		t = &transaction{e: e, trace: new(types.TransactionTrace)}
		t.checktime = t.timer.check
		t.loadCode = func(types.Checksum256) ([]byte, error) { return e.state.CodeBytes(t.codeKey) }
		t.compiling = func(active bool) {
			if active {
				t.timer.pause()
			} else {
				t.timer.resume()
			}
		}
		return t
	}
	*t.trace = types.TransactionTrace{ActionTraces: t.trace.ActionTraces[:0]}
	*t = transaction{
		e: e, trace: t.trace, checktime: t.checktime, loadCode: t.loadCode, compiling: t.compiling,
		leaves: t.leaves.emptyLeaves(), billTo: t.billTo[:0], verifyRAM: t.verifyRAM[:0], receipts: t.receipts[:0],
		jobs:   t.jobs[:0],
		tables: t.tables,
	}
	t.tables.reset()
	return t
}

// roomForSequences returns an empty list with room for n: a part of a longer one, so that
// a receipt's need not be allocated each. Who keeps a receipt may keep some hundred
// entries more.
func (e *Executor) roomForSequences(n int) []types.AuthSequence {
	const slab = 128
	from := len(e.sequences)
	if from+n > cap(e.sequences) {
		e.sequences, from = make([]types.AuthSequence, 0, max(n, slab)), 0
	}
	e.sequences = e.sequences[:from+n]
	return e.sequences[from : from : from+n]
}

// keep makes what the transaction did part of what is around it; undo takes it
// back. One of them ends the transaction; calling the other later does nothing.
func (t *transaction) keep() error {
	if !t.session {
		return nil
	}
	t.session = false
	return t.e.state.Squash()
}

func (t *transaction) undo() error {
	if !t.session {
		return nil
	}
	t.session = false
	return t.e.state.Undo()
}

// init computes the limits and bills what is known in advance (Leap:
// transaction_context::init).
func (t *transaction) init(netUsage uint64) error {
	e := t.e
	g, err := e.state.Global.Get()
	if err != nil {
		return err
	}
	cfg := &g.Configuration
	if t.netLimit, err = e.resources.BlockNetLimit(); err != nil {
		return err
	}
	blockCPU, err := e.resources.BlockCPULimit()
	if err != nil {
		return err
	}
	if t.kind == ReadOnly {
		// It takes no room in a block, so that it may be as much as a whole one, however full that is.
		t.netLimit, blockCPU = cfg.MaxBlockNetUsage, uint64(cfg.MaxBlockCPUUsage)
	}
	t.timer.objective = int64(blockCPU)
	if t.kind != ReadOnly {
		if uint64(cfg.MaxTransactionNetUsage) <= t.netLimit {
			t.netLimit, t.netDueToBlock = uint64(cfg.MaxTransactionNetUsage), false
		}
		if int64(cfg.MaxTransactionCPUUsage) <= t.timer.objective {
			t.timer.limitObjective(int64(cfg.MaxTransactionCPUUsage), onChainLimit)
		}
	}
	if own := uint64(t.trx.MaxNetUsageWords) * 8; own > 0 && own <= t.netLimit {
		t.netLimit, t.netDueToBlock = own, false
	}
	if own := int64(t.trx.MaxCPUUsageMS) * 1000; own > 0 && own <= t.timer.objective {
		t.timer.limitObjective(own, ownLimit)
	}
	t.timer.initialObjective = t.timer.objective
	t.eagerNetLimit = t.netLimit
	if t.kind != ReadOnly {
		if err := t.initBilling(cfg); err != nil {
			return err
		}
	}
	t.timer.limitSubjective()
	if t.kind != ReadOnly {
		if err := t.timer.estimate(); err != nil {
			return err
		}
	}
	t.timer.arm()
	t.eagerNetLimit = t.eagerNetLimit / 8 * 8
	if netUsage > 0 {
		if err := t.addNet(netUsage); err != nil {
			return err
		}
	}
	if e.skipChecks() {
		t.timer.off = true
		return nil
	}
	return t.checktime()
}

// initBilling finds out who pays, and how much they can.
func (t *transaction) initBilling(cfg *types.ChainConfig) error {
	if t.timer.explicit {
		if err := t.timer.validate(cfg, t.timer.cpu, math.MaxInt64, false); err != nil {
			return err
		}
	}
	if t.e.active(feature.OnlyBillFirstAuthorizer) {
		t.billTo = append(t.billTo, t.trx.FirstAuthorizer())
	} else {
		for i := range t.trx.Actions {
			for _, level := range t.trx.Actions[i].Authorization {
				t.billTo = putName(t.billTo, level.Actor)
			}
		}
	}
	if err := t.e.resources.UpdateAccountUsage(t.billTo, uint32(t.e.block.header.Timestamp)); err != nil {
		return err
	}
	if t.e.skipChecks() {
		return nil // what they can pay has been decided
	}
	net, cpu, err := t.canPay(false)
	if err != nil {
		return err
	}
	if can := uint64(net) + uint64(cfg.NetUsageLeeway); can < t.eagerNetLimit {
		t.eagerNetLimit, t.netDueToBlock = can, false
	}
	t.timer.limitAccount(cpu)
	return nil
}

// putName adds a name to an ascending list unless it is there.
func putName(list []types.Name, n types.Name) []types.Name {
	i, found := slices.BinarySearch(list, n)
	if found {
		return list
	}
	return slices.Insert(list, i, n)
}

// canPay returns how much network and CPU all the accounts that are billed can pay
// (Leap: max_bandwidth_billed_accounts_can_pay). Their usage was updated. The
// greylist counts only in speculative blocks, and never with force.
func (t *transaction) canPay(force bool) (net, cpu int64, err error) {
	net, cpu = math.MaxInt64/2, math.MaxInt64/2
	greylisting := !force && t.e.speculative()
	for _, n := range t.billTo {
		most := uint32(resource.MaxElasticMultiplier)
		if greylisting {
			most = t.e.policy.greylistLimit(n)
		}
		limit, listed, err := t.e.resources.AccountNetLimit(n, most)
		if err != nil {
			return 0, 0, err
		}
		if limit >= 0 {
			net = min(net, limit)
			t.netDueToGreylist = t.netDueToGreylist || listed
		}
		if limit, listed, err = t.e.resources.AccountCPULimit(n, most); err != nil {
			return 0, 0, err
		}
		if limit >= 0 {
			cpu = min(cpu, limit)
			t.timer.greylisted = t.timer.greylisted || listed
		}
	}
	return net, cpu, nil
}

// initInput begins a transaction from outside (Leap: init_for_input_trx).
func (t *transaction) initInput(unprunable, prunable uint64) error {
	if t.e.active(feature.DisableDeferredTrxsStage1) || t.kind.Transient() {
		if t.trx.DelaySec != 0 {
			return exception.New(exception.Transaction, "transaction cannot be delayed")
		}
	}
	if len(t.trx.Extensions) > 0 {
		return t.noExtensions("no transaction extensions supported yet for input transactions")
	}
	g, err := t.e.state.Global.Get()
	if err != nil {
		return err
	}
	cfg := &g.Configuration
	if num, den := uint64(cfg.ContextFreeDiscountNetUsageNum), uint64(cfg.ContextFreeDiscountNetUsageDen); den > 0 &&
		num < den {
		prunable = (prunable*num + den - 1) / den
	}
	usage := uint64(cfg.BasePerTransactionNetUsage) + unprunable + prunable
	if t.trx.DelaySec > 0 { // what retiring it later takes
		usage += uint64(cfg.BasePerTransactionNetUsage) + transactionIDNetUsage
	}
	t.published = t.e.block.time()
	t.input = true
	if !t.e.skipChecks() {
		if t.kind != ReadOnly {
			if err := t.e.checkExpiration(t.trx); err != nil {
				return err
			}
			if err := t.e.checkRefBlock(t.trx); err != nil {
				return err
			}
		}
		if err := t.checkAccounts(t.trx, t.enforceLists && t.e.speculative()); err != nil {
			return err
		}
	}
	if err := t.init(usage); err != nil {
		return err
	}
	if t.kind == ReadOnly {
		return nil
	}
	isNew, err := t.e.state.RecordTransaction(t.id, t.trx.Expiration)
	if err == nil && !isNew {
		err = Duplicate(t.id)
	}
	return err
}

// initImplicit begins a transaction of the chain's own.
func (t *transaction) initImplicit() error {
	if len(t.trx.Extensions) > 0 {
		return t.noExtensions("no transaction extensions supported yet for implicit transactions")
	}
	t.published = t.e.block.time()
	return t.init(0)
}

// initDeferred begins one from the state, published then.
func (t *transaction) initDeferred(published types.TimePoint) error {
	if t.trx.Expiration != 0 && len(t.trx.Extensions) > 0 {
		return t.noExtensions("no transaction extensions supported yet for deferred transactions")
	}
	t.published = published
	t.trace.Scheduled = true
	t.applyContextFree = false
	return t.init(0)
}

func (t *transaction) noExtensions(message string) error {
	if t.e.speculative() {
		return exception.New(exception.SubjectiveBlockProduction, message)
	}
	return exception.New(exception.DisallowedTransactionExtensionsBadBlock, message)
}

// run executes the actions, or puts the transaction off (Leap:
// transaction_context::exec).
func (t *transaction) run() error {
	n := len(t.trx.Actions)
	if t.applyContextFree {
		n += len(t.trx.ContextFreeActions)
	}
	if cap(t.trace.ActionTraces) < 3*n {
		t.trace.ActionTraces = make([]types.ActionTrace, 0, 3*n)
	}
	if t.applyContextFree {
		for i := range t.trx.ContextFreeActions {
			act := &t.trx.ContextFreeActions[i]
			t.schedule(*act, act.Account, true, 0, 0)
		}
	}
	if t.delay == 0 {
		for i := range t.trx.Actions {
			act := &t.trx.Actions[i]
			t.schedule(*act, act.Account, false, 0, 0)
		}
	}
	for i := range uint32(len(t.trace.ActionTraces)) {
		if err := t.execute(i+1, 0); err != nil {
			return err
		}
	}
	if t.delay != 0 {
		return t.postpone()
	}
	return nil
}

// schedule adds an action's run on a receiver to the trace and returns its ordinal.
func (t *transaction) schedule(
	act types.Action, receiver types.Name, contextFree bool, creator, ancestor uint32,
) uint32 {
	ordinal := uint32(len(t.trace.ActionTraces)) + 1
	t.trace.ActionTraces = append(t.trace.ActionTraces, types.ActionTrace{
		Ordinal: ordinal, CreatorOrdinal: creator, ClosestUnnotifiedAncestorOrdinal: ancestor,
		Receiver: receiver, Action: act, ContextFree: contextFree,
		TransactionID: t.id, BlockNum: t.trace.BlockNum, BlockTime: t.trace.BlockTime,
		ProducerBlockID: t.trace.ProducerBlockID,
	})
	return ordinal
}

// execute runs a scheduled action with all that it causes.
func (t *transaction) execute(ordinal, depth uint32) error {
	for uint32(len(t.e.actions)) <= depth {
		t.e.actions = append(t.e.actions, newAction(t.e))
	}
	a := t.e.actions[depth]
	a.reset(t, ordinal, depth)
	if depth == 0 {
		if d := t.deepMind(); d != nil {
			d.InputAction()
		}
	}
	return a.run()
}

// finish bills the transaction (Leap: transaction_context::finalize).
func (t *transaction) finish() error {
	if t.kind == ReadOnly {
		t.roundNet()
		t.trace.Elapsed = t.timer.elapsedTime()
		return nil
	}
	if t.input {
		for i := range t.trx.Actions {
			for _, level := range t.trx.Actions[i].Authorization {
				if err := t.e.authority.UpdateUsage(level, t.e.block.time()); err != nil {
					return err
				}
			}
		}
	}
	for _, n := range t.verifyRAM {
		if err := t.e.resources.VerifyRAM(n); err != nil {
			return err
		}
	}
	if err := t.checkBill(); err != nil {
		return err
	}
	return t.e.billUsage(t.deepMind(), t.billTo, uint64(t.timer.cpu), t.trace.NetUsage, t.e.block.header.Timestamp)
}

// roundNet rounds the bytes up to words. The trace of a transaction that fails before
// has them as they are.
func (t *transaction) roundNet() { t.trace.NetUsage = (t.trace.NetUsage + 7) / 8 * 8 }

// checkBill settles what the transaction is billed, and checks that it can be paid.
func (t *transaction) checkBill() error {
	g, err := t.e.state.Global.Get()
	if err != nil {
		return err
	}
	t.trace.Elapsed = t.timer.elapsedTime()
	if t.e.skipChecks() {
		t.roundNet()
		t.timer.bill(&g.Configuration)
		return nil
	}
	net, cpu, err := t.canPay(false)
	if err != nil {
		return err
	}
	if uint64(net) <= t.netLimit {
		t.netLimit, t.netDueToBlock = uint64(net), false
	}
	if cpu <= t.timer.objective {
		t.timer.limitObjective(cpu, accountLimit)
	}
	t.roundNet()
	t.eagerNetLimit = t.netLimit
	if err := t.checkNet(); err != nil {
		return err
	}
	t.timer.bill(&g.Configuration)
	return t.timer.validate(&g.Configuration, t.timer.cpu, cpu, true)
}

// addNet counts network usage, in bytes.
func (t *transaction) addNet(n uint64) error {
	t.trace.NetUsage += n
	return t.checkNet()
}

func (t *transaction) checkNet() error {
	if t.trace.NetUsage <= t.eagerNetLimit || t.e.skipChecks() {
		return nil
	}
	kind, what := exception.TxNetUsageExceeded, "transaction net usage is too high"
	switch {
	case t.netDueToBlock:
		kind, what = exception.BlockNetUsageExceeded, "not enough space left in block"
	case t.netDueToGreylist:
		kind, what = exception.GreylistNetUsageExceeded, "greylisted transaction net usage is too high"
	}
	return exception.New(kind, what+": ${net_usage} > ${net_limit}",
		"net_usage", t.trace.NetUsage, "net_limit", t.eagerNetLimit)
}

// addRAM changes what an account uses; whether it may is checked at the end.
func (t *transaction) addRAM(account types.Name, delta int64) error {
	if err := t.memory.grow(delta); err != nil {
		return err
	}
	if err := t.e.chargeRAM(t.deepMind(), account, delta); err != nil {
		return err
	}
	if delta > 0 {
		t.verifyRAM = putName(t.verifyRAM, account)
	}
	return nil
}

// checkAccounts checks that what the transaction names exists (Leap:
// validate_referenced_accounts).
func (t *transaction) checkAccounts(trx *types.Transaction, lists bool) error {
	for i := range trx.ContextFreeActions {
		a := &trx.ContextFreeActions[i]
		if err := t.checkCodeAccount(a.Account); err != nil {
			return err
		}
		if len(a.Authorization) > 0 {
			return exception.New(exception.Transaction, "context-free actions cannot have authorizations")
		}
	}
	authorised := false
	var actors []types.Name
	for i := range trx.Actions {
		a := &trx.Actions[i]
		if err := t.checkCodeAccount(a.Account); err != nil {
			return err
		}
		if t.kind == ReadOnly && len(a.Authorization) > 0 {
			return exception.New(exception.Transaction, "read-only action '${name}' cannot have authorizations",
				"name", a.Name)
		}
		for _, level := range a.Authorization {
			authorised = true
			if err := t.e.checkLevel(level, exception.Transaction, "action"); err != nil {
				return err
			}
			if lists {
				actors = putName(actors, level.Actor)
			}
		}
	}
	if !authorised && t.kind != ReadOnly {
		return exception.New(exception.TxNoAuths, "transaction must have at least one authorization")
	}
	if lists {
		return checkActors(&t.e.policy.Lists, actors)
	}
	return nil
}

func (t *transaction) checkCodeAccount(n types.Name) error {
	a, err := t.e.state.Accounts.Get(n)
	if err == nil && a == nil {
		err = exception.New(exception.Transaction, "action's code account '${account}' does not exist", "account", n)
	}
	return err
}

// authorize checks the signatures of a transaction from outside.
func (t *transaction) authorize(keys []types.PublicKey) error {
	return t.e.authority.CheckAuthorization(t.trx.Actions, &authority.Check{
		Keys: keys, Delay: t.delay * 1_000_000, Checktime: t.checktime, Tolerant: t.kind == DryRun,
	})
}
