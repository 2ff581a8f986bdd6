package producer

import (
	"context"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/types"
	"tarn/writerloop"
)

func TestASingleProducerMakesABlockForEverySlotInTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(2 * time.Minute)
		made := n.makings()
		if len(made) < 238 {
			t.Fatalf("%d blocks in two minutes", len(made))
		}
		for i, m := range made {
			if i > 0 && m.block.Header.Timestamp != made[i-1].block.Header.Timestamp+1 {
				t.Fatalf("slot %d follows %d", m.block.Header.Timestamp, made[i-1].block.Header.Timestamp)
			}
			want := blockDeadline(blockInterval-37500*time.Microsecond, m.block.Header.Timestamp)
			if late := m.at.Sub(want); i > 0 && late != 0 {
				t.Fatalf("block %d was made %s after its time", m.block.BlockNum, late)
			}
		}
		if h := n.Head(); h.IrreversibleNum != h.Num-1 {
			t.Errorf("block %d is irreversible at head %d", h.IrreversibleNum, h.Num)
		}
		line := regexp.MustCompile(
			`Produced block [0-9a-f]{16}\.\.\. #\d+ @ 2020-01-01T00:\d\d:\d\d\.\d00 signed by eosio \[trxs: 0, lib: ` +
				`\d+, confirmed: 0, net: 0, cpu: 1, elapsed: \d+, time: \d+\]`)
		if c := len(line.FindAllString(n.lines(), -1)); c != len(made) {
			t.Errorf("%d lines tell of %d blocks:\n%.400s", c, len(made), n.lines())
		}
	})
}

func TestWithoutStaleProductionAnOldChainStands(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		time.Sleep(time.Hour)
		n := newNode(t, chain.Options{}, func(o *Options) { o.Producers = []types.Name{name("eosio")} })
		n.run()
		time.Sleep(time.Minute)
		if h := n.Head().Num; h != 1 {
			t.Errorf("head is block %d", h)
		}
	})
}

func TestAPauseStopsProductionAndAResumeGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(10 * time.Second)
		n.Pause()
		time.Sleep(time.Second)
		at := n.Head().Num
		time.Sleep(time.Minute)
		if h := n.Head().Num; h != at || !n.Paused() {
			t.Errorf("head went from %d to %d", at, h)
		}
		if err := n.Resume(context.Background()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if h := n.Head().Num; h < at+19 || h > at+22 {
			t.Errorf("head went from %d to %d in ten seconds", at, h)
		}
		if !strings.Contains(n.lines(), "Not producing block because production is explicitly paused") {
			t.Error("the log does not say why there were no blocks")
		}
	})
}

func TestNothingIsProducedOnAChainWhoseIrreversibleBlockIsTooOld(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, func(o *Options) {
			produces("eosio")(o)
			o.MaxIrreversibleAge = 30 * time.Second
			o.Paused = true
		})
		n.run()
		time.Sleep(time.Minute)
		if err := n.Resume(context.Background()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if h := n.Head().Num; h != 1 {
			t.Fatalf("head is block %d", h)
		}
		if !strings.Contains(n.lines(), "Not producing block because the irreversible block is too old [age:") {
			t.Error("the log does not say why there are no blocks")
		}
		if err := n.SetRuntimeOptions(context.Background(),
			admintypes.RuntimeOptions{MaxIrreversibleAge: new(int32(-1))}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if h := n.Head().Num; h < 100 {
			t.Errorf("head is block %d a minute after the limit went", h)
		}
	})
}

// A producer that signed a block of a number on another branch, or a time, must not
// sign another one.
func TestAProducerNeverSignsWhatItSignedElsewhere(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		twin := newNode(t, chain.Options{}, produces("eosio"))
		twin.run()
		time.Sleep(20 * time.Second)
		twin.stop(t)
		other := twin.chainBlocks()
		last := other[len(other)-1]

		n := newNode(t, chain.Options{}, produces("eosio"))
		n.onHeader(twin.chain.Head()) // what another branch brought
		n.run()
		time.Sleep(time.Minute)
		if len(n.makings()) > 0 {
			t.Fatalf("%d blocks below the watermark were signed", len(n.makings()))
		}
		if !strings.Contains(n.lines(), "signed a block at a higher block number") {
			t.Errorf("the log does not say why: %.300s", n.lines())
		}
		// With the other branch it goes on after it.
		for _, b := range other {
			if err := n.Block(context.Background(), b, b.ID()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Second)
		made := n.makings()
		if len(made) == 0 || made[0].block.BlockNum != last.BlockNum()+1 ||
			made[0].block.Header.Timestamp <= last.Timestamp {
			t.Errorf("%d blocks after the other branch", len(made))
		}
	})
}

