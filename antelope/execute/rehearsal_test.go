package execute_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
)

// hashOf is the hash of a chain's published state.
func hashOf(t *testing.T, c *chain.Chain) types.Checksum256 {
	t.Helper()
	h, err := chaintest.Hash(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A rehearsal executes all of a transaction: of a block's without its keys, of a stranger's only if it is authorized and
// was not executed yet.
func TestARehearsalReadsWhatTheTransactionDoes(t *testing.T) {
	token := newToken(t, 2)
	r, err := token.Chain.NewReader(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	x := dryRun(t, token.Maker, execute.Input, token.Transfer())
	unsigned := *x
	unsigned.Keys = nil
	now := token.Chain.Head().Header.Timestamp.TimePoint()
	rehearse := func(x *execute.Candidate, kind execute.Kind, want *exception.Kind, actions int) {
		t.Helper()
		if err := token.Chain.Publish(); err != nil {
			t.Fatal(err)
		}
		trace, err := r.Rehearse(x, kind, execute.Billing{}, now)
		if err == nil && trace.Except != nil {
			err = trace.Except
		}
		if want == nil && err != nil || want != nil && !exception.Is(err, want) {
			t.Errorf("kind %d: %v", kind, err)
		}
		if trace != nil && len(trace.ActionTraces) != actions {
			t.Errorf("kind %d: %d actions were executed, should be %d", kind, len(trace.ActionTraces), actions)
		}
		if x.Kind != execute.Input {
			t.Error("a rehearsal changed the transaction")
		}
	}
	rehearse(x, execute.Rehearsed, nil, 3) // a transfer, and its two notifications
	rehearse(&unsigned, execute.DryRun, nil, 3)
	rehearse(&unsigned, execute.Rehearsed, exception.UnsatisfiedAuthorization, 0)
	if err := token.StartBlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := token.Chain.PushTransaction(x, execute.Billing{Explicit: true, CPU: 100}); err != nil {
		t.Fatal(err)
	}
	if _, err := token.EndBlock(); err != nil {
		t.Fatal(err)
	}
	if !token.Chain.State().IsRecorded(x.ID) {
		t.Error("the writer does not know what it has executed")
	}
	all := execute.NewRehearsals(func() bool { return true }, token.Chain.State().IsRecorded,
		func(int64) (*execute.Reader, error) {
			t.Error("a transaction is rehearsed that the writer has executed")
			return nil, exception.New(exception.Deadline, "none")
		})
	all.Waiting(-1, x)
	if err := all.Stop(exception.New(exception.Deadline, "stopping")); err != nil {
		t.Error(err)
	}
}

// Rehearsals go on while blocks are made, and the chain is that of a node without them. They make no more readers than
// they may have, and none while they do not help.
func TestRehearsalsLeaveNothing(t *testing.T) {
	run := func(wanted bool) (types.Checksum256, int64) {
		token := newToken(t, 20)
		c := token.Chain
		var help atomic.Bool
		var made atomic.Int64
		r := execute.NewRehearsals(help.Load, c.State().IsRecorded, func(bytes int64) (*execute.Reader, error) {
			made.Add(1)
			return c.NewReader(bytes)
		})
		var coming []*execute.Candidate
		for range 30 {
			coming = append(coming, nil, dryRun(t, token.Maker, execute.Input, token.Transfer(), token.Transfer()))
		}
		if err := c.Publish(); err != nil {
			t.Fatal(err)
		}
		at := c.Head().Header.Timestamp + 1
		r.Block(at, coming...)
		help.Store(wanted)
		var strangers sync.WaitGroup
		for i := range 6 {
			strangers.Go(func() {
				for range 5 {
					if i%2 == 0 {
						r.Block(at, coming...)
					} else {
						r.Waiting(-1, coming...)
					}
				}
			})
		}
		for range 20 {
			if _, err := token.Transfers(20, 1); err != nil {
				t.Fatal(err)
			}
			if err := c.Publish(); err != nil {
				t.Fatal(err)
			}
		}
		strangers.Wait()
		if idle := r.Idle(); (idle > 0) != wanted || idle > execute.RehearsalsMost {
			t.Errorf("%d readers, wanted: %v", idle, wanted)
		}
		help.Store(false)
		r.Block(at, coming...)
		if idle := r.Idle(); idle != 0 {
			t.Errorf("%d readers are kept when they no longer help", idle)
		}
		if err := r.Stop(exception.New(exception.Deadline, "stopping")); err != nil {
			t.Error(err)
		}
		return hashOf(t, c), made.Load()
	}
	with, made := run(true)
	without, none := run(false)
	if with != without {
		t.Errorf("the hash is %s with rehearsals, %s without", with, without)
	}
	if made == 0 || made > execute.RehearsalsMost || none != 0 {
		t.Errorf("%d readers made for rehearsals, %d for none", made, none)
	}
}

// Who has sent what fails is not rehearsed for a while. That nobody has signed it is not the account's own failure.
func TestRehearsalsOfWhatFailsEnd(t *testing.T) {
	token := newToken(t, 2)
	if err := token.Chain.Publish(); err != nil {
		t.Fatal(err)
	}
	r := execute.NewRehearsals(func() bool { return true }, token.Chain.State().IsRecorded, token.Chain.NewReader)
	fails := token.Transfer()
	fails.Data = append([]byte(nil), fails.Data...)
	fails.Data[23] = 0x7f // more than anybody has
	x := dryRun(t, token.Maker, execute.Input, fails)
	x.Trx.Expiration = types.TimePointSec(time.Now().Add(time.Minute).Unix())
	unsigned := *x
	unsigned.Keys = nil
	if r.Waiting(-1, &unsigned); r.Failures() != 0 {
		t.Error("an account has failed of whom nobody signed")
	}
	for range 2 {
		if r.Waiting(-1, x, x); r.Failures() != 1 {
			t.Errorf("%d accounts have failed", r.Failures())
		}
	}
	if err := r.Stop(exception.New(exception.Deadline, "stopping")); err != nil {
		t.Error(err)
	}
}

// A node that ends waits for no stranger's transaction, also when rehearsals no longer help just then.
func TestRehearsalsStop(t *testing.T) {
	token := newToken(t, 2)
	if err := token.Chain.Publish(); err != nil {
		t.Fatal(err)
	}
	x := dryRun(t, token.Maker, execute.Input, token.Transfer())
	for range 100 {
		var asked atomic.Int64
		r := execute.NewRehearsals(func() bool { return asked.Add(1)%4 != 0 }, token.Chain.State().IsRecorded,
			token.Chain.NewReader)
		var strangers sync.WaitGroup
		for range 8 {
			strangers.Go(func() {
				for range 4 {
					r.Waiting(-1, x, x)
				}
			})
		}
		if err := r.Stop(exception.New(exception.Deadline, "stopping")); err != nil {
			t.Fatal(err)
		}
		strangers.Wait()
		if idle := r.Idle(); idle != 0 {
			t.Fatalf("%d readers are left", idle)
		}
	}
}
