package evm

import (
	"errors"
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/stateless"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"
)

// memory is a State as simple as one can be: maps, and a list of what to do to go back.
type memory struct {
	accounts map[common.Address]*account
	undo     []func()
	touched  map[common.Address]int
	gone     map[common.Address]bool // deleted in this block
	refund   uint64
	logs     []*types.Log
	warm     map[common.Address]bool
	warmSlot map[slotOf]bool
	err      error // see SubRefund

	// What has happened, for tests that want to know what they reached.
	destructed, created, codes int
}

var errRefund = errors.New("the refund counter falls below zero")

type slotOf struct {
	address common.Address
	key     common.Hash
}

type account struct {
	balance    uint256.Int
	nonce      uint64
	code       []byte
	storage    map[common.Hash]common.Hash
	committed  map[common.Hash]common.Hash // of slots that the transaction has written
	destructed bool
	new        bool
}

var _ State = (*memory)(nil)

func newMemory() *memory {
	return &memory{
		accounts: make(map[common.Address]*account), touched: make(map[common.Address]int),
		gone: make(map[common.Address]bool), warm: make(map[common.Address]bool), warmSlot: make(map[slotOf]bool),
	}
}

func newAccount() *account {
	return &account{storage: make(map[common.Hash]common.Hash), committed: make(map[common.Hash]common.Hash)}
}

// begin begins a block.
func (m *memory) begin() { clear(m.gone) }

// copy returns a state of one's own, between transactions.
func (m *memory) copy() *memory {
	c := newMemory()
	for address, a := range m.accounts {
		d := *a
		d.storage, d.committed = maps.Clone(a.storage), make(map[common.Hash]common.Hash)
		c.accounts[address] = &d
	}
	c.gone = maps.Clone(m.gone)
	return c
}

func (a *account) empty() bool { return a.nonce == 0 && a.balance.IsZero() && len(a.code) == 0 }

func (m *memory) get(address common.Address) *account {
	if a := m.accounts[address]; a != nil {
		return a
	}
	return newAccount()
}

// own returns an account to change; touch it with what takes the change back.
func (m *memory) own(address common.Address) *account {
	a := m.accounts[address]
	if a == nil {
		a = newAccount()
		m.accounts[address] = a
		undo := func() { delete(m.accounts, address) }
		if m.gone[address] { // its coming back alone is not noticed
			m.undo = append(m.undo, undo)
		} else {
			m.touch(address, undo)
		}
	}
	return a
}

func (m *memory) touch(address common.Address, undo func()) {
	m.touched[address]++
	m.undo = append(m.undo, func() { m.touched[address]--; undo() })
}

func (m *memory) CreateAccount(address common.Address) { m.own(address) }

func (m *memory) CreateContract(address common.Address) {
	m.created++
	a := m.own(address)
	before := *a
	a.storage, a.committed, a.new = make(map[common.Hash]common.Hash), make(map[common.Hash]common.Hash), true
	m.touch(address, func() { a.storage, a.committed, a.new = before.storage, before.committed, before.new })
}

func (m *memory) setBalance(address common.Address, b uint256.Int) uint256.Int {
	a := m.own(address)
	before := a.balance
	a.balance = b
	m.touch(address, func() { a.balance = before })
	return before
}

func (m *memory) SubBalance(address common.Address, by *uint256.Int, _ tracing.BalanceChangeReason) uint256.Int {
	a := m.own(address)
	if by.IsZero() {
		return a.balance
	}
	return m.setBalance(address, *new(uint256.Int).Sub(&a.balance, by))
}

func (m *memory) AddBalance(address common.Address, by *uint256.Int, _ tracing.BalanceChangeReason) uint256.Int {
	a := m.own(address)
	if by.IsZero() && !a.empty() {
		return a.balance
	}
	if by.IsZero() && address == (common.Address{19: 3}) {
		m.touched[address]++ // for ever: go-opera has this from Ethereum's past
	}
	return m.setBalance(address, *new(uint256.Int).Add(&a.balance, by))
}

func (m *memory) GetBalance(address common.Address) *uint256.Int {
	return m.get(address).balance.Clone()
}

func (m *memory) GetNonce(address common.Address) uint64 { return m.get(address).nonce }

func (m *memory) SetNonce(address common.Address, nonce uint64, _ tracing.NonceChangeReason) {
	a := m.own(address)
	before := a.nonce
	a.nonce = nonce
	m.touch(address, func() { a.nonce = before })
}

func (m *memory) GetCodeHash(address common.Address) common.Hash {
	if m.accounts[address] == nil {
		return common.Hash{}
	}
	return crypto.Keccak256Hash(m.accounts[address].code)
}

func (m *memory) GetCode(address common.Address) []byte  { return m.get(address).code }
func (m *memory) GetCodeSize(address common.Address) int { return len(m.get(address).code) }

func (m *memory) SetCode(address common.Address, code []byte, _ tracing.CodeChangeReason) []byte {
	m.codes++
	a := m.own(address)
	before := a.code
	a.code = code
	m.touch(address, func() { a.code = before })
	return before
}

func (m *memory) setRefund(to uint64) {
	before := m.refund
	m.refund = to
	m.undo = append(m.undo, func() { m.refund = before })
}

func (m *memory) AddRefund(by uint64) { m.setRefund(m.refund + by) }

