package progress

import (
	"testing"
	"time"
)

func TestWorkIsToldOfWhenItHasTakenAWhile(t *testing.T) {
	at := time.Unix(1000, 0)
	w := Begin(func() time.Time { return at }, 100, 2*time.Second)
	var told []int
	for second := 1; second <= 12; second++ {
		if at = at.Add(time.Second); w.Due(4 * time.Second) {
			told = append(told, second)
		}
	}
	if len(told) != 3 || told[0] != 2 || told[1] != 6 || told[2] != 10 {
		t.Errorf("told in the seconds %v, want 2, 6, 10", told)
	}
	if took, rate := w.Took(), w.Rate(160); took != 12*time.Second || rate != 5 {
		t.Errorf("after %v at %v a second, want 12 s and 5, without what was done before", took, rate)
	}
	if left := w.Left(160, 200); left != 8 {
		t.Errorf("%v seconds left, want 8", left)
	}
	if left := w.Left(160, 150); left != 0 {
		t.Errorf("%v seconds left of more than everything", left)
	}
}

func TestTheRestOfWorkThatDoesNothingIsLong(t *testing.T) {
	at := time.Unix(1000, 0)
	w := Begin(func() time.Time { return at }, 0, 0)
	at = at.Add(time.Second)
	if w.Took(); w.Left(0, 1) < 1e8 {
		t.Errorf("%v seconds left at no rate", w.Left(0, 1))
	}
}
