package txpool

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"tarn/opera/chain"
	"tarn/opera/inter"
)

// Head is the chain after one block, as far as a pool looks at it. Only the pool calls it,
// after [Options.Head] has returned it, and closes it.
type Head struct {
	MaxGas   uint64   // that a transaction may ask for
	MinPrice *big.Int // wei, of the rules
	MinTip   *big.Int // wei above it, that validators ask for at present
	// Berlin and London tell whether the next block has access lists and dynamic fees.
	Berlin, London bool
	// Account returns an account's nonce and balance. Several goroutines may call it.
	Account func(common.Address) (nonce uint64, balance uint256.Int, err error)
	Close   func() error
}

// Prices tells what gas costs. *gasprice.Oracle is one.
type Prices interface {
	// Effective returns the price below which validators take no transaction.
	Effective(v *chain.View) *big.Int
}

// Heads returns what opens a chain's heads.
func Heads(c *chain.Chain, prices Prices) func() (*Head, error) {
	return func() (*Head, error) {
		v, err := c.View()
		if err != nil {
			return nil, err
		}
		rules := &v.Epoch().Rules
		tip := prices.Effective(v)
		if tip.Sub(tip, rules.Economy.MinGasPrice); tip.Sign() < 0 {
			tip.SetUint64(0)
		}
		next := new(big.Int).SetUint64(uint64(v.Head().Number) + 1)
		return &Head{
			MaxGas: maxGas(rules), MinPrice: rules.Economy.MinGasPrice, MinTip: tip,
			Berlin: v.Config().IsBerlin(next), London: v.Config().IsLondon(next), Close: v.Close,
			Account: func(a common.Address) (nonce uint64, balance uint256.Int, err error) {
				account, err := v.Account(a)
				return account.Nonce, account.Balance, err
			},
		}, nil
	}
}

// maxGas is what an event leaves for its only transaction when all else in it is as large
// as it may be (go-opera, gossip/evm_state_reader.go).
func maxGas(r *inter.Rules) uint64 {
	gas := &r.Economy.Gas
	rest := gas.EventGas + uint64(r.Dag.MaxParents-r.Dag.MaxFreeParents)*gas.ParentGas +
		uint64(r.Dag.MaxExtraData)*gas.ExtraDataGas
	return gas.MaxEventGas - min(gas.MaxEventGas, rest)
}
