package execute

import (
	"errors"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
	"tarn/antelope/wasm/intrinsic"
)

// action is one action with the notifications that it causes (Leap:
// apply_context). What its contracts' host functions ask is answered by the parts that
// newAction names. The executor keeps one for each depth of inline actions and uses it again.
type action struct {
	e     *Executor
	trx   *transaction
	depth uint32

	ordinal      uint32 // of the receiver that runs
	firstOrdinal uint32 // of the action itself
	receiver     types.Name
	act          *types.Action
	contextFree  bool
	privileged   bool

	notified    []notification
	ramDeltas   []types.AccountDelta
	console     []byte
	returnValue []byte

	shared   types.Checksum256 // digest without a return value
	digested bool

	rows    rows
	indices indices
	sender  sender
	env     intrinsic.Apply
}

// newAction returns an action that is to be reset. Each interface of [intrinsic.Context] is
// answered in a file of its own.
func newAction(e *Executor) *action {
	a := &action{e: e}
	a.rows, a.indices = rows{action: a, tables: tables{a}}, indices{action: a, tables: tables{a}}
	a.sender = sender{action: a}
	a.env.Chain = intrinsic.Context{
		Authorizer:   a,
		Primary:      &a.rows,
		Secondary:    &a.indices,
		Sender:       &a.sender,
		Permissions:  permissions{a},
		Privileges:   privileges{a},
		Surroundings: surroundings{a},
	}
	return a
}

type notification struct {
	receiver types.Name
	ordinal  uint32
}

func (a *action) reset(t *transaction, ordinal, depth uint32) {
	at := &t.trace.ActionTraces[ordinal-1]
	a.trx, a.depth = t, depth
	a.ordinal, a.firstOrdinal = ordinal, ordinal
	a.receiver, a.act, a.contextFree = at.Receiver, &at.Action, at.ContextFree
	a.privileged, a.digested = false, false
	a.notified = append(a.notified[:0], notification{at.Receiver, ordinal})
	a.sender.inline, a.sender.contextFree = a.sender.inline[:0], a.sender.contextFree[:0]
	a.ramDeltas, a.console, a.returnValue = nil, nil, nil
	a.rows.cache.reset()
	for i := range a.indices.caches {
		a.indices.caches[i].reset()
	}
}

