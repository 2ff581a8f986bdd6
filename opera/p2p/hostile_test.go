package p2p

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/eventfile"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/opera/p2p/fsnap"
)

// fill connects the events that a go-opera recorded, 16 blocks of a network of one.
func fill(t testing.TB, l *ledger) [][]byte {
	t.Helper()
	in, err := eventfile.Open(filepath.Join("..", "chain", "testdata", "fakenet1.events.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var all [][]byte
	next := func() ([]byte, error) {
		raw, err := in.Next()
		if err == nil {
			all = append(all, raw)
		}
		return raw, err
	}
	if _, err := l.Feed(context.Background(), next, nil); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return all
}

// stranger is a connection to a node that says whatever it likes after its handshake.
type stranger struct {
	rw   p2p.MsgReadWriter
	node *Node
	over <-chan struct{} // closed when the test is
}

func (s *stranger) send(code uint64, v any) bool {
	select {
	case <-s.over:
		return false
	default:
	}
	return p2p.Send(s.rw, code, v) == nil
}

// read reads and forgets, until the node ends the connection.
func (s *stranger) read() {
	for {
		m, err := s.rw.ReadMsg()
		if err != nil {
			return
		}
		_ = m.Discard()
	}
}

// idle reads and answers nothing, until the connection ends.
func idle(rw p2p.MsgReadWriter) error {
	for {
		m, err := rw.ReadMsg()
		if err != nil {
			return err
		}
		_ = m.Discard()
	}
}

// connectStranger runs behave on a connection of its own to a node. The connection ends
// when behave returns, or when the node ends it; gone tells. The stranger goes when leave is
// called, at the test's end at the latest.
func connectStranger(
	t testing.TB, n *Node, name string, behave func(s *stranger),
) (gone <-chan struct{}, leave func()) {
	t.Helper()
	done, over := make(chan struct{}), make(chan struct{})
	network := n.o.Ledger.Network()
	var once sync.Once
	server := &p2p.Server{Config: p2p.Config{PrivateKey: newKey(t), MaxPeers: 5, Name: name, NoDiscovery: true,
		StaticNodes: []*enode.Node{n.Self()}}}
	server.Protocols = []p2p.Protocol{{Name: protocolName, Version: newest, Length: codes,
		Run: func(_ *p2p.Peer, rw p2p.MsgReadWriter) error {
			defer once.Do(func() { close(done) })
			s := &stranger{rw: rw, node: n, over: over}
			if strings.Contains(name, "mute") {
				s.read()
				return nil
			}
			_ = p2p.Send(rw, codeHandshake, &handshake{Version: newest, Genesis: network.GenesisID})
			_ = p2p.Send(rw, codeProgress, &Progress{Epoch: 1})
			if strings.Contains(name, "state") { // which is said in the other protocol
				s.read()
				return nil
			}
			behave(s)
			return nil
		}}, {Name: fsnap.Name, Version: fsnap.Version, Length: fsnap.Codes,
		Run: func(_ *p2p.Peer, rw p2p.MsgReadWriter) error {
			if strings.Contains(name, "state") {
				behave(&stranger{rw: rw, node: n, over: over})
			}
			return idle(rw)
		}}}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	leave = sync.OnceFunc(func() {
		close(over)
		server.Stop()
	})
	t.Cleanup(leave)
	return done, leave
}

// awaitDeserted has all strangers go, and checks that a node then has their places again, and that
// nothing works for them any more. Honest peers that stay are counted.
func awaitDeserted(t testing.TB, n *Node, honest int, leaves []func()) {
	t.Helper()
	var all sync.WaitGroup
	for _, leave := range leaves {
		all.Go(leave)
	}
	all.Wait()
	await(t, "the strangers' places are free", func() bool { return n.server.PeerCount() <= honest })
	// Each connection has one goroutine in each of the two protocols.
	for _, of := range []string{"(*Node).run(", "(*exchange).run("} {
		lives := func() int {
			text := make([]byte, 16<<20)
			return strings.Count(string(text[:runtime.Stack(text, true)]), of)
		}
		// The honest peers' other ends are in this process, too.
		await(t, of+") ends for all strangers", func() bool { return lives() <= 2*honest })
	}
}

// forgeEvent is an event of the fakenet's validator that was never made, with those parents.
func forgeEvent(t testing.TB, epoch inter.Epoch, number int, parents ...inter.EventID) *inter.Payload {
	t.Helper()
	p := &inter.Payload{Event: inter.Event{
		Version: 1, Epoch: epoch, Seq: 2, Frame: 1, Lamport: 2, Creator: 1, Parents: parents,
		CreationTime: inter.Timestamp(1e18 + number), MedianTime: 1e18, GasPowerUsed: 28_000,
	}}
	signAs(t, p, 1)
	return p
}

// signAs makes an event one of a validator of the fakenet.
func signAs(t testing.TB, p *inter.Payload, id inter.ValidatorID) {
	t.Helper()
	key, err := fakenet.Key(id)
	if err == nil {
		err = p.Seal()
	}
	if err != nil {
		t.Fatal(err)
	}
	hash := p.SigningHash()
	signature, err := crypto.Sign(hash[:], key)
	if err != nil {
		t.Fatal(err)
	}
	copy(p.Signature[:], signature)
}

// conduct is what a hostile peer does, and whether it has to be left for it.
type conduct struct {
	left   bool
	behave func(t testing.TB, s *stranger)
}

// loop does something until the connection ends, or the test does.
func loop(s *stranger, pause time.Duration, do func(i int) bool) {
	go s.read()
	for i := 0; do(i); i++ {
		time.Sleep(pause)
	}
}

func conducts(all [][]byte) map[string]conduct {
	empty := bytes.Repeat([]byte{0x80}, 9<<20)
	list := append([]byte{0xfa, 0x90, 0, 0}, empty...)
	return map[string]conduct{
		"a message larger than any": {true, func(_ testing.TB, s *stranger) {
			s.send(codeEvents, make([]byte, maxMessage+1))
			s.read()
		}},
		"a request larger than any": {true, func(_ testing.TB, s *stranger) {
			s.send(codeGetEvents, make([]byte, maxSmall))
			s.read()
		}},
		"a list of millions": {true, func(_ testing.TB, s *stranger) {
			_ = s.rw.WriteMsg(p2p.Msg{Code: codeEvents, Size: uint32(len(list)), Payload: bytes.NewReader(list)})
			s.read()
		}},
		"an unknown code of a second handshake": {true, func(_ testing.TB, s *stranger) {
			s.send(codeHandshake, &handshake{Version: newest})
			s.read()
		}},
		"announcements of what is not there": {false, func(_ testing.TB, s *stranger) {
			loop(s, time.Millisecond, func(i int) bool {
				list := make([]inter.EventID, hardItems)
				for k := range list {
					list[k] = inter.NewEventID(inter.Epoch(s.node.intake.epoch.Load()), 1,
						[32]byte{byte(k), byte(k >> 8), byte(i), byte(i >> 8), 1})
				}
				return s.send(codeEventIDs, list)
			})
		}},
		"signed events whose parents never come": {false, func(t testing.TB, s *stranger) {
			loop(s, time.Millisecond, func(i int) bool {
				epoch := inter.Epoch(s.node.intake.epoch.Load())
				nobody := inter.NewEventID(epoch, 1, [32]byte{byte(i), byte(i >> 8), 2})
				return s.send(codeEvents, []*inter.Payload{forgeEvent(t, epoch, i, nobody)})
			})
		}},
		"an event with a wrong signature": {true, func(t testing.TB, s *stranger) {
			epoch := inter.Epoch(s.node.intake.epoch.Load())
			p := forgeEvent(t, epoch, 0, inter.NewEventID(epoch, 1, [32]byte{3}))
			p.Signature[5] ^= 1
			s.send(codeEvents, []*inter.Payload{p})
			s.read()
		}},
		"events that are known, or of other epochs": {false, func(_ testing.TB, s *stranger) {
			loop(s, time.Millisecond, func(i int) bool { return s.send(codeEvents, [][]byte{all[i%2*(len(all)-1)]}) })
		}},
		"it reads nothing of what it asks for": {false, func(_ testing.TB, s *stranger) {
			for i := 0; s.send(codeRequestEvents, ask(uint32(i), 0, 1<<62, 999, maxAsked, 12)) && i < 1000; i++ {
				continue
			}
			<-s.over
		}},
		"many streams of all that there is": {false, func(_ testing.TB, s *stranger) {
			loop(s, time.Millisecond, func(i int) bool {
				r := &request[[]byte]{Session: session[[]byte]{uint32(i), nil, bytes.Repeat([]byte{255}, 32)},
					Limit: limit{999, maxAsked}, Type: typeEvents, MaxChunks: 12}
				return s.send(codeRequestEvents, r)
			})
		}},
		"chunks that nobody asked for": {false, func(_ testing.TB, s *stranger) {
			loop(s, time.Millisecond, func(i int) bool {
				return s.send(codeEventsChunk, &eventsChunk{Session: uint32(i), IDs: []inter.EventID{{1}}})
			})
		}},
		"votes and records in garbage": {true, func(_ testing.TB, s *stranger) {
			s.send(codeBlockVotesChunk, []any{uint(1), false, []any{"text"}})
			s.read()
		}},
		"an epoch that is garbage": {true, func(_ testing.TB, s *stranger) {
			s.send(codeEpochPacksChunk, []any{uint(1), false, []any{[]any{[]any{}, "text"}}})
			s.read()
		}},
		"more votes than a chunk has": {true, func(_ testing.TB, s *stranger) {
			s.send(codeBlockVotesChunk, []any{uint(1), false, make([]uint, hardItems)})
			s.read()
		}},
		"votes of epochs that are not known": {false, func(t testing.TB, s *stranger) {
			votes := ballot(t, 1<<20, 7, inter.BlockVotes{Start: 1 << 30, Epoch: 1 << 20, Votes: make([][32]byte, 64)},
				inter.EpochVote{}).SignedBlockVotes()
			list := slices.Repeat([]*inter.SignedBlockVotes{&votes}, 999)
			loop(s, time.Millisecond, func(i int) bool {
				return s.send(codeBlockVotesChunk, []any{uint(i), false, list})
			})
		}},
		"blocks of nine megabytes that nobody voted for": {false, func(_ testing.TB, s *stranger) {
			loop(s, 10*time.Millisecond, func(i int) bool {
				return s.send(codeBlockRecordsChunk,
					[]any{uint(i), false,
						[]any{[]any{[]any{[32]byte{}, [32]byte{}, []any{}, rlp.RawValue(list), uint(1), uint(1)},
							uint(1 << 40)}}})
			})
		}},
		"it is far ahead, and serves nothing": {false, func(_ testing.TB, s *stranger) {
			loop(s, 10*time.Millisecond, func(int) bool {
				return s.send(codeProgress, &Progress{Epoch: 1 << 20, Block: 1 << 40})
			})
		}},
		"the answers of another protocol": {true, func(_ testing.TB, s *stranger) {
			s.send(codeTxs, "text")
			s.send(codeProgress, "text")
			s.read()
		}},
	}
}

// A chain goes from one node over a second to a third, while strangers do all of this to
// the second one at the same time.
func TestHonestPeersAreUnharmedBesideHostileOnes(t *testing.T) {
	first, middle, third := openLedger(t, t.TempDir(), 1), openLedger(t, t.TempDir(), 1), openLedger(t, t.TempDir(), 1)
	all := fill(t, first)
	head := headOf(t, first)
	quick := func(o *Options) {
		o.Notice = nil
		l := &o.Limits
		l.ChunkWait, l.Restart, l.Progress, l.Handshake, l.Arrive = 300*time.Millisecond, 100*time.Millisecond,
			100*time.Millisecond, unhurried, 200*time.Millisecond
	}
	follower := func(l *ledger) *Node {
		return startNode(t, NewLedger(l.Chain.Chain, l), func(o *Options) {
			quick(o)
			o.Records, o.RecordLedger, o.Snap = NewRecords(l.Chain.Chain), NewRecordLedger(l.Chain.Chain, l), true
		})
	}
	a, b, c := follower(first), follower(middle), follower(third)
	var leaves []func()
	gone := map[string]<-chan struct{}{}
	list := conducts(all)
	var acted atomic.Int32
	for name, how := range list {
		var leave func()
		gone[name], leave = connectStranger(t, b, "opera-"+strings.ReplaceAll(name, " ", "-"), func(s *stranger) {
			acted.Add(1)
			how.behave(t, s)
		})
		leaves = append(leaves, leave)
	}
	_, leave := connectStranger(t, b, "opera-mute", nil)
	leaves = append(leaves, leave)
	awaitProgress(t, "all strangers are connected", func() (bool, int) {
		n := int(acted.Load())
		return n >= len(list), n
	})
	for _, to := range []*Node{a, c} {
		if err := to.AddPeer(b.Self().URLv4()); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	most := 0
	awaitProgress(t, "the third node at the first one's head", func() (bool, int) {
		most = max(most, b.intake.budget.usedPercent())
		at, before := headOf(t, third).Number, headOf(t, middle).Number
		return at == head.Number, a.PeerCount() + c.PeerCount() + int(at+before)
	})
	t.Logf("%d events after %v, at most %d %% of the room for events in use", len(all), time.Since(began), most)
	if headOf(t, third) != head || headOf(t, middle) != head {
		t.Errorf("the heads are %v and %v, not %v", headOf(t, middle), headOf(t, third), head)
	}
	checkLeft(t, list, gone)
	checkBounds(t, b)
	awaitDeserted(t, b, 2, leaves)
	for _, n := range []*Node{c, b, a} {
		closeNode(t, n)
	}
	for _, l := range []*ledger{first, middle, third} {
		l.close(t, false)
	}
}

// checkLeft checks that those are left who have to be.
func checkLeft(t testing.TB, list map[string]conduct, gone map[string]<-chan struct{}) {
	t.Helper()
	for name, how := range list {
		if how.left {
			select {
			case <-gone[name]:
			case <-time.After(time.Minute):
				t.Errorf("%s: it is not left", name)
			}
		}
	}
}

// checkBounds checks what a node holds for its peers.
func checkBounds(t testing.TB, n *Node) {
	t.Helper()
	n.events.mu.Lock()
	for p, load := range n.events.load {
		if load > n.limits.Announced {
			t.Errorf("%d ids that %s announced are wanted", load, p.name)
		}
	}
	n.events.mu.Unlock()
	if f := n.txs.fetcher; f != nil {
		f.mu.Lock()
		for p, load := range f.load {
			if load > n.limits.Announced {
				t.Errorf("%d transactions that %s announced are wanted", load, p.name)
			}
		}
		f.mu.Unlock()
	}
	n.intake.mu.Lock()
	if len(n.intake.order.waiting) > n.limits.OrderEvents {
		t.Errorf("%d events wait for parents", len(n.intake.order.waiting))
	}
	n.intake.mu.Unlock()
	if r := n.recordSync.repeater; r != nil {
		r.budget.mu.Lock()
		if r.budget.n > n.limits.FillChunks || r.budget.size > n.limits.FillBytes {
			t.Errorf("%d chunks of votes and records wait, of %d bytes", r.budget.n, r.budget.size)
		}
		r.budget.mu.Unlock()
	}
	for _, p := range n.peers.list() {
		p.queue.mu.Lock()
		for _, l := range []*lane{&p.queue.news, &p.queue.parts} {
			if len(l.list) > n.limits.QueueItems || l.size > n.limits.QueueBytes/2+maxMessage {
				t.Errorf("%d messages of %d bytes are queued to %s", len(l.list), l.size, p.name)
			}
		}
		p.queue.mu.Unlock()
	}
}
