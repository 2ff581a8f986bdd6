// Package fsnap is the protocol by which Opera nodes give each other a state: Ethereum's snap/1 by
// another name.
//
// It owns the messages, their encodings, what a message may hold, and the answers that a [Server]
// gives of a state. It never decides which states there are ([Holder] does), and knows no
// connection.
//
// # Who says what
//
// Each request has a number, and is followed by one answer with that number. An answer without
// data and proof says that the state of that root is not there, of codes and nodes that none of
// them is.
//
// # What a stranger costs
//
//  1. A message is refused before memory is taken for its lists ([Decode]).
//  2. An answer ends at a number of bytes, of codes or nodes that were looked up for it, and at a
//     time ([Limits]).
package fsnap

import (
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"
)

// Name and version of the protocol.
const (
	Name    = "fsnap"
	Version = 1
)

// The codes of messages. Even ones are requests, each followed by its answer.
const (
	CodeGetAccounts = iota
	CodeAccounts
	CodeGetSlots
	CodeSlots
	CodeGetCodes
	CodeCodes
	CodeGetNodes
	CodeNodes
	Codes // how many there are
)

// ErrMalformed is wrapped by what Decode refuses.
var ErrMalformed = errors.New("malformed message of states")

// Message is one of the eight, by pointer.
type Message interface {
	// Code is by which the message travels.
	Code() uint64
	// Number ties an answer to its request.
	Number() uint64
}

// GetAccounts asks for the accounts of a state from one hashed address on, until one at or behind
// another was given or the answer has Bytes.
type GetAccounts struct {
	ID             uint64
	Root, From, To common.Hash
	Bytes          uint64
}

// Accounts is the answer: accounts in the order of their hashes, and the trie nodes on the ways to
// From and to the last one.
type Accounts struct {
	ID       uint64
	Accounts []Account
	Proof    [][]byte
}

// Account is an account at its hashed address. Body is slim RLP: a list of nonce, balance, root of
// the storage and hash of the code, the last two empty where there is no storage or code
// (types.FullAccount decodes it).
type Account struct {
	Hash common.Hash
	Body rlp.RawValue
}

// GetSlots asks for the slots of accounts of a state, all of each, until the answer has Bytes. From
// and To, empty or 32 bytes, bound the slots of the first account alone.
type GetSlots struct {
	ID       uint64
	Root     common.Hash
	Accounts []common.Hash
	From, To []byte
	Bytes    uint64
}

// Slots is the answer: of the first of the accounts, in their order, the slots in the order of
// their hashes. Proof is empty, or the trie nodes on the ways to From and to the last slot, which
// show that the last account's slots are all that there are between them.
type Slots struct {
	ID    uint64
	Of    [][]Slot
	Proof [][]byte
}

// Slot is a word of storage at its hashed key. Body is RLP of the word without leading zeros.
type Slot struct {
	Hash common.Hash
	Body []byte
}

// GetCodes asks for codes by their hashes, until the answer has Bytes.
type GetCodes struct {
	ID     uint64
	Hashes []common.Hash
	Bytes  uint64
}

// CodesOf is the answer: those that there are, in the order asked for.
type CodesOf struct {
	ID    uint64
	Codes [][]byte
}

// GetNodes asks for trie nodes of a state, until the answer has Bytes.
type GetNodes struct {
	ID    uint64
	Root  common.Hash
	Paths []Paths
	Bytes uint64
}

// Paths names nodes by the nibbles of their keys, packed as in tries (hex prefix): one path is of a
// node of the trie of accounts; several are the hashed address of an account and then paths in the
// trie of its storage.
type Paths [][]byte

// Nodes is the answer: a node for each path, in order, until the answer ends.
type Nodes struct {
	ID    uint64
	Nodes [][]byte
}

// Code implements Message.
func (*GetAccounts) Code() uint64 { return CodeGetAccounts }

// Code implements Message.
func (*Accounts) Code() uint64 { return CodeAccounts }

// Code implements Message.
func (*GetSlots) Code() uint64 { return CodeGetSlots }

// Code implements Message.
func (*Slots) Code() uint64 { return CodeSlots }

// Code implements Message.
func (*GetCodes) Code() uint64 { return CodeGetCodes }

// Code implements Message.
func (*CodesOf) Code() uint64 { return CodeCodes }

// Code implements Message.
func (*GetNodes) Code() uint64 { return CodeGetNodes }

// Code implements Message.
func (*Nodes) Code() uint64 { return CodeNodes }

// Number implements Message.
func (m *GetAccounts) Number() uint64 { return m.ID }

// Number implements Message.
func (m *Accounts) Number() uint64 { return m.ID }

// Number implements Message.
func (m *GetSlots) Number() uint64 { return m.ID }

// Number implements Message.
func (m *Slots) Number() uint64 { return m.ID }

// Number implements Message.
func (m *GetCodes) Number() uint64 { return m.ID }

// Number implements Message.
func (m *CodesOf) Number() uint64 { return m.ID }

// Number implements Message.
func (m *GetNodes) Number() uint64 { return m.ID }

// Number implements Message.
func (m *Nodes) Number() uint64 { return m.ID }
