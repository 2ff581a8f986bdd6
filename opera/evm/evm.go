// Package evm executes Opera's transactions over go-ethereum's core/vm: what a
// transaction pays and gets back, in which order, which transactions are left out of a
// block, what the driver may write into the state, and the receipts of all that.
//
// It owns the rules of go-opera v1.1.3-rc.5 (evmcore, opera/contracts/evmwriter) on top
// of Ethereum's up to London. It never holds a state or knows how one is kept, recovers
// no signature, computes no root, and reads nothing but what its caller gives it.
//
// A Block is used by one goroutine. Blocks of different states may run beside each
// other, also when they share Analyses.
package evm

import (
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
)

// State is the state that a block changes: go-ethereum's own interface, and what it
// leaves out.
//
// It is called so: SetTxContext and Prepare begin a transaction, the machine changes the
// state, TxLogs is read, and Finalise ends the transaction: accounts that destructed
// themselves and touched accounts that are empty are deleted, the refund counter is zero
// again, what was changed is what the next transaction calls committed. A transaction
// that is left out of the block only reads, and gets none of these calls.
//
// Two things differ from go-ethereum's own state of today:
//
//   - CreateContract begins a contract anew: no slot of before is there any more, also
//     for GetStateAndCommittedState, until a RevertToSnapshot takes that back. The
//     balance stays. (The go-ethereum that Opera uses does it so in CreateAccount. Only
//     an account with storage and neither code nor nonce shows the difference.)
//   - An account that was deleted earlier in the block, and that comes back by nothing
//     but SubBalance of zero or SetState of what is there, counts as not touched: it
//     stays, empty as it is. (So it is with a second object of one address in the state
//     of that go-ethereum. Only EvmWriter can do it.)
type State interface {
	vm.StateDB

	// TxLogs returns the logs since SetTxContext that were not reverted, in order. They
	// are the caller's, and so is the slice.
	TxLogs() []*types.Log

	// Error returns the first error that a read met. The interface of go-ethereum has
	// no room for it at the read; nothing that came after it counts.
	Error() error
}
