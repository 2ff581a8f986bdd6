package execute_test

import (
	"errors"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
	"tarn/contracts"
	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"
)

// pin is a trace without what differs from run to run.
func pin(t *types.TransactionTrace) (c types.TransactionTrace, failures string) {
	c = *t
	failure := func(e **exception.Error) {
		if *e != nil {
			failures += timestamp.ReplaceAllString(string(types.AppendException(nil, *e)), "") + "\n"
			*e = nil
		}
	}
	failure(&c.Except)
	c.Elapsed = 0
	if c.Receipt != nil {
		r := *c.Receipt
		r.CPUUsageUS = 0
		c.Receipt = &r
	}
	c.ActionTraces = append([]types.ActionTrace(nil), c.ActionTraces...)
	for i := range c.ActionTraces {
		c.ActionTraces[i].Elapsed = 0
		failure(&c.ActionTraces[i].Except)
	}
	return c, failures
}

// timestamp is when something was said of a failure.
var timestamp = regexp.MustCompile(`,"timestamp":"[^"]*"`)

func newStore(t testing.TB) store.Store {
	t.Helper()
	st, err := engine.Open(t.TempDir(),
		engine.Options{Kind: engine.Page, Mode: page.MappedPrivate, LimitBytes: 4 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func newToken(t testing.TB, users int) *chaintest.Token {
	t.Helper()
	m, err := chaintest.New(newStore(t), chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Chain.Close() })
	token, err := chaintest.NewToken(m, contracts.Token().Code, users)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func dryRun(t testing.TB, m *chaintest.Maker, kind execute.Kind, actions ...types.Action) *execute.Candidate {
	t.Helper()
	p, err := m.Sign(actions...)
	if err != nil {
		t.Fatal(err)
	}
	x, err := execute.NewCandidate(p, kind)
	if err != nil {
		t.Fatal(err)
	}
	x.Keys = []types.PublicKey{m.Key.Public()}
	return x
}

// A reader finds what the writer finds, and the writer's state never knows.
func TestAReaderExecutesWhatTheWriterWould(t *testing.T) {
	token := newToken(t, 20)
	c := token.Chain
	r, err := c.NewReader(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fails := token.Transfer()
	fails.Data = append([]byte(nil), fails.Data...)
	fails.Data[23] = 0x7f // more than anybody has
	unsigned := dryRun(t, token.Maker, execute.DryRun, token.Transfer())
	unsigned.Keys = nil
	for i, x := range []*execute.Candidate{
		dryRun(t, token.Maker, execute.DryRun, token.Transfer(), token.Transfer()),
		dryRun(t, token.Maker, execute.DryRun, fails),
		dryRun(t, token.Maker, execute.DryRun, token.CreateAccount(types.N("alice"))),
		dryRun(t, token.Maker, execute.ReadOnly, token.Transfer()),
		dryRun(t, token.Maker, execute.DryRun, token.Transfer()),
		unsigned,
	} {
		if err := c.Publish(); err != nil {
			t.Fatal(err)
		}
		got, err := r.Execute(x, execute.Billing{}, c.Head().Header.Timestamp.TimePoint().Time())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.StartBlock(execute.Start{Time: c.Head().Header.Timestamp + 1,
			Status: execute.Ephemeral}); err != nil {
			t.Fatal(err)
		}
		want, err := c.PushTransaction(x, execute.Billing{})
		if err != nil {
			t.Fatal(err)
		}
		g, said := pin(got)
		w, should := pin(want)
		if x.Kind == execute.ReadOnly { // whose thread is another
			should = strings.ReplaceAll(should, `"thread_name":"nodeos"`, `"thread_name":""`)
			said = strings.ReplaceAll(said, `"thread_name":"nodeos"`, `"thread_name":""`)
		}
		if !reflect.DeepEqual(g, w) || said != should {
			t.Errorf("transaction %d: a reader's trace is\n%+v\n%s, should be\n%+v\n%s", i, g, said, w, should)
		}
		if _, err := c.AbortBlock(); err != nil {
			t.Fatal(err)
		}
	}
}

// Readers work while blocks are made. Every one of their transactions sees one
// block, whole, and the chain is that of a node without readers.
func TestReadersWorkBesideTheWriter(t *testing.T) {
	run := func(readers int) types.Checksum256 {
		token := newToken(t, 20)
		c := token.Chain
		var dry []*execute.Candidate
		for range 50 {
			dry = append(dry, dryRun(t, token.Maker, execute.DryRun, token.Transfer(), token.Transfer()))
		}
		if err := c.Publish(); err != nil {
			t.Fatal(err)
		}
		end := make(chan struct{})
		var work sync.WaitGroup
		var mu sync.Mutex
		executed, failed := 0, error(nil)
		for range readers {
			r, err := c.NewReader(64 << 20)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			work.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-end:
						return
					default:
					}
					trace, err := r.Execute(dry[i%len(dry)], execute.Billing{}, chaintest.Begin.Time())
					if err == nil && trace.Except != nil {
						err = trace.Except
					}
					if exception.Is(err, exception.TxCPUUsageExceeded) {
						continue // the machine stood still for longer than a transaction may take
					}
					mu.Lock()
					executed++
					failed = errors.Join(failed, err)
					mu.Unlock()
				}
			})
		}
		for range 30 {
			if _, err := token.Transfers(20, 1); err != nil {
				t.Fatal(err)
			}
			if err := c.Publish(); err != nil {
				t.Fatal(err)
			}
		}
		for deadline := time.Now().Add(time.Minute); readers > 0; time.Sleep(time.Millisecond) {
			mu.Lock()
			enough := executed > 10*readers
			mu.Unlock()
			if enough || time.Now().After(deadline) {
				break
			}
		}
		close(end)
		work.Wait()
		if failed != nil {
			t.Errorf("after %d transactions: %v", executed, failed)
		}
		if readers > 0 && executed <= 10*readers {
			t.Errorf("%d readers executed %d transactions", readers, executed)
		}
		return hashOf(t, c)
	}
	if with, without := run(3), run(0); with != without {
		t.Errorf("the hash is %s with readers, %s without", with, without)
	}
}

