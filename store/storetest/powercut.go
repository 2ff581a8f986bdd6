package storetest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"tarn/internal/loopdisk"
)

// PowerCut is Kill with the power: the store is on a file system of its own that
// is shut down, with all that was not synced, under the working process. The
// block log is on it too, and must hold the revision that is found.
//
// Between the cuts processes are killed, as often as they come. What a killed one
// wrote the next one finds in the page cache, and a cut soon after takes away what
// that one has not made durable before it stood on it.
func (s *Suite) PowerCut(t *testing.T) {
	if reason := loopdisk.Missing(); reason != "" {
		s.skip(t, reason)
	}
	s.each(t, func(t *testing.T, e Engine) {
		j := job{Role: roleCuts, Engine: e.Name, Dir: t.TempDir(), Seed: s.Seed, Count: s.Cuts}
		if err := apart(t, j); err != nil {
			t.Fatalf("seed %d: %v\nrepeat with: %s",
				s.Seed, err, s.replay(t, fmt.Sprintf("-storetest.cuts=%d", s.Cuts)))
		}
	})
}

// apart does a job in a process with mounts of its own, and logs what it
// reports.
func apart(t *testing.T, j job) error {
	p, err := start(j, true)
	if err != nil {
		return err
	}
	err = p.finish(2*time.Minute + time.Duration(j.Count)*20*time.Second)
	for _, line := range p.report() {
		if !strings.HasPrefix(line, "failed ") {
			t.Log(line)
		}
	}
	return err
}

// cutSize is the size of the disk whose power is cut, in bytes.
const cutSize = 512 << 20

// cutPower is a process's whole job: it strikes workers by power cuts.
func cutPower(e Engine, j job, out io.Writer) (err error) {
	d, err := loopdisk.New(j.Dir, cutSize)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	o := newOrdeal(e, d.Dir, j.Seed)
	cuts := 0
	o.strike = func(p *process) ([]string, error) {
		if o.rng.IntN(2) == 0 {
			return strikeDown(p)
		}
		cuts++
		return strikePower(d, p)
	}
	for cuts < j.Count && err == nil {
		err = o.run(o.struck + j.Count - cuts)
	}
	lost := 0
	if err != nil {
		lost = 1
	}
	fmt.Fprintf(out, "cuts=%d kills=%d engine=%s lost=%d %v\n", cuts, o.struck-cuts, e.Name, lost, o)
	return err
}

// strikePower cuts the power under a worker. What the worker reports after the
// cut counts for nothing: a sync in flight may return well although its data is
// lost.
func strikePower(d *loopdisk.Disk, p *process) ([]string, error) {
	lines := p.report()
	select {
	case <-p.ended:
		return nil, fmt.Errorf("worker ended before the power cut: %w", p.wait())
	default:
	}
	if err := d.Cut(); err != nil {
		return nil, err
	}
	p.kill() //nolint:errcheck // it may have ended over the errors of its disk
	if err := d.Unmount(); err != nil {
		return nil, err
	}
	return lines, d.Mount()
}
