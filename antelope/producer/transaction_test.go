package producer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/writerloop"
)

// A follower that gets all blocks that were produced, whatever is in them, has the
// same state.
func TestAFollowerOfRandomBlocksHasTheSameState(t *testing.T) {
	seed := newSeed()
	inBubble(t, func(t *testing.T) {
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 1))
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		n := newNode(t, chain.Options{}, produces("eosio"))
		f := newNode(t, chain.Options{Threads: 2}, nil)
		s := newNode(t, chain.Options{Options: execute.Options{Speculative: true}}, nil)
		connect(ctx, n, f, 20*time.Millisecond)
		connect(ctx, n, s, 700*time.Millisecond)
		nodes := []*node{n, f, s}
		for _, n := range nodes {
			n.run()
		}
		time.Sleep(2 * time.Second)
		mustPush(t, n, chaintest.SetCode(name("eosio"), chaintest.SystemCode()))
		var accepted, refused int
		for i := range 400 {
			a := randomAction(random, n.maker, i)
			p, err := n.sign(a)
			if err != nil {
				t.Fatal(err)
			}
			// Each node may hear of it first, and executes it on its own.
			for _, k := range random.Perm(len(nodes))[:1+random.IntN(3)] {
				_, err := nodes[k].Transaction(ctx, p, execute.TransactionOptions{API: random.IntN(2) == 0})
				if nodes[k] != n {
					continue
				}
				if err == nil {
					accepted++
				} else if exception.Of(err) == nil {
					t.Fatal(err)
				} else {
					refused++
				}
			}
			time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
			if random.IntN(40) == 0 {
				if err := n.Do(ctx, func(*chain.Chain) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(5 * time.Second)
		if accepted < 100 || refused < 10 {
			t.Errorf("%d transactions accepted, %d refused", accepted, refused)
		}
		sameState(t, nodes)
	})
}

// randomAction is one that may fail.
func randomAction(random *rand.Rand, m *chaintest.Maker, i int) types.Action {
	eosio := name("eosio")
	switch random.IntN(5) {
	case 0: // the same account again fails
		return m.CreateAccount(accountName(random.IntN(300)))
	case 1: // no such account
		return chaintest.Action(name("nobody"), name("nothing"), eosio, nil)
	case 2: // a row, again with a key that may be there
		data := serial.AppendUint64(nil, random.Uint64N(200))
		return chaintest.Action(eosio, name("put"), eosio, append(data, fmt.Sprint("value ", i)...))
	case 3: // deferred, maybe for longer than the chain lasts
		trx := types.Transaction{
			Actions: []types.Action{chaintest.Action(eosio, name("later"), eosio, fmt.Append(nil, i))}}
		trx.Expiration = types.TimePoint(time.Now().Add(time.Hour).UnixMicro()).Sec()
		trx.DelaySec = uint32(random.IntN(20))
		data := serial.AppendUint64(serial.AppendUint64(nil, uint64(i)), 0)
		data = serial.AppendUint64(data, uint64(eosio))
		return chaintest.Action(eosio, name("defer"), eosio, trx.Append(data))
	}
	return chaintest.Action(eosio, name("nothing"), eosio, fmt.Append(nil, i))
}

func TestDeferredTransactionsThatExpiredAreRetired(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(2 * time.Second)
		m, eosio := n.maker, name("eosio")
		mustPush(t, n, chaintest.SetCode(eosio, chaintest.SystemCode()))
		trx := types.Transaction{Actions: []types.Action{chaintest.Action(eosio, name("later"), eosio, nil)}}
		trx.Expiration = types.TimePoint(time.Now().Add(time.Hour).UnixMicro()).Sec()
		trx.DelaySec = 5
		data := serial.AppendUint64(serial.AppendUint64(serial.AppendUint64(nil, 1), 0), uint64(eosio))
		mustPush(t, n, chaintest.Action(eosio, name("defer"), eosio, trx.Append(data)))
		time.Sleep(20 * time.Second)
		status := func() (list []types.TransactionStatus) {
			for _, b := range n.chainBlocks() {
				for _, r := range b.Transactions {
					if r.Packed == nil {
						list = append(list, r.Status)
					}
				}
			}
			return list
		}
		if got := status(); len(got) > 0 {
			t.Errorf("retired before it expired: %v", got)
		}
		time.Sleep(11 * time.Minute)
		if got := status(); len(got) != 1 || got[0] != types.StatusExpired {
			t.Errorf("retired: %v", got)
		}
		_ = m
	})
}

