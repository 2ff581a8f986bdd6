package storetest

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tarn/internal/loopdisk"
	"tarn/store"
)

// PowerCutAfterOpen opens a store of which the page cache has a newer image than the
// disk, as a killed process may leave it, and cuts the power as soon as the store is
// open. What it opened at must be there: whoever opened it may have let go of what
// an older image needs.
func (s *Suite) PowerCutAfterOpen(t *testing.T) {
	if reason := loopdisk.Missing(); reason != "" {
		s.skip(t, reason)
	}
	s.each(t, func(t *testing.T, e Engine) {
		if err := apart(t, job{Role: roleUnsynced, Engine: e.Name, Dir: t.TempDir(), Count: 1}); err != nil {
			t.Fatal(err)
		}
	})
}

// openUnsynced is a process's whole job.
func openUnsynced(e Engine, j job, out io.Writer) (err error) {
	d, err := loopdisk.New(j.Dir, cutSize)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	whole := filepath.Join(j.Dir, "whole")
	if err := leaveUnsynced(e, whole, d.Dir); err != nil {
		return err
	}
	p, err := start(job{Role: roleHold, Engine: e.Name, Dir: d.Dir}, false)
	if err != nil {
		return err
	}
	defer p.kill() //nolint:errcheck // only after a failure is it still there
	if err := p.await("opened", 1, openPatience); err != nil {
		return err
	}
	if _, err := strikePower(d, p); err != nil {
		return err
	}
	s, err := e.Open(storeDir(d.Dir), Knobs{})
	if err != nil {
		return fmt.Errorf("open after the cut: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fmt.Fprintf(out, "opened at %d, found %d after the cut\n", 2, s.Head())
	if s.Head() != 2 {
		return fmt.Errorf("lost: opened at revision 2, after a power cut at %d", s.Head())
	}
	return verify(s)
}

// leaveUnsynced makes a store whose first image is durable in another folder, and
// whose second one has only been written there.
func leaveUnsynced(e Engine, from, to string) (err error) {
	s, err := e.Open(storeDir(from), Knobs{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	t, err := s.CreateTable("rows")
	if err != nil {
		return err
	}
	for n := range uint64(2) {
		if err := oneImage(s, t, n); err != nil {
			return err
		}
		// As a kill at this moment would leave it, holes kept.
		command := exec.Command("sh", "-c", `rm -rf "$1"/store && cp -r --sparse=always "$0"/store "$1"`, from, to)
		if said, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("copy the store: %w\n%s", err, said)
		}
		if n == 0 {
			unix.Sync()
		}
	}
	return nil
}

// oneImage makes a revision of a few rows that is irreversible and durable.
func oneImage(s store.Store, t store.Table, n uint64) error {
	if err := s.Begin(); err != nil {
		return err
	}
	for i := range uint64(100) {
		if err := s.Put(t, fmt.Appendf(nil, "%d/%d", n, i), make([]byte, 100)); err != nil {
			return err
		}
	}
	if err := errors.Join(s.Push(), s.Commit(n+1)); err != nil {
		return err
	}
	c, err := s.Checkpoint()
	if err != nil {
		return err
	}
	return c.Wait()
}
