package evm

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	originals "tarn/internal/refimpl"
)

// processor is the program of refimpl/evm.
func processor(t testing.TB) string { return originals.Build(t, "../../refimpl/evm") }

// The judge's words, see refimpl/evm.
type (
	judgeAccount struct {
		Balance *hexutil.Big                `json:"balance"`
		Nonce   hexutil.Uint64              `json:"nonce"`
		Code    hexutil.Bytes               `json:"code,omitempty"`
		Storage map[common.Hash]common.Hash `json:"storage,omitempty"`
	}
	judgeHeight struct {
		Height         uint64
		Berlin, London bool
	}
	judgeBlock struct {
		Number, Time uint64
		ID           common.Hash
		BaseFee      *hexutil.Big
		Steps        [][]hexutil.Bytes
	}
	judgeCall struct {
		From         common.Address
		To           *common.Address
		Gas          uint64
		Price, Value *hexutil.Big
		Data         hexutil.Bytes
	}
	judgeRequest struct {
		Network  uint64
		Upgrades []judgeHeight
		IDs      []common.Hash
		State    map[common.Address]judgeAccount
		Blocks   []judgeBlock
		Calls    []judgeCall
		Dump     bool
	}
	judgeReceipt struct {
		Type              hexutil.Uint64 `json:"type"`
		Status            hexutil.Uint64 `json:"status"`
		CumulativeGasUsed hexutil.Uint64 `json:"cumulativeGasUsed"`
		Bloom             types.Bloom    `json:"logsBloom"`
		Logs              []*types.Log   `json:"logs"`
		TxHash            common.Hash    `json:"transactionHash"`
		ContractAddress   common.Address `json:"contractAddress"`
		GasUsed           hexutil.Uint64 `json:"gasUsed"`
		BlockHash         common.Hash    `json:"blockHash"`
		BlockNumber       *hexutil.Big   `json:"blockNumber"`
	}
	judgeOutcome struct {
		Root     common.Hash
		GasUsed  uint64
		Skipped  []int
		Receipts []judgeReceipt
		Heard    []*types.Log
	}
	judgeSaid struct {
		Refused string
		Error   string
		Return  hexutil.Bytes
		GasUsed uint64
		Root    common.Hash
	}
	judgeAnswer struct {
		Blocks []judgeOutcome
		Calls  []judgeSaid
		State  map[common.Address]judgeAccount
	}
)

// referenceEVM is the running program.
type referenceEVM struct {
	t   testing.TB
	in  *json.Encoder
	out *json.Decoder
}

func startReferenceEVM(t testing.TB) *referenceEVM {
	t.Helper()
	cmd := exec.Command(processor(t))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error("the judge ended: ", err)
		}
	})
	return &referenceEVM{t: t, in: json.NewEncoder(in), out: json.NewDecoder(bufio.NewReaderSize(out, 1<<20))}
}

func (j *referenceEVM) ask(r *judgeRequest) (a judgeAnswer) {
	j.t.Helper()
	if err := j.in.Encode(r); err != nil {
		j.t.Fatal("ask the judge: ", err)
	}
	if err := j.out.Decode(&a); err != nil {
		j.t.Fatal("hear the judge: ", err)
	}
	return a
}

// words puts a scene into the judge's words.
func (s *scene) words(dump bool) *judgeRequest {
	r := &judgeRequest{Network: network, State: s.state.words(), Dump: dump}
	for _, u := range s.upgrades {
		r.Upgrades = append(r.Upgrades, judgeHeight{Height: uint64(u.Height), Berlin: u.Upgrades.Berlin,
			London: u.Upgrades.London})
	}
	for _, id := range s.ids {
		r.IDs = append(r.IDs, common.Hash(id))
	}
	for _, b := range s.blocks {
		w := judgeBlock{Number: uint64(b.header.Number), Time: uint64(b.header.Time), ID: common.Hash(b.header.ID),
			BaseFee: (*hexutil.Big)(b.header.BaseFee)}
		for _, step := range b.steps {
			txs := []hexutil.Bytes{}
			for _, tx := range step {
				raw, err := tx.MarshalBinary()
				if err != nil {
					panic(err)
				}
				txs = append(txs, raw)
			}
			w.Steps = append(w.Steps, txs)
		}
		r.Blocks = append(r.Blocks, w)
	}
	for _, m := range s.calls {
		r.Calls = append(r.Calls, judgeCall{From: m.From, To: m.To, Gas: m.Gas, Price: (*hexutil.Big)(m.Price),
			Value: (*hexutil.Big)(m.Value), Data: m.Data})
	}
	return r
}

// words puts a state into the judge's words.
func (m *memory) words() map[common.Address]judgeAccount {
	all := make(map[common.Address]judgeAccount)
	for address, a := range m.accounts {
		w := judgeAccount{Balance: (*hexutil.Big)(a.balance.ToBig()), Nonce: hexutil.Uint64(a.nonce), Code: a.code,
			Storage: make(map[common.Hash]common.Hash)}
		for key, value := range a.storage {
			if value != (common.Hash{}) {
				w.Storage[key] = value
			}
		}
		all[address] = w
	}
	return all
}
