package suite

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A block counts from when anybody has it; the last listener's time is known of those that all have.
func TestArrivalsCountFromTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Arrivals[int]
		a.See(1)
		a.Begin() // what was seen before does not count
		a.Lose(errors.New("sent away"))
		a.See(2)
		time.Sleep(10 * time.Millisecond)
		a.Receive(2)
		time.Sleep(20 * time.Millisecond)
		a.Receive(2)
		a.Receive(3) // of which the other listener has none
		a.Whole()
		s := a.Seen(2)
		if s.Blocks != 2 || s.Chains != 1 || s.Failed["sent away"] != 1 || s.Delays.Count != 3 || s.Last.Count != 1 {
			t.Errorf("%+v", s)
		}
		if got := s.Last.Quantile(0.5) / 1e6; got < 29 || got > 31 {
			t.Errorf("the last listener has a block after %.1f ms, not 30", got)
		}
		a.Begin()
		if s := a.Seen(2); s.Blocks != 0 || s.Failed["sent away"] != 1 || s.Last.Count != 0 {
			t.Errorf("after a new beginning: %+v", s)
		}
	})
}
