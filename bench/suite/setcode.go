package suite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tarn/bench/load"
	"tarn/internal/figures"
)

// Parts of the suite setcode.
const (
	noDeployment = "no deployment"
	deploying    = "deployments"
)

// deployGood is how long deployments are good beyond the load that they are sent in.
const deployGood = 2 * time.Minute

// setcode is the suite of that name: a node of its own for each part.
func (l *life) setcode(ctx context.Context) error {
	values := parts{}
	l.env = tellsCollections(l.subject)
	for _, part := range []string{noDeployment, deploying} {
		err := l.with(ctx, func(s *server) error { return l.deployOnce(ctx, s, part == deploying, values.of(part)) })
		if err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	l.values[Setcode] = values.all()
	return nil
}

// deployOnce gives a node steady transfers, and maybe contracts at the same time.
func (l *life) deployOnce(ctx context.Context, s *server, deploys bool, values map[string]float64) error {
	o := l.runner.config.Options
	for range 2 {
		if _, err := l.producing(ctx, s); err != nil {
			return err
		}
	}
	d := deployments{every: time.Duration(o.DeployEvery * float64(time.Second))}
	length := time.Duration(o.Deployments+1) * d.every
	if deploys {
		source, err := l.runner.config.Network.(Deploying).Deployments(s.URL, l.seed())
		if err == nil {
			d.all, err = source(ctx, 2*o.Deployments, length+deployGood)
		}
		if err != nil {
			return fmt.Errorf("make deployments: %w", err)
		}
	}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	said := int64(0)
	pace, used, err := l.loaded(ctx, s, length, len(d.all), func() error {
		said = logSize(s.dir)
		tasks.Go(func() { failed <- d.send(ctx, l.runner.serving.Accepted) })
		return nil
	})
	if err != nil {
		return err
	}
	if err := <-failed; err != nil { // the load lasts as long
		return err
	}
	pace.put(values)
	values[share] = 100 * used.node / used.elapsed
	if deploys {
		values[deployHalf], values[deployLongest] = d.took.Quantile(0.5)/1e9, d.longest.Seconds()
	}
	if _, _, err := l.stopped(ctx, s); err != nil {
		return err
	}
	values[resident], l.samples[Setcode] = float64(s.Peak()), s.Samples()
	return collected(s.dir, said, float64(pace.Taken)/used.elapsed, values)
}

// deployments are contracts that are set and called at once, one after the other.
type deployments struct {
	every time.Duration
	all   []load.Request // a contract, then its call

	took    figures.Latencies // of the two
	longest time.Duration
}

// send sends each when it is due, or when the one before it is answered.
func (d *deployments) send(ctx context.Context, judge load.Judge) error {
	begin := time.Now()
	for i := 0; i < len(d.all); i += 2 {
		if err := pause(ctx, time.Until(begin.Add(time.Duration(i/2+1)*d.every))); err != nil {
			return err
		}
		sent := time.Now()
		r, err := load.Closed(ctx, 1, d.all[i:i+2], judge)
		if err == nil && r.Failures > 0 {
			err = r.Failure
		}
		if err != nil {
			return fmt.Errorf("deploy contract %d: %w", i/2+1, err)
		}
		took := time.Since(sent)
		d.took.Add(took)
		d.longest = max(d.longest, took)
	}
	return nil
}
