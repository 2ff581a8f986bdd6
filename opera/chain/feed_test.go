package chain

import (
	"context"
	"testing"
	"testing/synctest"
)

// Who reads ahead waits while too many bytes are on their way, and no longer than the context
// goes on.
func TestReadingAheadIsBoundedByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := newByteBudget(10)
		defer context.AfterFunc(ctx, func() { r.give(0) })()
		taken := 0
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for r.take(ctx, 6) {
				taken++
			}
		}()
		for _, want := range []int{2, 3} { // the last one may take more than is left
			synctest.Wait()
			if taken != want {
				t.Errorf("%d were taken, want %d", taken, want)
			}
			r.give(6)
		}
		synctest.Wait()
		cancel()
		<-ended
		if taken != 4 {
			t.Errorf("%d were taken before the end, want 4", taken)
		}
	})
}