// SubRefund of more than there is ends a go-opera, and is an error of the block here. EvmWriter clears slots
// without a refund; a contract that sets such a slot again in the same transaction gives one back.
func (m *memory) SubRefund(by uint64) {
	if by > m.refund {
		m.err = errRefund
		return
	}
	m.setRefund(m.refund - by)
}
func (m *memory) GetRefund() uint64 { return m.refund }

func (m *memory) GetState(address common.Address, key common.Hash) common.Hash {
	return m.get(address).storage[key]
}

func (m *memory) GetStateAndCommittedState(address common.Address, key common.Hash) (common.Hash, common.Hash) {
	a := m.get(address)
	if before, ok := a.committed[key]; ok {
		return a.storage[key], before
	}
	return a.storage[key], a.storage[key]
}

func (m *memory) SetState(address common.Address, key, value common.Hash) common.Hash {
	a := m.own(address)
	before := a.storage[key]
	if before == value {
		return before
	}
	if _, ok := a.committed[key]; !ok {
		a.committed[key] = before
	}
	storage := a.storage
	storage[key] = value
	m.touch(address, func() { storage[key] = before })
	return before
}

func (m *memory) GetTransientState(common.Address, common.Hash) common.Hash {
	panic("no transient storage before Cancun")
}

func (m *memory) SetTransientState(common.Address, common.Hash, common.Hash) {
	panic("no transient storage before Cancun")
}

func (m *memory) SelfDestruct(address common.Address) {
	m.destructed++
	a := m.accounts[address]
	before := a.destructed
	a.destructed = true
	m.touch(address, func() { a.destructed = before })
}

func (m *memory) HasSelfDestructed(address common.Address) bool { return m.get(address).destructed }
func (m *memory) Exist(address common.Address) bool             { return m.accounts[address] != nil }
func (m *memory) Touch(common.Address)                          {}
func (m *memory) IsNewContract(address common.Address) bool     { return m.get(address).new }
func (m *memory) Empty(address common.Address) bool             { return m.get(address).empty() }

func (m *memory) AddressInAccessList(address common.Address) bool { return m.warm[address] }

func (m *memory) SlotInAccessList(address common.Address, key common.Hash) (bool, bool) {
	return m.warm[address], m.warmSlot[slotOf{address, key}]
}

func (m *memory) AddAddressToAccessList(address common.Address) {
	if !m.warm[address] {
		m.warm[address] = true
		m.undo = append(m.undo, func() { delete(m.warm, address) })
	}
}

func (m *memory) AddSlotToAccessList(address common.Address, key common.Hash) {
	m.AddAddressToAccessList(address)
	if slot := (slotOf{address, key}); !m.warmSlot[slot] {
		m.warmSlot[slot] = true
		m.undo = append(m.undo, func() { delete(m.warmSlot, slot) })
	}
}

func (m *memory) Prepare(
	rules params.Rules, from, _ common.Address, to *common.Address, precompiles []common.Address, list types.AccessList,
) {
	if !rules.IsBerlin {
		return
	}
	clear(m.warm)
	clear(m.warmSlot)
	m.AddAddressToAccessList(from)
	if to != nil {
		m.AddAddressToAccessList(*to)
	}
	for _, p := range precompiles {
		m.AddAddressToAccessList(p)
	}
	for _, t := range list {
		m.AddAddressToAccessList(t.Address)
		for _, key := range t.StorageKeys {
			m.AddSlotToAccessList(t.Address, key)
		}
	}
}

func (m *memory) Snapshot() int { return len(m.undo) }

func (m *memory) RevertToSnapshot(to int) {
	for len(m.undo) > to {
		last := m.undo[len(m.undo)-1]
		m.undo = m.undo[:len(m.undo)-1]
		last()
	}
}

func (m *memory) AddLog(l *types.Log) {
	m.logs = append(m.logs, l)
	m.undo = append(m.undo, func() { m.logs = m.logs[:len(m.logs)-1] })
}

func (m *memory) TxLogs() []*types.Log                  { return m.logs }
func (m *memory) Error() error                          { return m.err }
func (m *memory) AddPreimage(common.Hash, []byte)       {}
func (m *memory) Witness() *stateless.Witness           { return nil }
func (m *memory) AccessEvents() *gethstate.AccessEvents { return nil }

func (m *memory) SetTxContext(common.Hash, int, uint32) { m.logs = nil }

func (m *memory) Finalise(params.Rules) *bal.ConstructionBlockAccessList {
	for address, times := range m.touched {
		a := m.accounts[address]
		switch {
		case times == 0 || a == nil:
		case a.destructed || a.empty():
			delete(m.accounts, address)
			m.gone[address] = true
		default:
			clear(a.committed)
			a.new = false
		}
	}
	clear(m.touched)
	m.undo, m.refund = m.undo[:0], 0
	return nil
}

// root is the root of Ethereum's trie of the state, built from nothing.
func (m *memory) root() common.Hash {
	return m.hashKeys().root()
}

func trieRoot(leaves map[common.Hash][]byte) common.Hash {
	t := trie.NewStackTrie(nil)
	for _, key := range slices.SortedFunc(maps.Keys(leaves), common.Hash.Cmp) {
		if err := t.Update(key[:], leaves[key]); err != nil {
			panic(err)
		}
	}
	return t.Hash()
}
