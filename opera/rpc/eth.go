package rpc

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"math/rand"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/gasprice"
	"tarn/opera/inter"
	"tarn/opera/state"
)

// ethChain answers for eth and ftm about the chain as a whole.
type ethChain struct{ s *Service }

func (e ethChain) ChainId() (*hexutil.Big, error) {
	return read(e.s, func(v *view) (*hexutil.Big, error) { return (*hexutil.Big)(v.Config().ChainID), nil })
}

func (e ethChain) BlockNumber() (hexutil.Uint64, error) {
	return read(e.s, func(v *view) (hexutil.Uint64, error) { return hexutil.Uint64(v.Head().Number), nil })
}

func (e ethChain) GasPrice() (*hexutil.Big, error) {
	return read(e.s, func(v *view) (*hexutil.Big, error) {
		tip := e.s.options.Prices.Tip(v.View, gasprice.ByDefault)
		return (*hexutil.Big)(tip.Add(tip, v.minPrice())), nil
	})
}

func (e ethChain) MaxPriorityFeePerGas() (*hexutil.Big, error) {
	return read(e.s, func(v *view) (*hexutil.Big, error) {
		return (*hexutil.Big)(e.s.options.Prices.Tip(v.View, gasprice.ByDefault)), nil
	})
}

func (e ethChain) EffectiveBaseFee() (*hexutil.Big, error) {
	return read(e.s, func(v *view) (*hexutil.Big, error) {
		return (*hexutil.Big)(e.s.options.Prices.Effective(v.View)), nil
	})
}

// syncedAge is how old the last block of a node may be that is not syncing.
const syncedAge = 90 * time.Minute

// syncJSON is where a syncing node is. Its fields are in the order of their names.
type syncJSON struct {
	CurrentBlock     hexutil.Uint64 `json:"currentBlock"`
	CurrentBlockHash string         `json:"currentBlockHash"`
	CurrentBlockTime hexutil.Uint64 `json:"currentBlockTime"`
	CurrentEpoch     hexutil.Uint64 `json:"currentEpoch"`
	HighestBlock     hexutil.Uint64 `json:"highestBlock"`
	HighestEpoch     hexutil.Uint64 `json:"highestEpoch"`
	KnownStates      hexutil.Uint64 `json:"knownStates"`
	PulledStates     hexutil.Uint64 `json:"pulledStates"`
	StartingBlock    hexutil.Uint64 `json:"startingBlock"`
}

func (e ethChain) Syncing() (any, error) { return read(e.s, e.s.syncing) }

// syncing returns false, or where the node is.
func (s *Service) syncing(v *view) (any, error) {
	head := v.Head()
	if s.options.Now().Sub(time.Unix(0, int64(head.Time))) <= syncedAge {
		return false, nil
	}
	block, epoch := s.options.Peers.Highest()
	var pulled, known uint64
	if s.options.States != nil {
		pulled, known = s.options.States()
	}
	return &syncJSON{
		PulledStates: hexutil.Uint64(pulled), KnownStates: hexutil.Uint64(known),
		CurrentEpoch: hexutil.Uint64(v.Epoch().Epoch), CurrentBlock: hexutil.Uint64(head.Number),
		CurrentBlockHash: head.Atropos.String(), CurrentBlockTime: hexutil.Uint64(head.Time),
		HighestBlock: hexutil.Uint64(block), HighestEpoch: hexutil.Uint64(epoch),
	}, nil
}

// feeHistoryJSON has go-opera's words about what it means.
type feeHistoryJSON struct {
	OldestBlock  *hexutil.Big     `json:"oldestBlock"`
	Reward       [][]*hexutil.Big `json:"reward,omitempty"`
	BaseFee      []*hexutil.Big   `json:"baseFeePerGas,omitempty"`
	GasUsedRatio []float64        `json:"gasUsedRatio"`
	Note         string           `json:"note"`
}