func TestBlocksConfirmWhatTheirProducerHasNotConfirmedYet(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, nil)
		head := *n.chain.Head().HeaderState
		head.BlockNum, head.Irreversible = 100, 40
		for _, c := range []struct {
			marked     bool
			mark, lib  uint32
			want       uint16
			irrelevant string
		}{
			{false, 0, 40, 0, "a producer that is not known to have produced"},
			{true, 100, 40, 0, "one that made the head"},
			{true, 120, 40, 0, "one that made a block above, elsewhere"},
			{true, 88, 40, 12, "one that made a block twelve before"},
			{true, 30, 40, 60, "not beyond the irreversible block"},
		} {
			head.Irreversible = c.lib
			b := &beginning{marked: c.marked, mark: watermark{num: c.mark}}
			if got := confirmedBlocks(b, &head); got != c.want {
				t.Errorf("%s: %d, want %d", c.irrelevant, got, c.want)
			}
		}
	})
}

func TestAFullBlockIsProducedAtOnceAndTheRestWaits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, filledByThree)
		n.run()
		// The first block of a round: what is left of it is long.
		time.Sleep(6*time.Second + 100*time.Millisecond)
		synctest.Wait()
		start, first := time.Now(), len(n.makings())
		done := make(chan error, 8)
		submitLarge(t, n, cap(done), done)
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if d := time.Since(start); d > 0 {
			t.Errorf("the last transaction was executed %s later", d)
		}
		time.Sleep(5 * time.Second)
		made := n.makings()[first:]
		for i, want := range []int{3, 3, 2, 0} {
			if got := len(made[i].block.Block.Transactions); got != want {
				t.Errorf("block %d has %d transactions, want %d", made[i].block.BlockNum, got, want)
			}
			if early := made[i].at.Equal(start); early != (i < 2) {
				t.Errorf("block %d was made %s after it was full", made[i].block.BlockNum, made[i].at.Sub(start))
			}
		}
	})
}

// filledByThree makes the options those of a producer whose blocks are full of three of
// the transactions of submitLarge.
func filledByThree(o *Options) {
	produces("eosio")(o)
	o.MaxBlockNet = 2 << 20 // of 16 MiB
}

// submitLarge submits so many transactions of five megabytes. What becomes of them comes to
// done, which has room for all.
func submitLarge(t *testing.T, n *node, count int, done chan<- error) {
	t.Helper()
	for i := range count {
		a := chaintest.Action(name("eosio"), name("nothing"), name("eosio"), make([]byte, 5<<20+i))
		n.Submit(execute.TransactionOptions{API: true},
			Submission{n.candidate(t, a), func(_ *types.TransactionTrace, err error) { done <- err }})
	}
}

// untilLast sleeps until a node is well under way and makes the last block of a round, and
// returns the first slot of the next.
func untilLast(n *node) types.BlockTimestamp {
	time.Sleep(20 * time.Second)
	next := types.NewBlockTimestamp(types.TimePoint(time.Now().UnixMicro()))/round*round + round
	time.Sleep(time.Until(roundBlockStart(n.effort, next-1)) + time.Millisecond)
	return next
}

