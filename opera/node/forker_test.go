package node

import (
	"crypto/ecdsa"
	"encoding/binary"
	"io"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"

	"tarn/opera/chain"
	"tarn/opera/eventcheck"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/opera/p2p/fsnap"
)

// forger signs events for a validator whatever it signed before. All other checks of an event pass.
type forger struct {
	key   *ecdsa.PrivateKey
	id    inter.ValidatorID
	epoch *inter.EpochState
}

// newForger is one for the last validator of a fakenet, in the present epoch of a node.
func newForger(t *testing.T, n *Node, id inter.ValidatorID) *forger {
	t.Helper()
	key, err := fakenet.Key(id)
	if err != nil {
		t.Fatal(err)
	}
	v, err := n.Chain().View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	return &forger{key, id, v.Epoch()}
}

// event makes an event with those parents, another one for each number. Without parents it is a first
// one of the epoch.
func (f *forger) event(number int, parents ...inter.EventID) (*inter.Payload, error) {
	p := &inter.Payload{Event: inter.Event{
		Version: 1, Epoch: f.epoch.Epoch, Creator: f.id, Seq: 1, Lamport: 1, Frame: 1, Parents: parents,
		CreationTime: f.epoch.EpochStart + 1, MedianTime: f.epoch.EpochStart,
		Extra: binary.BigEndian.AppendUint64(nil, uint64(number)),
	}}
	if len(parents) > 0 {
		p.Lamport = 1 + parents[0].Lamport()
	}
	power, err := eventcheck.NewEpoch(f.epoch).GasPower(&p.Event, nil)
	if err != nil {
		return nil, err
	}
	p.GasPowerUsed = eventcheck.GasUsed(p, &f.epoch.Rules)
	p.GasPowerLeft = power.Sub(p.GasPowerUsed)
	if err := p.Seal(); err != nil {
		return nil, err
	}
	hash := p.SigningHash()
	signature, err := crypto.Sign(hash[:], f.key)
	copy(p.Signature[:], signature)
	return p, err
}

// flood connects to a node as a peer, and sends it events until there are none, or the test ends.
func flood(t *testing.T, to string, network chain.Network, next func() []*inter.Payload) {
	t.Helper()
	const name, version, codes, handshake, progress, events = "opera", 63, 16, 0, 1, 7
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	read := func(rw p2p.MsgReadWriter) error {
		for {
			m, err := rw.ReadMsg()
			if err != nil {
				return err
			}
			_ = m.Discard()
		}
	}
	speak := func(_ *p2p.Peer, rw p2p.MsgReadWriter) error {
		_ = p2p.Send(rw, handshake, []any{uint32(version), uint64(0), network.GenesisID})
		_ = p2p.Send(rw, progress, []any{uint32(1), uint64(0), [32]byte{}, uint32(0)})
		go func() {
			for list := next(); len(list) > 0 && t.Context().Err() == nil; list = next() {
				if p2p.Send(rw, events, list) != nil {
					return
				}
			}
		}()
		return read(rw)
	}
	server := &p2p.Server{Config: p2p.Config{PrivateKey: key, MaxPeers: 5, Name: "opera-flood", NoDiscovery: true,
		StaticNodes: []*enode.Node{enode.MustParse(to)}}}
	server.Protocols = []p2p.Protocol{{Name: name, Version: version, Length: codes, Run: speak},
		{Name: fsnap.Name, Version: fsnap.Version, Length: fsnap.Codes,
			Run: func(_ *p2p.Peer, rw p2p.MsgReadWriter) error { return read(rw) }}}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
}

// council starts the first validators of a fakenet, which know each other, and waits for a block.
func council(t *testing.T, size int) (nodes []*Node, urls []string) {
	t.Helper()
	for id := 1; id < size; id++ {
		dir := t.TempDir()
		o := options(dir, io.Discard)
		o.Genesis = &Beginning{Validators: size}
		n := open(t, o)
		nodes, urls = append(nodes, n), append(urls, speaking(t, n, dir, uint32(id), urls...))
	}
	until(t, "the network has no blocks", func() bool { return head(t, nodes[0]) >= 2 })
	return nodes, urls
}

// forgedAtOnce is how many events a message has, and forged how many there are: their signatures take
// a node seconds to verify.
const (
	forgedAtOnce = 50
	forged       = 20_000
)

// forge has a forger send events to all nodes, one after the other, and returns them.
func forge(
	t *testing.T, f *forger, urls []string, network chain.Network, make func(i int) (*inter.Payload, error),
) []*inter.Payload {
	t.Helper()
	var all []*inter.Payload
	for i := range forged {
		p, err := make(i)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	for _, url := range urls {
		rest := all
		flood(t, url, network, func() (list []*inter.Payload) {
			list, rest = rest[:min(forgedAtOnce, len(rest))], rest[min(forgedAtOnce, len(rest)):]
			return list
		})
	}
	return all
}

// A validator's events fork without end, which costs it nothing. The others see the fork, make the
// block that ends the validator, and take few of the events.
func TestAValidatorThatForksWithoutEndIsSoonNone(t *testing.T) {
	const size = 4
	nodes, urls := council(t, size)
	f := newForger(t, nodes[0], size)
	began := time.Now()
	all := forge(t, f, urls, nodes[0].Chain().Network(), func(i int) (*inter.Payload, error) { return f.event(i) })
	for _, n := range nodes {
		until(t, "who forks is still a validator", func() bool {
			v, err := n.Chain().View()
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			_, is := v.Epoch().Validators.Index(size)
			return !is
		})
		taken := 0
		for _, p := range all {
			if has, err := n.Chain().HasEvent(p.ID()); err != nil {
				t.Fatal(err)
			} else if has {
				taken++
			}
		}
		t.Logf("it is none after %v, %d of %d events are taken", time.Since(began).Round(time.Millisecond),
			taken, len(all))
		if taken < 2 || taken > forged/4 {
			t.Errorf("%d of %d events are taken: two show the fork", taken, len(all))
		}
	}
}

// A validator signs events without end whose parents never come. The others go on making blocks.
func TestEventsWhoseParentsNeverComeHoldNobodyUp(t *testing.T) {
	const size = 4
	nodes, urls := council(t, size)
	f := newForger(t, nodes[0], size)
	forge(t, f, urls, nodes[0].Chain().Network(), func(i int) (*inter.Payload, error) {
		nobody := inter.NewEventID(f.epoch.Epoch, 1, [32]byte{byte(i), byte(i >> 8), 1})
		return f.event(i, nobody)
	})
	began, last := time.Now(), head(t, nodes[0])
	for _, n := range nodes {
		until(t, "no block is made", func() bool { return head(t, n) > last+1 })
	}
	t.Logf("two blocks after %v", time.Since(began).Round(time.Millisecond))
}
