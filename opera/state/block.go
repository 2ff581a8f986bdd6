package state

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/stateless"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// Block is the state while a block's transactions change it, or those of a call that
// leaves nothing: a source, and above it what was changed. It is go-ethereum's
// vm.StateDB with the behaviour that go-opera's fork of 1.10.8 has where the two differ:
//
//   - a contract's creation makes the account anew: balance kept, storage gone;
//   - SelfDestruct takes the balance.
//
// One goroutine at a time may use it. Methods of vm.StateDB return no errors: when the
// source fails they answer as if there were nothing, and [Block.Error] says so; a block
// or call with an error must be thrown away.
//
// It has many methods because vm.StateDB asks for most of them.
type Block struct {
	source  Source
	hashes  *Hashes
	objects map[common.Address]*object
	journal []undo
	touched []*object // changed in the present transaction, some of them taken back since
	err     error

	refund    uint64
	warm      map[common.Address]struct{}
	warmSlots map[slotOf]struct{}
	transient map[slotOf]common.Hash

	tx      common.Hash
	txIndex int
	logs    []*types.Log // of the present transaction
}

var _ vm.StateDB = (*Block)(nil)

// ErrBalance is the error of a block that gives an account more than there can be of any coin.
// Only a network whose driver writes such balances has one.
var ErrBalance = errors.New(
	"a balance of 2^256 or more, which this node cannot hold and go-opera can: the network's driver " +
		"(EvmWriter.setBalance) must not make one")

type slotOf struct {
	address common.Address
	slot    common.Hash
}

// NewBlock returns the state of a source, unchanged as yet. The source must stay as it is
// until Finish.
func NewBlock(source Source) *Block {
	return &Block{
		source:    source,
		objects:   map[common.Address]*object{},
		warm:      map[common.Address]struct{}{},
		warmSlots: map[slotOf]struct{}{},
		transient: map[slotOf]common.Hash{},
	}
}

// Remember has hashes taken from those that are remembered, and remembered. It returns b.
func (b *Block) Remember(h *Hashes) *Block {
	b.hashes = h
	return b
}

// Error returns the source's first error.
func (b *Block) Error() error { return b.err }

func (b *Block) fail(err error) {
	if b.err == nil && err != nil {
		b.err = err
	}
}

// load returns what is known of an address, be there an account or not.
func (b *Block) load(address common.Address) *object {
	if o := b.objects[address]; o != nil {
		return o
	}
	o := &object{origin: &origin{address: address, hash: b.hashes.address(address)}}
	before, err := b.source.Account(o.hash)
	b.fail(err)
	if before != nil {
		o.before, o.account = before, *before
		o.account.Address = address
	} else {
		o.gone = true
	}
	b.objects[address] = o
	return o
}

// find returns an account, nil if there is none.
func (b *Block) find(address common.Address) *object {
	if o := b.load(address); !o.gone {
		return o
	}
	return nil
}

// have returns an account, made if need be.
func (b *Block) have(address common.Address) *object {
	if o := b.find(address); o != nil {
		return o
	}
	return b.create(address)
}

// create puts a new account at an address, with the balance of one that is there, and
// without the storage of any before. That an account comes back which this block deleted
// is no change that Finalise looks at: if nothing else touches it, it stays, empty as it
// is. In go-opera's state it is a second object of its address.
func (b *Block) create(address common.Address) *object {
	was := b.load(address)
	o := &object{origin: was.origin, wiped: true, account: Account{Code: emptyCode, Address: address}}
	if !was.gone {
		o.account.Balance = was.account.Balance
	}
	u := undo{kind: undoObject, object: o, was: was}
	if was.gone && was.wiped { // by this block
		u.object = nil
	}
	b.note(u)
	b.objects[address] = o
	return o
}

// CreateAccount implements vm.StateDB.
func (b *Block) CreateAccount(address common.Address) { b.create(address) }

// CreateContract implements vm.StateDB.
func (b *Block) CreateContract(address common.Address) { b.create(address).created = true }

// SubBalance implements vm.StateDB. The reason is for tracers.
func (b *Block) SubBalance(address common.Address, amount *uint256.Int, _ tracing.BalanceChangeReason) uint256.Int {
	o := b.have(address)
	was := o.account.Balance
	if !amount.IsZero() {
		b.note(undo{kind: undoBalance, object: o, balance: was})
		o.account.Balance.Sub(&was, amount)
	}
	return was
}

// AddBalance implements vm.StateDB. Adding nothing to an empty account lets Finalise
// remove it. A sum of 2^256 or more, which go-opera's state holds and this one cannot, is an
// error of the block: it must not begin anew from nothing.
func (b *Block) AddBalance(address common.Address, amount *uint256.Int, _ tracing.BalanceChangeReason) uint256.Int {
	o := b.have(address)
	was := o.account.Balance
	if !amount.IsZero() {
		b.note(undo{kind: undoBalance, object: o, balance: was})
		if _, over := o.account.Balance.AddOverflow(&was, amount); over {
			b.fail(fmt.Errorf("add %v to the balance of %v, which is %v: %w", amount, address, &was, ErrBalance))
		}
	} else if o.empty() {
		b.touch(o)
	}
	return was
}

