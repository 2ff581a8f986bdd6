package producer

import (
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
	const seconds = 2
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
		{"no time", "Not producing block because I don't have any private keys", 3, func(o *Options) { o.Signers, o.ProduceOffset = nil, 5999*time.Millisecond }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			attempts := 0
			n := newNode(t, chain.Options{}, nil)
			o := n.Producer.opt
			produces("eosio")(&o)
			c.change(&o)
			o.Log = slog.New(slog.NewTextHandler(n, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.MessageKey && strings.Contains(a.Value.String(), c.says) {
					attempts++ // handlers write one line at a time
				}
				return a
			}}))
			if err := errors.Join(n.Close(), n.restartAs(o)); err != nil {
				t.Fatal(err)
			}
			n.run()
			time.Sleep(seconds * time.Second)
			n.stop(t)
			said := 0
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
	}{{"a", 0, true}, {"a", time.Second, false}, {"b", time.Second, true}, {"a", sayEvery, true}, {"b", sayEvery, false}, {"b", 0, true}} {
		if got := s.anew(c.what, now.Add(c.at)); got != c.want {
			t.Errorf("%d: %s after %s: %t", i, c.what, c.at, got)
		}
	}
	if s.forget(); !s.anew("b", now) {
		t.Error("what was forgotten is not said")
	}
}
