package execute_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/snapshot"
	"tarn/antelope/types"
)

// hashOf is the hash of a chain's published state.
func hashOf(t *testing.T, c *chain.Chain) types.Checksum256 {
	t.Helper()
	v, err := c.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	h, err := snapshot.Hash(v, c.Standing(), snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A rehearsal executes all of a transaction, also of one that a block has or whose keys nobody looked for.
func TestARehearsalReadsWhatTheTransactionDoes(t *testing.T) {
	token := newToken(t, 2)
	r, err := token.Chain.NewReader(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	x := dryRun(t, token.Maker, execute.Input, token.Transfer())
	x.Keys = nil
	now := token.Chain.Head().Header.Timestamp.TimePoint().Time()
	rehearse := func() {
		t.Helper()
		if err := token.Chain.Publish(); err != nil {
			t.Fatal(err)
		}
		trace, err := r.Rehearse(x, execute.Billing{}, now)
		if err != nil || trace.Except != nil || len(trace.ActionTraces) != 3 {
			t.Errorf("a transfer and its two notifications: %+v, %v", trace, err)
		}
		if x.Kind != execute.Input {
			t.Error("a rehearsal changed the transaction")
		}
	}
	rehearse()
	if err := token.StartBlock(); err != nil {
		t.Fatal(err)
	}
	keyed := *x
	keyed.Keys = []types.PublicKey{token.Key.Public()}
	if _, err := token.Chain.PushTransaction(&keyed, execute.Billing{Explicit: true, CPU: 100}); err != nil {
		t.Fatal(err)
	}
	if _, err := token.EndBlock(); err != nil {
		t.Fatal(err)
	}
	rehearse()
}

// Rehearsals go on while blocks are made, and the chain is that of a node without them. They make no more readers than
// they may have, and none while they do not help.
func TestRehearsalsLeaveNothing(t *testing.T) {
	run := func(wanted bool) (types.Checksum256, int64) {
		token := newToken(t, 20)
		c := token.Chain
		var help atomic.Bool
		var made atomic.Int64
		r := execute.NewRehearsals(help.Load, func(bytes int64) (*execute.Reader, error) {
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
		r.Rehearse(coming...)
		help.Store(wanted)
		var strangers sync.WaitGroup
		for range 3 {
			strangers.Go(func() {
				for range 5 {
					r.Rehearse(coming...)
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
		r.Rehearse(coming...)
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

// A node that ends waits for no stranger's transaction.
func TestRehearsalsStop(t *testing.T) {
	token := newToken(t, 2)
	if err := token.Chain.Publish(); err != nil {
		t.Fatal(err)
	}
	r := execute.NewRehearsals(func() bool { return true }, token.Chain.NewReader)
	x := dryRun(t, token.Maker, execute.Input, token.Transfer())
	var strangers sync.WaitGroup
	for range 20 {
		strangers.Go(func() {
			for range 20 {
				r.Rehearse(x, x)
			}
		})
	}
	if err := r.Stop(exception.New(exception.Deadline, "stopping")); err != nil {
		t.Error(err)
	}
	strangers.Wait()
	if idle := r.Idle(); idle != 0 {
		t.Errorf("%d readers are left", idle)
	}
}