// ripemd is the one account for which a touch counts although it was taken back: go-opera
// has this from Ethereum's past.
var ripemd = common.BytesToAddress([]byte{3})

func (b *Block) touch(o *object) {
	b.note(undo{kind: undoTouch, object: o})
	if o.address == ripemd {
		o.changes++
	}
}

// GetBalance implements vm.StateDB.
func (b *Block) GetBalance(address common.Address) *uint256.Int {
	if o := b.find(address); o != nil {
		return o.account.Balance.Clone()
	}
	return new(uint256.Int)
}

// GetNonce implements vm.StateDB.
func (b *Block) GetNonce(address common.Address) uint64 {
	if o := b.find(address); o != nil {
		return o.account.Nonce
	}
	return 0
}

// SetNonce implements vm.StateDB. The reason is for tracers.
func (b *Block) SetNonce(address common.Address, nonce uint64, _ tracing.NonceChangeReason) {
	o := b.have(address)
	b.note(undo{kind: undoNonce, object: o, number: o.account.Nonce})
	o.account.Nonce = nonce
}

// GetCodeHash implements vm.StateDB: zero where there is no account.
func (b *Block) GetCodeHash(address common.Address) common.Hash {
	if o := b.find(address); o != nil {
		return o.account.Code
	}
	return common.Hash{}
}

// GetCode implements vm.StateDB.
func (b *Block) GetCode(address common.Address) []byte {
	o := b.find(address)
	if o == nil || o.account.Code == emptyCode {
		return nil
	}
	if o.code == nil {
		code, err := b.source.Code(o.account.Code)
		b.fail(err)
		o.code = code
	}
	return o.code
}

// GetCodeSize implements vm.StateDB.
func (b *Block) GetCodeSize(address common.Address) int { return len(b.GetCode(address)) }

// SetCode implements vm.StateDB. The reason is for tracers. The code is kept, not copied.
func (b *Block) SetCode(address common.Address, code []byte, _ tracing.CodeChangeReason) []byte {
	was := b.GetCode(address)
	o := b.have(address)
	b.note(undo{kind: undoCode, object: o, hash: o.account.Code, code: o.code})
	o.account.Code, o.code = crypto.Keccak256Hash(code), code
	return was
}

// GetState implements vm.StateDB.
func (b *Block) GetState(address common.Address, slot common.Hash) common.Hash {
	o := b.find(address)
	if o == nil {
		return common.Hash{}
	}
	if v, ok := o.dirty[slot]; ok {
		return v
	}
	return b.committedSlot(o, slot)
}

// committedSlot is a slot's value before the present transaction.
func (b *Block) committedSlot(o *object, slot common.Hash) common.Hash {
	if v, ok := o.slots[slot]; ok {
		return v
	}
	if o.wiped {
		return common.Hash{}
	}
	w, ok := o.read[slot]
	if !ok {
		var err error
		w.hash = b.hashes.slot(slot)
		w.value, err = b.source.Slot(o.hash, w.hash)
		b.fail(err)
		if o.read == nil {
			o.read = map[common.Hash]word{}
		}
		o.read[slot] = w
	}
	return w.value
}

// GetStateAndCommittedState implements vm.StateDB: the value now, and before the present
// transaction.
func (b *Block) GetStateAndCommittedState(address common.Address, slot common.Hash) (now, before common.Hash) {
	o := b.find(address)
	if o == nil {
		return common.Hash{}, common.Hash{}
	}
	before = b.committedSlot(o, slot)
	if v, ok := o.dirty[slot]; ok {
		return v, before
	}
	return before, before
}

// SetState implements vm.StateDB and returns the value of before.
func (b *Block) SetState(address common.Address, slot, value common.Hash) common.Hash {
	o := b.have(address)
	was := b.GetState(address, slot)
	if was != value {
		b.note(undo{kind: undoSlot, object: o, slot: slot, hash: was})
		o.set(slot, value)
	}
	return was
}

// SetStorage puts slots in the place of all that an account has, as if they had been there
// before. The account is made if need be. It is for who asks what would be: nothing takes it
// back, and it must come before the first transaction.
func (b *Block) SetStorage(address common.Address, slots map[common.Hash]common.Hash) {
	o := b.have(address)
	o.wiped, o.slots, o.dirty = true, maps.Clone(slots), nil
}

