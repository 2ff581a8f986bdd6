package httpserver

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestAClientThatHasGoneIsNotWorkedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		var end func()
		for range s.turns.atOnce {
			end, _ = s.Turn(t.Context())
		}
		ctx, leave := context.WithCancel(t.Context())
		begun := make(chan bool, 1)
		go func() {
			_, ok := s.Turn(ctx)
			begun <- ok
		}()
		synctest.Wait()
		if len(begun) > 0 {
			t.Fatal("one too many has begun")
		}
		leave()
		if <-begun {
			t.Error("it has begun")
		}
		end()
		if _, ok := s.Turn(ctx); !ok { // of half of a connection, perhaps
			t.Error("there was room")
		}
	})
}