const feeHistoryNote = "In the FTM network, the eth_feeHistory method operates slightly differently due to the " +
	"network's unique consensus mechanism. " +
	"Here, instead of returning a range of gas tip values from requested blocks, " +
	"it provides a singular estimated gas tip based on a defined confidence level (indicated by the percentile " +
	"parameter). " +
	"This approach means that while you will receive replicated (and randomized) reward values across the " +
	"requested blocks, " +
	"the average or median of these values remains consistent with the intended gas tip."

func (e ethChain) FeeHistory(count Count, last BlockTag, percentiles []float64) (*feeHistoryJSON, error) {
	if count == 0 {
		return &feeHistoryJSON{OldestBlock: new(hexutil.Big), GasUsedRatio: []float64{}}, nil
	}
	if err := checkPercentiles(percentiles, e.s.limits.FeePercentiles); err != nil {
		return nil, err
	}
	return read(e.s, func(v *view) (*feeHistoryJSON, error) {
		return e.s.feeHistory(v, min(count, feeBlocks), last, percentiles)
	})
}

func checkPercentiles(percentiles []float64, most int) error {
	if len(percentiles) > most {
		return fmt.Errorf("too many percentiles: %d, the limit is %d", len(percentiles), most)
	}
	invalid := errors.New("invalid reward percentile")
	for i, p := range percentiles {
		if p < 0 || p > 100 {
			return fmt.Errorf("%w: %f", invalid, p)
		}
		if i > 0 && p < percentiles[i-1] {
			return fmt.Errorf("%w: #%d:%f > #%d:%f", invalid, i-1, percentiles[i-1], i, p)
		}
	}
	return nil
}

// feeHistory makes up the past as go-opera does: an estimate for each percentile, up to two
// percent more for all blocks but the last, and a ratio that follows from the block's number.
func (s *Service) feeHistory(v *view, count Count, tag BlockTag, percentiles []float64) (*feeHistoryJSON, error) {
	last, err := v.resolve(refTo(tag), errNoBlock)
	if err != nil {
		return nil, err
	}
	oldest := inter.BlockNumber(0)
	if last >= inter.BlockNumber(count) {
		oldest = last - inter.BlockNumber(count) + 1
	}
	h := &feeHistoryJSON{OldestBlock: (*hexutil.Big)(new(big.Int).SetUint64(uint64(oldest))), Note: feeHistoryNote}
	var tips []*big.Int
	for _, p := range percentiles {
		tips = append(tips, s.options.Prices.Tip(v.View, uint64(gasprice.Unit*p/100)))
	}
	fee := (*hexutil.Big)(v.minPrice())
	for n := oldest; n <= last; n++ {
		rewards := make([]*hexutil.Big, len(tips))
		for i, tip := range tips {
			if n < last {
				tip = new(big.Int).Mul(tip, big.NewInt(int64(rand.Intn(gasprice.Unit/50)+gasprice.Unit)))
				tip.Div(tip, big.NewInt(gasprice.Unit))
			}
			rewards[i] = (*hexutil.Big)(tip)
		}
		h.Reward, h.BaseFee = append(h.Reward, rewards), append(h.BaseFee, fee)
		h.GasUsedRatio = append(h.GasUsedRatio, 0.9+rand.New(rand.NewSource(int64(n))).Float64()*0.1)
	}
	return h, nil
}

// ethEpochs answers for eth and ftm about epochs.
type ethEpochs struct{ s *Service }

func (e ethEpochs) CurrentEpoch() (hexutil.Uint64, error) {
	return read(e.s, func(v *view) (hexutil.Uint64, error) { return hexutil.Uint64(v.Epoch().Epoch), nil })
}

// epochOf returns the states at an epoch's beginning, of the pending one those of now; nil
// if there are none. Numbers are cut to 32 bits as go-opera's.
func (v *view) epochOf(t BlockTag) (*inter.EpochContent, error) {
	if t == Pending {
		return &inter.EpochContent{BlockState: *v.Present(), EpochState: *v.Epoch()}, nil
	}
	epoch := v.Epoch().Epoch
	if !t.last() {
		epoch = inter.Epoch(t)
	}
	record, err := v.EpochRecord(epoch)
	if err != nil || record == nil {
		return nil, err
	}
	return &record.State, nil
}

