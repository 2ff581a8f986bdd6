package producer

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// What a configuration has wrong is found once a slot, and said once. The clock is the real
// one: a loop would never let that of a bubble go on.
func TestWhatCannotChangeBeforeTheNextSlotWaitsForIt(t *testing.T) {
	const least = 2 * time.Second
	refuses := func(types.Checksum256) (s types.Signature, err error) {
		return s, exception.New(exception.Producer, "the wallet is locked")
	}
	for _, c := range []struct {
		name, says string
		attempts   int // at most, a second
		change     func(*Options)
	}{
		{"no key", "Not producing block because I don't have any private keys", 3, func(o *Options) { o.Signers = nil }},
		{"paused", "Not producing block because production is explicitly paused", 3, func(o *Options) { o.Paused = true }},
		{"too old", "Not producing block because the irreversible block is too old", 3, func(o *Options) { o.MaxIrreversibleAge = time.Second }},
		{"a wallet that refuses", "the wallet is locked", 21, func(o *Options) {
			for k := range o.Signers {
				o.Signers[k] = refuses
			}
		}},
		{"no time", "Not producing block because I don't have any private keys", 3,
			func(o *Options) { o.Signers, o.ProduceOffset = nil, 5999*time.Millisecond }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			attempts := 0
			n := newNode(t, chain.Options{}, nil)
			o := n.Producer.opt
			produces("eosio")(&o)
			c.change(&o)
			o.Log = slog.New(slog.NewTextHandler(n,
				&slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.MessageKey && strings.Contains(a.Value.String(), c.says) {
						attempts++ // handlers write one line at a time
					}
					return a
				}}))
			if err := errors.Join(n.Close(), n.restartAs(o)); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			n.run()
			for end := begin.Add(time.Minute); time.Since(begin) < least || !strings.Contains(n.lines(), c.says); {
				if time.Sleep(10 * time.Millisecond); time.Now().After(end) {
					break
				}
			}
			n.stop(t)
			seconds, said := int(time.Since(begin)/time.Second), 0
			for line := range strings.Lines(n.lines()) {
				if strings.Contains(line, c.says) && !strings.Contains(line, "level=DEBUG") {
					said++
				}
			}
			if attempts == 0 || attempts > (seconds+1)*c.attempts || said != 1 {
				t.Errorf("%d attempts in %d s, told of %d times: %.2000s", attempts, seconds, said, n.lines())
			}
		})
	}
}

// restartAs gives the node a writer with other options.
func (n *node) restartAs(o Options) (err error) {
	n.Producer, err = New(n.maker.Chain, o)
	return err
}

// What is said once is said again after a while, and at once when a block was produced.
func TestWhatGoesOnIsSaidAgainAfterAWhile(t *testing.T) {
	var s saying
	now := time.Now()
	for i, c := range []struct {
		what string
		at   time.Duration
		want bool
	}{{"a", 0, true}, {"a", time.Second, false}, {"b", time.Second, true}, {"a", sayEvery, true},
		{"b", sayEvery, false}, {"b", 0, true},
		{"block 7", 0, true}, {"block 8", 0, false}, {"eosio no key", 0, true}, {"other no key", 0, true},
		{failure + "no", 0, true}} {
		if got := s.anew(c.what, now.Add(c.at)); got != c.want {
			t.Errorf("%d: %s after %s: %t", i, c.what, c.at, got)
		}
	}
	s.forget(name("eosio"))
	if !s.anew("eosio no key", now) || !s.anew(failure+"no", now) || s.anew("other no key", now) {
		t.Error("after a block of eosio its reasons are said again, and no other's")
	}
}

// A block that is due is made, however long the one before it took.
func TestATimeThatHasGoneByIsNotWaitedForTwice(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		now := time.Now()
		n.tried = n.pendingSlot(now) - 1
		n.writer.Silence()
		n.wakeAt(now.Add(-time.Second), true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		n.clock.reset(now)
		if err := n.writer.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if n.tried != n.pendingSlot(now) {
			t.Errorf("the slot %v is left out: %v was tried last", n.pendingSlot(now), n.tried)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
