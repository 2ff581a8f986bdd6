package p2p_test

import (
	"testing"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
)

// While a peer catches up its answer to a time message waits behind the blocks. That
// must not be taken for the latency of the network, in which the last blocks would
// be left for the peer to find out about.
func TestAPeerThatHasCaughtUpIsToldOfTheLastBlock(t *testing.T) {
	chain := p2p.NewTestChain(100)
	n := p2p.StartNode(t, chain, func(o *p2p.Options) { o.KeepAlive = 2 * time.Second })
	p := dial(t, n)
	id := func(num uint32) (h p2p.Handshake) {
		id, err := chain.BlockID(num)
		must(t, err)
		h.HeadNum, h.HeadID = num, id
		return h
	}
	first, almost := id(1), id(99)
	p.Hello.HeadNum, p.Hello.HeadID, p.Hello.LIBNum, p.Hello.LIBID = 1, first.HeadID, 1, first.HeadID
	must(t, p.SendHandshake())
	if m, err := lightpeer.Until[p2p.Notice](p); err != nil || m.Blocks.Mode != p2p.ModeLIBCatchUp {
		t.Fatalf("heard %+v, %v", m, err)
	}
	caughtUp := make(chan struct{})
	ended := make(chan struct{})
	go func() { // it fetches all the while
		defer close(ended)
		for {
			select {
			case <-caughtUp:
				return
			case <-time.After(100 * time.Millisecond):
				_ = p.Send(p2p.SyncRequest{Start: 2, End: 3}) // the test sees it if the connection is gone
			}
		}
	}()
	for asked := (p2p.Time{Origin: 1}); asked.Origin != 0; { // not an answer
		m, err := lightpeer.Until[p2p.Time](p)
		must(t, err)
		if asked = m; asked.Origin == 0 {
			time.Sleep(1200 * time.Millisecond) // more than two blocks take
			now := time.Now().UnixNano()
			must(t, p.Send(p2p.Time{Origin: asked.Transmit, Receive: now, Transmit: now}))
		}
	}
	close(caughtUp)
	<-ended
	p.Hello.HeadNum, p.Hello.HeadID = 99, almost.HeadID
	must(t, p.SendHandshake())
	if m, err := lightpeer.Until[p2p.Notice](p); err != nil || m.Blocks.Mode != p2p.ModeCatchUp {
		t.Fatalf("heard %+v, %v", m, err)
	}
}
