package rpc

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// debugBlocks answers for debug about blocks.
type debugBlocks struct{ s *Service }

// blockByNumber finds a block that must be there.
func (d debugBlocks) blockByNumber(v *view, n uint64) (*block, error) {
	b, err := v.block(inter.BlockNumber(n))
	if err == nil && b == nil {
		err = fmt.Errorf("block #%d not found", n)
	}
	return b, err
}

// headerRLP and blockRLP are go-opera's own forms of a block (evmcore.EvmBlock).
type headerRLP struct {
	Number                         *big.Int
	Hash, ParentHash, Root, TxHash common.Hash
	Time                           uint64
	Coinbase                       common.Address
	GasLimit, GasUsed              uint64
	BaseFee                        *big.Int
}

type blockRLP struct {
	Header headerRLP
	Txs    types.Transactions
}

func (d debugBlocks) GetBlockRlp(n uint64) (string, error) {
	return read(d.s, func(v *view) (string, error) {
		b, err := d.blockByNumber(v, n)
		if err != nil {
			return "", err
		}
		root, err := v.rootOf(b.Number)
		if err != nil {
			return "", err
		}
		b.derive()
		raw, err := rlp.EncodeToBytes(&blockRLP{headerRLP{
			Number: new(big.Int).SetUint64(n), Hash: common.Hash(b.ID), ParentHash: b.Parent, Root: root, TxHash: b.txs,
			Time: uint64(b.Time), GasLimit: math.MaxUint64, GasUsed: b.GasUsed, BaseFee: b.BaseFee,
		}, b.Txs})
		return hex.EncodeToString(raw), err
	})
}

func (d debugBlocks) SeedHash(n uint64) (string, error) {
	return read(d.s, func(v *view) (string, error) {
		if _, err := d.blockByNumber(v, n); err != nil {
			return "", err
		}
		const period = 30_000 // of a seed, in Ethereum's former proof of work
		seed := make([]byte, common.HashLength)
		for range n / period {
			seed = crypto.Keccak256(seed)
		}
		return hexutil.Encode(seed), nil
	})
}

func (d debugBlocks) TestSignCliqueBlock(common.Address, uint64) (common.Address, error) {
	return common.Address{}, errors.New("Clique isn't supported")
}

func (d debugBlocks) SetHead(hexutil.Uint64) error {
	return errors.New("lachesis cannot rewind blocks due to the BFT algorithm")
}

func (d debugBlocks) BlocksTransactionTimes(
	ctx context.Context, until BlockTag, count hexutil.Uint64,
) (map[hexutil.Uint64]hexutil.Uint, error) {
	ctx, cancel := context.WithTimeout(ctx, d.s.limits.RequestTime)
	defer cancel()
	return read(d.s, func(v *view) (map[hexutil.Uint64]hexutil.Uint, error) {
		last := v.number(until)
		if last > v.Head().Number {
			return nil, nil
		}
		times := map[hexutil.Uint64]hexutil.Uint{}
		for n := last; n >= 1 && uint64(last-n) < uint64(count); n-- {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			b, err := v.passedBlock(n)
			if err != nil || b == nil {
				return nil, err
			}
			if len(b.Txs) != 0 {
				times[hexutil.Uint64(b.Time)] += hexutil.Uint(len(b.Txs))
			}
		}
		return times, nil
	})
}

// PrintBlock shows a block to a person. go-opera prints its memory.
func (d debugBlocks) PrintBlock(n uint64) (string, error) {
	return read(d.s, func(v *view) (string, error) {
		b, err := d.blockByNumber(v, n)
		if err != nil {
			return "", err
		}
		shown, err := v.blockJSON(b, true, false)
		if err != nil {
			return "", err
		}
		text, err := json.MarshalIndent(shown, "", "  ")
		return string(text), err
	})
}

// ChaindbProperty and ChaindbCompact are about go-opera's LevelDB.
func (debugBlocks) ChaindbProperty(string) (string, error) {
	return "", errors.New("the state is in no LevelDB of go-opera's: --metrics has its accounting, `tarn db info` more")
}

func (debugBlocks) ChaindbCompact() error { return nil } // there is never anything to compact

// debugRuntime answers for debug about the process.
type debugRuntime struct{}

func (debugRuntime) MemStats() *runtime.MemStats {
	s := new(runtime.MemStats)
	runtime.ReadMemStats(s)
	return s
}

func (debugRuntime) GcStats() *debug.GCStats {
	s := new(debug.GCStats)
	debug.ReadGCStats(s)
	return s
}

func (debugRuntime) Stacks() (string, error) {
	var text strings.Builder
	const all = 2
	err := pprof.Lookup("goroutine").WriteTo(&text, all)
	return text.String(), err
}

func (debugRuntime) FreeOSMemory() { debug.FreeOSMemory() }

func (debugRuntime) SetGCPercent(percent int) int { return debug.SetGCPercent(percent) }