func TestATransactionIsRefusedForTheReasonThatNodeosGives(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(5 * time.Second)
		send := func(p *types.PackedTransaction, err error) error {
			if err == nil {
				_, err = n.Transaction(ctx, p, execute.TransactionOptions{API: true})
			}
			return err
		}
		a := n.maker.CreateAccount(name("alice"))
		p, err := n.sign(a)
		if err := send(p, err); err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string]struct {
			err     error
			kind    *exception.Kind
			classed bool // what the execution says has lost its class, as in nodeos
		}{
			"again in its block": {send(p, nil), exception.TxDuplicate, true},
			"expired":            {send(n.signUntil(-time.Minute, a)), exception.ExpiredTx, true},
			"too late":           {send(n.signUntil(3*time.Hour, a)), exception.TxExpTooFar, false},
			"failing":            {send(n.sign(a)), exception.AccountNameExists, false},
		} {
			if e := exception.Of(c.err); e == nil || e.Kind.Code != c.kind.Code ||
				exception.Is(e, c.kind) != c.classed {
				t.Errorf("%s: %v", what, c.err)
			}
		}
		delayed := &types.Transaction{Actions: []types.Action{a}}
		delayed.DelaySec = 1
		if err := send(sign(n.maker, delayed)); err == nil ||
			!strings.Contains(err.Error(), "transaction cannot be delayed") {
			t.Errorf("delayed: %v", err)
		}
		time.Sleep(2 * time.Second)
		if err := send(p, nil); !exception.Is(err, exception.TxDuplicate) {
			t.Errorf("again in another block: %v", err)
		}
		p, err = n.sign(a)
		if err != nil {
			t.Fatal(err)
		}
		trace, err := n.Transaction(ctx, p, execute.TransactionOptions{API: true, FailureTrace: true})
		if err != nil || trace.Except == nil || trace.Except.Kind != exception.AccountNameExists {
			t.Errorf("a failure's trace: %+v, %v", trace, err)
		}
	})
}

func TestADryRunAndAReadOnlyTransactionLeaveNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(5 * time.Second)
		p, err := n.sign(n.maker.CreateAccount(name("alice")))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			trace, err := n.Transaction(ctx, p,
				execute.TransactionOptions{Kind: execute.DryRun, API: true, FailureTrace: true})
			if err != nil || trace.Except != nil || trace.Receipt == nil {
				t.Fatalf("%+v, %v", trace, err)
			}
		}
		a := chaintest.Action(name("eosio"), name("nothing"), name("eosio"), nil)
		a.Authorization = nil
		if p, err = n.sign(a); err != nil {
			t.Fatal(err)
		}
		trace, err := n.Transaction(ctx, p,
			execute.TransactionOptions{Kind: execute.ReadOnly, API: true, FailureTrace: true})
		if err != nil || trace.Except != nil {
			t.Fatalf("%+v, %v", trace, err)
		}
		time.Sleep(3 * time.Second)
		for _, b := range n.chainBlocks() {
			if len(b.Transactions) > 0 {
				t.Errorf("block %d has %d transactions", b.BlockNum(), len(b.Transactions))
			}
		}
	})
}

func TestAnAccountWhoseTransactionsFailIsNotTriedMoreThanThreeTimesABlock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, func(o *Options) {
			produces("eosio")(o)
			o.NoAPIBilling = false
		})
		n.run()
		// Right after the beginning of a block.
		time.Sleep(6*time.Second + 10*time.Millisecond)
		fail := func() error {
			_, err := n.push(chaintest.Action(name("nobody"), name("nothing"), name("eosio"), nil))
			return err
		}
		for i := range 3 {
			if err := fail(); err == nil || strings.Contains(err.Error(), "exceeded failure limit") {
				t.Fatalf("failure %d: %v", i, err)
			}
		}
		if err := fail(); !exception.Is(err, exception.TxCPUUsageExceeded) ||
			!strings.Contains(err.Error(), "exceeded failure limit for account eosio until 2020-") {
			t.Errorf("the fourth: %v", err)
		}
		time.Sleep(blockInterval)
		if err := fail(); err == nil || strings.Contains(err.Error(), "exceeded failure limit") {
			t.Errorf("in the next block: %v", err)
		}
	})
}

