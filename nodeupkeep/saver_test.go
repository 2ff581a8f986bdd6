package nodeupkeep

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"tarn/store"
)

// saving is a store of which only checkpoints are asked; each ends when it is told to.
type saving struct {
	store.Store
	begun []*image
	fails error
	used  int64
}

func (s *saving) Stats() store.Stats { return store.Stats{Used: s.used} }

type image struct {
	done chan struct{}
	err  error
}

func (i *image) Wait() error           { <-i.done; return i.err }
func (i *image) Done() <-chan struct{} { return i.done }
func (i *image) end(err error)         { i.err = err; close(i.done) }

func (s *saving) Checkpoint() (store.Checkpoint, error) {
	if s.fails != nil {
		return nil, s.fails
	}
	c := &image{done: make(chan struct{})}
	s.begun = append(s.begun, c)
	return c, nil
}

// A checkpoint is due after as much work as recovery may take, or when the image is old; not
// because time passes on a chain without work.
func TestACheckpointIsDueByTheWorkThatRecoveryWouldBe(t *testing.T) {
	for _, x := range []struct {
		name                  string
		recovery, worked, age time.Duration
		want                  bool
	}{
		{"much work", time.Minute, time.Minute, 0, true},
		{"little work", time.Minute, 59 * time.Second, 50 * time.Minute, false},
		{"little work, long ago", time.Minute, 0, maxAge, true},
		{"little work, long ago, and recovery may take less", time.Second, 0, maxAge - 1, false},
		{"little work, and recovery may take longer", 4 * time.Minute, 0, 4*maxAge - time.Second, false},
		{"little work, longer ago", 4 * time.Minute, 0, 4 * maxAge, true},
		{"recovery may take for ever", math.MaxInt64, 0, 100 * maxAge, false},
		{"never", 0, time.Hour, 2 * maxAge, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			worked, of := time.Duration(0), &saving{}
			s := NewSaver(SaverOptions{Store: of, Recovery: x.recovery, Worked: func() time.Duration { return worked }})
			for range 2 { // counted from the one before, too
				worked += x.worked
				time.Sleep(x.age)
				if got := s.Due(); got != x.want {
					t.Errorf("%s: it is due: %v", x.name, got)
				}
				if err := s.Begin(); err != nil {
					t.Fatal(err)
				}
				if s.Due() {
					t.Errorf("%s: it is due just after one was begun", x.name)
				}
				of.begun[len(of.begun)-1].end(nil)
			}
		})
	}
}

// A state that has become twice as large is saved, one that only changes is not.
func TestACheckpointIsDueWhenTheStateHasDoubled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := &saving{used: 100 << 20}
		s := NewSaver(SaverOptions{Store: of, Recovery: time.Minute, Worked: func() time.Duration { return 0 }})
		begun := 0
		for _, x := range []struct {
			mb   int64
			want bool
		}{{227, false}, {228, true}, {300, false}, {455, false}, {456, true}, {300, false}, {912, true}} {
			of.used = x.mb << 20
			time.Sleep(lookEvery)
			if got := s.Due(); got != x.want {
				t.Errorf("at %d MB it is due: %v", x.mb, got)
			} else if got {
				if err := s.Begin(); err != nil {
					t.Fatal(err)
				}
				of.begun[begun].end(nil)
				begun++
			}
		}
	})
}

// One checkpoint at a time; what became of it is told once, and the next one is tried.
func TestAFailedCheckpointIsToldAndTriedAgain(t *testing.T) {
	of, broken, saved := &saving{}, errors.New("broken"), 0
	s := NewSaver(SaverOptions{Store: of, Recovery: 1, Worked: func() time.Duration { return 0 },
		Saved: func() error { saved++; return nil }})
	if err := errors.Join(s.Begin(), s.Begin()); err != nil || len(of.begun) != 1 {
		t.Fatalf("%d are under way, %v", len(of.begun), err)
	}
	of.begun[0].end(broken)
	if err := s.Begin(); !errors.Is(err, broken) || len(of.begun) != 2 || saved != 0 {
		t.Errorf("after a failed one: %v, %d were begun, %d saved", err, len(of.begun), saved)
	}
	of.begun[1].end(nil)
	if err := s.Wait(); err != nil || saved != 1 {
		t.Errorf("after a good one: %v, %d saved", err, saved)
	}
	of.fails = broken
	if err := s.Begin(); !errors.Is(err, broken) {
		t.Errorf("beginning: %v", err)
	}
	if err := s.Save(); !errors.Is(err, broken) || saved != 1 {
		t.Errorf("saving: %v, %d saved", err, saved)
	}
}
