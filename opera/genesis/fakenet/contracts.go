package fakenet

import (
	"fmt"
	"math/big"

	"github.com/Fantom-foundation/go-opera/opera/contracts/driver"
	"github.com/Fantom-foundation/go-opera/opera/contracts/driverauth"
	"github.com/Fantom-foundation/go-opera/opera/contracts/netinit"
	"github.com/Fantom-foundation/go-opera/opera/contracts/sfc"
	"github.com/Fantom-foundation/go-opera/opera/contracts/sfclib"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"tarn/opera/epoch"
	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/state"
)

// Selectors of the methods that only a genesis calls.
const (
	initializeAll = 0x29e83e29 // initializeAll(uint256,uint256,address,address,address,address,address,address)
	// setGenesisValidator(address,uint256,bytes,uint256,uint256,uint256,uint256,uint256)
	setGenesisValidator = 0x4feb92f3
	// setGenesisDelegation(address,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256)
	setGenesisDelegation = 0x18f628d4
)

// member is a validator of the network.
type member struct {
	id      inter.ValidatorID
	address common.Address
	key     inter.PublicKey
}

func members(n int) ([]member, error) {
	if n < 1 || n > MaxValidators {
		return nil, fmt.Errorf("there can be 1 to %d", MaxValidators)
	}
	list := make([]member, 0, n)
	for id := inter.ValidatorID(1); id <= inter.ValidatorID(n); id++ {
		key, err := Key(id)
		if err != nil {
			return nil, err
		}
		list = append(list, member{
			id:      id,
			address: crypto.PubkeyToAddress(key.PublicKey),
			key:     inter.PublicKey{Type: inter.Secp256k1Key, Raw: crypto.FromECDSAPub(&key.PublicKey)},
		})
	}
	return list, nil
}

// endow gives the validators their balances and puts the contracts' code in its
// places.
func endow(db *state.Block, validators []member) {
	for _, v := range validators {
		db.AddBalance(v.address, uint256.MustFromBig(coins(balance)), tracing.BalanceIncreaseGenesisBalance)
	}
	for address, code := range map[common.Address][]byte{
		netinit.ContractAddress:    netinit.GetContractBin(),
		driver.ContractAddress:     driver.GetContractBin(),
		driverauth.ContractAddress: driverauth.GetContractBin(),
		sfc.ContractAddress:        sfc.GetContractBin(),
		sfclib.ContractAddress:     sfclib.GetContractBin(),
		evm.WriterAddress:          {0}, // Solidity calls nobody without code
	} {
		db.SetCode(address, code, tracing.CodeChangeGenesis)
	}
}

// initializer is the contract that tells the others of each other, and destructs
// itself.
func initializer() common.Address { return netinit.ContractAddress }

// initialize makes the call of the initializer. The first validator owns the
// contracts.
func initialize(validators []member) []byte {
	supply := new(big.Int).Mul(coins(balance), big.NewInt(int64(len(validators))))
	call := epoch.NewCall(initializeAll).Number(0).Big(supply)
	for _, a := range []common.Address{
		sfc.ContractAddress, sfclib.ContractAddress, driverauth.ContractAddress, driver.ContractAddress,
		evm.WriterAddress,
		validators[0].address,
	} {
		call.Address(a)
	}
	return call.Encode()
}

// introduce makes the calls of the driver contract that name the validators, and then
// what they have staked.
func introduce(validators []member) [][]byte {
	var names, stakes [][]byte
	for _, v := range validators {
		names = append(names, epoch.NewCall(setGenesisValidator).
			Address(v.address).Number(uint64(v.id)).Bytes(v.key.Bytes()).
			Number(0). // status
			Number(0).Number(StartTime.Seconds()).
			Number(0).Number(0). // deactivated: epoch, time
			Encode())
		stakes = append(stakes, epoch.NewCall(setGenesisDelegation).
			Address(v.address).Number(uint64(v.id)).Big(coins(stake)).
			Number(0).Number(0).Number(0).Number(0). // locked: amount, epoch, end, duration
			Number(0).Number(0).                     // penalty, rewards
			Encode())
	}
	return append(names, stakes...)
}

// nothing is a state without accounts.
type nothing struct{}

var _ state.Source = nothing{}

func (nothing) Account(common.Hash) (*state.Account, error)           { return nil, nil }
func (nothing) Slot(common.Hash, common.Hash) (common.Hash, error)    { return common.Hash{}, nil }
func (nothing) Code(common.Hash) ([]byte, error)                      { return nil, nil }
func (nothing) Slots(_, _ common.Hash, _ func(state.Slot) bool) error { return nil }