func TestAReaderRefusesWhatIsKnownAndWhatItMayNot(t *testing.T) {
	token := newToken(t, 2)
	c := token.Chain
	r, err := c.NewReader(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	x := dryRun(t, token.Maker, execute.Input, token.Transfer())
	if _, err := r.Execute(x, execute.Billing{}, time.Now()); err == nil {
		t.Error("a reader executed a transaction that is to be kept")
	}
	if err := token.StartBlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.PushTransaction(x, execute.Billing{Explicit: true, CPU: 100}); err != nil {
		t.Fatal(err)
	}
	if _, err := token.EndBlock(); err != nil {
		t.Fatal(err)
	}
	if err := c.Publish(); err != nil {
		t.Fatal(err)
	}
	now := c.Head().Header.Timestamp.TimePoint().Time()
	again := *x
	again.Kind = execute.DryRun
	if _, err := r.Execute(&again, execute.Billing{}, now); !exception.Is(err, exception.TxDuplicate) {
		t.Errorf("a transaction that is in a block: %v", err)
	}
	stop := exception.New(exception.Deadline, "stopping")
	r.Interrupt(stop)
	trace, err := r.Execute(dryRun(t, token.Maker, execute.DryRun, token.Transfer()), execute.Billing{}, now)
	if err == nil && (trace.Except == nil || trace.Except.Message() != "stopping") {
		t.Errorf("after the interruption: %+v", trace)
	}
}

// A failing transaction is a stranger's, so that it must not cost more than one that succeeds.
func BenchmarkReader(b *testing.B) {
	token := newToken(b, 1000)
	fails := token.Transfer()
	fails.Data = append([]byte(nil), fails.Data...)
	fails.Data[23] = 0x7f // more than anybody has
	for _, c := range []struct {
		name   string
		action types.Action
	}{{"succeeds", token.Transfer()}, {"fails", fails}} {
		b.Run(c.name, func(b *testing.B) {
			if err := token.Chain.Publish(); err != nil {
				b.Fatal(err)
			}
			now := token.Chain.Head().Header.Timestamp.TimePoint().Time()
			r, err := token.Chain.NewReader(64 << 20)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			x := dryRun(b, token.Maker, execute.DryRun, c.action)
			b.ReportAllocs()
			for b.Loop() {
				trace, err := r.Execute(x, execute.Billing{}, now)
				if err != nil || (trace.Except != nil) != (c.name == "fails") {
					b.Fatal(trace, err)
				}
			}
		})
	}
}
