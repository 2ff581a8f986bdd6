package evm

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"

	"tarn/opera/inter"
)

// Header is what transactions can see of their block, and receipts say of it.
type Header struct {
	Number inter.BlockNumber
	Time   inter.Timestamp
	ID     inter.EventID // the block's id: its Atropos
	// Config says which of Ethereum's upgrades hold at which number, see ChainConfig.
	Config *params.ChainConfig
	// BaseFee is nil before London, see BaseFee.
	BaseFee *big.Int
	// BlockID returns the id of one of the 256 blocks before this one for BLOCKHASH, or
	// zero if there is none. It may be called any number of times for the same block.
	BlockID func(inter.BlockNumber) inter.EventID
	// Shown, if not nil, changes what contracts see of the block, and by which number rules
	// hold, for somebody who asks what would be.
	Shown func(*vm.BlockContext)
}

// ChainConfig says which of Ethereum's upgrades hold on a network at which block
// (go-opera, opera/rules.go): all up to Istanbul always, Berlin and London from the first
// entry on that has it with no later entry that has not. The first entry holds from the
// beginning, whatever its height.
func ChainConfig(network uint64, heights []inter.UpgradeHeight) *params.ChainConfig {
	always := new(big.Int)
	c := &params.ChainConfig{
		ChainID:             new(big.Int).SetUint64(network),
		HomesteadBlock:      always,
		EIP150Block:         always,
		EIP155Block:         always,
		EIP158Block:         always,
		ByzantiumBlock:      always,
		ConstantinopleBlock: always,
		PetersburgBlock:     always,
		IstanbulBlock:       always,
		MuirGlacierBlock:    always,
		Ethash:              new(params.EthashConfig),
	}
	for i, h := range heights {
		height := always
		if i > 0 {
			height = new(big.Int).SetUint64(uint64(h.Height))
		}
		c.BerlinBlock = since(c.BerlinBlock, h.Upgrades.Berlin, height)
		c.LondonBlock = since(c.LondonBlock, h.Upgrades.London, height)
	}
	return c
}

// since returns the height from which on an upgrade holds after an entry that has it, or
// has not, at a height; nil if it does not hold.
func since(before *big.Int, on bool, height *big.Int) *big.Int {
	switch {
	case !on:
		return nil
	case before != nil:
		return before
	}
	return height
}

// BaseFee returns the base fee of blocks under these rules, nil before London.
func BaseFee(rules *inter.Rules) *big.Int {
	if !rules.Upgrades.London {
		return nil
	}
	return rules.Economy.MinGasPrice
}

// Signer returns who recovers the senders of a block's transactions. It knows no type of
// transaction that Opera does not.
func Signer(config *params.ChainConfig, number inter.BlockNumber) types.Signer {
	n := new(big.Int).SetUint64(uint64(number))
	switch {
	case config.IsLondon(n):
		return types.NewLondonSigner(config.ChainID)
	case config.IsBerlin(n):
		return types.NewEIP2930Signer(config.ChainID)
	}
	return types.NewEIP155Signer(config.ChainID)
}

// blockHash answers BLOCKHASH.
func (h *Header) blockHash(number uint64) common.Hash {
	return common.Hash(h.BlockID(inter.BlockNumber(number)))
}
