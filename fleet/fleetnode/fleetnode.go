// Package fleetnode is the part that a process has in a fleet, whatever its ledger is: a node that publishes, or a
// replica that follows.
//
// It owns the options of both, the NATS server that may run in the process, and when a replica counts as behind. It
// knows no ledger.
package fleetnode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"tarn/fleet"
	"tarn/fleet/natsserver"
	"tarn/fleet/stream"
)

// Options say which part a process has. [Options.Validate] checks them together.
type Options struct {
	Stream        stream.Options
	Embedded      *natsserver.Options // a NATS server in this process; nil for none
	Memory        int64               // bytes of blocks that are held for replicas
	SnapshotEvery time.Duration       // between two states that replicas may begin with; 0 for the default

	// Replica says that blocks come from the fleet, and from nowhere else.
	Replica bool
	// MostLag is how many blocks a replica that is ready may be behind the node.
	MostLag uint64
}

// Validate checks the options, and says all that is wrong.
func (o *Options) Validate() error {
	var errs []error
	s := o.Stream
	if o.Embedded != nil && o.Replica {
		errs = append(errs, errors.New("a replica has no NATS server of its own: the node has one, or another machine"))
	}
	if o.Embedded != nil {
		s.InProcess = (*natsserver.Server)(nil) // there will be one
	}
	if o.Stream.OverHTTP() && !o.Replica {
		errs = append(errs, errors.New("a node writes snapshots: the path of their folder is expected, not a URL"))
	}
	if o.Memory <= 0 && !o.Replica {
		errs = append(errs, errors.New("a node without memory for its fleet cannot publish"))
	}
	return errors.Join(append(errs, s.Validate())...)
}

// Member is a process's part in a fleet, once it has connected. A nil one is of no fleet.
type Member struct {
	o        Options
	nats     *natsserver.Server // in this process; nil for none
	follower *stream.Follower   // nil for who is no replica

	opened    time.Time
	publisher atomic.Pointer[stream.Publisher] // nil until it begins
}

// Open starts the server, if there is to be one, and connects a replica. The options are valid.
func Open(o Options, log *slog.Logger) (m *Member, err error) {
	o.Stream.Log = log
	m = &Member{opened: time.Now()}
	if o.Embedded != nil {
		so := *o.Embedded
		so.Log = log
		if m.nats, err = natsserver.Start(so); err != nil {
			return nil, err
		}
		o.Stream.InProcess = m.nats
		if at := m.nats.URL(); at != "" {
			log.Info("The fleet's NATS server listens", "address", at)
		}
	}
	m.o = o
	if o.Replica {
		if m.follower, err = stream.NewFollower(o.Stream); err != nil {
			m.Close()
			return nil, err
		}
	}
	return m, nil
}

// Name is the fleet's.
func (m *Member) Name() string { return m.o.Stream.Name }

// Follower brings a replica its blocks; nil for who is none.
func (m *Member) Follower() *stream.Follower {
	if m == nil {
		return nil
	}
	return m.follower
}

// Publish publishes a chain until ctx ends, and answers what replicas cannot. ready says why the node should not be
// asked, nil for one that always may.
func (m *Member) Publish(ctx context.Context, source stream.Source, answers stream.Answers, ready func() error) error {
	p := stream.NewPublisher(stream.PublisherOptions{Options: m.o.Stream, Source: source,
		SnapshotEvery: m.o.SnapshotEvery,
		Answers:       answers, Ready: ready})
	m.publisher.Store(p)
	return p.Run(ctx)
}

// Flush waits until the servers have all blocks up to one, for a while at most: a node that ends before that has
// replicas begin again, unless it can tell these blocks after its start.
func (m *Member) Flush(at fleet.Point) {
	for end := time.Now().Add(flushTime); time.Now().Before(end); time.Sleep(flushTime / 500) {
		if p := m.publisher.Load(); p == nil || p.Kept(at) {
			return
		}
	}
}

const flushTime = 5 * time.Second

// restTime is how long a replica rests before it loads a snapshot once more: the next one may be no better.
const restTime = 2 * time.Second

// Rest waits for a while before a replica begins again, or until ctx ends.
func Rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(restTime):
	}
}

// Behind returns why a replica whose newest block is head is not ready; nil if it is, and for who is none. Any
// goroutine may ask.
func (m *Member) Behind(head uint64) error {
	if m.Follower() == nil {
		return nil
	}
	lag := m.follower.Lag()
	if time.Since(lag.Heard) > silence {
		return fmt.Errorf("nobody has published to the fleet %s for %v", m.Name(), silence)
	}
	if there := lag.Publisher.Head.Revision; there > head+m.o.MostLag {
		return fmt.Errorf("the replica is at block %d, the fleet at %d; %d blocks between them are allowed",
			head, there, m.o.MostLag)
	}
	if why := lag.Publisher.Unready; why != "" {
		return fmt.Errorf("the node that publishes is not ready: %s", why)
	}
	return nil
}

// silence is how long the fleet's publisher may say nothing while replicas are ready: a second node takes over within
// half of it.
const silence = 6 * time.Second

// Close ends the connection and the server.
func (m *Member) Close() {
	if m == nil {
		return
	}
	if m.follower != nil {
		m.follower.Close()
	}
	if m.nats != nil {
		m.nats.Stop()
	}
}
