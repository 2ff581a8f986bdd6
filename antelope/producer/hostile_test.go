package producer

import (
	"context"
	"encoding/binary"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
	"tarn/writerloop"
)

func TestWhatIsKeptOfTransactionsIsBoundedInBytes(t *testing.T) {
	var f foundKeys
	add := func(i, size int) *execute.Candidate {
		x := &execute.Candidate{Packed: &types.PackedTransaction{PackedTrx: make([]byte, size)},
			Unprunable: uint64(size)}
		binary.LittleEndian.PutUint64(x.ID[:], uint64(i))
		f.put(x)
		return x
	}
	if x := add(0, 1<<20); f.get(x.ID) != nil {
		t.Error("a large one is kept")
	}
	for i := range 5000 {
		add(i, 30_000)
	}
	kept := 0
	for _, m := range []map[types.Checksum256]*execute.Candidate{f.young, f.old} {
		for _, x := range m {
			kept += len(x.Packed.PackedTrx)
		}
	}
	if kept > 64<<20 || f.bytes > maxFoundKeys {
		t.Errorf("%d bytes are kept, %d counted", kept, f.bytes)
	}
	x := add(5000, 100)
	f.drop(&execute.Candidate{ID: x.ID, Packed: &types.PackedTransaction{}})
	if f.get(x.ID) == nil {
		t.Error("one has gone because another of its id was refused")
	}
	before := f.bytes
	f.drop(x)
	if f.get(x.ID) != nil || f.bytes != before-keptSize(x) {
		t.Errorf("a refused one is kept, %d bytes are counted of %d", f.bytes, before)
	}
}

func TestKeysAreNotKeptOfWhatIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(5 * time.Second)
		a := n.maker.CreateAccount(name("alice"))
		for _, refused := range []bool{false, true} {
			x := n.candidate(t, a)
			if _, err := n.Transaction(ctx, x.Packed, execute.TransactionOptions{API: true}); (err != nil) != refused {
				t.Fatal(err)
			}
			if kept := n.keys.get(x.ID) != nil; kept == refused {
				t.Errorf("refused %t, kept %t", refused, kept)
			}
		}
	})
}

func TestFindingKeysIsBoundedByTheTransactionTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(2 * time.Second)
		x := n.candidate(t, n.maker.CreateAccount(name("alice")))
		if err := n.SetRuntimeOptions(ctx, admintypes.RuntimeOptions{MaxTransactionTime: new(int32)}); err != nil {
			t.Fatal(err)
		}
		_, err := n.Transaction(ctx, x.Packed, execute.TransactionOptions{API: true})
		if !exception.Is(err, exception.TxCPUUsageExceeded) ||
			exception.Of(err).Message() != "transaction signature verification executed for too long 0us" {
			t.Errorf("with no time: %v", err)
		}
		// In a block it has all the time that it needs.
		if errs := n.chain.Keys().Recover(execute.Unlimited, 1, []*execute.Candidate{x}); errs != nil ||
			len(x.Keys) != 1 {
			t.Errorf("%v, %d keys", errs, len(x.Keys))
		}
		if err := n.SetRuntimeOptions(ctx, admintypes.RuntimeOptions{MaxTransactionTime: new(int32(-1))}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Transaction(ctx, x.Packed, execute.TransactionOptions{API: true}); err != nil {
			t.Errorf("without a limit: %v", err)
		}
	})
}

func TestADryRunOfAnExpiredTransactionSaysSo(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(5 * time.Second)
		p, err := n.signUntil(-time.Minute, n.maker.CreateAccount(name("alice")))
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []execute.Kind{execute.DryRun, execute.Input} {
			_, err = n.Transaction(context.Background(), p,
				execute.TransactionOptions{Kind: kind, API: true, FailureTrace: true})
			if !exception.Is(err, exception.ExpiredTx) ||
				!strings.HasPrefix(exception.Of(err).Message(), "expired transaction ") ||
				!strings.Contains(exception.Of(err).Message(), ".000, block time ") {
				t.Errorf("kind %d: %v", kind, err)
			}
		}
	})
}

