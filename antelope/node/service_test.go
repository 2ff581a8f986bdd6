package node

import (
	"strings"
	"testing"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/producer"
	"tarn/antelope/types"
	"tarn/store/engine"
)

// A node one of whose services cannot begin says why, and waits for nothing.
func TestServicesThatCannotBeginEndTheNode(t *testing.T) {
	o := options(t.TempDir(), engine.Options{})
	g := types.DefaultGenesis()
	o.Genesis = &g
	n := mustStart(t, o)
	p, peers := producer.Defaults(), p2p.DefaultOptions()
	p.Log, peers.Threads = o.Log, 0
	ended := make(chan error, 1)
	go func() { ended <- n.Serve(t.Context(), Services{Producer: p, P2P: &peers}) }()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "net-threads") {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the node does not end, and cannot work")
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}
