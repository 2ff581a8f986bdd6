package storetest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tarn/internal/loopdisk"
	"tarn/store"
)

// NoSpace works on a store on a small disk until that is full: the refusal is
// typed and changes nothing, the store can be read and reopened, and goes on
// when there is space again.
func (s *Suite) NoSpace(t *testing.T) {
	if reason := loopdisk.Missing(); reason != "" {
		s.skip(t, reason)
	}
	s.each(t, func(t *testing.T, e Engine) {
		if err := apart(t, job{Role: roleNoSpace, Engine: e.Name, Dir: t.TempDir(), Seed: s.Seed}); err != nil {
			t.Fatalf("seed %d: %v\nrepeat with: %s", s.Seed, err, s.replay(t))
		}
	})
}

// MemoryDisk opens a store on a file system in memory: it works, or is refused
// with the reason.
func (s *Suite) MemoryDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		s.skip(t, "needs root, to mount file systems")
	}
	s.each(t, func(t *testing.T, e Engine) {
		if err := apart(t, job{Role: roleMemory, Engine: e.Name, Dir: t.TempDir(), Seed: s.Seed}); err != nil {
			t.Fatal(err)
		}
	})
}

// Sizes of the disk that is filled, in bytes: all of it, and the part that is
// taken away at first and given back at the end. That is more than twice what is
// left: a library that compacts all it has, which it does with new space, needs as
// much again meanwhile.
const (
	smallDisk   = 320 << 20
	ballastSize = 224 << 20
)

// fillDisk is a process's whole job.
func fillDisk(e Engine, j job, out io.Writer) (err error) {
	d, err := loopdisk.New(j.Dir, smallDisk)
	if err != nil {
		return err
	}
	defer func() {
		if e := d.Close(); err == nil {
			err = e
		}
	}()
	ballast := filepath.Join(d.Dir, "ballast")
	if err := allocate(ballast, ballastSize); err != nil {
		return err
	}
	r := newRun(e, storeDir(d.Dir), Knobs{}, source(j.Seed, e.Name, 0))
	r.alone = true
	if err := r.open(); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	r.scarce = true
	err = r.fillUp()
	fitted := r.m.head
	if err == nil {
		err = r.random(600)
	}
	if err == nil {
		err = r.all(opUndoAll{}, opCompare{true})
	}
	if err == nil {
		err = r.reopenFull(func() error { return os.Remove(ballast) })
	}
	if err == nil {
		err = r.goOn()
	}
	if err != nil {
		r.s.Close()
		return fmt.Errorf("%d revisions fitted: %w\nthe last operations:\n%s", fitted, err, r.history())
	}
	fmt.Fprintf(out, "disk=%dMiB engine=%s fitted=%d %v\n", smallDisk>>20, e.Name, fitted, r.tally)
	return r.close()
}

func allocate(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fallocate(int(f.Fd()), 0, 0, size), f.Close())
}

// block makes one durable revision.
func (r *run) block(size int) error {
	if len(r.m.names) == 0 {
		if err := r.all(r.createTable()); err != nil {
			return err
		}
	}
	ops := []op{opBegin{}}
	for range 10 {
		key := composite(8, 8, r.rng.Uint64())
		ops = append(ops, opPut{r.m.names[0], key, value(r.rng, size)})
	}
	ops = append(ops, opPush{}, opCommit{max(r.m.head, 2) - 2}, opPublish{}, opCheckpoint{wait: true})
	return r.all(ops...)
}

// fillUp makes durable revisions until the disk has refused some.
func (r *run) fillUp() error {
	for r.tally.full < 20 {
		if r.m.head > 2000 {
			return errors.New("the disk is never full")
		}
		if err := r.block(40_000); err != nil {
			return err
		}
	}
	return (opCompare{true}).do(r)
}

// reopenFull opens the store on the full disk and then makes space. A library
// that writes when it opens may refuse the full disk, but must say why.
func (r *run) reopenFull(makeSpace func() error) error {
	if err := r.close(); err != nil {
		return err
	}
	err := r.open()
	refused := r.isFull(err) && !r.engine.StoresUndo
	if err != nil && !refused {
		return fmt.Errorf("on the full disk: %w", err)
	}
	if !refused {
		if err := r.all(opCompare{true}); err != nil {
			return err
		}
	}
	r.scarce = false
	if err := makeSpace(); err != nil || !refused {
		return err
	}
	return r.open()
}

// goOn shows that the store works as if nothing had been.
func (r *run) goOn() error {
	for range 10 {
		if err := r.block(5000); err != nil {
			return err
		}
	}
	if err := r.random(600); err != nil {
		return err
	}
	return r.all(opUndoAll{}, opCheckpoint{wait: true}, opCompare{true}, opReopen{}, opCompare{true})
}

// openInMemory is a process's whole job.
func openInMemory(e Engine, j job, out io.Writer) (err error) {
	if err := unix.Mount("tmpfs", j.Dir, "tmpfs", 0, "size=256m"); err != nil {
		return fmt.Errorf("mount tmpfs: %w", err)
	}
	defer func() {
		if e := unix.Unmount(j.Dir, unix.MNT_DETACH); err == nil {
			err = e
		}
	}()
	s, err := e.Open(storeDir(j.Dir), Knobs{})
	if !e.RefusesMemoryDisk {
		if err == nil {
			err = s.Close()
		}
		if err == nil {
			r := newRun(e, storeDir(j.Dir), Knobs{}, source(j.Seed, e.Name, 0))
			err = r.work(2000)
		}
		if err == nil {
			fmt.Fprintf(out, "engine=%s works on tmpfs\n", e.Name)
		}
		return err
	}
	if err == nil {
		return errors.Join(errors.New("opened on tmpfs"), s.Close())
	}
	if errors.Is(err, store.ErrFull) || errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("refused for another reason: %w", err)
	}
	left, walkErr := os.ReadDir(storeDir(j.Dir))
	for _, f := range left {
		if f.Name() != "LOCK" {
			return fmt.Errorf("the refused open left %s", f.Name())
		}
	}
	if walkErr != nil && !errors.Is(walkErr, os.ErrNotExist) {
		return walkErr
	}
	fmt.Fprintf(out, "engine=%s refuses tmpfs: %v\n", e.Name, err)
	return nil
}
