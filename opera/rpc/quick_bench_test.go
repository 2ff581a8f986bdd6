package rpc

import (
	"fmt"
	"testing"

	"tarn/httpserver"
	"tarn/opera/genesis/fakenet"

	"github.com/ethereum/go-ethereum/crypto"
)

// BenchmarkAnswers answers what is asked most, without a network.
func BenchmarkAnswers(b *testing.B) {
	w := newWorld(b, recordedEvents, Options{})
	h, err := w.service.Handler(&HTTPOptions{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	key, err := fakenet.Key(1)
	if err != nil {
		b.Fatal(err)
	}
	rich := crypto.PubkeyToAddress(key.PublicKey)
	v, err := w.chain.View()
	if err != nil {
		b.Fatal(err)
	}
	defer v.Close()
	block, err := v.Block(v.Head().Number / 2)
	if err != nil || len(block.Txs) == 0 {
		b.Fatal(block, err)
	}
	for _, c := range []struct {
		name, method, params string
		gzip                 bool
	}{
		{name: "balance", method: "eth_getBalance", params: fmt.Sprintf(`"%s","latest"`, rich.Hex())},
		{name: "receipt", method: "eth_getTransactionReceipt", params: fmt.Sprintf(`"%s"`, block.Txs[0].Hash().Hex())},
		{name: "block", method: "eth_getBlockByNumber", params: `"0x5",true`},
		{name: "zipped", method: "eth_getBlockByNumber", params: `"0x5",true`, gzip: true},
		{name: "call", method: "eth_call", params: fmt.Sprintf(`{"from":"%s","to":"%s","data":"0x01"},"latest"`,
			rich.Hex(), "0xfc00face00000000000000000000000000000000")},
		{name: "logs", method: "eth_getLogs", params: fmt.Sprintf(`{"fromBlock":"0x1","toBlock":"%#x","address":"%s"}`,
			uint64(v.Head().Number), "0xfc00face00000000000000000000000000000000")},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := &httpserver.PlainRequest{
				Path: []byte("/"), Host: []byte("127.0.0.1:18545"), Type: []byte("application/json"),
				Remote: func() string { return "" }, Gzip: c.gzip,
				Body: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":[%s]}`, c.method, c.params),
			}
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				a, taken := h.Answer(b.Context(), r, out[:0])
				if !taken {
					b.Fatal("it is not taken")
				}
				out = a.Body
			}
			b.ReportMetric(float64(len(out)), "bytes")
		})
	}
}
