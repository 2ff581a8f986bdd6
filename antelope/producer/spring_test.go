package producer

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/finality"
	"tarn/antelope/types"
	"tarn/store"
)

// peersOf makes a chain with so many producers, and so many blocks after the first ones. SAVANNA is active in
// it if it is one of Spring's; with some more blocks it goes over to Savanna's rules.
func peersOf(t *testing.T, count int, spring bool, more int) *chaintest.Peers {
	t.Helper()
	p, err := chaintest.NewPeers(count, 1, func() (store.Store, error) { return newStore(t), nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if spring {
		err = p.Finalise()
	}
	if err = errors.Join(err, p.Run(more)); err != nil {
		t.Fatal(err)
	}
	return p
}

// follow gives a node that does not run yet blocks of peers, when the newest one is due.
func (n *node) follow(t *testing.T, blocks []*types.SignedBlock) {
	t.Helper()
	time.Sleep(time.Until(blocks[len(blocks)-1].Timestamp.TimePoint().Time()))
	c := n.maker.Chain
	for _, b := range blocks {
		if c.Fork().HeaderState(b.Previous) == nil {
			continue // of a branch that lost
		}
		p, err := c.Prepare(b, b.ID())
		if err == nil {
			err = c.PushBlock(p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	n.updateHead()
}

// ask executes a transaction that may wait for five seconds, and tells when its block would be.
func (n *node) ask(t *testing.T) (types.BlockTimestamp, error) {
	t.Helper()
	p, err := n.sign(n.maker.CreateAccount(name("asked")))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	trace, err := n.Transaction(ctx, p, execute.TransactionOptions{API: true})
	if err != nil {
		return 0, err
	}
	return trace.BlockTime, nil
}

// A node that got its newest block late takes the chain for one that stands still, and answers, or for one
// that it catches up with, and waits. A node of Spring waits only for blocks that are minutes old.
func TestTransactionsAreAnsweredWhileTheChainStandsStill(t *testing.T) {
	for _, c := range []struct {
		spring  bool
		age     time.Duration
		answers bool
	}{{false, 2 * time.Second, true}, {false, time.Minute, false}, {true, time.Minute, true},
		{true, 4 * time.Minute, true}, {true, 6 * time.Minute, false}} {
		inBubble(t, func(t *testing.T) {
			p := peersOf(t, 1, c.spring, 5)
			last := len(p.Blocks) - 1
			n := newNode(t, chain.Options{}, nil)
			n.follow(t, p.Blocks[:last])
			n.run()
			b := p.Blocks[last]
			time.Sleep(time.Until(b.Timestamp.TimePoint().Time().Add(c.age)))
			if err := n.Block(context.Background(), b, b.ID()); err != nil {
				t.Fatal(err)
			}
			if _, err := n.ask(t); (err == nil) != c.answers {
				t.Errorf("%+v: %v", c, err)
			}
		})
	}
}

// A producer of Spring that is paused answers however long the chain stands still.
func TestAPausedProducerAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := peersOf(t, 1, true, 5)
		last := len(p.Blocks) - 1
		n := newNode(t, chain.Options{}, func(o *Options) {
			produces("peera")(o)
			o.Paused = true
		})
		n.follow(t, p.Blocks[:last])
		n.run()
		b := p.Blocks[last]
		time.Sleep(10 * time.Minute)
		if err := n.Block(context.Background(), b, b.ID()); err != nil {
			t.Fatal(err)
		}
		if _, err := n.ask(t); err != nil {
			t.Error(err)
		}
	})
}

// The bound of reversible blocks counts on Spring's chain before Savanna's rules do.
func TestReversibleBlocksAreBoundedBeforeSavanna(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := peersOf(t, 3, true, 0)
		n := newNode(t, chain.Options{}, func(o *Options) {
			produces("peera", "peerb", "peerc")(o)
			o.MaxReversible = 1
		})
		n.follow(t, p.Blocks)
		if h := n.chain.Head(); h.IsProper() || h.BlockNum-h.LIB() <= 1 {
			t.Fatalf("block %d, irreversible %d", h.BlockNum, h.LIB())
		}
		n.run()
		time.Sleep(10 * time.Second)
		if made := n.makings(); len(made) > 0 {
			t.Errorf("%d blocks", len(made))
		}
		if !strings.Contains(n.lines(), "max-reversible-blocks 1 reached") {
			t.Errorf("the log does not say why: %.500s", n.lines())
		}
	})
}