// Between two rounds of its own a producer executes what comes: nobody's block is
// waited for.
func TestNothingWaitsBetweenRoundsOfOneProducer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		slot := untilLast(n)
		time.Sleep(n.effort)
		synctest.Wait()
		start := time.Now()
		mustPush(t, n, n.maker.CreateAccount(name("alice")))
		if d := time.Since(start); d > 0 {
			t.Errorf("the transaction was executed %s later", d)
		}
		time.Sleep(2 * time.Second)
		for _, m := range n.makings() {
			if c := len(m.block.Block.Transactions); m.block.Header.Timestamp == slot && c != 1 {
				t.Errorf("the first block of the round has %d transactions", c)
			}
		}
		n.Pause()
		time.Sleep(time.Second)
		if err := n.Do(context.Background(), func(*chain.Chain) error {
			head := n.chain.Head().Header.Timestamp
			if got, want := n.roundStart(head+1), blockDeadline(n.effort, head); got != want {
				t.Errorf("after a block of its own it begins at %s, want %s", got, want)
			}
			if got, want := n.roundStart(head+2), (head + 1).TimePoint().Time(); got != want {
				t.Errorf("after a slot without a block it begins at %s, want %s", got, want)
			}
			n.opt.Producers = nil
			if got, want := n.roundStart(head+1), head.TimePoint().Time(); got != want {
				t.Errorf("after somebody else's block it begins at %s, want %s", got, want)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// What is executed before a round begins is not signed before, and nothing of it if a pause
// or a block from outside comes first.
func TestABlockThatIsEarlyGivesWay(t *testing.T) {
	for _, what := range []string{"pause", "block"} {
		inBubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			n, other := newNode(t, chain.Options{}, produces("eosio")), newNode(t, chain.Options{}, nil)
			connect(ctx, n, other, time.Millisecond)
			n.run()
			other.run()
			untilLast(n)
			time.Sleep(n.effort + 2*time.Millisecond)
			mustPush(t, n, n.maker.CreateAccount(name("alice")))
			head := n.Head()
			switch what {
			case "pause":
				n.Pause()
			case "block":
				var b *types.SignedBlock
				if err := other.Do(ctx, func(*chain.Chain) (err error) {
					b, err = other.maker.Block()
					return err
				}); err != nil {
					t.Fatal(err)
				}
				if err := n.Block(ctx, b, b.ID()); err != nil || n.Head().ID != b.ID() {
					t.Errorf("the block of the same slot: %v, head is block %d", err, n.Head().Num)
				}
			}
			time.Sleep(3 * time.Second)
			if paused := n.Head().Num == head.Num; paused != (what == "pause") {
				t.Errorf("%s: head was block %d and is %d", what, head.Num, n.Head().Num)
			}
			count := 0
			for _, b := range n.chainBlocks() {
				count += len(b.Transactions)
			}
			if in := count == 1; in != (what == "block") {
				t.Errorf("%s: the transaction is in blocks %d times", what, count)
			}
		})
	}
}

// However full the blocks are, a round begins at its time: else they would run away from
// the clock.
func TestFullBlocksDoNotRunAwayFromTheClock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, filledByThree)
		n.run()
		next := untilLast(n)
		submitLarge(t, n, 12, make(chan error, 12))
		time.Sleep(5 * time.Second)
		earliest, full := slotStart(next), 0
		for _, m := range n.makings() {
			if len(m.block.Block.Transactions) == 3 {
				full++
			}
			if m.block.Header.Timestamp >= next && m.at.Before(earliest) {
				t.Errorf("the block of slot %d was made %s before the round", m.block.Header.Timestamp,
					earliest.Sub(m.at))
			}
		}
		if full < 3 {
			t.Errorf("%d blocks are full", full)
		}
	})
}

func TestTransactionsOfAnAbortedBlockAreInTheNextOnes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(3 * time.Second)
		var ids []types.Checksum256
		for i := range 10 {
			ids = append(ids, mustPush(t, n, n.maker.CreateAccount(accountName(i))).ID)
			if i%3 == 0 {
				// Whoever wants to be alone with the chain has the block aborted.
				if err := n.Do(context.Background(), func(c *chain.Chain) error {
					if _, ok := c.Pending(); ok {
						t.Error("a block is pending")
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(5 * time.Second)
		var got []types.Checksum256
		for _, b := range n.chainBlocks() {
			for _, r := range b.Transactions {
				x, err := execute.NewCandidate(r.Packed, execute.Input)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, x.ID)
			}
		}
		if !slices.Equal(got, ids) {
			t.Errorf("%d transactions in blocks, %d pushed, or in another order", len(got), len(ids))
		}
	})
}

func TestAScheduledFeatureIsActivatedOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		ctx := context.Background()
		n.run()
		time.Sleep(2 * time.Second)
		set := n.chain.Features()
		first, _ := set.Digest(feature.PreactivateFeature)
		second, _ := set.Digest(feature.OnlyBillFirstAuthorizer)
		if err := n.ScheduleActivations(ctx, []types.Checksum256{second}); !exception.Is(err,
			exception.ProtocolFeature) {
			t.Errorf("a feature that needs preactivation: %v", err)
		}
		if err := n.ScheduleActivations(ctx, []types.Checksum256{first, first}); !exception.Is(err,
			exception.InvalidProtocolFeaturesToActivate) {
			t.Errorf("one twice: %v", err)
		}
		if err := n.ScheduleActivations(ctx, []types.Checksum256{first}); err != nil {
			t.Fatal(err)
		}
		if l, err := n.ScheduledActivations(ctx); err != nil || len(l) != 1 {
			t.Errorf("%v, %v", l, err)
		}
		time.Sleep(3 * time.Second)
		if l, err := n.ScheduledActivations(ctx); err != nil || len(l) != 0 {
			t.Errorf("still scheduled: %v, %v", l, err)
		}
		if !n.Head().State.Activated.Has(first) {
			t.Error("the feature is not active")
		}
	})
}

