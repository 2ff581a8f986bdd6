package suite

import (
	"context"
	"fmt"
	"time"
)

// crowdWarm is how long peers are connected before anything is measured.
const crowdWarm = 3 * time.Second

// seen is what a crowd and a node did in a time.
type seen struct {
	sight   Sight
	node    float64 // seconds of its processor
	elapsed float64
}

// share is the node's use of the processor, in parts of a hundred of a core.
func (v seen) share() float64 { return 100 * v.node / v.elapsed }

// failures is how many peers ended.
func (v seen) failures() (n float64) {
	for _, k := range v.sight.Failed {
		n += float64(k)
	}
	return n
}

// watchCrowd lets a crowd look at a node for a time, while f does something.
func watchCrowd(ctx context.Context, l *life, c Crowd, s *server, f func(length time.Duration) error) (v seen, err error) {
	if err := pause(ctx, l.runner.config.warm); err != nil {
		return v, err
	}
	before, err := s.Now()
	if err != nil {
		return v, err
	}
	begin := time.Now()
	c.Begin()
	if err := f(lengthOf(l.options.PeerFor)); err != nil {
		return v, err
	}
	v.sight, v.elapsed = c.Seen(), time.Since(begin).Seconds()
	after, err := s.Now()
	v.node = (after.CPU() - before.CPU()).Seconds()
	for why, n := range v.sight.Failed {
		l.runner.tell("%s: %d peers are lost: %s", l.subject.Name, n, why)
	}
	if err == nil && v.sight.Bytes == 0 {
		err = fmt.Errorf("no peer was sent anything: %v", v.sight.Failed)
	}
	return v, err
}

// crowdOn connects a crowd to a node.
func crowdOn(ctx context.Context, l *life, node, source Node, fetching int) (Crowd, error) {
	crowd, err := l.network.(Crowded).Crowd(ctx, node, source, l.options.Peers, fetching)
	if err != nil {
		return nil, fmt.Errorf("connect %d peers: %w", l.options.Peers, err)
	}
	return crowd, nil
}