func TestWhatTheChainHasNotSeenIsAnsweredWhenItExpires(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		// A node that waits for a block has none to try the transaction in.
		time.Sleep(time.Hour)
		n := newNode(t, chain.Options{}, nil)
		n.run()
		synctest.Wait()
		if err := n.Do(context.Background(), func(*chain.Chain) error { return nil }); err != nil {
			t.Fatal(err)
		}
		p, err := n.sign(n.maker.CreateAccount(name("alice")))
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() {
			_, err := n.Transaction(context.Background(), p, execute.TransactionOptions{API: true})
			failed <- err
		}()
		synctest.Wait()
		page, err := n.Unapplied(context.Background(), nil, 10, -1)
		if err != nil || page.Size != 1 || page.Incoming != 1 || len(page.Transactions) != 1 ||
			page.Transactions[0].Type != "incoming_api" ||
			page.Transactions[0].FirstAction != name("newaccount") || page.More != nil {
			t.Errorf("%+v, %v", page, err)
		}
		n.stop(t)
		if err := <-failed; err != writerloop.ErrStopped {
			t.Errorf("at the end: %v", err)
		}
	})
}

func TestOptionsCanBeChangedWhileTheNodeRuns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(2 * time.Second)
		o, err := n.RuntimeOptions(ctx)
		if err != nil || *o.MaxTransactionTime != 499 || *o.MaxIrreversibleAge != -1 || *o.ProduceOffset != 456 ||
			o.Leeway != nil || *o.GreylistLimit != 1000 {
			t.Errorf("%d %d %d %v %d, %v", *o.MaxTransactionTime, *o.MaxIrreversibleAge, *o.ProduceOffset, o.Leeway,
				*o.GreylistLimit, err)
		}
		change := admintypes.RuntimeOptions{MaxTransactionTime: new(int32(100)), ProduceOffset: new(int32(1200)),
			Leeway: new(int32(5)), GreylistLimit: new(uint32(7))}
		if err := n.SetRuntimeOptions(ctx, change); err != nil {
			t.Fatal(err)
		}
		o, err = n.RuntimeOptions(ctx)
		if err != nil || *o.MaxTransactionTime != 100 || *o.ProduceOffset != 1200 || *o.Leeway != 5 ||
			*o.GreylistLimit != 7 {
			t.Errorf("%d %d %d %d, %v", *o.MaxTransactionTime, *o.ProduceOffset, *o.Leeway, *o.GreylistLimit, err)
		}
		if err := n.SetRuntimeOptions(ctx, admintypes.RuntimeOptions{ProduceOffset: new(int32(6000))}); err == nil {
			t.Error("an offset as long as the round was accepted")
		}
		if err := n.AddGreylist(ctx, nil); !exception.Is(err, exception.InvalidHTTPRequest) {
			t.Errorf("no accounts: %v", err)
		}
		if err := n.AddGreylist(ctx, []types.Name{name("bob"), name("alice")}); err != nil {
			t.Fatal(err)
		}
		if err := n.RemoveGreylist(ctx, []types.Name{name("bob")}); err != nil {
			t.Fatal(err)
		}
		if l := n.Greylist(); !slices.Equal(l, []types.Name{name("alice")}) || !n.Greylisted(name("alice")) ||
			n.Greylisted(name("bob")) {
			t.Errorf("greylist %v", l)
		}
		if err := n.SetLists(ctx, execute.Lists{}); !exception.Is(err, exception.InvalidHTTPRequest) {
			t.Errorf("no lists: %v", err)
		}
		if err := n.SetLists(ctx, execute.Lists{ActorBlacklist: map[types.Name]bool{name("eosio"): true}}); err != nil {
			t.Fatal(err)
		}
		if l, err := n.Lists(ctx); err != nil || !l.ActorBlacklist[name("eosio")] {
			t.Errorf("%+v, %v", l, err)
		}
		if _, err := n.push(n.maker.CreateAccount(name("alice"))); err == nil ||
			exception.Of(err).Kind.Code != exception.ActorBlacklist.Code {
			t.Errorf("an actor that is blacklisted: %v", err)
		}
	})
}

