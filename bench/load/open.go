package load

import (
	"context"
	"fmt"
	"time"
)

// Source makes requests that are good for a time, others at each call.
type Source func(ctx context.Context, count int, good time.Duration) ([]Request, error)

// Requests of an open loop are made in portions, each while the one before it is sent: what
// is signed long before would no longer be good.
const (
	portion = 30 * time.Second
	spare   = time.Minute // that requests of a portion are good beyond its time and the next one's
)

// due is a request, and when it should be sent.
type due struct {
	request Request
	at      time.Time
}

// Open sends as many requests as come at a rate per second in a time, at least one. An
// answer's time counts from when its request was due, so that a server that stalls does not
// hide what waited meanwhile. The first portion is made before the time begins; ready, if it
// is not nil, is called then.
func Open(
	ctx context.Context, rate float64, length time.Duration, source Source, judge Judge, ready func() error,
) (*Result, error) {
	return Until(ctx, nil, rate, length, source, judge, ready)
}

// Until is Open, which sends no more once end is closed, and waits for the answers to what was
// sent before.
func Until(
	ctx context.Context, end <-chan struct{}, rate float64, length time.Duration, source Source, judge Judge,
	ready func() error,
) (*Result, error) {
	if !(rate > 0) || length <= 0 {
		return nil, fmt.Errorf("send at %g requests per second for %s: both must be above 0", rate, length)
	}
	return open(ctx, loop{rate, max(1, int(rate*length.Seconds())), max(1, int(rate*portion.Seconds())), end},
		source, judge, ready)
}

// loop is what an open loop sends.
type loop struct {
	rate           float64
	count, portion int             // requests; those of a portion
	end            <-chan struct{} // closed when no more is to be sent; nil for never
}

func open(ctx context.Context, o loop, source Source, judge Judge, ready func() error) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	good := max(2*time.Duration(float64(o.portion)/o.rate*float64(time.Second)), 2*portion) + spare
	first, err := source(ctx, min(o.portion, o.count), good)
	if err == nil && ready != nil {
		err = ready()
	}
	if err != nil {
		return nil, err
	}
	portions, made := make(chan []Request), make(chan error, 1)
	go func() {
		defer close(portions)
		made <- func() error {
			for part, left := first, o.count; ; {
				select {
				case portions <- part:
				case <-o.end:
					return nil
				case <-ctx.Done():
					return nil
				}
				if left -= len(part); left <= 0 {
					return nil
				}
				var err error
				if part, err = source(ctx, min(o.portion, left), good); err != nil {
					return err
				}
			}
		}()
	}()
	queue := make(chan due, o.count) // never full: nothing but the clock holds the sender back
	go schedule(ctx, o, time.Now(), portions, queue)
	r := lanes(min(openLimit, o.count), judge, func(l *lane) {
		for d := range queue {
			l.send(ctx, d.request, d.at)
		}
	})
	if err := ctx.Err(); err != nil {
		return r, err
	}
	return r, <-made
}

// schedule gives each request to the queue when it is due.
func schedule(ctx context.Context, o loop, begin time.Time, portions <-chan []Request, queue chan<- due) {
	defer close(queue)
	i := 0
	for part := range portions {
		for _, r := range part {
			at := begin.Add(time.Duration(float64(i) / o.rate * float64(time.Second)))
			i++
			select {
			case <-time.After(time.Until(at)):
				queue <- due{r, at}
			case <-o.end:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}
