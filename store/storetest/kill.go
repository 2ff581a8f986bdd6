package storetest

import (
	"fmt"
	"testing"
)

// Kill works on a store in another process, ends that process with SIGKILL at a
// random moment, opening and recovery included, and opens the store: nothing
// that was durable may be lost, and what is found must be exactly a revision.
// Then another process goes on from there.
func (s *Suite) Kill(t *testing.T) {
	s.each(t, func(t *testing.T, e Engine) {
		o := newOrdeal(e, t.TempDir(), s.Seed)
		o.strike = strikeDown
		err := o.run(s.Kills)
		lost := 0
		if err != nil {
			lost = 1
		}
		t.Logf("kills=%d engine=%s lost=%d %v", o.struck, e.Name, lost, o)
		if err != nil {
			t.Fatalf("seed %d: %v\nrepeat with: %s",
				s.Seed, err, s.replay(t, fmt.Sprintf("-storetest.kills=%d", s.Kills)))
		}
	})
}

// strikeDown ends a worker with SIGKILL.
func strikeDown(p *process) ([]string, error) {
	err := p.kill()
	return p.report(), err
}

func newOrdeal(e Engine, dir string, seed uint64) *ordeal {
	return &ordeal{
		engine:   e,
		dir:      dir,
		job:      job{Role: roleWork, Engine: e.Name, Dir: dir, Seed: seed},
		rng:      source(seed, e.Name, 0),
		timeline: newTimeline(seed),
	}
}

func (o *ordeal) String() string {
	return fmt.Sprintf("opened=%d judged=%d durable=%d last_revision=%d undone=%d",
		o.opened, o.judged, o.durable, o.acked.revision, o.undone)
}
