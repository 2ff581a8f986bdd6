package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tarn/opera/inter"
)

// A chain that has another node asked for what it lacks reads no block to find that out before there is a turn.
func TestNoBlockIsReadBeforeItsTurnToFindWhetherItIsLacking(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{
		Limits: Limits{Tellings: 1, RequestTime: 50 * time.Millisecond},
		Older: func(context.Context, inter.BlockNumber, []byte) ([]byte, error) {
			return nil, errors.New("nobody is asked")
		},
	})
	v, err := w.chain.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var hash any
	for n := v.Head().Number - 1; hash == nil && n > 0; n-- {
		b, err := v.Block(n)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Txs) > 0 {
			hash = b.TxHash(0)
		}
	}
	ask := func(other string) string {
		t.Helper()
		res, err := http.Post(w.url, "application/json", strings.NewReader(fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionByHash","params":["%v"]%s}`, hash, other)))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	for _, other := range []string{"", `,"other":1`} { // quickly, and by the server
		end, err := w.service.pace.take(t.Context(), w.service.pace.telling, w.service.client(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if said := ask(other); !strings.Contains(said, "the node is busy") {
			t.Errorf("without a turn: %s", said)
		}
		if n := len(w.service.blocks.young); n != 0 {
			t.Errorf("%d blocks are read before there is a turn", n)
		}
		end()
	}
	for _, other := range []string{"", `,"other":1`} {
		if said := ask(other); !strings.Contains(said, fmt.Sprintf(`"hash":"%v"`, hash)) {
			t.Errorf("with a turn: %s", said)
		}
	}
}