// run executes the action, its notifications, and then the inline actions of all,
// context-free ones first (Leap: apply_context::exec).
func (a *action) run() error {
	for i := 0; i < len(a.notified); i++ {
		a.receiver, a.ordinal = a.notified[i].receiver, a.notified[i].ordinal
		if err := a.runOne(); err != nil {
			return err
		}
	}
	if len(a.sender.contextFree)+len(a.sender.inline) == 0 {
		return nil
	}
	g, err := a.e.state.Global.Get()
	if err != nil {
		return err
	}
	if a.depth >= uint32(g.Configuration.MaxInlineActionDepth) {
		return exception.New(exception.Transaction, "max inline action depth per transaction reached")
	}
	for _, list := range [2][]uint32{a.sender.contextFree, a.sender.inline} {
		for _, ordinal := range list {
			if err := a.trx.execute(ordinal, a.depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// runOne executes the action on one receiver (Leap: apply_context::exec_one).
func (a *action) runOne() error {
	start := a.e.now()
	err := a.trx.checktime() // receivers without code take time, too
	var digest types.Checksum256
	if err == nil {
		digest, err = a.runReceiver()
	}
	if err != nil {
		err = a.withConsole(err)
		trace := a.trace()
		trace.Except, trace.ErrorCode = splitError(err)
		a.finishTrace(trace, start)
		return err
	}
	trace := a.trace()
	trace.ReturnValue, a.returnValue = a.returnValue, nil
	if trace.Receipt, err = a.receipt(digest); err != nil {
		return err
	}
	if a.e.block.hasher != nil {
		a.trx.jobs = append(a.trx.jobs, receiptJob{
			*trace.Receipt, *a.act, trace.ReturnValue, a.e.active(feature.ActionReturnValue),
			a.ordinal != a.firstOrdinal,
		})
	} else {
		a.trx.leaves.add(a.e.block.kinds, trace.Receipt, a.act)
	}
	a.finishTrace(trace, start)
	if d := a.deepMind(); d != nil {
		d.EndAction()
	}
	return nil
}

// noted is an error whose exception has a note more.
type noted struct {
	error
	exception *exception.Error
}

// Unwrap lets the exception with the note be found first.
func (n noted) Unwrap() []error { return []error{n.exception, n.error} }

// withConsole adds to a failure where it happened and what had been printed, which
// clients show.
func (a *action) withConsole(err error) error {
	return note(err, "${receiver} <= ${account}::${action} pending console output: ${console}",
		"console", string(a.console), "account", a.act.Account, "action", a.act.Name, "receiver", a.receiver)
}

// note adds a note to the exception in an error.
func note(err error, format string, values ...any) error {
	e := exception.Of(err)
	if e == nil {
		return err
	}
	return noted{err, e.With(format, values...)}
}

func (a *action) trace() *types.ActionTrace { return &a.trx.trace.ActionTraces[a.ordinal-1] }

func (a *action) finishTrace(t *types.ActionTrace, start time.Time) {
	t.AccountRAMDeltas, a.ramDeltas = a.ramDeltas, nil
	t.Console, a.console = string(a.console), a.console[:0]
	t.Elapsed = a.e.now().Sub(start).Microseconds()
}

// runReceiver runs native code and contract of the receiver, and returns the
// digest of the action.
func (a *action) runReceiver() (digest types.Checksum256, err error) {
	a.returnValue = nil
	account, err := a.e.metadata(a.receiver)
	if err != nil {
		return digest, err
	}
	if !a.contextFree || !a.e.skipChecks() {
		a.privileged = account.Privileged()
		if native := a.e.native(a.receiver, a.act.Account, a.act.Name); native != nil {
			if err := a.checkLists(); err != nil {
				return digest, err
			}
			if err := native(system{a}); err != nil {
				return digest, err
			}
			// It may have been edited, or read anew.
			if account, err = a.e.metadata(a.receiver); err != nil {
				return digest, err
			}
		}
		if err := a.runCode(account); err != nil {
			return digest, err
		}
		if err := a.checkRAMDeltas(); err != nil {
			return digest, err
		}
	}
	if err := a.trx.memory.take(int64(len(a.returnValue))); err != nil {
		return digest, err
	}
	return a.digest(), nil
}

// digest is that of the action, and of its return value once that counts. Most
// receivers return nothing, and share it. It is zero if a hasher computes it.
func (a *action) digest() types.Checksum256 {
	if a.e.block.hasher != nil {
		return types.Checksum256{}
	}
	returns := a.e.active(feature.ActionReturnValue)
	switch {
	case returns && len(a.returnValue) > 0:
		return a.act.DigestWithReturn(a.returnValue)
	case a.digested:
	case returns:
		a.shared, a.digested = a.act.DigestWithReturn(nil), true
	default:
		a.shared, a.digested = a.act.Digest(), true
	}
	return a.shared
}

// checkLists applies this node's white- and blacklists while it produces.
func (a *action) checkLists() error {
	if !a.trx.enforceLists || !a.e.speculative() {
		return nil
	}
	if err := checkContract(&a.e.policy.Lists, a.receiver); err != nil {
		return err
	}
	return checkAction(&a.e.policy.Lists, a.act.Account, a.act.Name)
}

func (a *action) runCode(account *state.AccountMetadata) error {
	if account.CodeHash.IsZero() {
		return nil
	}
	if a.act.Account == nameEosio && a.act.Name == nameSetcode && a.receiver == nameEosio &&
		!a.e.active(feature.ForwardSetcode) {
		return nil
	}
	if err := a.checkLists(); err != nil {
		return err
	}
	limits, err := a.e.wasmLimits()
	if err != nil {
		return err
	}
	key := state.CodeKey{Hash: account.CodeHash, VMType: account.VMType, VMVersion: account.VMVersion}
	a.trx.codeKey = key
	code := wasm.Code{Hash: account.CodeHash, Limits: limits, Load: a.trx.loadCode, Compiling: a.trx.compiling}
	a.env.Receiver, a.env.Privileged = a.receiver, a.privileged
	a.env.ContextFree, a.env.ReadOnly = a.contextFree, a.trx.kind == ReadOnly
	a.env.Speculative, a.env.Console = a.e.speculative(), a.e.opt.Console
	a.env.Data = a.act.Data
	return a.e.machine.Apply(&a.env, code, uint64(a.receiver), uint64(a.act.Account), uint64(a.act.Name),
		a.trx.checktime)
}

// checkRAMDeltas keeps unprivileged contracts from charging others
// (RAM_RESTRICTIONS).
func (a *action) checkRAMDeltas() error {
	if a.privileged || !a.e.active(feature.RAMRestrictions) {
		return nil
	}
	for i, d := range a.ramDeltas {
		if i%10 == 9 {
			if err := a.trx.checktime(); err != nil {
				return err
			}
		}
		if d.Delta <= 0 || d.Account == a.receiver {
			continue
		}
		if a.receiver != a.act.Account {
			return exception.New(exception.UnauthorizedRAMUsageIncrease,
				"unprivileged contract cannot increase RAM usage of another account within a notify "+
					"context: ${account}", "account", d.Account)
		}
		if !a.HasAuth(d.Account) {
			return exception.New(exception.UnauthorizedRAMUsageIncrease,
				"unprivileged contract cannot increase RAM usage of another account that has not authorized the "+
					"action: ${account}", "account", d.Account)
		}
	}
	return nil
}

// receipt counts the action in the sequences and says so.
func (a *action) receipt(digest types.Checksum256) (*types.ActionReceipt, error) {
	a.trx.receipts = append(a.trx.receipts, types.ActionReceipt{Receiver: a.receiver, ActDigest: digest})
	r := &a.trx.receipts[len(a.trx.receipts)-1]
	counted := a.trx.kind != ReadOnly // a read-only transaction's are 0
	if counted {
		g, err := a.e.state.Dynamic.Edit()
		if err != nil {
			return nil, err
		}
		g.ActionSequence++
		r.GlobalSequence = g.ActionSequence
		m, err := a.e.state.Metadata.Edit(a.receiver)
		if err != nil {
			return nil, err
		}
		m.RecvSequence++
		r.RecvSequence = m.RecvSequence
	}
	first, err := a.e.metadata(a.act.Account)
	if err != nil {
		return nil, err
	}
	r.CodeSequence, r.ABISequence = uint32(first.CodeSequence), uint32(first.ABISequence)
	if n := len(a.act.Authorization); n > 0 {
		r.AuthSequence = a.e.roomForSequences(n)
	}
	for _, level := range a.act.Authorization {
		m, err := a.e.editMetadata(level.Actor)
		if err != nil {
			return nil, err
		}
		m.AuthSequence++
		r.AuthSequence = putSequence(r.AuthSequence, level.Actor, m.AuthSequence)
	}
	return r, nil
}

// putSequence sets an account's entry in a list that is ascending by account.
func putSequence(list []types.AuthSequence, n types.Name, seq uint64) []types.AuthSequence {
	i := len(list)
	for i > 0 && list[i-1].Account >= n {
		i--
	}
	if i < len(list) && list[i].Account == n {
		list[i].Sequence = seq
		return list
	}
	list = append(list, types.AuthSequence{})
	copy(list[i+1:], list[i:])
	list[i] = types.AuthSequence{Account: n, Sequence: seq}
	return list
}

// addRAM charges an account for bytes, or refunds it (Leap:
// apply_context::add_ram_usage).
func (a *action) addRAM(account types.Name, delta int64) error {
	if err := a.trx.addRAM(account, delta); err != nil {
		return err
	}
	i := len(a.ramDeltas)
	for i > 0 && a.ramDeltas[i-1].Account >= account {
		i--
	}
	if i < len(a.ramDeltas) && a.ramDeltas[i].Account == account {
		a.ramDeltas[i].Delta += delta
		return nil
	}
	a.ramDeltas = append(a.ramDeltas, types.AccountDelta{})
	copy(a.ramDeltas[i+1:], a.ramDeltas[i:])
	a.ramDeltas[i] = types.AccountDelta{Account: account, Delta: delta}
	return nil
}

// chargeRow charges for a contract's rows, which is allowed less than charging in
// general (Leap: apply_context::update_db_usage).
func (a *action) chargeRow(payer types.Name, delta int64) error {
	if delta > 0 && !a.privileged && payer != a.receiver && !a.e.active(feature.RAMRestrictions) {
		if !a.e.ramBillingInNotifyAllowed() && a.receiver != a.act.Account {
			return exception.New(exception.SubjectiveBlockProduction,
				"Cannot charge RAM to other accounts during notify.")
		}
		if err := a.RequireAuth(payer); err != nil {
			return err
		}
	}
	return a.addRAM(payer, delta)
}

// schedule adds an action to the transaction, created by this one, that takes so many
// bytes by itself.
func (a *action) schedule(act types.Action, receiver types.Name, contextFree bool, size int) (uint32, error) {
	if err := a.trx.memory.take(int64(size) + traceRoom); err != nil {
		return 0, err
	}
	return a.trx.schedule(act, receiver, contextFree, a.ordinal, a.firstOrdinal), nil
}

// splitError splits an error of an action into what its trace shows. Errors that are
// no exceptions end the node's work, and no trace shows them.
func splitError(err error) (*exception.Error, *uint64) {
	e := exception.Of(err)
	if e == nil {
		return nil, nil
	}
	var coded *intrinsic.CodedError
	switch {
	case errors.As(err, &coded):
		return e, &coded.Code
	case e.Kind.Is(exception.ChainException):
		return e, new(intrinsic.GenericErrorCode)
	}
	return e, nil
}
