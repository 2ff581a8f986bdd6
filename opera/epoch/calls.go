package epoch

import (
	"encoding/binary"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Driver is the address of the contract that nodes call and listen to.
func Driver() common.Address {
	return common.HexToAddress("0xd100a01e00000000000000000000000000000000")
}

// Doublesign is the driver contract's status of a validator that cheated.
const Doublesign = 1 << 7

// Selectors of the driver contract's methods.
const (
	deactivateValidator = 0x1e702f83 // deactivateValidator(uint256,uint256)
	sealEpoch           = 0xebdf104c // sealEpoch(uint256[],uint256[],uint256[],uint256[])
	sealEpochValidators = 0xe08d7e66 // sealEpochValidators(uint256[])
)

// CallsBefore returns the calls of the driver contract that begin the block: one for
// each cheater that it does not know, and at an epoch's end one with what the
// validators did. They are executed with nonces of the zero address.
func (b *Block) CallsBefore() [][]byte {
	var calls [][]byte
	for _, id := range b.State.EpochCheaters[b.State.CheatersWritten:] {
		calls = append(calls, NewCall(deactivateValidator).Number(uint64(id)).Number(Doublesign).Encode())
	}
	if b.sealing {
		calls = append(calls, b.report())
	}
	return calls
}

// report makes the call with what the validators did in the epoch.
func (b *Block) report() []byte {
	n := b.Epoch.Validators.Len()
	offlineTimes, offlineBlocks := make([]*big.Int, n), make([]*big.Int, n)
	uptimes, fees := make([]*big.Int, n), make([]*big.Int, n)
	for i, v := range b.State.ValidatorStates {
		missed := max(b.Info.Number, v.LastBlock) - v.LastBlock
		offline := max(b.Info.Time, v.LastOnlineTime) - v.LastOnlineTime
		uptime := v.Uptime
		if missed <= b.Epoch.Rules.Economy.BlockMissedSlack {
			missed, offline = 0, 0
			from := max(v.LastOnlineTime, b.Epoch.EpochStart)
			uptime += max(b.Info.Time, from) - from
		}
		offlineTimes[i] = number(offline.Seconds())
		offlineBlocks[i] = number(uint64(missed))
		uptimes[i] = number(uptime.Seconds())
		fees[i] = v.Originated
	}
	return NewCall(sealEpoch).Numbers(offlineTimes).Numbers(offlineBlocks).Numbers(uptimes).Numbers(fees).Encode()
}

// CallsAfter returns the calls of the driver contract that follow the sealing of an
// epoch: one with the validators of the next. Their nonces begin with the one that the
// zero address has after those of CallsBefore.
func (b *Block) CallsAfter() [][]byte {
	if !b.sealing {
		return nil
	}
	ids := make([]*big.Int, b.Epoch.Validators.Len())
	for i := range ids {
		ids[i] = number(uint64(b.Epoch.Validators.At(i).ID))
	}
	return [][]byte{NewCall(sealEpochValidators).Numbers(ids).Encode()}
}

func number(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

// InternalTx returns a transaction that nobody signs: from the zero address, for
// nothing, with more gas than any call needs. Its v, r and s are 0.
func InternalTx(nonce uint64, to common.Address, data []byte) *types.Transaction {
	return types.NewTx(&types.LegacyTx{Nonce: nonce, To: &to, Gas: 1e10, GasPrice: new(big.Int),
		Value: new(big.Int), Data: data})
}

// Call makes the input of a contract's method by Solidity's rules: a word for each
// argument, and behind all words what has no fixed length.
type Call struct {
	selector uint32
	words    [][32]byte
	tails    map[int][]byte // by the number of the word that points there
}

// NewCall begins the input of the method with that selector.
func NewCall(selector uint32) *Call { return &Call{selector: selector, tails: map[int][]byte{}} }

// Big appends a number, of which the last 256 bits count.
func (c *Call) Big(n *big.Int) *Call {
	c.words = append(c.words, word(n))
	return c
}

func word(n *big.Int) (w [32]byte) {
	if b := n.Bytes(); len(b) > len(w) {
		copy(w[:], b[len(b)-len(w):])
	} else {
		copy(w[len(w)-len(b):], b)
	}
	return w
}

// Number appends a number.
func (c *Call) Number(n uint64) *Call { return c.Big(number(n)) }

// Address appends an address.
func (c *Call) Address(a common.Address) *Call { return c.Big(a.Big()) }

// Numbers appends an array of numbers, of each of which the last 256 bits count.
func (c *Call) Numbers(list []*big.Int) *Call {
	length := word(number(uint64(len(list))))
	tail := length[:]
	for _, n := range list {
		w := word(n)
		tail = append(tail, w[:]...)
	}
	return c.tail(tail)
}

// Bytes appends a string of bytes.
func (c *Call) Bytes(b []byte) *Call {
	tail := make([]byte, 32+(len(b)+31)/32*32)
	binary.BigEndian.PutUint64(tail[24:], uint64(len(b)))
	copy(tail[32:], b)
	return c.tail(tail)
}

func (c *Call) tail(b []byte) *Call {
	c.tails[len(c.words)] = b
	c.words = append(c.words, [32]byte{})
	return c
}

// Encode returns the input.
func (c *Call) Encode() []byte {
	out := binary.BigEndian.AppendUint32(nil, c.selector)
	at := uint64(32 * len(c.words))
	for i, w := range c.words {
		if tail, ok := c.tails[i]; ok {
			w = word(number(at))
			at += uint64(len(tail))
		}
		out = append(out, w[:]...)
	}
	for i := range c.words {
		out = append(out, c.tails[i]...)
	}
	return out
}
