package execute

import (
	"testing"

	"tarn/antelope/exception"
)

// Old values are memory as new ones are, so to shorten what is there opens no room.
func TestRowsThatShrinkTakeRoomForTheirOldValues(t *testing.T) {
	const row = 32 << 20
	r := newMemoryBudget(true)
	grow := func(n int64) error {
		t.Helper()
		return r.grow(n)
	}
	for range transactionRoom / row { // there before, now gone
		if err := grow(-row); err != nil {
			t.Fatal(err)
		}
	}
	if err := grow(-1); !exception.Is(err, exception.SubjectiveBlockProduction) {
		t.Errorf("more old values than there is room for: %v", err)
	}
	// Back and forth takes what the difference is.
	r = newMemoryBudget(true)
	for range 1000 {
		if err := grow(-row); err != nil {
			t.Fatal(err)
		}
		if err := grow(row); err != nil {
			t.Fatal(err)
		}
	}
	if r.left != transactionRoom {
		t.Errorf("%d bytes are left of %d", r.left, int64(transactionRoom))
	}
	// What others decided is not refused.
	r = newMemoryBudget(false)
	if err := grow(-2 * transactionRoom); err != nil {
		t.Error(err)
	}
}

// What is printed beyond its room, or that of the transaction, is cut off.
func TestTextIsPrintedUpToTheBound(t *testing.T) {
	r, text := newMemoryBudget(true), make([]byte, consoleRoom/2+1)
	for i, want := range []int{consoleRoom/2 + 1, consoleRoom/2 - 1, 0} {
		if got := len(r.print(text)); got != want {
			t.Errorf("text %d: %d bytes are printed, want %d", i, got, want)
		}
	}
	r = newMemoryBudget(true)
	if err := r.take(transactionRoom - 7); err != nil {
		t.Fatal(err)
	}
	if got := len(r.print(text)); got != 7 {
		t.Errorf("%d bytes are printed where 7 are left", got)
	}
}