func (e ethEpochs) GetRules(epoch BlockTag) (*inter.Rules, error) {
	return read(e.s, func(v *view) (*inter.Rules, error) {
		of, err := v.epochOf(epoch)
		if err != nil || of == nil {
			return nil, err
		}
		return &of.EpochState.Rules, nil
	})
}

func (e ethEpochs) GetEpochBlock(epoch BlockTag) (hexutil.Uint64, error) {
	return read(e.s, func(v *view) (hexutil.Uint64, error) {
		of, err := v.epochOf(epoch)
		if err != nil || of == nil {
			return 0, err
		}
		return hexutil.Uint64(of.BlockState.LastBlock.Number), nil
	})
}

// epochStatsJSON is what is left of go-opera's statistics.
type epochStatsJSON struct {
	End                   hexutil.Uint64 `json:"end"`
	Epoch                 hexutil.Uint64 `json:"epoch"`
	Start                 hexutil.Uint64 `json:"start"`
	TotalBaseRewardWeight hexutil.Uint64 `json:"totalBaseRewardWeight"`
	TotalFee              hexutil.Uint64 `json:"totalFee"`
	TotalTxRewardWeight   hexutil.Uint64 `json:"totalTxRewardWeight"`
}

func (e ethEpochs) GetEpochStats(epoch BlockTag) (*epochStatsJSON, error) {
	return read(e.s, func(v *view) (*epochStatsJSON, error) {
		now := v.Epoch()
		if (!epoch.last() || epoch == Pending) && epoch != BlockTag(now.Epoch)-1 {
			return nil, errors.New("getEpochStats API call doesn't support retrieving previous sealed epochs")
		}
		return &epochStatsJSON{Epoch: hexutil.Uint64(now.Epoch - 1), Start: hexutil.Uint64(now.PrevEpochStart),
			End: hexutil.Uint64(now.EpochStart)}, nil
	})
}

// ethState answers for eth and ftm what accounts have.
type ethState struct{ s *Service }

// account gives f the state that a reference means.
func account[T any](s *Service, r BlockRef, f func(v *view, n inter.BlockNumber) (T, error)) (T, error) {
	return read(s, func(v *view) (T, error) {
		n, err := v.resolve(r, errNoHeader)
		if err != nil {
			var none T
			return none, err
		}
		return f(v, n)
	})
}

// accountAt returns an account after a block; the one of an address that has none is empty.
func (v *view) accountAt(n inter.BlockNumber, address common.Address) (state.Source, state.Account, error) {
	source, err := v.source(n)
	if err != nil {
		return nil, state.Account{}, err
	}
	a, err := source.Account(crypto.Keccak256Hash(address[:]))
	if err != nil || a == nil {
		return source, state.Account{Code: types.EmptyCodeHash}, err
	}
	return source, *a, nil
}

func (e ethState) GetBalance(address common.Address, r BlockRef) (*hexutil.Big, error) {
	return account(e.s, r, func(v *view, n inter.BlockNumber) (*hexutil.Big, error) {
		_, a, err := v.accountAt(n, address)
		return (*hexutil.Big)(a.Balance.ToBig()), err
	})
}

func (e ethState) GetCode(address common.Address, r BlockRef) (hexutil.Bytes, error) {
	return account(e.s, r, func(v *view, n inter.BlockNumber) (hexutil.Bytes, error) {
		source, a, err := v.accountAt(n, address)
		if err != nil || a.Code == types.EmptyCodeHash {
			return nil, err
		}
		return source.Code(a.Code)
	})
}

// storageKey reads a slot's key: at most 32 bytes in hexadecimal, with 0x or without, and with
// zeros in front or without.
func storageKey(text string) (common.Hash, error) {
	digits := text
	if len(text) >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') {
		digits = text[2:]
	}
	if len(digits)%2 != 0 {
		digits = "0" + digits
	}
	key, err := hex.DecodeString(digits)
	switch {
	case err != nil:
		return common.Hash{}, fmt.Errorf("the storage key %.80q is no number in hexadecimal", text)
	case len(key) > common.HashLength:
		return common.Hash{}, fmt.Errorf("the storage key %.80q is longer than 32 bytes", text)
	}
	return common.BytesToHash(key), nil
}

