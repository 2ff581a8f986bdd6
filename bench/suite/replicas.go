package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"tarn/bench/load"
	"tarn/bench/record"
	"tarn/internal/figuretable"
)

// Replicas is the name of the suite of a node that makes blocks, and a replica that answers.
const Replicas = "replicas"

// Its parts besides those that [Fleet] has too.
const (
	askedBeside = "its replica is asked"
	nodeAsked   = "answers of the node"
	replicaAsks = "answers of the replica"
)

// Names of its values.
const (
	replicaEach = "replica's processor per transfer"
	lagHalf     = "median time behind"
	lagNearAll  = "99 % of blocks behind by at most"
)

// threeServers is how many a fleet has that is to survive the loss of one.
const threeServers = 3

func replicasSuite() Suite {
	node := list(of(seconds, per), more(number, taken))
	lags := of(seconds, lagHalf, lagNearAll)
	answers := list(more(perSecond, rate), of(seconds, half, nearAll, each))
	return Suite{
		Name: Replicas,
		How: "A peer sends transfers at the rate of the load, and a node makes blocks of them: first " +
			"alone, then with three NATS servers (in the process of `tarn bench`) and a replica, then while " +
			"the replica also answers requests at a rate. The time that the replica is behind begins when the " +
			"node shows a block, and ends when the replica shows it. Both are asked every five milliseconds. " +
			"The processor time is per transfer, and includes all that the transfer causes. At last, without " +
			"transfers, node and replica answer requests over connections, one after the other. All share the " +
			"processors.",
		Article: "–",
		Time:    "three times --load-for, twice --ask-for",
		Disk:    "the chain, twice, and the stream, three times",
		options: func(o *record.Options) []Option {
			return []Option{loadOption(o), loadForOption(o), connectionsOption(o), askForOption(o), questionsOption(o), askRateOption(o)}
		},
		needs: replicates,
		chart: record.Chart{Metric: keyOf(publishing, lagHalf), Title: "median time that the replica is behind " +
			"the node"},
		metrics: counts(inParts(node, alone), inParts(list(node, of(seconds, replicaEach), lags), publishing),
			inParts(list(node, of(seconds, replicaEach), lags, of(perSecond, rate), of(seconds, nearAll)), askedBeside),
			inParts(answers, nodeAsked, replicaAsks)),
		run: runReplicas,
	}
}

func runReplicas(ctx context.Context, l *life, found *findings) error {
	values := parts{}
	dir, _, _, err := l.importChain(ctx, l.subject)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the run's end removes what is left
	if err := l.withProducer(ctx, dir, nil, func(s *server) error {
		return underLoad(ctx, l, s, nil, values.of(alone), nil)
	}); err != nil {
		return fmt.Errorf("%s: %w", alone, err)
	}
	var last *server
	err = l.withServers(threeServers, func(urls []string) error {
		return l.withProducer(ctx, dir, urls, func(s *server) error {
			last = s
			r, err := l.replica(urls)
			if err != nil {
				return err
			}
			defer r.remove()
			if err := r.level(ctx, s); err != nil {
				return err
			}
			return replicaOnce(ctx, l, s, r, values)
		})
	})
	if err == nil {
		found.put(Replicas, values.all(), last.Samples())
	}
	return err
}

// withProducer runs f with a node that makes blocks after those in a folder, and publishes them if servers are
// named. The node has ended.
func (l *life) withProducer(ctx context.Context, dir string, servers []string, f func(*server) error) error {
	s, err := l.answering(ctx, l.subject, dir, func() (Node, error) {
		n, err := l.serve(l.subject, dir)
		if err == nil && len(servers) > 0 {
			n = l.network.(Publishing).Publish(n, servers)
		}
		return n, err
	})
	if err != nil {
		return err
	}
	defer s.Kill()
	if _, err := s.producing(ctx); err != nil {
		return err
	}
	if err := f(s); err != nil {
		return err
	}
	_, _, err = s.stop(ctx)
	return err
}