// Contracts see the time of the block that a transaction would be in: now's, or where nobody produces and
// the node is Spring's that of the slot after the head.
func TestTimeOfBlocksThatAreNoOnes(t *testing.T) {
	for _, c := range []struct{ spring, produces, next bool }{{true, false, true}, {true, true, false},
		{false, false, false}} {
		inBubble(t, func(t *testing.T) {
			p := peersOf(t, 1, c.spring, 5)
			n := newNode(t, chain.Options{}, func(o *Options) {
				if c.produces {
					produces("other")(o)
				}
			})
			n.follow(t, p.Blocks)
			time.Sleep(4 * time.Second)
			n.run()
			head := n.Head().Time
			at, err := n.ask(t)
			if want := map[bool]types.BlockTimestamp{true: head + 1, false: head + 9}[c.next]; err != nil ||
				at != want {
				t.Errorf("%+v: the block is %d slots after the head: %v", c, at-head, err)
			}
		})
	}
}

// A transaction that may take as long as a block is finished at the second attempt at the latest: nodes of Spring give a
// block that is no one's the time of a whole one, however little of a round each block may take.
func TestBlocksThatAreNoOnesHaveTimeForATransaction(t *testing.T) {
	for _, c := range []struct {
		spring bool
		time   time.Duration
	}{{true, 500 * time.Millisecond}, {false, 250 * time.Millisecond}} {
		inBubble(t, func(t *testing.T) {
			p := peersOf(t, 1, c.spring, 5)
			n := newNode(t, chain.Options{}, func(o *Options) { o.ProduceOffset = 3 * time.Second })
			n.follow(t, p.Blocks)
			time.Sleep(4 * time.Second)
			n.run()
			if err := n.writer.Call(context.Background(), func() error {
				if left := time.Until(n.deadline); left != c.time {
					t.Errorf("Spring %t: %s, not %s", c.spring, left, c.time)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A node that applies irreversible blocks only takes transactions where it is one of Spring.
func TestTransactionsInIrreversibleMode(t *testing.T) {
	for _, spring := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			p := peersOf(t, 1, spring, 5)
			last := len(p.Blocks) - 1
			n := newNode(t, chain.Options{IrreversibleMode: true}, nil)
			if !n.RefusesTransactions() {
				t.Error("a chain that may still be one of Leap's takes transactions")
			}
			n.follow(t, p.Blocks[:last])
			n.run()
			for _, b := range []*types.SignedBlock{nil, p.Blocks[last]} {
				if b != nil {
					if err := n.Block(context.Background(), b, b.ID()); err != nil {
						t.Fatal(err)
					}
				}
				before := n.Head()
				_, err := n.ask(t)
				if (err == nil) != spring ||
					err != nil && !strings.Contains(err.Error(), "this node accepts no transactions") {
					t.Errorf("of Spring %v: %v", spring, err)
				}
				if before.ID != n.Head().ID {
					t.Error("the transaction has changed the head")
				}
			}
		})
	}
}

// A vote that was counted before may be sent again by anybody: it does not show that its finalizer still votes.
func TestAVoteThatIsSentAgainIsNotHeard(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := peersOf(t, 2, true, 5)
		for len(p.Blocks) < 2000 && !p.Chain(0).Head().IsProper() {
			if err := p.Run(20); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(p.Heal(), p.Run(20), p.Heal()); err != nil {
			t.Fatal(err)
		}
		n := newNode(t, chain.Options{}, produces("other"))
		n.follow(t, p.Blocks)
		var counted *finality.Vote
		list := p.Votes()
		for i := len(list) - 1; i >= 0 && counted == nil; i-- {
			if n.Vote(&list[i])[0] == finality.Counted {
				counted = &list[i]
			}
		}
		heard := n.votes.others.vote.Load()
		if counted == nil || heard == 0 {
			t.Fatalf("no vote is counted and heard: %v %d", counted, heard)
		}
		time.Sleep(time.Second)
		if r := n.Vote(counted)[0]; r != finality.Duplicate {
			t.Errorf("the vote is %v when it comes again", r)
		}
		if again := n.votes.others.vote.Load(); again != heard {
			t.Errorf("the vote is heard again %d us later", again-heard)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A block from the future is refused by nodes that produce. Others of Spring's take it.
func TestBlocksFromTheFuture(t *testing.T) {
	for _, c := range []struct{ spring, produces, takes bool }{{true, true, false}, {true, false, true},
		{false, false, false}} {
		inBubble(t, func(t *testing.T) {
			p := peersOf(t, 1, c.spring, 5)
			early := len(p.Blocks)
			if err := p.Run(20); err != nil {
				t.Fatal(err)
			}
			n := newNode(t, chain.Options{}, func(o *Options) {
				if c.produces {
					produces("other")(o)
				}
			})
			n.follow(t, p.Blocks[:early])
			future := func(b *types.SignedBlock) bool {
				return time.Until(b.Timestamp.TimePoint().Time()) >= 7*time.Second
			}
			n.Subscribe(Events{Header: func(b *consensus.BlockState) {
				if !c.takes && future(b.Block) {
					t.Errorf("%+v: those who vote are told of block %d, which is refused", c, b.BlockNum)
				}
			}})
			n.run()
			var err error
			for _, b := range p.Blocks[early:] {
				// Peers' blocks come in parts: the header is checked, passed on and voted for before the block is
				// applied.
				switch err := n.CheckHeader(n.NewBlock(b, b.ID())); {
				case !c.takes && future(b) && !exception.Is(err, exception.BlockFromTheFuture):
					t.Errorf("%+v: the header of block %d is passed on: %v", c, b.BlockNum(), err)
				case !future(b) && err != nil:
					t.Errorf("%+v: block %d: %v", c, b.BlockNum(), err)
				}
				if err = n.Block(context.Background(), b, b.ID()); err != nil {
					break
				}
			}
			if (err == nil) != c.takes || err != nil && !exception.Is(err, exception.BlockFromTheFuture) {
				t.Errorf("%+v: %v", c, err)
			}
		})
	}
}

// Scripts read what the log says of blocks, and why none is made, as Spring says it.
func TestTheLogIsSpringsWhereTheChainIs(t *testing.T) {
	for more, confirmed := range map[int]string{1: `, confirmed: \d+`, 5: ""} { // the latter follow Savanna's rules
		inBubble(t, func(t *testing.T) {
			p := peersOf(t, 1, true, more)
			last := len(p.Blocks) - 1
			n := newNode(t, chain.Options{}, func(o *Options) { o.Producers = []types.Name{name("peera")} })
			n.follow(t, p.Blocks[:last])
			n.run()
			b := p.Blocks[last]
			if err := n.Block(context.Background(), b, b.ID()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			for _, line := range []string{
				`Received block [0-9a-f]{16}\.\.\. #\d+ @ \S+ signed by peera \[trxs: \d+, lib: \d+, net: \d+, cpu: \d+ us, ` +
					`elapsed: \d+ us, applying time: \d+ us, latency: -?\d+ ms\]`,
				`Produced block [0-9a-f]{16}\.\.\. #\d+ @ \S+ signed by peera \[trxs: \d+, lib: \d+` + confirmed +
					`, net: \d+, cpu: \d+ us, elapsed: \d+ us, producing time: \d+ us\]`,
				`Not producing block because stale production not enabled, block 2020-\S+`,
			} {
				if !regexp.MustCompile(line).MatchString(n.lines()) {
					t.Errorf("no line is %s:\n%s", line, n.lines())
				}
			}
		})
	}
}

// While a switch of forks applies several blocks, the log has a line for each of them.
func TestEachBlockOfASwitchHasALine(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := peersOf(t, 4, true, 120)
		var forked bool
		var accepted []*consensus.BlockState
		n := newNode(t, chain.Options{Hooks: chain.Hooks{
			Forked:        func([]*consensus.BlockState) { forked = true },
			AcceptedBlock: func(b *consensus.BlockState) { accepted = append(accepted, b) },
		}}, func(*Options) {})
		early := 5
		n.follow(t, p.Blocks[:early])
		n.run()
		checked := 0
		for _, b := range p.Blocks[early:] {
			forked, accepted = false, nil
			if err := n.Block(context.Background(), b, b.ID()); err != nil &&
				!exception.Is(err, exception.UnlinkableBlock) {
				t.Fatal(err)
			}
			if !forked || len(accepted) < 2 {
				continue
			}
			lines := n.lines()
			for _, b := range accepted {
				if checked++; !strings.Contains(lines, "Received block "+b.ID.String()[8:24]) {
					t.Errorf("no line for block %d", b.BlockNum)
				}
			}
		}
		if checked == 0 {
			t.Error("no switch of forks has applied several blocks")
		}
	})
}

// A schedule that a block makes wait is shown while the block is made, not only when it is the head.
func TestSchedulesOfTheBlockThatIsMadeAreShown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		if _, err := n.maker.Block(chaintest.SetCode(name("eosio"), chaintest.SystemCode()),
			n.maker.CreateAccount(name("alice"))); err != nil {
			t.Fatal(err)
		}
		n.run()
		time.Sleep(2 * time.Second)
		if s := n.Schedules(); s == nil || s.Previous != n.Head().ID || len(s.Pending.Producers) > 0 || s.Promoted {
			t.Fatalf("before a proposal: %+v", s)
		}
		if _, err := n.push(propose(n.maker, "eosio", "alice")); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			time.Sleep(10 * time.Millisecond)
			s := n.Schedules()
			if s == nil || !s.Promoted {
				continue
			}
			if s.Previous != n.Head().ID || len(s.Pending.Producers) != 2 || n.Head().State.HasPendingProducers() {
				t.Errorf("%+v above %v", s, n.Head().State.Pending.Schedule)
			}
			n.stop(t)
			if n.Schedules() != nil {
				t.Error("a node that stopped makes a block")
			}
			return
		}
		t.Fatal("no block is seen to make the schedule wait")
	})
}
