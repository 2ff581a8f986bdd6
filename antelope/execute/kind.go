package execute

import "tarn/antelope/types"

// Kind is what a transaction is executed as.
type Kind uint8

// The kinds (Leap: transaction_metadata::trx_type).
const (
	Input     Kind = iota // signed, from outside
	Implicit              // the chain's own: onblock, onerror
	Scheduled             // deferred, from the state
	DryRun                // undone at the end; may have too few signatures
	ReadOnly              // changes nothing
	Rehearsed             // an Input that is executed before its turn, and undone at the end
)

// Transient tells whether nothing of a transaction of this kind stays.
func (k Kind) Transient() bool { return k == DryRun || k == ReadOnly || k == Rehearsed }

// TransactionOptions say how a transaction from outside is executed.
type TransactionOptions struct {
	Kind         Kind // Input, DryRun or ReadOnly
	API          bool // it came from a client of this node, not from a peer
	FailureTrace bool // a failure's trace is the answer; else the failure is an error
	Lent         bool // whoever gets the answer looks at the trace only until it returns
}

// Lists are whom a producer serves, and what it does not execute. They count only
// in blocks that this node makes. An empty whitelist lets all pass.
type Lists struct {
	ActorWhitelist, ActorBlacklist       map[types.Name]bool
	ContractWhitelist, ContractBlacklist map[types.Name]bool
	ActionBlacklist                      map[ActionName]bool
	KeyBlacklist                         map[types.PublicKey]bool
	SenderBypass                         map[types.Name]bool // of deferred transactions
}

// ActionName names an action of a contract.
type ActionName struct{ Account, Name types.Name }
