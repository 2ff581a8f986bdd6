package p2p

import (
	"context"
	"errors"
	"io"
	"sync"
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

// inquirer is a peer that asks over a connection, one request at a time.
type inquirer struct {
	rw p2p.MsgReadWriter
	mu sync.Mutex
	id uint64
}

func (a *inquirer) ask(request func(id uint64) fsnap.Message) (fsnap.Message, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id++
	m := request(a.id)
	if err := p2p.Send(a.rw, m.Code(), m); err != nil {
		return nil, err
	}
	in, err := a.rw.ReadMsg()
	if err != nil {
		return nil, err
	}
	raw := make([]byte, in.Size)
	if _, err := io.ReadFull(in.Payload, raw); err != nil {
		return nil, err
	}
	answer, err := fsnap.Decode(in.Code, raw)
	if err == nil && (answer.Number() != a.id || in.Code != m.Code()+1) {
		err = errors.New("another answer")
	}
	return answer, err
}

func (a *inquirer) Name() string { return "asking" }
func (a *inquirer) Drop(error)   {}

func (a *inquirer) Accounts(_ context.Context, root, from, to common.Hash, bytes uint64) (*statesync.Accounts, error) {
	m, err := a.ask(func(id uint64) fsnap.Message {
		return &fsnap.GetAccounts{ID: id, Root: root, From: from, To: to, Bytes: bytes}
	})
	if err != nil {
		return nil, err
	}
	out := &statesync.Accounts{Proof: m.(*fsnap.Accounts).Proof}
	for _, l := range m.(*fsnap.Accounts).Accounts {
		out.Leaves = append(out.Leaves, statesync.Leaf{Hash: l.Hash, Body: l.Body})
	}
	return out, nil
}

func (a *inquirer) Slots(_ context.Context, root common.Hash, accounts []common.Hash, from common.Hash, bytes uint64) (*statesync.Slots, error) {
	m, err := a.ask(func(id uint64) fsnap.Message {
		return &fsnap.GetSlots{ID: id, Root: root, Accounts: accounts, From: from[:], Bytes: bytes}
	})
	if err != nil {
		return nil, err
	}
	out := &statesync.Slots{Proof: m.(*fsnap.Slots).Proof}
	for _, slots := range m.(*fsnap.Slots).Of {
		var list []statesync.Leaf
		for _, l := range slots {
			list = append(list, statesync.Leaf{Hash: l.Hash, Body: l.Body})
		}
		out.Of = append(out.Of, list)
	}
	return out, nil
}

func (a *inquirer) Codes(_ context.Context, hashes []common.Hash, bytes uint64) ([][]byte, error) {
	m, err := a.ask(func(id uint64) fsnap.Message { return &fsnap.GetCodes{ID: id, Hashes: hashes, Bytes: bytes} })
	if err != nil {
		return nil, err
	}
	return m.(*fsnap.CodesOf).Codes, nil
}

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
	server := &p2p.Server{Config: p2p.Config{PrivateKey: newKey(t), MaxPeers: 1, Name: "opera-asking", NoDiscovery: true, StaticNodes: []*enode.Node{n.Self()}}}
	server.Protocols = []p2p.Protocol{{Name: fsnap.Name, Version: fsnap.Version, Length: fsnap.Codes, Run: func(_ *p2p.Peer, rw p2p.MsgReadWriter) error { return talk(rw) }}}
	if opera {
		server.Protocols = append(server.Protocols, p2p.Protocol{Name: protocolName, Version: newest, Length: codes, Run: func(_ *p2p.Peer, rw p2p.MsgReadWriter) error {
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

// A peer gets the whole state with which the epoch began, each part proved, while the chain is blocks
// further.
func TestAPeerGetsTheStateOfTheEpochsBeginning(t *testing.T) {
	l := openLedger(t, t.TempDir(), 1)
	fill(t, l)
	n := startNode(t, NewLedger(l.Chain.Chain, l), func(o *Options) { o.States = NewStates(l.Chain.Chain) })
	root, over, found := heldRoot(t, l), make(chan struct{}), make(chan error, 1)
	c := new(counting)
	stateServer(t, n, true, func(rw p2p.MsgReadWriter) error {
		s := statesync.New(statesync.Options{Bytes: 4000})
		s.Add(&inquirer{rw: rw})
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		found <- s.Sync(ctx, root, c)
		<-over
		return nil
	})
	if err := <-found; err != nil {
		t.Error(err)
	}
	close(over)
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
	closeNode(t, n)
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
	case <-time.After(20 * time.Second):
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
	await(t, "all have asked", 30*time.Second, func() bool { return sent.Load() == peers*requests })
	await(t, "answers are being made", 10*time.Second, func() bool { return int(holder.now.Load()) == n.limits.StateAnswers })
	if answered.Load() != 0 {
		t.Errorf("%d are answered", answered.Load())
	}
	close(holder.open)
	await(t, "all are answered", 30*time.Second, func() bool { return answered.Load() == peers*requests })
	if most := int(holder.most.Load()); most > n.limits.StateAnswers {
		t.Errorf("%d answers were made at a time", most)
	}
	closeNode(t, n)
	l.close(t, false)
}
