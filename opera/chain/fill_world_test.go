package chain

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
)

// world is random epochs and blocks after a genesis, of which no chain is: validators vouch for
// them all the same. Of each there are two, so that validators may differ.
type world struct {
	t      testing.TB
	r      *rand.Rand
	epochs map[inter.Epoch][]*inter.EpochRecord
	blocks map[inter.BlockNumber][]*inter.BlockRecord
	of     map[inter.BlockNumber]inter.Epoch
	lastE  inter.Epoch
	lastB  inter.BlockNumber
	nonce  uint64
	people inter.ValidatorID // the highest number of a validator
}

// Most worlds have few people, some have many. go-opera panics at a vote of a validator whose index
// is beyond the bytes that hold a bit for each of those who may vote, which comes about where the
// epoch of the event has more validators than that of the votes: at few people there is one byte.
const (
	few  = 8
	many = 20
)

// newWorld makes epochs like a first one.
func newWorld(t testing.TB, r *rand.Rand, first *inter.EpochRecord, epochs int) *world {
	w := &world{
		t: t, r: r, epochs: map[inter.Epoch][]*inter.EpochRecord{},
		blocks: map[inter.BlockNumber][]*inter.BlockRecord{},
		of:     map[inter.BlockNumber]inter.Epoch{}, lastE: first.Epoch, lastB: first.State.BlockState.LastBlock.Number,
		people: few,
	}
	if r.IntN(3) == 0 {
		w.people = many
	}
	for e := first.Epoch; ; e++ {
		for range 1 + r.IntN(5) {
			w.lastB++
			w.of[w.lastB] = e
			w.blocks[w.lastB] = []*inter.BlockRecord{w.block(e, w.lastB), w.block(e, w.lastB)}
		}
		if epochs--; epochs < 0 {
			return w
		}
		w.lastE = e + 1
		w.epochs[w.lastE] = []*inter.EpochRecord{w.epoch(first, w.lastE), w.epoch(first, w.lastE)}
	}
}

func (w *world) bytes(into []byte) {
	for i := range into {
		into[i] = byte(w.r.Uint32())
	}
}

// epoch makes the beginning of one, with validators of random weights. Some people have a profile
// and are no validators, some have the key of another.
func (w *world) epoch(like *inter.EpochRecord, e inter.Epoch) *inter.EpochRecord {
	r := again(w.t, like)
	s, b := &r.State.EpochState, &r.State.BlockState
	r.Epoch, s.Epoch = e, e
	s.EpochStart += inter.Timestamp(e) * 1e9
	b.LastBlock.Number = w.lastB
	w.bytes(b.LastBlock.Atropos[:])
	w.bytes(b.FinalizedStateRoot[:])
	s.Rules.Upgrades.London = w.r.IntN(5) != 0
	s.Profiles = inter.Profiles{}
	var list []inter.Validator
	most := 1 + w.r.IntN(9)
	for id := inter.ValidatorID(1); id <= w.people; id++ {
		weight := inter.Weight(1 + w.r.IntN(most))
		if w.r.IntN(3) == 0 && len(list) > 0 {
			if w.r.IntN(2) == 0 {
				continue
			}
		} else {
			list = append(list, inter.Validator{ID: id, Weight: weight})
		}
		key, err := fakenet.Key(w.holder(e, id))
		if err != nil {
			w.t.Fatal(err)
		}
		s.Profiles[id] = inter.Profile{Weight: big.NewInt(int64(weight)),
			PublicKey: inter.PublicKey{Type: inter.Secp256k1Key, Raw: crypto.FromECDSAPub(&key.PublicKey)}}
	}
	var err error
	if s.Validators, err = inter.NewValidators(list); err != nil {
		w.t.Fatal(err)
	}
	s.ValidatorStates = make([]inter.ValidatorEpochState, len(list))
	b.ValidatorStates = make([]inter.ValidatorBlockState, len(list))
	for i := range list {
		s.ValidatorStates[i].GasRefund = uint64(w.r.IntN(1000))
		b.ValidatorStates[i].Originated = big.NewInt(w.r.Int64())
	}
	b.NextProfiles = s.Profiles
	return again(w.t, r)
}

// holder returns whose key somebody has in an epoch.
func (w *world) holder(e inter.Epoch, id inter.ValidatorID) inter.ValidatorID {
	if (uint32(e)+uint32(id))%11 == 0 {
		return id + w.people
	}
	return id
}

// block makes one with transactions of all kinds, and logs of a few contracts.
func (w *world) block(e inter.Epoch, n inter.BlockNumber) *inter.BlockRecord {
	r := &inter.BlockRecord{Number: n, Block: inter.BlockContent{Time: inter.Timestamp(n) * 1e9,
		GasUsed: w.r.Uint64N(1e7)}}
	w.bytes(r.Block.Atropos[:])
	binary.BigEndian.PutUint32(r.Block.Atropos[:], uint32(e))
	w.bytes(r.Block.Root[:])
	for i := range w.r.IntN(4) {
		r.Block.Txs = append(r.Block.Txs, w.tx())
		receipt := &types.Receipt{Status: uint64(w.r.IntN(2)), CumulativeGasUsed: uint64(i+1) * 21000}
		for range w.r.IntN(3) {
			l := &types.Log{Address: contractOf(w.r.IntN(3)), Data: make([]byte, w.r.IntN(40))}
			for range w.r.IntN(4) {
				l.Topics = append(l.Topics, common.BigToHash(big.NewInt(w.r.Int64N(5))))
			}
			receipt.Logs = append(receipt.Logs, l)
		}
		r.Block.Receipts = append(r.Block.Receipts, (*types.ReceiptForStorage)(receipt))
	}
	return again(w.t, r)
}

// contractOf is one of those that write logs.
func contractOf(i int) common.Address { return common.BigToAddress(big.NewInt(int64(i + 1000))) }

func (w *world) tx() *types.Transaction {
	key, err := fakenet.Key(1)
	if err != nil {
		w.t.Fatal(err)
	}
	w.nonce++
	to, id := contractOf(w.r.IntN(3)), new(big.Int).SetUint64(inter.FakeNetwork)
	var data types.TxData
	switch w.r.IntN(4) {
	case 0:
		data = &types.DynamicFeeTx{ChainID: id, Nonce: w.nonce, To: &to, Gas: 50000, GasTipCap: big.NewInt(1),
			GasFeeCap: big.NewInt(2e9), Value: big.NewInt(1)}
	case 1:
		data = &types.AccessListTx{ChainID: id, Nonce: w.nonce, To: &to, Gas: 50000, GasPrice: big.NewInt(1e9),
			AccessList: types.AccessList{{Address: to}}}
	case 2:
		data = &types.LegacyTx{Nonce: w.nonce, Gas: 90000, GasPrice: big.NewInt(1e9), Data: []byte{1, 2, 3}}
	default:
		data = &types.LegacyTx{Nonce: w.nonce, To: &to, Gas: 21000, GasPrice: big.NewInt(1e9), Value: big.NewInt(7)}
	}
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(id), data)
	if err != nil {
		w.t.Fatal(err)
	}
	return tx
}
