package evm

import (
	"math"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/holiman/uint256"
)

// affords tells whether an account has a value.
func affords(s vm.StateDB, account common.Address, value *uint256.Int) bool {
	return !s.GetBalance(account).Lt(value)
}

// canTransfer answers the machine before a call with a value, and before a creation.
//
// Today's machine looks at a creator's nonce right after this, and lets none create whose
// nonce is the last there is. In Opera the nonce of such a creator begins anew, like a
// sender's. So the machine sees another nonce, once.
func (b *Block) canTransfer(s vm.StateDB, from common.Address, value *uint256.Int) bool {
	if !affords(s, from, value) {
		return false
	}
	if s.GetNonce(from) == math.MaxUint64 {
		b.machine.StateDB = lastNonce{s, b.machine}
	}
	return true
}

// lastNonce is a state whose next answer about a nonce is 0. Before a creation the machine asks
// for the creator's nonce next, before a call for a snapshot; after either it has its own state
// back.
type lastNonce struct {
	vm.StateDB
	machine *vm.EVM
}

// GetNonce implements vm.StateDB.
func (n lastNonce) GetNonce(common.Address) uint64 {
	n.machine.StateDB = n.StateDB
	return 0
}

// Snapshot implements vm.StateDB.
func (n lastNonce) Snapshot() int {
	n.machine.StateDB = n.StateDB
	return n.StateDB.Snapshot()
}