func TestABlockFromTheFutureOrWithoutItsParentIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(20 * time.Second)
		n.stop(t)
		blocks := n.chainBlocks()
		f := newNode(t, chain.Options{}, nil)
		var rejected int
		f.Subscribe(Events{Rejected: func(*types.SignedBlock, error) { rejected++ }})
		f.run()
		if err := f.Block(ctx, blocks[1], blocks[1].ID()); !exception.Is(err, exception.UnlinkableBlock) {
			t.Errorf("without its parent: %v", err)
		}
		future := *blocks[0]
		future.Timestamp += 100
		if err := f.Block(ctx, &future, future.ID()); !exception.Is(err, exception.BlockFromTheFuture) {
			t.Errorf("from the future: %v", err)
		}
		forged := *blocks[0]
		forged.Producer = name("mallory")
		if err := f.Block(ctx, &forged, forged.ID()); err == nil {
			t.Error("a forged block was accepted")
		}
		if rejected != 1 {
			t.Errorf("%d blocks were rejected", rejected)
		}
		// Headers can be checked before the blocks before them are applied.
		var list []*Block
		for _, b := range blocks {
			x := f.NewBlock(b, b.ID())
			if err := f.CheckHeader(x); err != nil {
				t.Fatal(err)
			}
			list = append(list, x)
		}
		for _, x := range list {
			if err := f.Apply(ctx, x); err != nil {
				t.Fatal(err)
			}
		}
		if f.Head().ID != n.Head().ID || len(f.headers.known) != 0 || len(f.headers.order) != 0 {
			t.Errorf("head is block %d, want %d; %d headers are kept", f.Head().Num, n.Head().Num, len(f.headers.known))
		}
	})
}

