package state

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// undo takes one change of the present transaction back.
type undo struct {
	kind    undoKind
	object  *object // whose change it is; nil for what is no account's
	was     *object
	slot    common.Hash
	hash    common.Hash
	number  uint64
	balance uint256.Int
	code    []byte
	address common.Address
}

type undoKind uint8

const (
	undoObject undoKind = iota
	undoBalance
	undoNonce
	undoCode
	undoSlot
	undoTouch
	undoDestruct
	undoRefund
	undoLog
	undoWarm
	undoWarmSlot
	undoTransient
)

// note records a change before it is made.
func (b *Block) note(u undo) {
	b.journal = append(b.journal, u)
	if o := u.object; o != nil {
		o.changes++
		if !o.listed {
			o.listed = true
			b.touched = append(b.touched, o)
		}
	}
}

// Snapshot implements vm.StateDB.
func (b *Block) Snapshot() int { return len(b.journal) }

// RevertToSnapshot implements vm.StateDB.
func (b *Block) RevertToSnapshot(to int) {
	for i := len(b.journal) - 1; i >= to; i-- {
		u := &b.journal[i]
		if u.object != nil {
			u.object.changes--
		}
		b.undo(u)
		*u = undo{}
	}
	b.journal = b.journal[:min(to, len(b.journal))]
}

func (b *Block) undo(u *undo) {
	switch o := u.object; u.kind {
	case undoObject:
		b.objects[u.was.address] = u.was
	case undoBalance:
		o.account.Balance = u.balance
	case undoNonce:
		o.account.Nonce = u.number
	case undoCode:
		o.account.Code, o.code = u.hash, u.code
	case undoSlot:
		o.dirty[u.slot] = u.hash
	case undoDestruct:
		o.account.Balance, o.destructed = u.balance, u.number != 0
	case undoRefund:
		b.refund = u.number
	case undoLog:
		b.logs = b.logs[:len(b.logs)-1]
	case undoWarm:
		delete(b.warm, u.address)
	case undoWarmSlot:
		delete(b.warmSlots, slotOf{u.address, u.slot})
	case undoTransient:
		b.transient[slotOf{u.address, u.slot}] = u.hash
	case undoTouch: // only that it was counted
	}
}

// Prepare implements vm.StateDB: the list of what is warm begins anew, with Berlin's rules with what a
// transaction has warm from its start.
func (b *Block) Prepare(
	rules params.Rules, sender, coinbase common.Address, to *common.Address, precompiles []common.Address,
	list types.AccessList,
) {
	clear(b.transient)
	clear(b.warm)
	clear(b.warmSlots)
	if !rules.IsEIP2929 {
		return
	}
	b.warm[sender] = struct{}{}
	if to != nil {
		b.warm[*to] = struct{}{}
	}
	for _, address := range precompiles {
		b.warm[address] = struct{}{}
	}
	for _, entry := range list {
		b.warm[entry.Address] = struct{}{}
		for _, slot := range entry.StorageKeys {
			b.warmSlots[slotOf{entry.Address, slot}] = struct{}{}
		}
	}
	if rules.IsShanghai {
		b.warm[coinbase] = struct{}{}
	}
}

// AddressInAccessList implements vm.StateDB.
func (b *Block) AddressInAccessList(address common.Address) bool {
	_, ok := b.warm[address]
	return ok
}

// SlotInAccessList implements vm.StateDB.
func (b *Block) SlotInAccessList(address common.Address, slot common.Hash) (addressOk, slotOk bool) {
	_, slotOk = b.warmSlots[slotOf{address, slot}]
	return b.AddressInAccessList(address), slotOk
}

// AddAddressToAccessList implements vm.StateDB.
func (b *Block) AddAddressToAccessList(address common.Address) {
	if !b.AddressInAccessList(address) {
		b.note(undo{kind: undoWarm, address: address})
		b.warm[address] = struct{}{}
	}
}

// AddSlotToAccessList implements vm.StateDB.
func (b *Block) AddSlotToAccessList(address common.Address, slot common.Hash) {
	b.AddAddressToAccessList(address)
	at := slotOf{address, slot}
	if _, ok := b.warmSlots[at]; !ok {
		b.note(undo{kind: undoWarmSlot, address: address, slot: slot})
		b.warmSlots[at] = struct{}{}
	}
}

// GetTransientState implements vm.StateDB.
func (b *Block) GetTransientState(address common.Address, key common.Hash) common.Hash {
	return b.transient[slotOf{address, key}]
}

// SetTransientState implements vm.StateDB.
func (b *Block) SetTransientState(address common.Address, key, value common.Hash) {
	at := slotOf{address, key}
	if was := b.transient[at]; was != value {
		b.note(undo{kind: undoTransient, address: address, slot: key, hash: was})
		b.transient[at] = value
	}
}
