// Package deepmind writes the log from which indexers learn, line by line, all that
// happens inside transactions (Leap: deep_mind.cpp, format 13.0; Spring's differs in two
// lines, [Options]). It owns the form of the lines ([Logger]) and the list of what the chain
// has to tell ([Tracer]).
//
// It never decides when something is told, and keeps nothing but the number of the
// present action and what the next change of RAM is for.
package deepmind

import (
	"iter"

	"tarn/antelope/consensus"
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// Tracer is told what happens, in its order, on one goroutine. Of transient
// transactions (dry runs, read-only ones) it is told nothing. What it is given it
// neither changes nor keeps.
type Tracer interface {
	// Startup comes first: the head, the number of actions so far, and the accounts
	// with an ABI, in the order in which they were created.
	Startup(head uint32, actions uint64, abis iter.Seq2[types.Name, []byte])

	// StartBlock comes before anything else of a block; num is the block's number.
	StartBlock(num uint32)
	// AcceptedBlock comes after a block became the head. valid is what the fork
	// database says of it: true but for irreversible blocks of a replay. actions is the root of
	// what the block did, by Savanna's rules; zero before these may begin, unless the chain was
	// asked for it.
	AcceptedBlock(b *consensus.BlockState, valid bool, actions types.Checksum256)
	// SwitchForks comes before blocks of one branch are undone and those of another applied;
	// from and to are the ids of the old head and of the new one.
	SwitchForks(from, to types.Checksum256)

	// StartTransaction begins a transaction. Its first action has the number 0.
	StartTransaction()
	// EndTransaction ends the transaction that was begun last, whether it succeeded or not.
	EndTransaction()
	// Onblock comes before the trace of a transaction whose first action is onblock
	// of the system account; signed is nil for the chain's own.
	Onblock(t *types.Transaction, signed *types.PackedTransaction)
	// OnError comes when the handler of a failed deferred transaction begins; t is the
	// handler's transaction.
	OnError(t *types.Transaction)
	// AppliedTransaction tells the trace of a transaction, also of one that failed, and the
	// number of the block under way.
	AppliedTransaction(block uint32, t *types.TransactionTrace)

	// InputAction tells that an action of the transaction itself begins.
	InputAction()
	// EndAction says that the receiver's code has run. Notifications and inline actions of
	// the action run after it, each with an EndAction of its own.
	EndAction()
	// RequireRecipient tells that the present action notifies an account, for the first time.
	RequireRecipient()
	// SendInline tells that the present action sends an inline action.
	SendInline()
	// SendContextFreeInline tells that the present action sends a context-free inline action.
	SendContextFreeInline()

	// CreateDeferred tells of a deferred transaction that is now kept: operation is
	// CREATE or MODIFY_CREATE from a contract, PUSH_CREATE for a delayed one that a
	// user signed; only the last has signed.
	CreateDeferred(operation string, d *state.Deferred, signed *types.PackedTransaction)
	// CancelDeferred: operation is CANCEL or MODIFY_CANCEL.
	CancelDeferred(operation string, d *state.Deferred)
	// FailDeferred tells that the deferred transaction under way has failed. Its changes are
	// undone after that, and a handler of the error may run then.
	FailDeferred()

	// RAMEvent says what the next RAMUsage or RAMCorrection is for.
	RAMEvent(id, family, operation, legacyTag string)
	// RAMUsage tells how many bytes an account uses after a change.
	RAMUsage(account types.Name, usage uint64, delta int64)
	// RAMCorrection tells that delta bytes were added to an account's correction; r is the
	// row after that.
	RAMCorrection(r *state.RAMCorrection, delta uint64)

	// CreateTable tells of a contract's table that gets its first row; payer pays for it.
	CreateTable(k state.TableKey, payer types.Name)
	// RemoveTable tells of a contract's table that has lost its last row.
	RemoveTable(k state.TableKey, payer types.Name)
	// StoreRow tells of a new row of a contract's primary table.
	StoreRow(k state.RowKey, payer types.Name, value []byte)
	// UpdateRow tells of a row's payer and value before the change, and after it.
	UpdateRow(k state.RowKey, oldPayer, payer types.Name, old, value []byte)
	// RemoveRow tells of a row that goes, with the payer and the value that it had.
	RemoveRow(k state.RowKey, payer types.Name, value []byte)

	// PreactivateFeature tells that the present action preactivates a protocol feature.
	PreactivateFeature(f *feature.Feature)
	// ActivateFeature tells that a block activates a protocol feature. Before Startup it comes
	// once for each feature that is active already.
	ActivateFeature(f *feature.Feature)

	// InitResourceLimits tells the first resource rows of a chain that begins at its genesis.
	InitResourceLimits(c *state.ResourceConfig, s *state.ResourceState)
	// UpdateResourceConfig tells the limits of blocks at a block's end, if they have changed.
	UpdateResourceConfig(c *state.ResourceConfig)
	// UpdateResourceState comes twice at a block's end: with the new sums of what accounts
	// may use, and with what the block itself has used.
	UpdateResourceState(s *state.ResourceState)
	// NewAccountLimits tells the resource rows of a new account.
	NewAccountLimits(l *state.ResourceLimits, u *state.ResourceUsage)
	// UpdateAccountUsage tells what an account has used after a transaction was billed to it.
	UpdateAccountUsage(u *state.ResourceUsage)
	// SetAccountLimits tells the limits of an account that count from the block's end on.
	SetAccountLimits(l *state.ResourceLimits)

	// CreatePermission tells of a new permission, with the id of its parent, 0 for none.
	CreatePermission(p *state.Permission, parent uint64)
	// ModifyPermission tells a permission before the change, and after it; the parent stays.
	ModifyPermission(old, changed *state.Permission, parent uint64)
	// RemovePermission tells of a permission that goes, as it was.
	RemovePermission(p *state.Permission, parent uint64)
}

var _ Tracer = (*Logger)(nil)
