package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tarn/fleet"
)

// A lease ends when it was not renewed for leaseTime by the servers' clock, or for leaseStands by that of a node that
// waits for it: a server whose clock is set back lets it end much later.
const (
	leaseTime   = 2 * time.Second
	leaseStands = leaseTime + 2*leaseRenew
	leaseRenew  = 400 * time.Millisecond
	leaseRetry  = 150 * time.Millisecond
	leaseKey    = "publisher"
)

// Publishing is what a publisher says of itself with each renewal.
type Publishing struct {
	Node  string      `json:"node"` // who publishes; different at each start
	Line  uint64      `json:"line"`
	Head  fleet.Point `json:"head"`
	Final fleet.Point `json:"final"`
	// Due says that a snapshot is about to be taken, with which replicas may compare themselves.
	Due bool `json:"due,omitempty"`
	// Compare says that somebody has asked for a comparison, for which the head's rows are about to be read.
	Compare bool `json:"compare,omitempty"`
	// Unready says why the node should not be asked; "" if it may.
	Unready string `json:"unready,omitempty"`
}

// lease is the publisher's place, once it is held.
type lease struct {
	bucket   jetstream.KeyValue
	revision uint64
}

// take waits until nobody else holds the place, and holds it.
func take(ctx context.Context, bucket jetstream.KeyValue, about func() Publishing) (*lease, error) {
	var stands standing
	for {
		text, err := json.Marshal(about())
		if err != nil {
			return nil, err
		}
		revision, err := bucket.Create(ctx, leaseKey, text)
		if errors.Is(err, jetstream.ErrKeyExists) {
			revision, err = stands.take(ctx, bucket, text)
		}
		if err != nil {
			return nil, fmt.Errorf("take the publisher's place: %w", err)
		}
		if revision > 0 {
			return &lease{bucket, revision}, nil
		}
		if pause(ctx, leaseRetry); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// standing is a place that another holds, and since when it was not renewed, by this node's own clock, which nobody
// sets.
type standing struct {
	revision uint64
	since    time.Time
}

// take takes a place whose holder does not renew it. It returns 0 while the holder does, or if another one was faster.
func (s *standing) take(ctx context.Context, bucket jetstream.KeyValue, text []byte) (uint64, error) {
	e, err := bucket.Get(ctx, leaseKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, nil // it has just ended
	}
	if err != nil {
		return 0, err
	}
	if e.Revision() != s.revision {
		*s = standing{e.Revision(), time.Now()}
	}
	if time.Since(s.since) < leaseStands {
		return 0, nil
	}
	revision, err := bucket.Update(ctx, leaseKey, text, s.revision)
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		*s = standing{} // it was renewed meanwhile, or a server that is behind has answered
		return 0, nil
	}
	return revision, err
}

// publisher is who holds the place; nil for nobody.
func (r *rooms) publisher(ctx context.Context) (*Publishing, error) {
	e, err := r.lease.Get(ctx, leaseKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask who publishes: %w", err)
	}
	p := new(Publishing)
	if err := json.Unmarshal(e.Value(), p); err != nil {
		return nil, fmt.Errorf("who publishes: %w: %w", fleet.ErrDamaged, err)
	}
	return p, nil
}

// renew keeps the place. An error says that it may be another's.
func (l *lease) renew(ctx context.Context, about Publishing) error {
	text, err := json.Marshal(about)
	if err != nil {
		return err
	}
	ctx, done := context.WithTimeout(ctx, leaseTime)
	defer done()
	revision, err := l.bucket.Update(ctx, leaseKey, text, l.revision)
	if err != nil {
		return fmt.Errorf("keep the publisher's place: %w", err)
	}
	l.revision = revision
	return nil
}

// giveUp lets the next one have the place at once.
func (l *lease) giveUp() {
	ctx, done := context.WithTimeout(context.Background(), leaseTime)
	defer done()
	_ = l.bucket.Delete(ctx, leaseKey, jetstream.LastRevision(l.revision)) // else it ends by itself
}
