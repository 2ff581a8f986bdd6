package rpc

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rpc"
)

// asks is a context that ends when it has been asked a number of times whether it has.
type asks struct {
	context.Context
	left int
}

func (a *asks) Err() error {
	if a.left--; a.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// Who asks a filter for more blocks than there is time for gets the first, and then the next, each once.
func TestAFilterOfBlocksGoesOnWhereItsTimeWasOver(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	f := &filter{block: 1}
	var got []common.Hash
	head := w.chain.Head()
	for calls := 0; f.block <= head.Number; calls++ {
		ids, err := read(w.service, func(v *view) ([]common.Hash, error) {
			return f.blocks(&asks{t.Context(), 3 * (calls % 2)}, v)
		})
		if late := calls%2 == 0; late != errors.Is(err, context.DeadlineExceeded) || len(ids) > 3 {
			t.Fatalf("call %d: %d ids, %v", calls, len(ids), err)
		}
		got = append(got, ids...)
	}
	if len(got) != int(head.Number) || got[len(got)-1] != common.Hash(head.Atropos) {
		t.Errorf("%d ids of %d blocks", len(got), head.Number)
	}
}

// While a filter's client is answered, no other request for it has a turn for longer than a request may take.
func TestNobodyWaitsForAFilterWithoutEnd(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Limits: Limits{RequestTime: 50 * time.Millisecond}})
	c := dial(t, w)
	var id rpc.ID
	if err := c.Call(&id, "eth_newBlockFilter"); err != nil {
		t.Fatal(err)
	}
	w.service.filters.filters[id].asking <- struct{}{}
	var ids []common.Hash
	fails(t, c.Call(&ids, "eth_getFilterChanges", id), "the filter is being asked")
	<-w.service.filters.filters[id].asking
	if err := c.Call(&ids, "eth_getFilterChanges", id); err != nil {
		t.Error(err)
	}
}
