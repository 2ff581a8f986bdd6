package state

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// accountValue is an account with some of its slots, as they are to be.
type accountValue struct {
	hash    common.Hash
	account *Account // nil: there is none, nor any slot
	wiped   bool     // slots that are not named are gone
	slots   []slotValue
}

type slotValue struct{ hash, value common.Hash }

// after is what the changes lead to.
func (c *Changes) after() []accountValue {
	all := make([]accountValue, len(c.Accounts))
	for i := range c.Accounts {
		from := &c.Accounts[i]
		to := &all[i]
		*to = accountValue{hash: from.Hash, account: from.After, wiped: from.Wiped}
		if from.After == nil {
			continue
		}
		for _, s := range from.Slots {
			if !from.Wiped || s.After != (common.Hash{}) {
				to.slots = append(to.slots, slotValue{s.Hash, s.After})
			}
		}
	}
	return all
}

// before is what the changes came from.
func (c *Changes) before() []accountValue {
	all := make([]accountValue, len(c.Accounts))
	for i := range c.Accounts {
		from := &c.Accounts[i]
		all[i] = accountValue{hash: from.Hash, account: from.Before}
		for _, s := range from.Slots {
			all[i].slots = append(all[i].slots, slotValue{s.Hash, s.Before})
		}
	}
	return all
}

// Flags of an account among encoded values.
const (
	isThere = 1 << iota
	isWiped
	valueFlags = 1<<iota - 1
)

// encodeValues encodes accounts one after the other: hash, flags, the account's row if
// there is one, the number of slots, then hash, length and value of each.
func encodeValues(all []accountValue) []byte {
	var b []byte
	for i := range all {
		a := &all[i]
		b = append(b, a.hash[:]...)
		var flags byte
		if a.account != nil {
			flags |= isThere
		}
		if a.wiped {
			flags |= isWiped
		}
		b = append(b, flags)
		if a.account != nil {
			b = appendAccount(b, a.account)
		}
		b = binary.AppendUvarint(b, uint64(len(a.slots)))
		for j := range a.slots {
			s := &a.slots[j]
			b = append(b, s.hash[:]...)
			v := trimZeros(&s.value)
			b = append(append(b, byte(len(v))), v...)
		}
	}
	return b
}

var errValues = errors.New("changes of a block are not in their format")

// decodeValues reads what encodeValues wrote.
func decodeValues(b []byte) ([]accountValue, error) {
	var all []accountValue
	for size := len(b); len(b) != 0; {
		at := size - len(b)
		a, slots, rest, ok := takeValue(b)
		if !ok {
			return nil, fmt.Errorf("%w at offset %d", errValues, at)
		}
		b = rest
		for range slots {
			at := size - len(b)
			s, rest, ok := takeSlot(b)
			if !ok {
				return nil, fmt.Errorf("%w at offset %d", errValues, at)
			}
			a.slots, b = append(a.slots, s), rest
		}
		all = append(all, a)
	}
	return all, nil
}

// takeValue reads an account off the front, without its slots, and how many those are.
func takeValue(b []byte) (a accountValue, slots uint64, rest []byte, ok bool) {
	if len(b) < common.HashLength+1 || b[common.HashLength] > valueFlags {
		return a, 0, nil, false
	}
	flags := b[common.HashLength]
	a.hash, a.wiped, rest = common.Hash(b[:common.HashLength]), flags&isWiped != 0, b[common.HashLength+1:]
	if flags&isThere != 0 {
		if a.account, rest, ok = takeAccount(rest); !ok {
			return a, 0, nil, false
		}
	}
	slots, n := binary.Uvarint(rest)
	if n <= 0 {
		return a, 0, nil, false
	}
	return a, slots, rest[n:], true
}

// takeSlot reads a slot off the front.
func takeSlot(b []byte) (s slotValue, rest []byte, ok bool) {
	if len(b) < common.HashLength+1 {
		return s, nil, false
	}
	n := int(b[common.HashLength])
	if n > 32 || len(b) < common.HashLength+1+n {
		return s, nil, false
	}
	s.hash = common.Hash(b[:common.HashLength])
	b = b[common.HashLength+1:]
	s.value.SetBytes(b[:n])
	return s, b[n:], true
}