// replicaOnce measures a node and its replica, first under load, then answering.
func replicaOnce(ctx context.Context, l *life, s, r *server, values parts) error {
	n := l.network.(Asking)
	if err := underLoad(ctx, l, s, r, values.of(publishing), nil); err != nil {
		return fmt.Errorf("%s: %w", publishing, err)
	}
	all, err := l.questions(ctx, n, r.URL, "")
	if err != nil {
		return err
	}
	v := values.of(askedBeside)
	if err := underLoad(ctx, l, s, r, v, func(end <-chan struct{}) error {
		got, err := load.Until(ctx, end, l.options.AskRate, importPatience, load.Again(all), n.Answered, nil)
		if err != nil {
			return err
		}
		v[rate], v[nearAll] = float64(got.Answers)/got.Took.Seconds(), got.Latencies.Quantile(0.99)/1e9
		if got.Failures > 0 {
			return fmt.Errorf("%d questions were not answered; the first: %w", got.Failures, got.Failure)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("%s: %w", askedBeside, err)
	}
	for _, one := range []struct {
		part string
		of   *server
	}{{nodeAsked, s}, {replicaAsks, r}} {
		all, err := l.questions(ctx, n, one.of.URL, "")
		if err != nil {
			return err
		}
		closed, used, err := one.of.cycle(ctx, l.options, all, n.Answered)
		if err != nil {
			return fmt.Errorf("%s: %w", one.part, err)
		}
		for name, value := range answeredWith(closed, used) {
			if name != client {
				values.of(one.part)[name] = value
			}
		}
	}
	return nil
}

// underLoad counts what a node that gets transfers costs, and its replica, if there is one: how far it
// is behind, and what it costs too. Beside them runs what is given, until its channel is closed.
func underLoad(ctx context.Context, l *life, s, r *server, values map[string]float64,
	beside func(end <-chan struct{}) error) error {
	end := make(chan struct{})
	var wg sync.WaitGroup
	atNode, atReplica := sightings{}, sightings{}
	headOf := func(s *server) func() (uint64, error) {
		return func() (uint64, error) { return s.network.Head(ctx, s.URL) }
	}
	wg.Go(func() { atNode.watch(headOf(s), end) })
	var failed error
	if r != nil {
		wg.Go(func() { atReplica.watch(headOf(r), end) })
	}
	if beside != nil {
		wg.Go(func() { failed = beside(end) })
	}
	var before time.Duration
	pace, used, err := sendLoad(ctx, l, s, lengthOf(l.options.LoadFor), 0, func() error {
		if r == nil {
			return nil
		}
		now, err := r.Now()
		before = now.CPU()
		return err
	})
	if err == nil && pace.Taken == 0 {
		err = fmt.Errorf("none of %d transfers got into a block", pace.Sent)
	}
	if err == nil && r != nil {
		now, err1 := r.Now()
		values[replicaEach], err = (now.CPU()-before).Seconds()/float64(pace.Taken), err1
	}
	if err == nil && r != nil {
		err = r.level(ctx, s) // so that how far it is behind is seen however far that is
	}
	close(end)
	wg.Wait()
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	values[per], values[taken] = used.node/float64(pace.Taken), float64(pace.Taken)
	if r == nil {
		return nil
	}
	lags := atReplica.after(atNode)
	if lags.Count == 0 {
		return fmt.Errorf("the replica showed no block within %s", lengthOf(l.options.LoadFor))
	}
	values[lagHalf], values[lagNearAll] = lags.Quantile(0.5)/1e9, lags.Quantile(0.99)/1e9
	return nil
}

// sightings are when a process first showed blocks.
type sightings map[uint64]time.Time

// sightEvery is how often a process is asked.
const sightEvery = 5 * time.Millisecond

// watch asks for the newest block until the end. The blocks that were there before are no sightings.
func (x sightings) watch(newest func() (uint64, error), end <-chan struct{}) {
	tick := time.NewTicker(sightEvery)
	defer tick.Stop()
	for head := uint64(0); ; {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		n, err := newest()
		if err != nil {
			continue // whoever measures sees what became of the process
		}
		for now := time.Now(); head != 0 && head < n; {
			head++
			x[head] = now
		}
		head = max(head, n)
	}
}

// after is how much later each block was seen than by others.
func (x sightings) after(others sightings) (lags figuretable.Latencies) {
	for n, when := range x {
		if first, ok := others[n]; ok {
			lags.Add(max(0, when.Sub(first)))
		}
	}
	return lags
}