func TestARunEndsAfterTheBlockThatItIsToEndWith(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, func(o *Options) {
			produces("eosio")(o)
			o.StopAt = 20
		})
		n.run()
		if err := <-n.ended; err != nil {
			t.Fatal(err)
		}
		n.cancel()
		n.cancel = nil
		if h := n.Head().Num; h != 20 {
			t.Errorf("head is block %d", h)
		}
		if _, err := n.push(n.maker.CreateAccount(name("late"))); err != writerloop.ErrStopped {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestThreeProducersTakeTurns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		nodes := threeProducers(t, ctx, nil)
		time.Sleep(3 * time.Minute)
		blocks := nodes[0].chainBlocks()
		last := blocks[len(blocks)-1]
		if h := nodes[0].Head(); h.Num-h.IrreversibleNum > 40 {
			t.Errorf("block %d is irreversible at head %d", h.IrreversibleNum, h.Num)
		}
		turns, missed := 0, 0
		for i, b := range blocks {
			if i == 0 || b.ScheduleVersion == 0 || blocks[i-1].ScheduleVersion == 0 {
				continue
			}
			if b.Producer != blocks[i-1].Producer {
				turns++
				if b.Timestamp%12 != 0 && b.Timestamp == blocks[i-1].Timestamp+1 {
					t.Errorf("the producer changes at slot %d", b.Timestamp)
				}
			}
			missed += int(b.Timestamp - blocks[i-1].Timestamp - 1)
		}
		if turns < 10 || missed > 0 {
			t.Errorf("%d turns, %d slots without a block until block %d", turns, missed, last.BlockNum())
		}
		sameState(t, nodes)
		if !regexp.MustCompile(
			`Received block [0-9a-f]{16}\.\.\. #\d+ @ \S+ signed by prod[bc] \[trxs: 0, lib: \d+, confirmed: \d+, ` +
				`net: 0, cpu: 1, elapsed: \d+, time: \d+, latency: -?\d+ ms\]`).MatchString(nodes[0].lines()) {
			t.Error("no line tells of a block that was received")
		}
	})
}

// threeProducers are three nodes that see each other, with a producer each.
func threeProducers(t *testing.T, ctx context.Context, links *[]*link) []*node {
	t.Helper()
	return threeProducersWatched(t, ctx, links, nil)
}

// threeProducersWatched calls watch before they run.
func threeProducersWatched(t *testing.T, ctx context.Context, links *[]*link, watch func([]*node)) []*node {
	t.Helper()
	nodes := []*node{
		newNode(t, chain.Options{}, produces("eosio", "proda")),
		newNode(t, chain.Options{}, produces("prodb")),
		newNode(t, chain.Options{}, produces("prodc")),
	}
	for i, a := range nodes {
		for j, b := range nodes {
			if i != j {
				l := connect(ctx, a, b, 5*time.Millisecond)
				if links != nil {
					*links = append(*links, l)
				}
			}
		}
	}
	if watch != nil {
		watch(nodes)
	}
	for _, n := range nodes {
		n.run()
	}
	time.Sleep(2 * time.Second)
	m := nodes[0].maker
	mustPush(t, nodes[0], m.CreateAccount(name("proda")), m.CreateAccount(name("prodb")),
		m.CreateAccount(name("prodc")),
		chaintest.SetCode(name("eosio"), chaintest.SystemCode()))
	mustPush(t, nodes[0], propose(m, "proda", "prodb", "prodc"))
	time.Sleep(10 * time.Second)
	if s := nodes[0].Head().State.ActiveSchedule; len(s.Producers) != 3 {
		t.Fatalf("%d producers are active", len(s.Producers))
	}
	return nodes
}

