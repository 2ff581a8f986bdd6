package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/store"
)

// Sabotage makes the checkpoints of one open store fail. Its methods are called while
// no checkpoint is under way.
type Sabotage interface {
	// Fail chooses the step at which every checkpoint fails from now on, and names it.
	Fail(r *rand.Rand) string
	// Heal lets checkpoints succeed again.
	Heal()
}

// ModelFailing is Model with checkpoints that fail at any of their steps, for as long
// as it takes: the model goes on with all kinds of changes, undo, views and crashes,
// and what the next checkpoint that succeeds makes durable must be all there.
func (s *Suite) ModelFailing(t *testing.T) {
	fewer := *s
	fewer.Rounds = max(1, s.Rounds/3)
	fewer.Engines = slices.DeleteFunc(slices.Clone(s.Engines), func(e Engine) bool { return e.OpenFailing == nil })
	fewer.each(t, func(t *testing.T, e Engine) {
		fewer.rounds(t, e, func(*rand.Rand) Knobs { return Knobs{} })
	})
}

// opFail makes checkpoints fail at a step, opHeal lets them succeed.
type (
	opFail struct{ seed uint64 }
	opHeal struct{}
)

func (o opFail) String() string { return fmt.Sprintf("fail %d", o.seed) }
func (opHeal) String() string   { return "heal" }

func (o opFail) do(r *run) error {
	if err := (opHeal{}).do(r); err != nil {
		return err
	}
	r.failing = r.sabotage.Fail(rand.New(rand.NewPCG(o.seed, 0)))
	return nil
}

func (opHeal) do(r *run) error {
	err := opWait{}.do(r)
	r.heal()
	return err
}

func (r *run) heal() {
	if r.sabotage != nil {
		r.sabotage.Heal()
	}
	r.failing = ""
}

// mayFail reports whether a checkpoint's failure is one that was asked for, or a
// refusal for want of space.
func (r *run) mayFail(err error) bool {
	if err != nil && r.failing != "" {
		r.tally.failed++
		return true
	}
	return r.isFull(err)
}

// openStore opens the store, so that its checkpoints can be failed if it gives the
// means.
func (r *run) openStore() (s store.Store, err error) {
	if r.engine.OpenFailing != nil {
		s, r.sabotage, err = r.engine.OpenFailing(r.dir, r.knobs)
		return s, err
	}
	return r.engine.Open(r.dir, r.knobs)
}
