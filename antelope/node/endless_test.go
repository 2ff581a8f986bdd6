package node

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/producer"
	"tarn/antelope/types"
	"tarn/store/engine"
)

// endless is a contract whose every action runs for ever.
var endless = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x07\x01\x60\x03\x7e\x7e\x7e\x00" + // a type: three numbers, no result
	"\x03\x02\x01\x00" + "\x07\x09\x01\x05apply\x00\x00" +
	"\x0a\x09\x01\x07\x00\x03\x40\x0c\x00\x0b\x0b") // loop, branch to it

// endlessBlock is a block with a transaction that never ends. Its header is good: what a block does is in no header
// of Savanna's before a later one.
func endlessBlock(t *testing.T, n *Node, p *chaintest.Peers, at types.BlockTimestamp) *types.SignedBlock {
	t.Helper()
	eosio := types.N("eosio")
	trx, err := p.Maker(0).Sign(chaintest.SetCode(eosio, endless), chaintest.Action(eosio, types.N("any"), eosio, nil))
	if err != nil {
		t.Fatal(err)
	}
	return nextBlock(t, n, p, at, trx)
}

// served is a node of a chain with Savanna's rules that takes blocks.
type served struct {
	*Node
	*producer.Producer
	options Options
	peers   *chaintest.Peers
	pushed  chan types.Checksum256 // blocks that are about to be applied
	stop    func()
}

// now is the time slot that is now.
func now() types.BlockTimestamp {
	return types.NewBlockTimestamp(types.TimePoint(time.Now().UnixMicro()))
}

// serveProper starts one, which makes the blocks of a producer whose turn is the next but the one that is now.
func serveProper(t *testing.T, producing bool) *served {
	t.Helper()
	p := finalPeers(t, 3)
	o := options(t.TempDir(), engine.Options{})
	o.Genesis, o.Log = &p.Genesis, slog.New(slog.NewTextHandler(t.Output(), nil))
	s := &served{Node: startAt(t, o, p), options: o, peers: p, pushed: make(chan types.Checksum256, 99)}
	po := producer.Defaults()
	po.Log = o.Log
	po.VotePause = 0
	if producing {
		produceForAll(&po, s.Node, p)
		schedule := s.Node.Chain().Head().ActiveSchedule.Producers
		next := int(now()/12+1) % len(schedule)
		if po.Producers = []types.Name{schedule[next].Producer}; len(schedule) < 2 {
			t.Fatal("there is one producer")
		}
	}
	var err error
	if s.Producer, err = producer.New(s.Node.Chain(), po); err != nil {
		t.Fatal(err)
	}
	s.Node.Chain().Subscribe(chain.Hooks{AcceptedHeader: func(b *consensus.BlockState) { s.pushed <- b.ID }})
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	s.stop = func() {
		cancel()
		select {
		case err := <-ran:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the node does not stop")
		}
		if err := s.Node.Close(); err != nil {
			t.Error(err)
		}
	}
	return s
}

// give gives the node a block, and does not wait.
func (s *served) give(t *testing.T, b *types.SignedBlock) <-chan error {
	t.Helper()
	block, done := s.NewBlock(b, b.ID()), make(chan error, 1)
	if err := s.CheckHeader(block); err != nil {
		t.Fatal(err)
	}
	go func() { done <- s.Apply(t.Context(), block) }()
	return done
}

// applies gives the node a block, and waits until it is being applied.
func (s *served) applies(t *testing.T, b *types.SignedBlock) <-chan error {
	t.Helper()
	done := s.give(t, b)
	select {
	case <-s.pushed:
	case <-time.After(time.Minute):
		t.Fatal("the block is not applied")
	}
	time.Sleep(300 * time.Millisecond)
	return done
}

// within waits for a block to be dealt with.
func within(t *testing.T, what string, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("%s: nothing becomes of it", what)
	}
}

// A block that never ends gives way to a better one, and what follows it is not applied before that. Nothing is
// held against it, since a block may just take long: it is known, and so are its followers.
func TestABlockThatNeverEndsGivesWayToABetterOne(t *testing.T) {
	s := serveProper(t, false)
	head := s.Node.Chain().Head()
	x, b := endlessBlock(t, s.Node, s.peers, head.Header.Timestamp+1),
		nextBlock(t, s.Node, s.peers, head.Header.Timestamp+9)
	first := s.applies(t, x)
	select {
	case err := <-first:
		t.Fatalf("the block that never ends has ended: %v", err)
	default:
	}
	second := s.give(t, b)
	within(t, "the endless block", first)
	within(t, "the better block", second)
	if is := s.Producer.Head().ID; is != b.ID() || !s.Knows(x.ID()) {
		t.Errorf("the head is %s, want %s", is, b.ID())
	}
	s.stop()
}

// A node stops while it applies a block that never ends, and has lost nothing.
func TestANodeStopsWhileABlockNeverEnds(t *testing.T) {
	s := serveProper(t, false)
	head := s.Node.Chain().Head()
	done := s.applies(t, endlessBlock(t, s.Node, s.peers, head.Header.Timestamp+1))
	if is := s.Producer.Head().ID; is != head.ID {
		t.Errorf("the head is %s", is)
	}
	s.stop()
	<-done
}

// A producer makes its blocks although another's block never ends.
func TestAProducerMakesItsBlockWhileAnotherNeverEnds(t *testing.T) {
	t.Parallel() // waits for its turn
	s := serveProper(t, true)
	head := s.Producer.Head().ID
	x := endlessBlock(t, s.Node, s.peers, s.Producer.Head().Time+1)
	within(t, "the endless block", s.give(t, x))
	for end := time.Now().Add(time.Minute); s.Producer.Head().ID == head; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the head is as before")
		}
	}
	s.stop()
	if s.Producer.Head().ID == x.ID() {
		t.Error("the endless block is the head")
	}
}

// A node that has been given a block that never ends starts again, whether a better one has come since or not. It
// applies neither that block nor what follows it, and goes over to a better one when that comes.
func TestANodeStartsAgainAfterABlockThatNeverEnds(t *testing.T) {
	s := serveProper(t, false)
	head := s.Node.Chain().Head()
	x := endlessBlock(t, s.Node, s.peers, head.Header.Timestamp+1)
	b := nextBlock(t, s.Node, s.peers, head.Header.Timestamp+9)
	done := s.applies(t, x)
	s.stop()
	<-done
	s.options.Chain.Limits.StartTime = time.Second
	start := func() *Node {
		t.Helper()
		n, err := Open(t.Context(), s.options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close() })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		inTime := context.AfterFunc(ctx, func() { n.Chain().EndApplication(true) }) // or it would never end
		defer inTime()
		if err := n.Start(ctx); err != nil {
			t.Fatalf("the node does not start: %v", err)
		}
		return n
	}
	n := start()
	if is := n.Chain().Head().ID; is != head.ID || n.Chain().Fork().Block(x.ID()) == nil {
		t.Errorf("the head is %s, want %s", is, head.ID)
	}
	if err := give(n.Chain(), b); err != nil || n.Chain().Head().ID != b.ID() {
		t.Errorf("the better block: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if is := start().Chain().Head().ID; is != b.ID() {
		t.Errorf("the head is %s, want %s", is, b.ID())
	}
}
