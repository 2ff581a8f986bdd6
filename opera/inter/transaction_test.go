package inter

import (
	"encoding/hex"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/inter/cser"
)

func hexNumber(s string) *big.Int {
	n, _ := new(big.Int).SetString(s, 16)
	return n
}

// samples are transactions of every type with their encodings, values of go-opera's
// tests (inter/transaction_serializer_test.go).
func samples() map[string]*types.Transaction {
	coins := func(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(1e18)) }
	data := func(s string) []byte { b, _ := hex.DecodeString(s); return b }
	to, other := common.HexToAddress("727fc6a68321b754475c668a6abfb6e9e71c169a"), common.HexToAddress(
		"811a752c8cd697e3cb27279c330ed1ada745a8d7")
	list := types.AccessList{
		{Address: common.HexToAddress("de0b295669a9fd93d5f28d9ec85e40f4cb697bae"),
			StorageKeys: []common.Hash{{31: 3}, {31: 7}}},
		{Address: common.HexToAddress("bb9bc244d798123fde783fcc1c72d3bb8c189413")},
	}
	r, s := hexNumber("36b241b061a36a32ab7fe86c7aa9eb592dd59018cd0443adc0903590c16b02b0"), hexNumber(
		"5edcc541b4741c5cc6dd347c5ed9577ef293a62787b4510465fadbfe39ee4094")
	const tail = "0506fc23ac00081bc16d674ec80000811a752c8cd697e3cb27279c330ed1ada745a8d7106ebaf477f83e051589c1188bcc6ddccd012d" +
		"36b241b061a36a32ab7fe86c7aa9eb592dd59018cd0443adc0903590c16b02b05edcc541b4741c5cc6dd347c5ed9577ef293a62787b4510465fadbfe39ee4094" +
		"010502de0b295669a9fd93d5f28d9ec85e40f4cb697bae02000000000000000000000000000000000000000000000000000" +
		"00000000000030000000000000000000000000000000000000000000000000000000000000007bb9bc244d798123fde783fcc1c72d3bb8c18941300"
	return map[string]*types.Transaction{
		"0c08520504a817c800088ac7230489e80000727fc6a68321b754475c668a6abfb6e9e71c169a2fa9059cbb000000000213e" +
			"d0f886efd100b67c7e4ec0a85a7d20dc9716000000000000000000000" +
			"15af1d78b58c40000128be67e0a07db67da8d446f76add590e54b6e92cb6b8f9835aeb67540579a277172d6905165120201" +
			"71c1ec870f6ff45398cc8609250326be89915fb538e7bd71848320183": types.NewTx(&types.LegacyTx{
			Nonce: 12, GasPrice: big.NewInt(20e9), Gas: 21_000, To: &to, Value: coins(10),
			Data: data(
				"a9059cbb000000000213ed0f886efd100b67c7e4ec0a85a7d20dc971600000000000000000000015af1d78b58c4000"),
			V: big.NewInt(40), R: hexNumber("be67e0a07db67da8d446f76add590e54b6e92cb6b8f9835aeb67540579a27717"),
			S: hexNumber("2d690516512020171c1ec870f6ff45398cc8609250326be89915fb538e7bd718"),
		}),
		"010784b557" + tail + "00944c020085": types.NewTx(&types.AccessListTx{
			ChainID: big.NewInt(5), Nonce: 7, GasPrice: big.NewInt(30e9), Gas: 5_748_100, To: &other, Value: coins(2),
			Data: data("6ebaf477f83e051589c1188bcc6ddccd"), AccessList: list, V: big.NewInt(45), R: r, S: s,
		}),
		"020784b5570502540be400" + tail + "009464120085": types.NewTx(&types.DynamicFeeTx{
			ChainID: big.NewInt(5), Nonce: 7, GasTipCap: big.NewInt(10e9), GasFeeCap: big.NewInt(30e9), Gas: 5_748_100,
			To: &other, Value: coins(2), Data: data("6ebaf477f83e051589c1188bcc6ddccd"), AccessList: list,
			V: big.NewInt(45), R: r, S: s,
		}),
	}
}

func TestTransactionsOfEarlyEvents(t *testing.T) {
	for want, tx := range samples() {
		var w cser.Writer
		if err := writeTx(&w, tx); err != nil {
			t.Fatal(err)
		}
		raw := w.AppendTo(nil)
		if got := hex.EncodeToString(raw); got != want {
			t.Errorf("type %d is written as\n%s, want\n%s", tx.Type(), got, want)
		}
		r := cser.NewReader(raw)
		again, err := readTx(r)
		if err != nil || r.End() != nil || again.Hash() != tx.Hash() {
			t.Errorf("type %d is read otherwise: %v, %v", tx.Type(), err, r.End())
		}
		for cut := range raw {
			r := cser.NewReader(raw[:cut])
			if _, err := readTx(r); err == nil && r.End() == nil {
				t.Errorf("type %d: %d of %d bytes are a transaction", tx.Type(), cut, len(raw))
			}
		}
	}
	var w cser.Writer
	if writeTx(&w, types.NewTx(&types.LegacyTx{Gas: 255, V: new(big.Int), R: new(big.Int), S: new(big.Int)})) == nil {
		t.Error("a plain transaction with 255 gas is written, and would be read as one of another type")
	}
}