// Many goroutines ask at once, on the real clock: for the race detector.
func TestManyCallersAtOnce(t *testing.T) {
	n := newNode(t, chain.Options{}, func(o *Options) {
		produces("eosio")(o)
		o.NoAPIBilling, o.NoP2PBilling = false, false
		o.MaxFailures = 1 << 30
	})
	acks := 0
	n.Subscribe(Events{
		Acked:   func(*types.PackedTransaction, *execute.Candidate, error) { acks++ },
		Between: func() {},
	})
	n.maker.Chain.Subscribe(chain.Hooks{Applied: func(*types.TransactionTrace, *execute.Candidate) {}})
	f := newNode(t, chain.Options{}, nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	linked, unlink := context.WithCancel(context.Background())
	defer unlink()
	connect(linked, n, f, time.Millisecond)
	n.run()
	f.run()
	var work sync.WaitGroup
	for g := range 4 {
		work.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, err := n.push(n.maker.CreateAccount(accountName(g*10_000 + i)))
				if err != nil && exception.Of(err) == nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	work.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			n.Head()
			n.Subjective(name("eosio"), time.Now())
			switch i % 4 {
			case 0:
				_, _, _ = n.IntegrityHash(ctx)
			case 1:
				_, _ = n.Unapplied(ctx, nil, 10, -1)
			case 2:
				_ = n.Do(ctx, func(*chain.Chain) error { return nil })
			case 3:
				_ = n.AddGreylist(ctx, []types.Name{accountName(i)})
				n.Greylisted(accountName(i))
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	for begin := time.Now(); ctx.Err() == nil && (time.Since(begin) < 3*time.Second || n.Head().Num < 4); {
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	work.Wait()
	n.Pause()
	if err := n.Do(linked, func(*chain.Chain) error { return nil }); err != nil { // from then on no block is made
		t.Error(err)
	}
	// On a busy machine the last block is on its way for long.
	for end := time.Now().Add(time.Minute); f.Head().ID != n.Head().ID && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	n.stop(t)
	if c := n.writer.Expected(); c != 0 {
		t.Errorf("%d transactions are said to be coming", c)
	}
	if n.Head().Num < 4 || acks == 0 {
		t.Errorf("head is block %d after a minute, %d answers", n.Head().Num, acks)
	}
	if f.Head().ID != n.Head().ID {
		t.Errorf("the follower is at block %d, want %d", f.Head().Num, n.Head().Num)
	}
}

func TestAWalletSignsBlocks(t *testing.T) {
	k := otherKey(t)
	wallet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		want := fmt.Sprintf("[%q,%q]", trxID(3).String(), k.Public().String())
		if err != nil || string(b) != want || r.Method != http.MethodPost {
			t.Errorf("%s %s, %v", r.Method, b, err)
		}
		s, err := k.Sign(trxID(3))
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "%q", s.String())
	}))
	defer wallet.Close()
	_, sign, err := ParseSignatureProvider(k.Public().String()+"=KEOSD:"+wallet.URL, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sign(trxID(3))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := recoverKey(s, trxID(3)); err != nil || got != k.Public() {
		t.Errorf("signed by %s, %v", got, err)
	}
}

// A wallet that is locked costs a block, and no transaction.
func TestABlockThatCannotBeSignedLosesNoTransaction(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var locked bool
		n := newNode(t, chain.Options{}, func(o *Options) {
			produces("eosio")(o)
			for k, sign := range o.Signers {
				o.Signers[k] = func(d types.Checksum256) (types.Signature, error) {
					if locked {
						return types.Signature{}, exception.New(exception.Producer, "locked")
					}
					return sign(d)
				}
			}
		})
		n.run()
		time.Sleep(6*time.Second + 10*time.Millisecond)
		synctest.Wait()
		if err := n.Do(context.Background(), func(*chain.Chain) error { locked = true; return nil }); err != nil {
			t.Fatal(err)
		}
		trace := mustPush(t, n, n.maker.CreateAccount(name("alice")))
		at := n.Head().Num
		time.Sleep(2 * time.Second)
		if h := n.Head().Num; h != at {
			t.Errorf("head went from %d to %d", at, h)
		}
		if err := n.Do(context.Background(), func(*chain.Chain) error { locked = false; return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		var in int
		for _, b := range n.chainBlocks() {
			in += len(b.Transactions)
		}
		if in != 1 || n.Head().Num < at+3 {
			t.Errorf("%d transactions in blocks, %s among them; head is block %d", in, trace.ID, n.Head().Num)
		}
	})
}

func TestASubscriberMayWorkBetweenBlocks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		var heads []uint32
		n.Subscribe(Events{
			Between: func() {
				if _, pending := n.chain.Pending(); pending {
					t.Error("a block is pending")
				}
				heads = append(heads, n.Head().Num)
			},
		})
		n.maker.Chain.Subscribe(chain.Hooks{AcceptedBlock: func(b *consensus.BlockState) {
			if n.Head().Num >= b.BlockNum {
				t.Error("the head comes before the block")
			}
		}})
		n.run()
		time.Sleep(5 * time.Second)
		n.stop(t)
		for i, h := range heads {
			if h != uint32(i+2) {
				t.Fatalf("heads %d", heads)
			}
		}
		if len(heads) < 9 {
			t.Errorf("heads %d", heads)
		}
	})
}

// Whoever gave something to the writer is answered, once, whenever it ends.
func TestEveryTransactionIsAnsweredOnce(t *testing.T) {
	n := newNode(t, chain.Options{}, produces("eosio"))
	n.run()
	time.Sleep(100 * time.Millisecond)
	const count = 20_000
	answers := make([]int, count)
	var ended, late sync.WaitGroup
	late.Go(func() {
		time.Sleep(50 * time.Millisecond)
		n.stop(t)
	})
	ended.Add(count)
	p, err := n.sign(n.maker.CreateAccount(name("alice")))
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		trx, _, err := p.Unpack()
		if err != nil {
			t.Fatal(err)
		}
		trx.MaxNetUsageWords = uint32(1_000_000 + i)
		packed, err := types.Pack(trx, nil, nil, types.CompressionNone)
		if err != nil {
			t.Fatal(err)
		}
		x, err := execute.NewCandidate(packed, execute.Input)
		if err != nil {
			t.Fatal(err)
		}
		n.Submit(execute.TransactionOptions{}, Submission{x, func(*types.TransactionTrace, error) {
			answers[i]++
			ended.Done()
		}})
	}
	late.Wait()
	ended.Wait()
	for i, a := range answers {
		if a != 1 {
			t.Fatalf("transaction %d was answered %d times", i, a)
		}
	}
	if b := n.waiting.Load(); n.queue.len() != 0 || n.queue.size != 0 {
		t.Errorf("%d wait, %d bytes in the inbox", n.queue.len(), b)
	}
}

