package serve

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestAClientThatHasGoneIsNotWorkedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{}, nil)
		for range cap(s.working) {
			s.working <- struct{}{}
		}
		ctx, leave := context.WithCancel(t.Context())
		begun := make(chan bool, 1)
		go func() { begun <- s.begin(&Request{Context: ctx}) }()
		synctest.Wait()
		if len(begun) > 0 {
			t.Fatal("one too many has begun")
		}
		leave()
		if <-begun {
			t.Error("it has begun")
		}
		<-s.working
		if !s.begin(&Request{Context: ctx}) { // of half of a connection, perhaps
			t.Error("there was room")
		}
	})
}
