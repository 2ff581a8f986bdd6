package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"tarn/opera/inter"
)

// ahead is a network whose peers are far.
type ahead struct{ noPeers }

func (ahead) Highest() (inter.BlockNumber, inter.Epoch) { return 1_000_000, 50 }

// A subscriber is told when the node begins and when it has ended to sync, once each.
func TestSubscribersHearWhetherTheNodeSyncs(t *testing.T) {
	var now atomic.Pointer[time.Time]
	w := newWorld(t, recordedEvents, Options{Peers: ahead{}, States: func() (pulled, known uint64) { return 5, 9 },
		Now: func() time.Time { return *now.Load() }})
	v, err := w.chain.View()
	if err != nil {
		t.Fatal(err)
	}
	head := v.Head()
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	set := func(age time.Duration) {
		at := time.Unix(0, int64(head.Time)).Add(age)
		now.Store(&at)
	}
	set(time.Minute)
	c, err := rpc.Dial("ws" + strings.TrimPrefix(w.url, "http"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	news := make(chan json.RawMessage, 10)
	sub, err := c.EthSubscribe(context.Background(), news, "syncing")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	hear := func(want string) {
		t.Helper()
		select {
		case got := <-news:
			if string(got) != want {
				t.Errorf("%s, want %s", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("nothing is told, want %s", want)
		}
	}
	set(2 * syncedAge)
	hear(`{"syncing":true,"status":{"StartingBlock":0,"CurrentBlock":` + fmt.Sprint(uint64(head.Number)) +
		`,"HighestBlock":1000000,"PulledStates":5,"KnownStates":9}}`)
	set(time.Minute)
	hear(`false`)
	time.Sleep(3 * watchEvery)
	if len(news) != 0 {
		t.Errorf("it is told again: %s", <-news)
	}
}