func TestTransactionsThatAreGivenTogetherAreExecutedInTheirOrder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		const count, unsigned = 200, 77
		var (
			list  []Submission
			order []int
			ended sync.WaitGroup
		)
		ended.Add(count)
		for i := range count {
			// Each account is made by the one before it.
			a := n.maker.CreateAccount(accountName(i))
			if i > 0 {
				key := types.KeyAuthority(n.maker.Key.Public())
				made := types.NewAccount{Creator: accountName(i - 1), Name: accountName(i), Owner: key, Active: key}
				a = chaintest.Action(name("eosio"), name("newaccount"), accountName(i-1), made.Append(nil))
			}
			x := n.candidate(t, a)
			if i == unsigned {
				x.Packed.Signatures[0].Compact[5] ^= 1
			}
			list = append(list, Submission{x, func(trace *types.TransactionTrace, err error) {
				defer ended.Done()
				switch {
				case i < unsigned && err != nil:
					t.Errorf("transaction %d: %v", i, err)
				case i >= unsigned && err == nil:
					t.Errorf("transaction %d passed", i)
				case err == nil:
					order = append(order, i)
				}
			}})
		}
		n.Submit(execute.TransactionOptions{}, list...)
		ended.Wait()
		if len(order) != unsigned || !slices.IsSorted(order) {
			t.Errorf("executed: %v", order)
		}
	})
}

func TestANodeWithoutTransactionsBeginsNoBlock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		n := newNode(t, chain.Options{}, produces("eosio"))
		i := newNode(t, chain.Options{IrreversibleMode: true}, nil)
		connect(ctx, n, i, time.Millisecond)
		n.run()
		i.run()
		time.Sleep(10 * time.Second)
		if _, err := i.push(i.maker.CreateAccount(name("alice"))); exception.Of(err) == nil {
			t.Errorf("a transaction was answered %v", err)
		}
		if p, ok := i.chain.Pending(); ok {
			t.Errorf("pending: %+v", p)
		}
		h, want := i.Head(), n.Head()
		if h.Num != want.IrreversibleNum || h.ForkID != want.ID {
			t.Errorf("applied block %d, heard of %d; want %d and %d", h.Num, h.ForkNum, want.IrreversibleNum, want.Num)
		}
		var bad *admintypes.BadOption
		if _, err := New(i.chain, func() Options {
			o := i.opt
			o.Producers = []types.Name{name("eosio")}
			return o
		}()); !errors.As(err, &bad) {
			t.Errorf("a producer in irreversible mode: %v", err)
		}
	})
}

func TestAProducerValidatesEverything(t *testing.T) {
	n := newNode(t, chain.Options{Options: execute.Options{LightValidation: true}}, nil)
	o := n.opt
	o.Producers = []types.Name{name("eosio")}
	var bad *admintypes.BadOption
	if _, err := New(n.chain, o); !errors.As(err, &bad) ||
		!strings.Contains(err.Error(), `block production is not safe when validation_mode is not "full"`) {
		t.Errorf("a producer in light mode: %v", err)
	}
}

// A block does not wait for a transaction that is only being tried.
func TestABlockInterruptsATransactionThatIsNotItsProducers(t *testing.T) {
	for range 5 { // the chain's limit for a transaction ends it, too, while the machine stands still
		if blockInterrupts(t) {
			return
		}
	}
	t.Error("a block waits for the end of a transaction")
}

