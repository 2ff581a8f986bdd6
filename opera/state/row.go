package state

import (
	"encoding/binary"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// Flags of an account's row.
const (
	hasCode = 1 << iota
	hasAddress
	accountFlags = 1<<iota - 1
)

// appendAccount appends an account's row: flags, nonce, length and bytes of the balance,
// then code hash and address where the flags say so. Its only encoding is the shortest.
func appendAccount(b []byte, a *Account) []byte {
	var flags byte
	if a.Code != emptyCode {
		flags |= hasCode
	}
	if a.Address != (common.Address{}) {
		flags |= hasAddress
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, a.Nonce)
	balance := a.Balance.Bytes()
	b = append(append(b, byte(len(balance))), balance...)
	if flags&hasCode != 0 {
		b = append(b, a.Code[:]...)
	}
	if flags&hasAddress != 0 {
		b = append(b, a.Address[:]...)
	}
	return b
}

// rowError is a row, or an entry of the archive, that is not what this package writes.
func rowError(what string, key []byte) error {
	return fmt.Errorf("%s at %x is not in its format", what, key)
}

// takeAccount reads an account off the front of b and returns the rest.
func takeAccount(b []byte) (a *Account, rest []byte, ok bool) {
	if len(b) < 1 || b[0] > accountFlags {
		return nil, nil, false
	}
	a = &Account{Code: emptyCode}
	flags := b[0]
	nonce, n := binary.Uvarint(b[1:])
	if n <= 0 {
		return nil, nil, false
	}
	a.Nonce, b = nonce, b[1+n:]
	if len(b) < 1 || b[0] > 32 || len(b) < 1+int(b[0]) {
		return nil, nil, false
	}
	a.Balance.SetBytes(b[1 : 1+b[0]])
	b = b[1+b[0]:]
	if flags&hasCode != 0 {
		if len(b) < common.HashLength {
			return nil, nil, false
		}
		a.Code, b = common.Hash(b[:common.HashLength]), b[common.HashLength:]
	}
	if flags&hasAddress != 0 {
		if len(b) < common.AddressLength {
			return nil, nil, false
		}
		a.Address, b = common.Address(b[:common.AddressLength]), b[common.AddressLength:]
	}
	return a, b, true
}

func decodeAccount(key, row []byte) (*Account, error) {
	a, rest, ok := takeAccount(row)
	if !ok || len(rest) != 0 {
		return nil, rowError("account", key)
	}
	return a, nil
}

// keyKnown marks, in a slot's row, that the slot's key follows its value.
const keyKnown = 0x80

// appendSlot appends a slot's row: the length of the value and a mark, the value and the
// key without their leading zeros.
func appendSlot(b []byte, value, key common.Hash, known bool) []byte {
	v := trimZeros(&value)
	if !known {
		return append(append(b, byte(len(v))), v...)
	}
	b = append(append(b, byte(len(v))|keyKnown), v...)
	return append(b, trimZeros(&key)...)
}

func decodeSlot(at, row []byte) (value, key common.Hash, known bool, err error) {
	if len(row) < 1 {
		return value, key, false, rowError("slot", at)
	}
	n, known := int(row[0]&^keyKnown), row[0]&keyKnown != 0
	rest := len(row) - 1 - n
	if n < 1 || n > 32 || rest < 0 || rest > 32 || !known && rest != 0 {
		return value, key, false, rowError("slot", at)
	}
	value.SetBytes(row[1 : 1+n])
	key.SetBytes(row[1+n:])
	return value, key, known, nil
}

// trimZeros is a word without its leading zeros.
func trimZeros(h *common.Hash) []byte {
	for i, b := range h {
		if b != 0 {
			return h[i:]
		}
	}
	return nil
}

// slotKey appends the key of a slot's row.
func slotKey(b []byte, address, slot common.Hash) []byte {
	return append(append(b, address[:]...), slot[:]...)
}

// after is the first key behind all that begin with prefix, nil if there is none.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		end[i]++
		if end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
