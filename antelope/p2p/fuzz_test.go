package p2p

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"tarn/antelope/types"
)

// Whatever a stranger sends, in whatever order, the connection ends when the
// stranger does, and the chain is where it was or on good blocks.
func FuzzConnection(f *testing.F) {
	chain := newFakeChain(60)
	change := gossips("own", "own:1")
	n := startNode(f, chain, func(o *Options) {
		change(o)
		o.KeepAlive = time.Hour
	})
	n.gossip.mu.Lock()
	n.gossip.keys = map[types.Name]ranking{
		types.N("own"): {0, producerKey(types.N("own")).Public()}, 1: {1, producerKey(1).Public()}}
	n.gossip.mu.Unlock()
	n.gossip.sign()
	info := chain.Info()
	hello := Handshake{NetworkVersion: NetworkVersion, ChainID: chain.id, NodeID: types.Hash([]byte("stranger")),
		P2PAddress: "x:1", OS: "linux",
		HeadNum: info.HeadNum, HeadID: info.HeadID, LIBNum: info.LIBNum, LIBID: info.LIBID, Generation: 1}
	frames := func(list ...Message) (b []byte) {
		for _, m := range list {
			b, _ = AppendFrame(b, m)
		}
		return b
	}
	far := hello
	far.HeadNum, far.LIBNum = 1000, 900
	next := chain.makeLocked(types.N("prod"), 0)
	lib := Notice{Trx: IDs{Mode: ModeLIBCatchUp, Pending: 900},
		Blocks: IDs{Mode: ModeLIBCatchUp, Pending: 1000, IDs: []types.Checksum256{{2: 3, 3: 232}}}}
	for _, m := range randomMessages(rand.New(rand.NewPCG(1, 1))) {
		f.Add(frames(hello, m, m))
	}
	e := record(chain.id, 1, Place{"h:1", "::1", info.Time + 9}, 0)
	f.Add(frames(hello, Gossip{}, Gossip{[]Record{e.Record}}, Gossip{[]Record{e.Record, e.Record}}))
	f.Add(frames(hello, SyncRequest{1, 60}, SyncRequest{}, SyncRequest{50, 100}))
	f.Add(frames(hello, Request{Blocks: IDs{Mode: ModeCatchUp, IDs: []types.Checksum256{chain.branch[40]}}}))
	f.Add(frames(far, lib, next, Time{Transmit: 5}, GoAway{Reason: WrongVersion}))
	f.Add(frames(hello, Notice{Blocks: IDs{Mode: ModeCatchUp, Pending: 100, IDs: []types.Checksum256{{3: 100}}}}, next,
		next))
	f.Fuzz(func(t *testing.T, b []byte) {
		ours, theirs := net.Pipe()
		c := newConn(n.Network, ours, nil, "us:1", 0)
		n.mu.Lock()
		n.addLocked(c)
		n.mu.Unlock()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.run(context.Background())
			n.remove(c)
		}()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		_ = theirs.SetWriteDeadline(time.Now().Add(patience))
		if _, err := theirs.Write(b); errors.Is(err, os.ErrDeadlineExceeded) { // we may hang up in between
			t.Fatal("the connection neither reads nor ends")
		}
		theirs.Close()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatal("the connection did not end")
		}
		if head, _ := chain.BlockID(60); head != info.HeadID {
			t.Fatal("another block 60")
		}
	})
}
