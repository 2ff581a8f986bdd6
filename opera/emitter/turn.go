package emitter

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/inter"
)

// Whose turn it is to originate a transaction (go-opera, gossip/emitter/txs.go).
const (
	turnPeriod  = 8 * time.Second
	turnLatency = time.Second // before its end nobody originates
	turnNonces  = 32          // that go together
)

// round counts the turns of a transaction that came at a time.
func round(now, came time.Time, validators int) int {
	return int(max(0, now.Sub(came)) / turnPeriod % time.Duration(validators))
}

// isTurn tells whether a validator may originate a transaction now. Validators agree about
// it as far as they got the transaction at the same time.
func isTurn(
	sender common.Address, nonce uint64, came, now time.Time, v *inter.Validators, me inter.ValidatorID,
	epoch inter.Epoch,
) bool {
	r := round(now, came, v.Len())
	if r != round(now.Add(turnLatency), came, v.Len()) {
		return false
	}
	seed := binary.BigEndian.AppendUint64(sender.Bytes(), nonce/turnNonces)
	seed = binary.BigEndian.AppendUint32(seed, uint32(epoch))
	weights := make([]inter.Weight, v.Len())
	for i := range weights {
		weights[i] = v.At(i).Weight
	}
	order := permutation(r+1, weights, sha256.Sum256(seed))
	return v.At(order[r]).ID == me
}

// permutation returns the first n of a random order of weights in which a greater one
// tends to come earlier (go-opera, utils.WeightedPermutation). The weights are a binary
// tree, in which the children of i are 2i+1 and 2i+2.
func permutation(n int, weights []inter.Weight, seed [32]byte) []int {
	own, below := make([]inter.Weight, len(weights)), make([]inter.Weight, 2*len(weights)+1)
	for i := len(weights) - 1; i >= 0; i-- { // below: with all that is under it
		own[i] = weights[i]
		below[i] = own[i] + sub(below, 2*i+1) + sub(below, 2*i+2)
	}
	used := 0
	random := func() inter.Weight {
		if used == len(seed) {
			seed, used = sha256.Sum256(seed[:]), 0
		}
		used += 4
		return inter.Weight(binary.LittleEndian.Uint32(seed[used-4:]))
	}
	order := make([]int, n)
	for k := range order {
		i := 0
		for {
			r := random() % below[i]
			if r < own[i] {
				break
			}
			if i = 2*i + 1; r >= own[(i-1)/2]+sub(below, i) {
				i++
			}
		}
		order[k] = i
		own[i] = 0
		for at := i; ; at = (at - 1) / 2 {
			below[at] -= weights[i]
			if at == 0 {
				break
			}
		}
	}
	return order
}

func sub(of []inter.Weight, i int) inter.Weight {
	if i < len(of) {
		return of[i]
	}
	return 0
}
