package suite

import (
	"context"
	"fmt"
	"maps"
	"os"
	"time"

	"tarn/bench/record"
)

// Fleet is the name of the suite of a node that publishes what blocks change, and of replicas that
// get them all.
const Fleet = "fleet"

// FleetName is what the bench calls its fleets.
const FleetName = "bench"

// Its parts, and those of [Replicas].
const (
	alone      = "node alone"
	unread     = "node that publishes, without replicas"
	publishing = "node that publishes"
	replica    = "its replica"
	later      = "replica that begins later"
)

// Names of its values.
const (
	behind      = "behind the node"
	streamBytes = "stream"
	streamEach  = "stream per byte of the chain"
	workOfAlone = "processor, divided by the node alone"
	timeOfAlone = "time, divided by the node alone"
)

// tick is what the kernel counts a process's time in, in seconds: of less it says nothing.
const tick = 0.01

func fleetSuite() Suite {
	each, beside := of(seconds, took, processor), of(number, workOfAlone, timeOfAlone)
	return Suite{
		Name: Fleet,
		How: "Four measurements of new processes, each from its start until it has the whole chain. First " +
			"a node gets all blocks from the source, with all checks. Then another node does the same and " +
			"publishes what the blocks change to a NATS server, and one more, while a replica follows. Last, " +
			"a replica begins when all is published. The source, the server (in the process of `tarn bench`) " +
			"and the replica share the processors with the node.",
		Article: "–",
		Time:    "seconds, four times",
		Disk:    "the chain, five times, and the stream, twice",
		options: func(o *record.Options) []Option { return []Option{sourceOption(o)} },
		needs:   publishes,
		chart: record.Chart{Metric: keyOf(unread, workOfAlone),
			Title: "processor time of a node that publishes, compared with the same node alone"},
		metrics: counts(inParts(each, alone), inParts(list(each, beside), unread),
			inParts(list(each, beside, of(bytesUnit, streamBytes), of(number, streamEach)), publishing),
			inParts(list(each, of(seconds, behind), beside), replica), inParts(list(each, beside), later)),
		run: runFleet,
	}
}

func runFleet(ctx context.Context, l *life, found *findings) error {
	values := parts{}
	var last *server
	err := l.withSource(ctx, func(from *server) (err error) {
		if last, err = l.fetchChain(ctx, from, nil, values.of(alone)); err != nil {
			return fmt.Errorf("%s: %w", alone, err)
		}
		err = l.withServers(1, func(urls []string) error {
			_, err := l.fetchChain(ctx, from, urls, values.of(unread))
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", unread, err)
		}
		return l.withServers(1, func(urls []string) error { return publishOnce(ctx, l, from, urls, values) })
	})
	if err != nil {
		return err
	}
	one := values.of(alone)
	for _, part := range []string{unread, publishing, replica, later} {
		v := values.of(part)
		v[workOfAlone], v[timeOfAlone] = v[processor]/max(one[processor], tick), v[took]/one[took]
	}
	v := values.of(publishing)
	v[streamEach] = v[streamBytes] / float64(l.chain.Bytes)
	found.put(Fleet, values.all(), last.Samples())
	return nil
}

// fetchChain has a new node get the whole chain, and publish it if servers are named. The node has ended.
func (l *life) fetchChain(
	ctx context.Context, from *server, servers []string, values map[string]float64,
) (*server, error) {
	s, err := l.follower(from, servers)
	if err != nil {
		return nil, err
	}
	defer s.remove()
	return s, s.whole(ctx, l.chain.Blocks, values)
}

// publishOnce is what a node that publishes costs, and what its replicas do.
func publishOnce(ctx context.Context, l *life, from *server, servers []string, values parts) error {
	beside, err := l.replica(servers) // which waits until there is something to begin with
	if err != nil {
		return err
	}
	defer beside.remove()
	s, err := l.follower(from, servers)
	if err != nil {
		return err
	}
	defer s.remove()
	if err := s.whole(ctx, l.chain.Blocks, values.of(publishing)); err != nil {
		return fmt.Errorf("%s: %w", publishing, err)
	}
	begin := time.Now()
	if err := beside.whole(ctx, l.chain.Blocks, values.of(replica)); err != nil {
		return fmt.Errorf("%s: %w", replica, err)
	}
	values.of(replica)[behind] = time.Since(begin).Seconds()
	kept, err := l.network.(Publishing).Published(ctx, servers)
	if err != nil {
		return err
	}
	values.of(publishing)[streamBytes] = float64(kept)
	after, err := l.replica(servers)
	if err != nil {
		return err
	}
	defer after.remove()
	if err := after.whole(ctx, l.chain.Blocks, values.of(later)); err != nil {
		return fmt.Errorf("%s: %w", later, err)
	}
	return nil
}

// follower starts a new node that gets the chain from another, and publishes it if servers are named.
func (l *life) follower(from *server, servers []string) (*server, error) {
	return l.newborn(func(dir string) (Node, error) {
		n, err := l.network.(Following).Follow(l.subject, dir, from.Peers)
		if err == nil && len(servers) > 0 {
			n = l.network.(Publishing).Publish(n, servers)
		}
		return n, err
	})
}

// replica starts a new one.
func (l *life) replica(servers []string) (*server, error) {
	return l.newborn(func(dir string) (Node, error) { return l.network.(Publishing).Replica(l.subject, dir, servers) })
}

// newborn starts a process of the subject in a new folder.
func (l *life) newborn(how func(dir string) (Node, error)) (*server, error) {
	dir, err := l.runner.folder()
	if err != nil {
		return nil, err
	}
	s, err := l.begin(startPatience, l.subject, dir, func() (Node, error) { return how(dir) })
	if err != nil {
		_ = os.RemoveAll(dir) // the run's end removes what is left
	}
	return s, err
}

// remove ends a process that nobody needs any more, and removes its folder.
func (s *server) remove() {
	s.Kill()
	_ = os.RemoveAll(s.dir) // the run's end removes what is left
}

// whole waits until a process has a block, and counts from its start.
func (s *server) whole(ctx context.Context, last uint64, values map[string]float64) error {
	if _, err := s.grow(ctx, last, 0); err != nil {
		return err
	}
	now, err := s.Now()
	maps.Copy(values, map[string]float64{took: time.Since(s.began).Seconds(), processor: now.CPU().Seconds()})
	return err
}
