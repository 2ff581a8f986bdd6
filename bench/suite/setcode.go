package suite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tarn/bench/load"
	"tarn/bench/record"
	"tarn/internal/figuretable"
)

// Setcode is the name of the suite in which contracts are deployed.
const Setcode = "setcode"

// Its parts.
const (
	noDeployment = "no deployment"
	deploying    = "deployments"
)

// Names of its values.
const (
	deployHalf    = "median deployment"
	deployLongest = "longest deployment"
)

func setcodeSuite() Suite {
	still := list(ofBlocks(), of(percent, share), of(bytesUnit, resident), ofCollections())
	return Suite{
		Name: Setcode,
		How: "A peer sends transfers at the rate of the load to a node that makes blocks. The first part " +
			"has no deployments. In the second part contracts of 400 KB, each with different code, are " +
			"deployed to accounts over HTTP and called at once. Gaps are as in `streams`. The time of a " +
			"deployment ends with the answer to the call. A program written in Go reports its garbage " +
			"collections, and is set to collect twice as often as usual. Garbage is what is allocated per " +
			"transfer in the last two thirds of the time.",
		Article: "–",
		Time:    "twice (--deployments + 1) * --deploy-every",
		Disk:    "the chain, and what is written",
		options: func(o *record.Options) []Option {
			return []Option{loadOption(o),
				{"deployments", "contracts that are deployed in setcode", &o.Deployments,
					wrongIf(o.Deployments < 1 || o.Deployments > deploymentsMost || !(o.DeployEvery > 0) ||
						float64(o.Deployments+1)*o.DeployEvery > loadForMost,
						"%d deployments, each %g s: from 1 to %d, above 0, and at most %d s in all",
						o.Deployments, o.DeployEvery, deploymentsMost, loadForMost)},
				{"deploy-every", "time from one deployment in setcode to the next", Seconds{&o.DeployEvery}, nil}}
		},
		needs: deploys,
		chart: record.Chart{Metric: gapNearAll, Title: "time between two blocks, 99 % of gaps within"},
		metrics: counts(inParts(still, noDeployment),
			inParts(list(still, of(seconds, deployHalf, deployLongest)), deploying)),
		run: runSetcode,
	}
}

// deployGood is how long deployments are good beyond the load that they are sent in.
const deployGood = 2 * time.Minute

// runSetcode has a node of its own for each part.
func runSetcode(ctx context.Context, l *life, found *findings) error {
	values := parts{}
	var last *server
	l.env = tellsCollections(l.subject)
	for _, part := range []string{noDeployment, deploying} {
		err := l.with(ctx, func(s *server) error {
			last = s
			return deployOnce(ctx, l, s, part == deploying, values.of(part))
		})
		if err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	found.put(Setcode, values.all(), last.Samples())
	return nil
}

// deployOnce gives a node steady transfers, and maybe contracts at the same time.
func deployOnce(ctx context.Context, l *life, s *server, deploys bool, values map[string]float64) error {
	o := l.options
	for range 2 {
		if _, err := s.producing(ctx); err != nil {
			return err
		}
	}
	d := deployments{every: lengthOf(o.DeployEvery)}
	length := time.Duration(o.Deployments+1) * d.every
	if deploys {
		source, err := l.network.(Deploying).Deployments(s.URL, l.seed())
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
	pace, used, err := sendLoad(ctx, l, s, length, len(d.all), func() error {
		said = logSize(s.dir)
		tasks.Go(func() { failed <- d.send(ctx, l.network.(Serving).Accepted) })
		return nil
	})
	if err != nil {
		return err
	}
	if err := <-failed; err != nil { // the load lasts as long
		return err
	}
	pace.put(values)
	values[share] = used.share()
	if deploys {
		values[deployHalf], values[deployLongest] = d.took.Quantile(0.5)/1e9, d.longest.Seconds()
	}
	if _, _, err := s.stop(ctx); err != nil {
		return err
	}
	values[resident] = float64(s.Peak())
	return putCollections(s.dir, said, float64(pace.Taken)/used.elapsed, values)
}

// deployments are contracts that are set and called at once, one after the other.
type deployments struct {
	every time.Duration
	all   []load.Request // a contract, then its call

	took    figuretable.Latencies // of the two
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
