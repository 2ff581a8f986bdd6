package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Survey is what a fleet's servers and members say at a moment.
type Survey struct {
	Fleet     string      `json:"fleet"`
	Publisher *Publishing `json:"publisher"` // null for nobody
	Moves     Kept        `json:"moves"`
	Snapshots Kept        `json:"snapshots"` // by the servers; zero if they are in a folder
	Newest    *Snapshot   `json:"newest"`    // null for none
	// Missing are the servers that are not there, or behind, with a copy of anything that the fleet keeps: of its
	// buckets too. While there is one, another one that ends may leave too few.
	Missing []string `json:"missing"`
	Members []Member `json:"members"`
}

// Kept is what the servers keep of something.
type Kept struct {
	Messages uint64    `json:"messages"`
	Bytes    uint64    `json:"bytes"`
	First    time.Time `json:"first"` // when the oldest message came
	Last     time.Time `json:"last"`
	Copies   int       `json:"copies"`
	Leader   string    `json:"leader"`  // the server that takes what is new; "" for one without a cluster
	Missing  []string  `json:"missing"` // servers with a copy that are not there, or behind
}

// ErrNoFleet says that the servers know no fleet of a name.
var ErrNoFleet = errors.New("there is no such fleet")

// Look asks a fleet's servers what they keep, and for so long its members who they are. The options are valid. An error
// wraps [ErrNoFleet] where nobody has published to a fleet of the name.
func Look(ctx context.Context, o Options, members time.Duration) (*Survey, error) {
	o = o.withDefaults()
	conn, js, err := o.connect("survey")
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := o.await(ctx, conn); err != nil {
		return nil, err
	}
	r, err := o.find(ctx, js)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrBucketNotFound):
		return nil, fmt.Errorf("fleet %s at %s: %w", o.Name, o.addresses(), ErrNoFleet)
	case err != nil:
		return nil, err
	}
	s := &Survey{Fleet: o.Name}
	if s.Publisher, err = r.publisher(ctx); err != nil {
		return nil, err
	}
	if s.Moves, err = kept(ctx, r.moves); err != nil {
		return nil, err
	}
	if r.objectStream != nil {
		if s.Snapshots, err = kept(ctx, r.objectStream); err != nil {
			return nil, err
		}
	}
	if s.Missing, err = o.missing(ctx, js, s.Moves.Missing, s.Snapshots.Missing); err != nil {
		return nil, err
	}
	switch newest, err := r.newest(ctx); {
	case err == nil:
		s.Newest = &newest
	case !errors.Is(err, errNoSnapshot):
		return nil, err
	}
	s.Members, err = o.members(ctx, conn, members)
	return s, err
}

// errNoServer says that there is no connection, for which the library may know no reason.
var errNoServer = fmt.Errorf("no server answers within %v", requestTime)

// await waits for a connection that was just begun, or has broken.
func (o *Options) await(ctx context.Context, conn *nats.Conn) error {
	for end := time.Now().Add(requestTime); !conn.IsConnected(); pause(ctx, requestTime/100) {
		if ctx.Err() != nil || time.Now().After(end) {
			return fmt.Errorf("connect to NATS at %s: %w", o.addresses(),
				errors.Join(errNoServer, context.Cause(ctx), conn.LastError()))
		}
	}
	return nil
}

// missing adds the servers that are missing of the buckets to lists of others.
func (o *Options) missing(ctx context.Context, js jetstream.JetStream, lists ...[]string) ([]string, error) {
	for _, bucket := range []string{o.leaseBucket(), o.snapshotBucket()} {
		name := "KV_" + bucket // in which a bucket keeps its keys, by NATS' ADR-8
		st, err := js.Stream(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("open stream %s: %w", name, err)
		}
		k, err := kept(ctx, st)
		if err != nil {
			return nil, err
		}
		lists = append(lists, k.Missing)
	}
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all), nil
}

func kept(ctx context.Context, st jetstream.Stream) (Kept, error) {
	info, err := st.Info(ctx)
	if err != nil {
		return Kept{}, fmt.Errorf("ask for the state of stream %s: %w", st.CachedInfo().Config.Name, err)
	}
	k := Kept{Messages: info.State.Msgs, Bytes: info.State.Bytes, First: info.State.FirstTime,
		Last:   info.State.LastTime,
		Copies: info.Config.Replicas}
	if c := info.Cluster; c != nil {
		k.Leader = c.Leader
		for _, p := range c.Replicas {
			if p.Offline || !p.Current {
				k.Missing = append(k.Missing, p.Name)
			}
		}
	}
	return k, nil
}