// sameState pauses all nodes and compares what they have.
func sameState(t *testing.T, nodes []*node) {
	t.Helper()
	for _, n := range nodes {
		n.Pause()
	}
	time.Sleep(5 * time.Second)
	synctest.Wait()
	want := nodes[0].hash(t)
	for i, n := range nodes[1:] {
		if n.Head().ID != nodes[0].Head().ID {
			t.Errorf("node %d is at block %d, node 0 at %d", i+1, n.Head().Num, nodes[0].Head().Num)
		} else if h := n.hash(t); h != want {
			t.Errorf("node %d has hash %s, node 0 %s", i+1, h, want)
		}
	}
}

func TestProducersThatWereApartAgreeAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var links []*link
		nodes := threeProducers(t, ctx, &links)
		time.Sleep(20 * time.Second)
		for _, i := range []int{0, 1, 2, 4} { // node 0 is alone
			links[i].set(true)
		}
		trace := mustPush(t, nodes[0], nodes[0].maker.CreateAccount(name("lonely")))
		time.Sleep(25 * time.Second)
		before := nodes[0].Head()
		if before.ID == nodes[1].Head().ID || nodes[1].Head().ID != nodes[2].Head().ID {
			t.Fatal("the partition is not one")
		}
		for _, l := range links {
			l.set(false)
		}
		time.Sleep(40 * time.Second)
		if nodes[0].find(before.ID) == nil || !strings.Contains(nodes[0].lines(), "Produced block") {
			t.Fatal("node 0 produced nothing while it was alone")
		}
		// Its transaction was taken back with the block, and came again.
		found := false
		for _, b := range nodes[1].chainBlocks() {
			for _, r := range b.Transactions {
				x, err := execute.NewCandidate(r.Packed, execute.Input)
				found = found || err == nil && x.ID == trace.ID
			}
		}
		if !found {
			t.Error("the transaction of the branch that lost is in no block")
		}
		sameState(t, nodes)
	})
}

// Whatever is cut and joined, and whoever hears of which transaction first: in the
// end all have the same state, and no producer has signed two blocks of one number
// or one time.
func TestProducersThatAreCutAtRandomAgreeInTheEnd(t *testing.T) {
	seed := newSeed()
	inBubble(t, func(t *testing.T) {
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 2))
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var links []*link
		nodes := threeProducers(t, ctx, &links)
		for i := range 600 {
			if random.IntN(30) == 0 {
				links[random.IntN(len(links))].set(random.IntN(2) == 0)
			}
			n := nodes[random.IntN(3)]
			p, err := n.sign(randomAction(random, n.maker, i))
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range random.Perm(3)[:1+random.IntN(3)] {
				x, err := execute.NewCandidate(p, execute.Input)
				if err != nil {
					t.Fatal(err)
				}
				nodes[k].Submit(execute.TransactionOptions{}, Submission{x, func(*types.TransactionTrace, error) {}})
			}
			time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
		}
		for _, l := range links {
			l.set(false)
		}
		time.Sleep(time.Minute)
		sameState(t, nodes)
		in := 0
		for _, b := range nodes[0].chainBlocks() {
			in += len(b.Transactions)
		}
		if in < 50 {
			t.Errorf("%d transactions are in blocks", in)
		}
		for i, n := range nodes {
			nums, slots := make(map[uint32]bool), make(map[types.BlockTimestamp]bool)
			for _, m := range n.makings() {
				if h := m.block.Header; h.Producer != name("eosio") && (nums[m.block.BlockNum] || slots[h.Timestamp]) {
					t.Errorf("node %d signed two blocks of number %d or time %s", i, m.block.BlockNum, h.Timestamp)
				}
				nums[m.block.BlockNum], slots[m.block.Header.Timestamp] = true, true
			}
		}
	})
}