// blockInterrupts gives a node a block while it tries a transaction that never ends, and tells whether that
// is still to be answered when the block is the head.
func blockInterrupts(t *testing.T) bool {
	t.Helper()
	ctx := context.Background()
	n := newNode(t, chain.Options{}, nil)
	m, err := chaintest.New(newStore(t), chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Chain.Close() })
	loop := []byte("\x00asm\x01\x00\x00\x00" + "\x01\x07\x01\x60\x03\x7e\x7e\x7e\x00" + "\x03\x02\x01\x00" +
		"\x05\x03\x01\x00\x01" +
		"\x07\x09\x01\x05apply\x00\x00" + "\x0a\x09\x01\x07\x00\x03\x40\x0c\x00\x0b\x0b")
	looper := name("looper")
	first, err := m.Block(m.CreateAccount(looper), chaintest.SetCode(looper, loop))
	if err != nil {
		t.Fatal(err)
	}
	n.run()
	if err := n.Block(ctx, first, first.ID()); err != nil {
		t.Fatal(err)
	}
	second, err := m.Block(m.CreateAccount(name("alice")))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.SetRuntimeOptions(ctx, admintypes.RuntimeOptions{MaxTransactionTime: new(int32(-1))}); err != nil {
		t.Fatal(err)
	}
	if err := n.writer.Call(ctx, func() error {
		n.deadline = time.Now().Add(time.Hour)
		n.lastStart = time.Time{} // the chain is old, and begins a block even so
		n.schedule()
		n.deadline = time.Now().Add(time.Hour)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, ok := n.chain.Pending(); !ok {
		t.Fatal("no block is pending")
	}
	trx := &types.Transaction{Actions: []types.Action{chaintest.Action(looper, name("go"), looper, nil)}}
	trx.Expiration = types.TimePoint(time.Now().Add(time.Minute).UnixMicro()).Sec()
	trx.SetRefBlock(first.ID())
	p, err := sign(m, trx)
	if err != nil {
		t.Fatal(err)
	}
	x, err := execute.NewCandidate(p, execute.Input)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	n.Submit(execute.TransactionOptions{API: true},
		Submission{x, func(_ *types.TransactionTrace, err error) { answered <- err }})
	for running := false; !running && len(answered) == 0; time.Sleep(time.Millisecond) {
		n.speculation.mu.Lock()
		running = n.speculation.running
		n.speculation.mu.Unlock()
	}
	if err := n.Block(ctx, second, second.ID()); err != nil {
		t.Fatal(err)
	}
	if n.Head().ID != second.ID() {
		t.Errorf("head is block %d", n.Head().Num)
	}
	early := len(answered) > 0
	n.stop(t)
	err = <-answered
	if early {
		t.Logf("the answer came before the block was the head: %v", err)
	} else if err != writerloop.ErrStopped {
		t.Errorf("the answer is %v", err)
	}
	return !early
}

// Tools read these lines.
func TestTraceLinesAreThoseOfNodeos(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var b lockedBuffer
		log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
		n := newNode(t, chain.Options{}, func(o *Options) {
			produces("eosio")(o)
			o.Logger = func(name string) *slog.Logger {
				if strings.HasPrefix(name, "transaction_") {
					return log
				}
				return nil
			}
		})
		n.run()
		time.Sleep(6*time.Second + 10*time.Millisecond)
		num := n.Head().Num + 1
		good := mustPush(t, n, n.maker.CreateAccount(name("alice")))
		p, err := n.sign(n.maker.CreateAccount(name("alice")))
		if err != nil {
			t.Fatal(err)
		}
		bad, err := n.Transaction(context.Background(), p, execute.TransactionOptions{FailureTrace: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			fmt.Sprintf("[TRX_TRACE] Block %d for producer eosio is ACCEPTING tx: %s, auth: eosio, cpu: 1",
				num, good.ID),
			fmt.Sprintf(
				"[TRX_TRACE] Block %d for producer eosio is REJECTING tx: %s, auth: eosio, action: eosio:newaccount, "+
					"Cannot create account named alice, as that name is already taken", num, bad.ID),
		} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("no line %q in\n%s", want, b.String())
			}
		}
	})
}

type lockedBuffer struct {
	mu sync.Mutex
	strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.Write(p)
}

func TestWhatContractsSayCannotBreakALine(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                        "plain",
		"a\nb\tc\rd\"e\\f\x1b[2Jg\x7f": `a\nb\tc\rd\"e\\f\u001b[2Jg\u007f`,
		strings.Repeat("x", 1025):      strings.Repeat("x", 1024) + "...",
		strings.Repeat("\n", 600):      strings.Repeat(`\n`, 512) + "...",
	} {
		if got := escapeText(text); got != want {
			t.Errorf("%.40q: %.60q", text, got)
		}
	}
}
