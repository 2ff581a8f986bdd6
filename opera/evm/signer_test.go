package evm

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// Each kind of transaction that a pool may have says who sent it: peers give unprotected ones, too, of which the
// library's signer for the chain that they name would end the process.
func TestSignerOfEachKindOfTransaction(t *testing.T) {
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	want, chain := crypto.PubkeyToAddress(key.PublicKey), big.NewInt(4003)
	for name, tx := range map[string]*types.Transaction{
		"unprotected": types.MustSignNewTx(key, types.HomesteadSigner{}, &types.LegacyTx{Gas: 21000, GasPrice: big.NewInt(1)}),
		"protected":   types.MustSignNewTx(key, types.NewLondonSigner(chain), &types.LegacyTx{Gas: 21000, GasPrice: big.NewInt(1)}),
		"with a list": types.MustSignNewTx(key, types.NewLondonSigner(chain), &types.AccessListTx{ChainID: chain, GasPrice: big.NewInt(1)}),
		"with a tip":  types.MustSignNewTx(key, types.NewLondonSigner(chain), &types.DynamicFeeTx{ChainID: chain}),
	} {
		if from, err := Sender(SignerOf(tx), tx); err != nil || from != want {
			t.Errorf("%s: %v %v, want %v", name, from, err, want)
		}
	}
	for name, tx := range map[string]*types.Transaction{
		"of chain 0":             types.NewTx(&types.LegacyTx{V: big.NewInt(35), R: big.NewInt(1), S: big.NewInt(1)}),
		"of a negative chain":    types.NewTx(&types.LegacyTx{V: big.NewInt(33), R: big.NewInt(1), S: big.NewInt(1)}),
		"with a list of chain 0": types.NewTx(&types.AccessListTx{V: new(big.Int), R: big.NewInt(1), S: big.NewInt(1)}),
	} {
		if from, err := Sender(SignerOf(tx), tx); err == nil {
			t.Errorf("%s: sent by %v", name, from)
		}
	}
}
