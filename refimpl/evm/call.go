package main

import (
	"math"
	"math/big"

	"github.com/Fantom-foundation/go-opera/evmcore"
	"github.com/Fantom-foundation/go-opera/inter"
	"github.com/Fantom-foundation/go-opera/opera"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
)

// Call is a message of somebody who asks: nobody looks at its nonce, nor whether its sender
// has code.
type Call struct {
	From  common.Address
	To    *common.Address
	Gas   uint64
	Price *hexutil.Big
	Value *hexutil.Big
	Data  hexutil.Bytes
}

// Said is what became of a call, on the state after the last block and as from that block.
type Said struct {
	Refused string // why it is not executed
	Error   string // why the machine failed
	Return  hexutil.Bytes
	GasUsed uint64
	Root    common.Hash // of the state after it
}

func ask(db state.Database, root common.Hash, c *chain, config *params.ChainConfig, b *Block, call *Call) (said Said) {
	s, err := state.New(root, db, nil)
	if err != nil {
		fail("open a state", err)
	}
	header := &evmcore.EvmHeader{
		Number: new(big.Int).SetUint64(b.Number), Hash: b.ID, ParentHash: c.headers[b.Number].ParentHash,
		Time: inter.Timestamp(b.Time), GasLimit: math.MaxUint64, BaseFee: (*big.Int)(b.BaseFee),
	}
	price := (*big.Int)(call.Price)
	m := types.NewMessage(call.From, call.To, 0, (*big.Int)(call.Value), call.Gas, price, price, price,
		call.Data, nil, true)
	machine := vm.NewEVM(evmcore.NewEVMBlockContext(header, c, nil), evmcore.NewEVMTxContext(m), s, config,
		opera.DefaultVMConfig)
	result, err := evmcore.ApplyMessage(machine, m, new(evmcore.GasPool).AddGas(math.MaxUint64))
	if err != nil {
		said.Refused = err.Error()
	} else {
		said.Return, said.GasUsed = result.ReturnData, result.UsedGas
		if result.Err != nil {
			said.Error = result.Err.Error()
		}
	}
	said.Root = s.IntermediateRoot(true)
	return said
}
