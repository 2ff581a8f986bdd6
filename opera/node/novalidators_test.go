package node

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/config"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/opera/rpc"
)

// abandoned is a file of events of a go-opera fakenet whose only validator undelegates its stake.
var abandoned = filepath.Join("..", "chain", "testdata", "no-validators.events.gz")

// A node whose epoch has no validators serves, checks, exports, and begins from what it exported, its
// own validator in its place: it says nothing.
func TestANodeServesOnWithoutValidators(t *testing.T) {
	at, other := t.TempDir(), t.TempDir()
	tarn(t, at, "--fakenet", "0/1", "import", "events", abandoned)
	tarn(t, at, "check")
	genesis := filepath.Join(t.TempDir(), "abandoned.g")
	want := tarn(t, at, "export", "genesis", genesis)
	tarn(t, other, "--genesis.allowExperimental", "import", "genesis", genesis)
	if got := tarn(t, other, "export", "genesis", dryRun); got != want {
		t.Errorf("from its genesis\n%swant\n%s", got, want)
	}
	o := options(at, io.Discard)
	o.Genesis = nil
	n := open(t, o)
	if p, err := n.place(); err != nil || !p.deserted || p.epoch != 4 {
		t.Errorf("readiness thinks that there is %+v, %v", p, err)
	}
	shut(t, n)
	for _, c := range []*config.Config{speakerConfig(t, at, 1), speakerConfig(t, at, 0), speakerConfig(t, other, 0)} {
		l := &invocation{out: io.Discard, err: io.Discard,
			services: *newServices(c, slog.NewTextHandler(t.Output(), nil))}
		if err := l.running(t.Context(), func(ctx context.Context, s *rpc.Service) error {
			return answersAbandoned(ctx, t, s)
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// answersAbandoned asks a node in an epoch without validators what depends on them.
func answersAbandoned(ctx context.Context, t *testing.T, s *rpc.Service) error {
	client, end, err := s.Attach()
	if err != nil {
		return err
	}
	defer end()
	// Nobody has gas to give, so that prices are at their highest.
	key, err := fakenet.Key(1)
	if err != nil {
		return err
	}
	tx, err := types.SignNewTx(key, types.NewLondonSigner(new(big.Int).SetUint64(inter.FakeNetwork)),
		&types.LegacyTx{Nonce: 1 << 10, To: &common.Address{1}, Gas: 21000, GasPrice: big.NewInt(40_000e9)})
	if err != nil {
		return err
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return err
	}
	from := crypto.PubkeyToAddress(fakeKey(t))
	for _, q := range []struct {
		method string
		params []any
		want   string // in the answer, or the error
	}{
		{"eth_blockNumber", nil, "0x"},
		{"eth_gasPrice", nil, "0x"},
		{"eth_maxPriorityFeePerGas", nil, "0x"},
		{"eth_feeHistory", []any{"0x2", "latest", []int{50}}, "oldestBlock"},
		{"eth_call", []any{map[string]any{"from": from, "to": from, "value": "0x1"}, "latest"}, "0x"},
		{"eth_estimateGas", []any{map[string]any{"from": from, "to": from, "value": "0x1"}}, "0x5208"},
		{"eth_getBalance", []any{from, "latest"}, "0x"},
		{"eth_currentEpoch", nil, "0x"},
		{"abft_getValidators", []any{"latest"}, "{}"},
		{"dag_getHeads", []any{"pending"}, "[]"},
		{"eth_sendRawTransaction", []any{hexutil.Encode(raw)}, "0x"},
		{"txpool_status", nil, "queued"},
	} {
		var got json.RawMessage
		err := client.CallContext(ctx, &got, q.method, q.params...)
		if said := fmt.Sprint(string(got), err); !strings.Contains(said, q.want) || err != nil {
			t.Errorf("%s: %s, want %s", q.method, said, q.want)
		}
	}
	return nil
}