// SelfDestruct implements vm.StateDB: the account loses its balance now, and is gone with
// its storage at the end of the transaction.
func (b *Block) SelfDestruct(address common.Address) {
	o := b.find(address)
	if o == nil {
		return
	}
	u := undo{kind: undoDestruct, object: o, balance: o.account.Balance}
	if o.destructed {
		u.number = 1
	}
	b.note(u)
	o.destructed = true
	o.account.Balance.Clear()
}

// HasSelfDestructed implements vm.StateDB, within the present transaction.
func (b *Block) HasSelfDestructed(address common.Address) bool {
	o := b.find(address)
	return o != nil && o.destructed
}

// Exist implements vm.StateDB.
func (b *Block) Exist(address common.Address) bool { return b.find(address) != nil }

// Empty implements vm.StateDB: true too where there is no account.
func (b *Block) Empty(address common.Address) bool {
	o := b.find(address)
	return o == nil || o.empty()
}

// Touch implements vm.StateDB.
func (b *Block) Touch(address common.Address) { b.load(address) }

// IsNewContract implements vm.StateDB.
func (b *Block) IsNewContract(address common.Address) bool {
	o := b.find(address)
	return o != nil && o.created
}

// AddRefund implements vm.StateDB.
func (b *Block) AddRefund(gas uint64) {
	b.note(undo{kind: undoRefund, number: b.refund})
	b.refund += gas
}

// SubRefund implements vm.StateDB. More than there is would be a mistake of the virtual
// machine's, and is an error of the block.
func (b *Block) SubRefund(gas uint64) {
	if gas > b.refund {
		b.fail(fmt.Errorf("take back a refund of %d gas: there are %d", gas, b.refund))
		return
	}
	b.note(undo{kind: undoRefund, number: b.refund})
	b.refund -= gas
}

// GetRefund implements vm.StateDB.
func (b *Block) GetRefund() uint64 { return b.refund }

// SetTxContext implements vm.StateDB: the transaction whose logs come now, and its index.
func (b *Block) SetTxContext(tx common.Hash, index int, _ uint32) {
	b.tx, b.txIndex, b.logs = tx, index, nil // receipts keep the slice
}

// AddLog implements vm.StateDB. A log's index among the block's is whoever makes receipts
// to say.
func (b *Block) AddLog(log *types.Log) {
	b.note(undo{kind: undoLog})
	log.TxHash, log.TxIndex = b.tx, uint(b.txIndex)
	b.logs = append(b.logs, log)
}

// TxLogs returns the logs since SetTxContext that were not taken back. They are the
// caller's, the slice is valid until the next SetTxContext.
func (b *Block) TxLogs() []*types.Log { return slices.Clip(b.logs) }

// AddPreimage implements vm.StateDB. What contracts hash is not kept, as in go-opera.
func (b *Block) AddPreimage(common.Hash, []byte) {}

// Witness implements vm.StateDB: there is none.
func (b *Block) Witness() *stateless.Witness { return nil }

// AccessEvents implements vm.StateDB: there are none.
func (b *Block) AccessEvents() *state.AccessEvents { return nil }

// Finalise implements vm.StateDB: it ends a transaction. Accounts that destructed
// themselves are gone, and so are changed ones that are empty. There is no list of accesses.
func (b *Block) Finalise(rules params.Rules) *bal.ConstructionBlockAccessList {
	for _, o := range b.touched {
		if o.changes > 0 && b.objects[o.address] == o {
			if o.destructed || rules.IsEIP158 && o.empty() {
				o.remove()
			} else {
				o.finalise()
			}
		}
		o.changes, o.listed, o.created = 0, false, false
	}
	clear(b.touched)
	clear(b.journal)
	b.touched, b.journal, b.refund = b.touched[:0], b.journal[:0], 0
	return nil
}

// Finish returns what the block changed. Finalise must have ended its last transaction;
// the block is of no use afterwards.
func (b *Block) Finish(number uint64) (*Changes, error) {
	c := &Changes{Number: number}
	codes := map[common.Hash][]byte{}
	for _, o := range b.objects {
		change, err := o.change(b.source)
		b.fail(err)
		if change == nil {
			continue
		}
		c.Accounts = append(c.Accounts, *change)
		if !o.gone && o.code != nil && (o.before == nil || o.before.Code != o.account.Code) {
			codes[o.account.Code] = o.code
		}
	}
	if b.err != nil {
		return nil, fmt.Errorf("state of block %d: %w", number, b.err)
	}
	for hash, code := range codes {
		if len(code) != 0 {
			c.Codes = append(c.Codes, Code{hash, code})
		}
	}
	slices.SortFunc(c.Accounts, func(x, y AccountChange) int { return bytes.Compare(x.Hash[:], y.Hash[:]) })
	slices.SortFunc(c.Codes, func(x, y Code) int { return bytes.Compare(x.Hash[:], y.Hash[:]) })
	return c, nil
}