func (e ethState) GetStorageAt(address common.Address, key string, r BlockRef) (hexutil.Bytes, error) {
	slot, err := storageKey(key)
	if err != nil {
		return nil, err
	}
	return account(e.s, r, func(v *view, n inter.BlockNumber) (hexutil.Bytes, error) {
		st, err := v.stateAt(n)
		if err != nil {
			return nil, err
		}
		value := st.GetState(address, slot)
		return value[:], st.Error()
	})
}

func (e ethState) GetTransactionCount(address common.Address, r BlockRef) (*hexutil.Uint64, error) {
	return account(e.s, r, func(v *view, n inter.BlockNumber) (*hexutil.Uint64, error) {
		if r.Tag != nil && *r.Tag == Pending {
			nonce, err := e.s.nonce(v, address)
			return (*hexutil.Uint64)(&nonce), err
		}
		_, a, err := v.accountAt(n, address)
		return (*hexutil.Uint64)(&a.Nonce), err
	})
}

// proofJSON shows to whoever knows a state's root what an account has.
type proofJSON struct {
	Address      common.Address  `json:"address"`
	AccountProof []hexutil.Bytes `json:"accountProof"`
	Balance      *hexutil.Big    `json:"balance"`
	CodeHash     common.Hash     `json:"codeHash"`
	Nonce        hexutil.Uint64  `json:"nonce"`
	StorageHash  common.Hash     `json:"storageHash"`
	StorageProof []slotProofJSON `json:"storageProof"`
}

type slotProofJSON struct {
	Key   string          `json:"key"`
	Value *hexutil.Big    `json:"value"`
	Proof []hexutil.Bytes `json:"proof"`
}

func (e ethState) GetProof(ctx context.Context, address common.Address, keys []string, r BlockRef) (*proofJSON, error) {
	ctx, cancel := context.WithTimeout(ctx, e.s.limits.RequestTime)
	defer cancel()
	if most := e.s.limits.ProofSlots; len(keys) > most {
		return nil, fmt.Errorf("too many storage keys: %d, the limit is %d", len(keys), most)
	}
	slots := make([]common.Hash, len(keys))
	for i, key := range keys {
		slot, err := storageKey(key)
		if err != nil {
			return nil, err
		}
		slots[i] = slot
	}
	return account(e.s, r, func(v *view, n inter.BlockNumber) (*proofJSON, error) {
		p := &state.Proof{Storage: types.EmptyRootHash, Slots: make([]state.SlotProof, len(keys))}
		var err error
		if n != 0 {
			p, err = v.Proof(ctx, n, address, slots)
		}
		if err != nil {
			return nil, err
		}
		out := &proofJSON{
			Address: address, AccountProof: hexes(p.Nodes), Balance: new(hexutil.Big),
			CodeHash:    crypto.Keccak256Hash(nil),
			StorageHash: p.Storage, StorageProof: make([]slotProofJSON, len(keys)),
		}
		for i, key := range keys {
			out.StorageProof[i] = slotProofJSON{Key: key, Value: (*hexutil.Big)(p.Slots[i].Value.Big()),
				Proof: []hexutil.Bytes{}}
			if p.Account != nil {
				out.StorageProof[i].Proof = hexes(p.Slots[i].Nodes)
			}
		}
		if a := p.Account; a != nil {
			out.Balance, out.CodeHash, out.Nonce = (*hexutil.Big)(a.Balance.ToBig()), a.Code, hexutil.Uint64(a.Nonce)
		}
		return out, nil
	})
}

func hexes(list [][]byte) []hexutil.Bytes {
	all := make([]hexutil.Bytes, len(list))
	for i, b := range list {
		all[i] = b
	}
	return all
}

// ethMiner answers for eth what a chain without miners has to say of them.
type ethMiner struct{}

func (ethMiner) Etherbase() common.Address { return common.Address{} }
func (ethMiner) Coinbase() common.Address  { return common.Address{} }
func (ethMiner) Hashrate() hexutil.Uint64  { return 0 }
