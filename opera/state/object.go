package state

import (
	"bytes"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// origin is what the source says of an address; accounts that come and go there share it.
type origin struct {
	address common.Address
	hash    common.Hash
	before  *Account
	read    map[common.Hash]word // slots that were asked for, by key
}

type word struct{ hash, value common.Hash }

// object is an account in a block, or that there is none.
type object struct {
	*origin
	account    Account
	code       []byte // nil: not loaded
	gone       bool   // there is no account
	wiped      bool   // the source's slots are not this account's
	destructed bool   // by the present transaction
	created    bool   // as a contract, by the present transaction
	slots      map[common.Hash]common.Hash
	dirty      map[common.Hash]common.Hash // by the present transaction

	changes int  // of the present transaction that were not taken back
	listed  bool // in Block.touched
}

func (o *object) empty() bool {
	return o.account.Nonce == 0 && o.account.Balance.IsZero() && o.account.Code == emptyCode
}

func (o *object) set(slot, value common.Hash) {
	if o.dirty == nil {
		o.dirty = map[common.Hash]common.Hash{}
	}
	o.dirty[slot] = value
}

// finalise makes the present transaction's slots those of before the next.
func (o *object) finalise() {
	if o.slots == nil {
		o.slots, o.dirty = o.dirty, nil
		return
	}
	for slot, value := range o.dirty {
		o.slots[slot] = value
	}
	clear(o.dirty)
}

// remove ends the account.
func (o *object) remove() {
	*o = object{origin: o.origin, gone: true, wiped: true}
}

// change compares the account with the source, nil if it is the same.
func (o *object) change(source Source) (*AccountChange, error) {
	c := &AccountChange{Hash: o.hash, Before: o.before}
	if !o.gone {
		after := o.account
		c.After = &after
	}
	slots, err := o.slotChanges(c, source)
	if err != nil {
		return nil, err
	}
	c.Slots = slots
	if len(slots) == 0 && o.same(c) {
		return nil, nil
	}
	return c, nil
}

// same tells whether an account says after the block what it said before.
func (o *object) same(c *AccountChange) bool {
	if c.Before == nil || c.After == nil {
		return c.Before == nil && c.After == nil
	}
	before := *c.Before
	before.Address = o.address
	return before == *c.After
}

func (o *object) slotChanges(c *AccountChange, source Source) ([]SlotChange, error) {
	had := map[common.Hash]Slot{}
	if o.wiped && o.before != nil {
		if err := source.Slots(o.hash, common.Hash{}, func(s Slot) bool {
			had[s.Hash] = s
			return true
		}); err != nil {
			return nil, err
		}
		c.Wiped = len(had) != 0
	}
	var all []SlotChange
	for key, value := range o.slots {
		s := SlotChange{Key: key, Known: true, After: value}
		if o.wiped {
			s.Hash = crypto.Keccak256Hash(key[:])
			s.Before = had[s.Hash].Value
			delete(had, s.Hash)
		} else {
			w := o.read[key]
			s.Hash, s.Before = w.hash, w.value
		}
		if c.Wiped || s.Before != s.After {
			all = append(all, s)
		}
	}
	for _, s := range had {
		all = append(all, SlotChange{Hash: s.Hash, Key: s.Key, Known: s.Known, Before: s.Value})
	}
	slices.SortFunc(all, func(x, y SlotChange) int { return bytes.Compare(x.Hash[:], y.Hash[:]) })
	return all, nil
}
