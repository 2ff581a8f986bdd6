package p2p

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"

	"tarn/opera/p2p/fsnap"
	"tarn/opera/state"
	"tarn/opera/statesync"
)

// counting counts what is brought, which was proved.
type counting struct{ accounts, slots, codes atomic.Int64 }

func (*counting) Begin(context.Context) error { return nil }

func (c *counting) Bring(_ context.Context, p *statesync.Part) error {
	c.accounts.Add(int64(len(p.Accounts)))
	c.slots.Add(int64(len(p.Slots)))
	c.codes.Add(int64(len(p.Codes)))
	return nil
}

// stateServer is a server that speaks the protocol of states to a node, and opera/63 if it should.
func stateServer(t *testing.T, n *Node, opera bool, talk func(rw p2p.MsgReadWriter) error) {
	t.Helper()
	server := &p2p.Server{Config: p2p.Config{PrivateKey: newKey(t), MaxPeers: 1,
		Name: "opera-asking", NoDiscovery: true, StaticNodes: []*enode.Node{n.Self()}}}
	server.Protocols = []p2p.Protocol{{Name: fsnap.Name, Version: fsnap.Version, Length: fsnap.Codes,
		Run: func(_ *p2p.Peer, rw p2p.MsgReadWriter) error { return talk(rw) }}}
	if opera {
		server.Protocols = append(server.Protocols, p2p.Protocol{Name: protocolName, Version: newest, Length: codes,
			Run: func(_ *p2p.Peer, rw p2p.MsgReadWriter) error {
				_ = p2p.Send(rw, codeHandshake, &handshake{Version: newest, Genesis: n.o.Ledger.Network().GenesisID})
				_ = p2p.Send(rw, codeProgress, &Progress{Epoch: 1})
				return idle(rw)
			}})
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
}

// A peer that is far behind gets the whole state with which the epoch began, each part proved, while
// the chain is blocks further. It asks for no events meanwhile, and does so once it is at the head.
func TestAPeerGetsTheStateOfTheEpochsBeginning(t *testing.T) {
	l, behind := openLedger(t, t.TempDir(), 1), openLedger(t, t.TempDir(), 1)
	fill(t, l)
	n := startNode(t, NewLedger(l.Chain.Chain, l), func(o *Options) { o.States = NewStates(l.Chain.Chain) })
	s, c := statesync.New(statesync.Options{Bytes: 4000}), new(counting)
	b := startNode(t, NewLedger(behind.Chain.Chain, behind), func(o *Options) { o.Givers, o.Snap = s, true })
	if err := b.AddPeer(n.Self().URLv4()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Sync(ctx, heldRoot(t, l), c); err != nil {
		t.Fatal(err)
	}
	await(t, "the peer says that it is ahead", b.Overtakes)
	time.Sleep(100 * time.Millisecond) // two beats, in each of which a stream could begin
	b.leecher.mu.Lock()
	if b.leecher.session != 0 {
		t.Error("events are asked for")
	}
	b.leecher.mu.Unlock()
	if added := b.Added(); len(added) != 1 || added[0] != n.Self().URLv4() {
		t.Errorf("connections are kept to %v", added)
	}
	b.fresh.Store(true)
	await(t, "the node follows by events", func() bool { return headOf(t, behind) == headOf(t, l) })
	if b.Behind() || b.Overtakes() {
		t.Error("at the head the node is far behind")
	}
	var accounts, slots int64
	held, release, err := NewStates(l.Chain.Chain).Held()
	if err != nil {
		t.Fatal(err)
	}
	err = held.Accounts(common.Hash{}, func(hash common.Hash, _ *state.Account) bool {
		accounts++
		return held.Slots(hash, common.Hash{}, func(state.Slot) bool { slots++; return true }) == nil
	})
	if err = errors.Join(err, release()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d accounts, %d slots, %d codes", c.accounts.Load(), c.slots.Load(), c.codes.Load())
	if c.accounts.Load() != accounts || c.slots.Load() != slots || c.codes.Load() == 0 || slots == 0 {
		t.Errorf("there are %d accounts and %d slots", accounts, slots)
	}
	closeNode(t, b)
	closeNode(t, n)
	behind.close(t, false)
	l.close(t, false)
}

// Who speaks of states and of nothing else is left.
func TestAPeerThatWantsNothingButStatesIsLeft(t *testing.T) {
	l := openLedger(t, t.TempDir(), 1)
	n := startNode(t, NewLedger(l.Chain.Chain, l), func(o *Options) { o.States = NewStates(l.Chain.Chain) })
	left := make(chan struct{}, 100)
	stateServer(t, n, false, func(rw p2p.MsgReadWriter) error {
		err := idle(rw)
		left <- struct{}{}
		return err
	})
	select {
	case <-left:
	case <-time.After(time.Minute):
		t.Error("it is not left")
	}
	closeNode(t, n)
	l.close(t, false)
}

// slow is a holder whose states take as long as a channel is empty, and says how many are asked for
// at a time.
type slow struct {
	open      chan struct{}
	now, most atomic.Int32
}

func (s *slow) Held() (*state.Provable, func() error, error) {
	if now := s.now.Add(1); now > s.most.Load() {
		s.most.Store(now)
	}
	<-s.open
	s.now.Add(-1)
	return nil, nil, nil
}

// However many peers ask however much, few answers are made at a time, and few requests of each
// peer are read that wait.
func TestAnswersWithStatesHaveABound(t *testing.T) {
	l := openLedger(t, t.TempDir(), 1)
	holder := &slow{open: make(chan struct{})}
	n := startNode(t, NewLedger(l.Chain.Chain, l), func(o *Options) {
		o.States, o.Limits.Handshake = holder, time.Minute // handshakes may wait behind requests
	})
	const peers, requests = 4, 20
	var sent, answered atomic.Int32
	for range peers {
		stateServer(t, n, true, func(rw p2p.MsgReadWriter) error {
			go func() {
				for i := range requests {
					if p2p.Send(rw, fsnap.CodeGetCodes, &fsnap.GetCodes{ID: uint64(i)}) == nil {
						sent.Add(1)
					}
				}
			}()
			for {
				m, err := rw.ReadMsg()
				if err != nil {
					return err
				}
				_ = m.Discard()
				answered.Add(1)
			}
		})
	}
	await(t, "all have asked", func() bool { return sent.Load() == peers*requests })
	await(t, "answers are being made", func() bool {
		return int(holder.now.Load()) == n.limits.StateAnswers
	})
	if answered.Load() != 0 {
		t.Errorf("%d are answered", answered.Load())
	}
	close(holder.open)
	await(t, "all are answered", func() bool { return answered.Load() == peers*requests })
	if most := int(holder.most.Load()); most > n.limits.StateAnswers {
		t.Errorf("%d answers were made at a time", most)
	}
	closeNode(t, n)
	l.close(t, false)
}

// Peers that ask for states, take no answer and go give their places back: who reads their requests
// waits for room among them when who answers has ended.
func TestPlacesOfPeersThatAskForStatesAndGoAreFree(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	l := openLedger(t, t.TempDir(), 1)
	fill(t, l)
	n := startNode(t, NewLedger(l.Chain.Chain, l), func(o *Options) {
		o.Notice, o.States = nil, NewStates(l.Chain.Chain)
	})
	held := heldRoot(t, l)
	var asked atomic.Int64
	var leaves []func()
	const peers, enough = 4, 1000
	for range peers {
		_, leave := connectStranger(t, n, "opera-state", func(s *stranger) {
			for i := uint64(0); s.send(fsnap.CodeGetAccounts, &fsnap.GetAccounts{ID: i, Root: held, To: common.MaxHash,
				Bytes: 1 << 20}); i++ {
				asked.Add(1)
			}
		})
		leaves = append(leaves, leave)
	}
	last, since := int64(0), time.Now()
	await(t, "requests fill what a node reads of them", func() bool {
		now := asked.Load()
		if now != last {
			last, since = now, time.Now()
		}
		return now > enough && time.Since(since) > 300*time.Millisecond
	})
	awaitDeserted(t, n, 0, leaves)
	closeNode(t, n)
	l.close(t, false)
}
