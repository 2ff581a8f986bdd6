package writebehind

import (
	"errors"
	"testing"
	"testing/synctest"
)

// The queue holds what fits, one job at least; who has more waits.
func TestABlockWaitsForThoseBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work, did := make(chan bool), 0
		r := Start(Options[int]{Bytes: 100, Do: func(int) error { <-work; did++; return nil }})
		for range 2 {
			if err := r.Put(1, 50); err != nil {
				t.Fatal(err)
			}
		}
		put := make(chan error, 1)
		go func() { put <- r.Put(2, 1000) }()
		for range 2 {
			synctest.Wait()
			select {
			case err := <-put:
				t.Fatalf("it did not wait: %v", err)
			default:
			}
			work <- true
		}
		if err := <-put; err != nil {
			t.Error(err)
		}
		closed := make(chan error, 1)
		go func() { closed <- r.Close() }()
		synctest.Wait()
		if err := r.Put(3, 1); !errors.Is(err, ErrClosed) {
			t.Errorf("a closed recorder takes more: %v", err)
		}
		if err := r.Sync(); !errors.Is(err, ErrClosed) {
			t.Errorf("a closed recorder is made durable: %v", err)
		}
		work <- true
		if err := <-closed; err != nil || did != 3 || r.Waiting() != 0 {
			t.Errorf("%v, %d jobs were done, %d bytes wait", err, did, r.Waiting())
		}
	})
}

// After the first error nothing is written, and everybody hears of it.
func TestTheFirstErrorIsTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full, did, synced := errors.New("full"), 0, 0
		var told []error
		r := Start(Options[int]{Do: func(int) error { did++; return full }, Sync: func() error { synced++; return nil },
			Failed: func(err error) { told = append(told, err) }})
		if err := r.Sync(); err != nil || synced != 1 {
			t.Errorf("%v, made durable %d times", err, synced)
		}
		if err := r.Put(1, 1); err != nil {
			t.Fatal(err)
		}
		if err := r.Sync(); err != full {
			t.Errorf("making durable: %v", err)
		}
		if err := r.Put(2, 1); err != full {
			t.Errorf("the next: %v", err)
		}
		r.Fail(errors.New("another"))
		if err := r.Close(); err != full || did != 1 || synced != 1 || len(told) != 1 {
			t.Errorf("%v; %d jobs, made durable %d times, told %v", err, did, synced, told)
		}
	})
}