// Whoever gives up while the writer is busy leaves nothing behind.
func TestAnAnswerThatNobodyWaitsForIsDropped(t *testing.T) {
	st := newStore(t)
	m, err := chaintest.New(st, chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Chain.Close()
	opt := Defaults()
	opt.Log = slog.New(slog.DiscardHandler)
	opt.StaleProduction = true
	p, err := New(m.Chain, opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	before, op := st.Stats().OpenViews, p.Operator()
	for range 50 {
		release, held := make(chan struct{}), make(chan struct{})
		var busy, impatient sync.WaitGroup
		busy.Go(func() {
			if err := p.Do(ctx, func(*chain.Chain) error { close(held); <-release; return nil }); err != nil {
				t.Error(err)
			}
		})
		<-held
		leaving, leave := context.WithCancel(ctx)
		for _, ask := range []func(){
			func() { op.IntegrityHash(leaving) }, func() { op.Lists(leaving) }, func() { op.RuntimeOptions(leaving) },
			func() { op.ScheduledActivations(leaving) }, func() { op.SnapshotRequests(leaving) }, func() {
				op.Unapplied(leaving, nil, 1, -1)
			},
		} {
			impatient.Go(ask)
		}
		for queued := 0; queued < 6; time.Sleep(time.Millisecond) {
			queued = p.writer.Waiting(writerloop.Calls)
		}
		leave()
		impatient.Wait()
		close(release)
		busy.Wait()
		if err := p.Do(ctx, func(*chain.Chain) error { return nil }); err != nil { // after all others
			t.Fatal(err)
		}
	}
	if after := st.Stats().OpenViews; after != before {
		t.Errorf("%d views are open, %d were", after, before)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWaitingTransactionsAreListedInTheTimeThereIs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, nil)
		n.run()
		synctest.Wait()
		err := n.Do(context.Background(), func(*chain.Chain) error {
			for i := range 3 {
				x := &execute.Candidate{Trx: &types.Transaction{}, Packed: &types.PackedTransaction{}}
				x.ID[0] = byte(i)
				x.Trx.Expiration = types.TimePointSec(time.Now().Add(time.Hour).Unix())
				n.queue.addIncoming(&entry{x: x, from: incomingAPI})
			}
			// Nobody executes them meanwhile: the call comes before the next block is begun.
			for _, c := range []struct {
				limit  int
				within time.Duration
				count  int
			}{{10, 0, 1}, {10, -1, 3}, {0, 0, 0}, {10, time.Second, 3}, {2, -1, 2}} {
				page := n.queue.page(nil, c.limit, c.within)
				if len(page.Transactions) != c.count || page.Size != 3 || (page.More == nil) != (c.count == 3) {
					t.Errorf("%+v: %+v", c, page)
				}
			}
			for i := range 3 {
				n.queue.remove(n.queue.byID[types.Checksum256{byte(i)}])
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestAProducerThatNeverRunsIsClosed(t *testing.T) {
	n := newNode(t, chain.Options{}, nil)
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if n.snapshot.ctx.Err() == nil {
		t.Error("snapshots are not closed")
	}
	if _, err := n.readers.Execute(context.Background(), nil, execute.Billing{}); err != writerloop.ErrStopped {
		t.Errorf("readers are not stopped: %v", err)
	}
	if _, err := n.Lists(context.Background()); err != writerloop.ErrStopped {
		t.Errorf("afterwards: %v", err)
	}
}

// What waits counts for what it takes in memory, not for what came over the wire.
func TestWaitingTransactionsCountUnpacked(t *testing.T) {
	trx := new(types.Transaction)
	trx.Actions = []types.Action{{Data: make([]byte, 900_000)}}
	for name, c := range map[string]struct {
		compression types.Compression
		actions     int
		data        [][]byte
		least       int64
	}{
		"compressed":             {types.CompressionZlib, 0, [][]byte{make([]byte, 900_000)}, 1_800_000},
		"many small actions":     {types.CompressionNone, 50_000, nil, 50_000 * 128},
		"many, compressed":       {types.CompressionZlib, 50_000, nil, 50_000 * 128},
		"many small free datums": {types.CompressionNone, 0, make([][]byte, 50_000), 50_000 * 24},
	} {
		trx := *trx
		if c.actions > 0 {
			trx.Actions = make([]types.Action, c.actions)
		}
		p, err := types.Pack(&trx, nil, c.data, c.compression)
		if err != nil {
			t.Fatal(err)
		}
		x, err := execute.NewCandidate(p, execute.Input)
		if err != nil {
			t.Fatal(err)
		}
		if size := entrySize(x); size < c.least {
			t.Errorf("%s: %d bytes, not at least %d", name, size, c.least)
		}
	}
}

// A node that does not produce executes transactions for whoever sends them, and nobody need put them into a block
// before they expire. What it keeps of them for its own blocks is bounded.
func TestWhatIsTriedForStrangersIsKeptWithinABound(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		const most = 64 << 10
		n := newNode(t, chain.Options{}, func(o *Options) { o.QueueBytes = most })
		n.run()
		for i := range 100 {
			p, err := n.sign(n.maker.CreateAccount(accountName(i)))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.Transaction(ctx, p, execute.TransactionOptions{API: true}); err != nil {
				t.Fatal(err)
			}
			if err := n.Do(ctx, func(*chain.Chain) error { return nil }); err != nil { // another block is begun
				t.Fatal(err)
			}
		}
		err := n.writer.Call(ctx, func() error {
			if n.queue.size > most || n.queue.len() < 10 {
				t.Errorf("%d transactions of %d bytes wait", n.queue.len(), n.queue.size)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
