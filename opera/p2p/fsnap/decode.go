package fsnap

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// MaxSize is how large a message of a code may be.
func MaxSize(code uint64) uint32 {
	if code%2 == 0 {
		return MaxRequest
	}
	return MaxAnswer
}

// Decode reads a message. What is wrong with it wraps [ErrMalformed]; the message may keep what it
// was read from. Accounts and slots ascend in what it returns.
func Decode(code uint64, raw []byte) (Message, error) {
	m, err := decode(code, raw)
	if err != nil {
		return nil, fmt.Errorf("%w %d: %w", ErrMalformed, code, err)
	}
	return m, nil
}

func decode(code uint64, raw []byte) (Message, error) {
	if code >= Codes {
		return nil, errors.New("there is no such code")
	}
	if len(raw) > int(MaxSize(code)) {
		return nil, fmt.Errorf("it has %d bytes", len(raw))
	}
	if err := shapes[code].check(raw); err != nil {
		return nil, err
	}
	m := shapes[code].message()
	if err := rlp.DecodeBytes(raw, m); err != nil {
		return nil, err
	}
	return m, sound(m)
}

// sound checks what the shape of a message does not say.
func sound(m Message) error {
	switch m := m.(type) {
	case *Accounts:
		for i := range m.Accounts {
			if err := soundBody(m.Accounts[i].Body); err != nil {
				return fmt.Errorf("account %x: %w", m.Accounts[i].Hash, err)
			}
		}
		return ascending(m.Accounts, func(a *Account) *common.Hash { return &a.Hash })
	case *Slots:
		for _, slots := range m.Of {
			if err := ascending(slots, func(s *Slot) *common.Hash { return &s.Hash }); err != nil {
				return err
			}
		}
	case *GetSlots:
		if len(m.From) > common.HashLength || len(m.To) > common.HashLength {
			return errors.New("the bound of a range is no hash")
		}
	case *GetNodes:
		for _, p := range m.Paths {
			if len(p) == 0 {
				return errors.New("a path of nothing")
			}
		}
	}
	return nil
}

// soundBody refuses an account whose root is neither left out nor a hash. types.FullAccount would cut it, or fill it
// up with zeros, and the proof would hold; to go-opera it does not.
func soundBody(body []byte) error {
	var a types.SlimAccount
	if err := rlp.DecodeBytes(body, &a); err != nil {
		return err
	}
	if n := len(a.Root); n != 0 && n != common.HashLength {
		return fmt.Errorf("its root has %d bytes", n)
	}
	return nil
}

func ascending[T any](list []T, hash func(*T) *common.Hash) error {
	for i := 1; i < len(list); i++ {
		if bytes.Compare(hash(&list[i-1])[:], hash(&list[i])[:]) >= 0 {
			return fmt.Errorf("item %d is not behind the one before", i)
		}
	}
	return nil
}

// shape is how many items the lists of a message may have: the one that is its second or third part,
// those in it, and the proof behind it. What memory they take is bounded by the message's bytes
// where items cannot be small.
type shape struct {
	message func() Message
	skip    int // parts before the list
	most    int // items of the list
	inner   int // items of each of its items, if those are lists of free length
	proof   int // items of the list behind it
}

var shapes = [Codes]shape{
	CodeGetAccounts: {message: func() Message { return new(GetAccounts) }, skip: 5},
	CodeAccounts:    {message: func() Message { return new(Accounts) }, skip: 1, most: wholeMessage, proof: maxProof},
	CodeGetSlots:    {message: func() Message { return new(GetSlots) }, skip: 2, most: maxAsked},
	CodeSlots: {message: func() Message { return new(Slots) }, skip: 1, most: maxAsked, inner: wholeMessage,
		proof: maxProof},
	CodeGetCodes: {message: func() Message { return new(GetCodes) }, skip: 1, most: maxAsked},
	CodeCodes:    {message: func() Message { return new(CodesOf) }, skip: 1, most: maxAsked},
	CodeGetNodes: {message: func() Message { return new(GetNodes) }, skip: 2, most: maxAsked, inner: 2 * maxAsked},
	CodeNodes:    {message: func() Message { return new(Nodes) }, skip: 1, most: maxAsked},
}

// check refuses a message whose lists are too long. All else is left to the decoder.
func (s shape) check(raw []byte) error {
	parts, _, err := rlp.SplitList(raw)
	for range s.skip {
		if err == nil {
			_, _, parts, err = rlp.Split(parts)
		}
	}
	if err != nil || s.most == 0 {
		return err
	}
	list, rest, err := rlp.SplitList(parts)
	if err != nil {
		return err
	}
	inner := 0
	err = each(list, s.most, func(item []byte) error {
		if s.inner == 0 {
			return nil
		}
		in, _, err := rlp.SplitList(item)
		if err != nil {
			return err
		}
		return each(in, s.inner, func([]byte) error {
			if inner++; inner > s.inner {
				return fmt.Errorf("more than %d items in the lists of a list", s.inner)
			}
			return nil
		})
	})
	if err != nil || s.proof == 0 {
		return err
	}
	if list, _, err = rlp.SplitList(rest); err != nil {
		return err
	}
	return each(list, s.proof, func([]byte) error { return nil })
}

// each calls do for the items of a list's content, as they are encoded, which are at most so many.
func each(list []byte, most int, do func(item []byte) error) error {
	for n := 0; len(list) > 0; n++ {
		if n == most {
			return fmt.Errorf("a list has more than %d items", most)
		}
		_, _, rest, err := rlp.Split(list)
		if err == nil {
			err = do(list[:len(list)-len(rest)])
		}
		if err != nil {
			return fmt.Errorf("item %d: %w", n, err)
		}
		list = rest
	}
	return nil
}
