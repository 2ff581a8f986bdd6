// Package deepmind writes the log from which indexers learn, line by line, all that
// happens inside transactions (Leap: deep_mind.cpp, format 13.0). It owns the form
// of the lines ([Logger]) and the list of what the chain has to tell ([Tracer]).
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

	StartBlock(num uint32)
	// AcceptedBlock comes after a block became the head. valid is what the fork
	// database says of it: true but for irreversible blocks of a replay.
	AcceptedBlock(b *consensus.BlockState, valid bool)
	SwitchForks(from, to types.Checksum256)

	StartTransaction()
	EndTransaction()
	// Onblock comes before the trace of a transaction whose first action is onblock
	// of the system account; signed is nil for the chain's own. OnError comes when
	// the handler of a failed deferred transaction begins.
	Onblock(t *types.Transaction, signed *types.PackedTransaction)
	OnError(t *types.Transaction)
	AppliedTransaction(block uint32, t *types.TransactionTrace)

	// InputAction to SendContextFreeInline tell where actions come from; EndAction,
	// that the present one is done, notifications and inline ones apart.
	InputAction()
	EndAction()
	RequireRecipient()
	SendInline()
	SendContextFreeInline()

	// CreateDeferred tells of a deferred transaction that is now kept: operation is
	// CREATE or MODIFY_CREATE from a contract, PUSH_CREATE for a delayed one that a
	// user signed; only the last has signed.
	CreateDeferred(operation string, d *state.Deferred, signed *types.PackedTransaction)
	// CancelDeferred: operation is CANCEL or MODIFY_CANCEL.
	CancelDeferred(operation string, d *state.Deferred)
	FailDeferred()

	// RAMEvent says what the next RAMUsage or RAMCorrection is for.
	RAMEvent(id, family, operation, legacyTag string)
	// RAMUsage tells how many bytes an account uses after a change.
	RAMUsage(account types.Name, usage uint64, delta int64)
	RAMCorrection(r *state.RAMCorrection, delta uint64)

	CreateTable(k state.TableKey, payer types.Name)
	RemoveTable(k state.TableKey, payer types.Name)
	StoreRow(k state.RowKey, payer types.Name, value []byte)
	UpdateRow(k state.RowKey, oldPayer, payer types.Name, old, value []byte)
	RemoveRow(k state.RowKey, payer types.Name, value []byte)

	PreactivateFeature(f *feature.Feature)
	ActivateFeature(f *feature.Feature)

	InitResourceLimits(c *state.ResourceConfig, s *state.ResourceState)
	UpdateResourceConfig(c *state.ResourceConfig)
	UpdateResourceState(s *state.ResourceState)
	NewAccountLimits(l *state.ResourceLimits, u *state.ResourceUsage)
	UpdateAccountUsage(u *state.ResourceUsage)
	SetAccountLimits(l *state.ResourceLimits)

	// Permissions come with the id of their parent, 0 for none.
	CreatePermission(p *state.Permission, parent uint64)
	ModifyPermission(old, changed *state.Permission, parent uint64)
	RemovePermission(p *state.Permission, parent uint64)
}

var _ Tracer = (*Logger)(nil)
