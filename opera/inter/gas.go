package inter

import (
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
)

// IntrinsicGas is what a transaction costs before anything is executed (go-opera,
// evmcore: Ethereum's of Istanbul and Berlin, no word of later upgrades). It cannot
// overflow: data and list are in memory.
func IntrinsicGas(data []byte, list types.AccessList, creation bool) uint64 {
	gas := params.TxGas
	if creation {
		gas = params.TxGasContractCreation
	}
	for _, b := range data {
		if b == 0 {
			gas += params.TxDataZeroGas
		} else {
			gas += params.TxDataNonZeroGasEIP2028
		}
	}
	gas += uint64(len(list)) * params.TxAccessListAddressGas
	return gas + uint64(list.StorageKeys())*params.TxAccessListStorageKeyGas
}
