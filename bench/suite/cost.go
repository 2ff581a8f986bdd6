package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tarn/bench/load"
	"tarn/bench/record"
	"tarn/procusage"
)

// cost is what a load took of both sides: processor time, in seconds, and what the node
// wrote meanwhile.
type cost struct {
	node, client float64
	wrote        int64
	elapsed      float64
}

// share is the node's use of the processor, in parts of a hundred of a core.
func (c cost) share() float64 { return 100 * c.node / c.elapsed }

// costOf counts what work costs both sides, from when f says that it is ready.
func (s *server) costOf(f func(ready func() error) error) (cost, error) {
	var node, own procusage.Process
	var begin time.Time
	err := f(func() (err error) {
		begin = time.Now()
		if own, err = procusage.Self(); err == nil {
			node, err = s.Now()
		}
		return err
	})
	if err != nil {
		return cost{}, err
	}
	nodeAfter, err1 := s.Now()
	ownAfter, err2 := procusage.Self()
	return cost{(nodeAfter.CPU() - node.CPU()).Seconds(), (ownAfter.CPU() - own.CPU()).Seconds(),
		nodeAfter.Disk.Net() - node.Disk.Net(), time.Since(begin).Seconds()}, errors.Join(err1, err2)
}

// charge runs a load and counts what it costs both sides, from when the load says that it
// is ready. A load of which anything was refused is a failure.
func (s *server) charge(f func(ready func() error) (*load.Result, error)) (result *load.Result, used cost, err error) {
	used, err = s.costOf(func(ready func() error) (err error) {
		if result, err = f(ready); err == nil && result.Failures > 0 {
			err = fmt.Errorf("%d of %d requests were not taken; the first: %w", result.Failures,
				result.Failures+result.Answers, result.Failure)
		}
		return err
	})
	return result, used, err
}

// cycle asks questions again and again over the connections, and counts what that costs.
func (s *server) cycle(ctx context.Context, o record.Options, all []load.Request,
	judge load.Judge) (*load.Result, cost, error) {
	return s.charge(func(ready func() error) (*load.Result, error) {
		if err := ready(); err != nil {
			return nil, err
		}
		return load.Cycle(ctx, o.Connect, lengthOf(o.AskFor), all, judge)
	})
}

// answeredWith are the values of a closed loop.
func answeredWith(r *load.Result, used cost) map[string]float64 {
	count := float64(r.Answers)
	return map[string]float64{
		rate: count / r.Took.Seconds(), half: r.Latencies.Quantile(0.5) / 1e9,
		nearAll: r.Latencies.Quantile(0.99) / 1e9,
		each:    used.node / count, client: used.client / count,
	}
}
