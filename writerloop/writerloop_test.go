package writerloop

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// running runs a writer until the test ends.
func running(t *testing.T, o Options) *Writer {
	t.Helper()
	w := New(o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.Run(ctx)
		w.Close()
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return w
}

func TestLanesGoBeforeEachOtherAndKeepTheirOrder(t *testing.T) {
	w := New(Options{})
	var got []int
	put := func(to Lane, n int, then func()) {
		w.Put(to, Job{Do: func() {
			if got = append(got, n); then != nil {
				then()
			}
		}})
	}
	// What comes while a batch of the many is done goes before the rest of the batch.
	put(Many, 5, func() { put(Few, 6, nil); put(Calls, 7, nil) })
	put(Many, 8, nil)
	put(Few, 3, nil)
	put(Few, 4, nil)
	put(Calls, 1, nil)
	put(Calls, 2, nil)
	w.opt.Ended = func() bool { return len(got) == 8 }
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if want := []int{1, 2, 3, 4, 5, 7, 6, 8}; !slices.Equal(got, want) {
		t.Errorf("done in the order %v, want %v", got, want)
	}
}

func TestWhoeverWaitsIsAnsweredWhenTheWriterEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Options{})
		called, dropped := make(chan error, 1), 0
		go func() {
			called <- w.Call(context.Background(), func() error { t.Error("done after the end"); return nil })
		}()
		synctest.Wait()
		if n := w.Waiting(Calls); n != 1 {
			t.Errorf("%d calls wait, want 1", n)
		}
		w.Put(Many, Job{Do: func() { t.Error("done after the end") }, Drop: func() { dropped++ }})
		w.Close()
		w.Close()
		if err := <-called; err != ErrStopped {
			t.Errorf("the call: %v", err)
		}
		if dropped != 1 {
			t.Errorf("a job was dropped %d times, want once", dropped)
		}
		if w.Put(Few, Job{Do: func() {}}) {
			t.Error("a job was let in after the end")
		}
		if _, err := Ask(context.Background(), w, func() (int, error) { return 1, nil }); err != ErrStopped {
			t.Errorf("asking: %v", err)
		}
	})
}

func TestWhoDoesNotWaitAnyLongerGetsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Options{})
		gone := errors.New("gone")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, gone)
		defer cancel()
		if n, err := Ask(ctx, w, func() (int, error) { return 1, nil }); !errors.Is(err, gone) || n != 0 {
			t.Errorf("%d, %v", n, err)
		}
		w.Close()
	})
}

// What has begun is waited for, whatever its caller's context says: it may still use what the
// caller owns. What has not begun never does.
func TestACallIsGivenUpOnlyBeforeItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := running(t, Options{})
		ctx, leave := context.WithCancel(t.Context())
		begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 2)
		go func() {
			ended <- w.Call(ctx, func() error { close(begun); <-end; return errors.New("its own end") })
		}()
		<-begun
		go func() { ended <- w.Call(ctx, func() error { t.Error("it was given up"); return nil }) }()
		synctest.Wait()
		leave()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the call that waits: %v", err)
		}
		close(end)
		if err := <-ended; err == nil || err.Error() != "its own end" {
			t.Errorf("the call that has begun: %v", err)
		}
	})
}

func TestAskReturnsWhatWasFound(t *testing.T) {
	w, broken := running(t, Options{}), errors.New("broken")
	if n, err := Ask(t.Context(), w, func() (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := Ask(t.Context(), w, func() (int, error) { return 7, broken }); n != 0 || err != broken {
		t.Errorf("%d, %v", n, err)
	}
}

func TestTheAlarmComesOnceAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := running(t, Options{})
		begin, rang := time.Now(), make(chan time.Duration, 9)
		ring := func() { rang <- time.Since(begin) }
		err := w.Call(t.Context(), func() error {
			w.WakeAt(begin.Add(time.Second), func() { t.Error("an alarm that another replaced has come") })
			w.WakeAt(begin.Add(2*time.Second), ring)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if len(rang) != 1 || <-rang != 2*time.Second {
			t.Error("the alarm did not come once after two seconds")
		}
		err = w.Call(t.Context(), func() error {
			w.WakeAt(time.Now().Add(time.Second), ring)
			w.Silence()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if time.Sleep(time.Minute); len(rang) != 0 {
			t.Error("an alarm has come that was taken back")
		}
	})
}

func TestAnswersComeAfterWhatTheyAreAboutIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done, shown, published := 0, 0, 0
		w := running(t, Options{Publish: func() error { shown = done; published++; return nil }})
		const clients = 5
		answered := make(chan int, clients)
		for range clients {
			w.Expect(1)
			w.Put(Many, Job{Do: func() {
				done++
				mine := done
				w.Hold(func(failed error) {
					w.Expect(-1)
					if failed != nil || shown < mine {
						t.Errorf("answer %d came when %d were shown: %v", mine, shown, failed)
					}
					answered <- mine
				})
			}})
		}
		for want := range clients {
			if got := <-answered; got != want+1 {
				t.Errorf("answer %d, want %d", got, want+1)
			}
		}
		synctest.Wait()
		if published != 1 {
			t.Errorf("published %d times for answers that came together", published)
		}
	})
}

func TestAnIdleWriterWaitsOnlyAMomentForAnswersThatAreComing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := running(t, Options{})
		w.Expect(2)
		begin, answered := time.Now(), make(chan time.Duration, 1)
		w.Put(Many, Job{Do: func() { w.Hold(func(error) { answered <- time.Since(begin) }) }})
		if took := <-answered; took != maxIdle {
			t.Errorf("the answer came after %v, want %v", took, maxIdle)
		}
	})
}

func TestAnswersDoNotWaitForQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Options{})
		for i := range maxAnswers {
			if w.answers.due() {
				t.Fatalf("due after %d", i)
			}
			w.Hold(func(error) {})
		}
		if !w.answers.due() {
			t.Error("not due when many wait")
		}
		w.Release()
		w.Hold(func(error) {})
		time.Sleep(maxAnswerIn)
		if !w.answers.due() {
			t.Error("not due when one has waited long")
		}
	})
}

// What was done is not in a state that could not be shown.
func TestAnswersThatCannotBeShownAreErrorsAndEndTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, later := errors.New("the view could not be made"), errors.New("and more")
		w := New(Options{Publish: func() error { return broken }})
		ended, got := make(chan error, 1), make(chan error, 1)
		go func() { ended <- w.Run(t.Context()) }()
		synctest.Wait() // the writer waits, and nothing else is going to wake it
		w.Put(Many, Job{Do: func() { w.Hold(func(failed error) { got <- failed }) }})
		synctest.Wait()
		if len(ended) != 1 || <-ended != broken {
			t.Error("the writer did not end with what was wrong")
		}
		if len(got) != 1 || <-got != broken {
			t.Error("the answer was not given with what was wrong")
		}
		if w.Fail(later); w.Failed() != broken {
			t.Errorf("the first failure is %v", w.Failed())
		}
		w.Close()
	})
}

func TestBeforeComesBeforeEachJob(t *testing.T) {
	var got []string
	w := New(Options{Before: func() { got = append(got, "before") }, Ended: func() bool { return len(got) >= 4 }})
	for range 2 {
		w.Put(Few, Job{Do: func() { got = append(got, "job") }})
	}
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if want := []string{"before", "job", "before", "job"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
