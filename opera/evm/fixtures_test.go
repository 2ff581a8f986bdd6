package evm

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"tarn/opera/inter"
)

// fixture is a case of Ethereum's state tests, as far as Opera has what it is about. The
// results in it are Ethereum's, whose fees are others: go-opera judges instead.
type fixture struct {
	Env struct {
		Number    math.HexOrDecimal64   `json:"currentNumber"`
		Timestamp math.HexOrDecimal64   `json:"currentTimestamp"`
		BaseFee   *math.HexOrDecimal256 `json:"currentBaseFee"`
	} `json:"env"`
	Pre map[common.Address]struct {
		Balance *math.HexOrDecimal256 `json:"balance"`
		Nonce   math.HexOrDecimal64   `json:"nonce"`
		Code    hexutil.Bytes         `json:"code"`
		Storage map[string]string     `json:"storage"`
	} `json:"pre"`
	Transaction struct {
		Data        []string              `json:"data"`
		GasLimit    []math.HexOrDecimal64 `json:"gasLimit"`
		Value       []string              `json:"value"`
		AccessLists []*types.AccessList   `json:"accessLists"`
		GasPrice    *math.HexOrDecimal256 `json:"gasPrice"`
		FeeCap      *math.HexOrDecimal256 `json:"maxFeePerGas"`
		Tip         *math.HexOrDecimal256 `json:"maxPriorityFeePerGas"`
		Blobs       []common.Hash         `json:"blobVersionedHashes"`
		Nonce       math.HexOrDecimal64   `json:"nonce"`
		To          string                `json:"to"`
		Key         hexutil.Bytes         `json:"secretKey"`
		Authorized  []json.RawMessage     `json:"authorizationList"`
	} `json:"transaction"`
}

// go-opera's processor makes the same of the states and transactions of Ethereum's state
// tests (the folder GeneralStateTests of github.com/ethereum/tests), with the rules of
// Istanbul, Berlin and London.
func TestEthereumsStateTestsAreGoOperas(t *testing.T) {
	folder := os.Getenv("TARN_STATE_TESTS")
	if folder == "" {
		t.Skip("set TARN_STATE_TESTS to GeneralStateTests of Ethereum's tests, or a folder in it")
	}
	j := startReferenceEVM(t)
	files, cases := 0, 0
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".json" {
			return err
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var all map[string]fixture
		if err := json.Unmarshal(raw, &all); err != nil {
			t.Logf("%s is none of these tests: %v", name, err)
			return nil
		}
		files++
		for _, f := range all {
			n, err := f.judge(j)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			cases += n
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d cases of %d files", cases, files)
	if cases == 0 {
		t.Error("no cases in ", folder)
	}
}

// lastNonce tells whether an account has the last nonce there is. go-ethereum lets it
// create nothing since, and no account of Opera's can come to it.
func (f *fixture) lastNonce() bool {
	for _, p := range f.Pre {
		if p.Nonce >= 1<<64-2 {
			return true
		}
	}
	return false
}

// judge compares a fixture's cases, with each fork that knows their transactions.
func (f *fixture) judge(j *referenceEVM) (cases int, err error) {
	tx := &f.Transaction
	if len(tx.Blobs) > 0 || len(tx.Authorized) > 0 || len(tx.Key) != 32 || f.lastNonce() {
		return 0, nil
	}
	for data := range tx.Data {
		for gas := range tx.GasLimit {
			for value := range tx.Value {
				for fork, upgrades := range []inter.Upgrades{{}, {Berlin: true}, {Berlin: true, London: true}} {
					s := f.scene(upgrades, data, gas, value)
					if s == nil {
						continue
					}
					cases++
					if err := s.compare(s.state.copy(), j.ask(s.words(false)).Blocks, new(reached)); err != nil {
						return cases, fmt.Errorf("data %d, gas %d, value %d, fork %d: %w", data, gas, value, fork, err)
					}
				}
			}
		}
	}
	return cases, nil
}

// scene makes a case, nil where the rules do not know the transaction or where no event
// could carry it.
func (f *fixture) scene(u inter.Upgrades, data, gas, value int) *scene {
	from := &f.Transaction
	o := offer{nonce: uint64(from.Nonce), gas: uint64(from.GasLimit[gas]), price: (*big.Int)(from.GasPrice)}
	var ok bool
	if o.value, ok = math.ParseBig256(strings.TrimPrefix(from.Value[value], "0x:bigint ")); !ok {
		return nil
	}
	o.data = common.FromHex(from.Data[data])
	if from.To != "" {
		to := common.HexToAddress(from.To)
		o.to = &to
	}
	if data < len(from.AccessLists) && from.AccessLists[data] != nil {
		o.kind, o.list = 2, *from.AccessLists[data]
	}
	if from.FeeCap != nil {
		o.kind, o.price, o.tip = 3, (*big.Int)(from.FeeCap), (*big.Int)(from.Tip)
	}
	number := max(uint64(f.Env.Number), 1)
	if o.kind == 2 && !u.Berlin || o.kind == 3 && !u.London || o.price == nil ||
		o.gas < inter.IntrinsicGas(o.data, o.list, o.to == nil) || number > 1<<62 {
		return nil
	}
	key, err := crypto.ToECDSA(from.Key)
	if err != nil {
		return nil
	}
	s := newScene(1)
	s.keys[0], s.state, s.blocks, s.ids = key, newMemory(), nil, nil
	s.upgrades = []inter.UpgradeHeight{{Upgrades: u}}
	s.ids = append(s.ids, inter.EventID{1})
	h := Header{Number: inter.BlockNumber(number), Time: inter.Timestamp(f.Env.Timestamp%1e9) * 1e9,
		Config: ChainConfig(network, s.upgrades), BlockID: s.id}
	if u.London {
		h.BaseFee = new(big.Int)
		if f.Env.BaseFee != nil {
			h.BaseFee.Set((*big.Int)(f.Env.BaseFee))
		}
	}
	for address, p := range f.Pre {
		a := newAccount()
		a.balance.Set(uint256.MustFromBig((*big.Int)(p.Balance)))
		a.nonce, a.code = uint64(p.Nonce), p.Code
		for key, v := range p.Storage {
			a.storage[common.HexToHash(key)] = common.HexToHash(v)
		}
		s.state.accounts[address] = a
	}
	s.blocks = []sceneBlock{{header: h, steps: [][]Tx{{s.sign(big.NewInt(network), 0, o)}}}}
	return s
}
