package node

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"tarn/opera/inter"
	"tarn/store"
)

// health tells whether a node can do what it is there for. Its methods may be called by all
// goroutines.
type health struct {
	cause       func() error // why the node ends
	unsupported func() error // why it makes no more blocks
	silent      func() error // why its validator says nothing
	hurt        func() error // why its files cannot be trusted
	head        func() (headPosition, error)
	highest     func() inter.BlockNumber // that a peer claims; nil without a network
	synced      func() bool              // a young event was seen; nil without a network
	behind      func() error             // why a replica is not where its fleet is
	lively      bool                     // events are to come, of peers or of the own validator
	events      func() int64             // bytes of their log
	store       func() store.Stats
	free        func() (uint64, error) // bytes of the disk
	least       uint64                 // of them; 0 is any
	// that the newest event may have, and the newest block where peers have a newer one
	age time.Duration

	mu    sync.Mutex
	seen  int64     // events, when they had last changed
	since time.Time // then
}

// roomLeast is below how many free bytes a state with a limit is as good as full.
const roomLeast = 32 << 20

func newHealth(n *Node, r *beside, age time.Duration, now time.Time) *health {
	h := &health{
		cause: n.Cause, unsupported: n.version.unsupportedError, silent: r.validator.silence, hurt: n.damage.Err,
		head: n.place, behind: n.fleet.behind,
		events: func() int64 { return n.history.Stats().Events.LogBytes }, store: n.store.Stats,
		free: n.free, least: n.o.MinFree, age: age,
		lively: r.peers != nil || r.validator != nil, since: now,
	}
	if r.peers != nil {
		h.highest = func() inter.BlockNumber { block, _ := r.peers.Highest(); return block }
		h.synced = r.peers.Synced
	}
	h.seen = h.events()
	return h
}

// What clients hear of errors that may name files.
var (
	errEnds       = errors.New("the node ends; the log says why")
	errSilent     = errors.New("the validator makes no events any more, until the next start; the log says why")
	errUnreadable = errors.New("the newest block cannot be read")
	errNoRoom     = errors.New("how much room the disk has cannot be read")
)

// ready returns why the node is not ready; nil if it is. Anybody may hear it.
func (h *health) ready(now time.Time) error {
	if h.cause() != nil {
		return errEnds
	}
	if err := h.unsupported(); err != nil {
		return err
	}
	if h.silent() != nil {
		return errSilent
	}
	for _, check := range []func() error{h.hurt, h.room, h.behind} {
		if err := check(); err != nil {
			return err
		}
	}
	still := h.still(now)
	at, err := h.head()
	if err != nil {
		return errUnreadable
	}
	if h.highest != nil {
		highest := max(h.highest(), at.block)
		if age := now.Sub(at.at); highest > at.block && age > h.age || !h.synced() {
			return fmt.Errorf(
				"the node catches up, or has no peers: its newest block, %d, is %v old, and peers claim %d",
				at.block, age.Round(time.Second), highest)
		}
	}
	if h.lively && still > h.age && at.deserted {
		return fmt.Errorf(
			"no event will come: the present epoch has no validators, so block %d is the chain's last; requests "+
				"are answered", at.block)
	}
	if h.lively && still > h.age {
		return fmt.Errorf("no event has come for %v: peers send none, or validators make none; the newest block is %d",
			still.Round(time.Second), at.block)
	}
	return nil
}

// still is for how long at least no event has come.
func (h *health) still(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if events := h.events(); events != h.seen {
		h.seen, h.since = events, now
	}
	return now.Sub(h.since)
}

// room looks for places that are full.
func (h *health) room() error {
	if s := h.store(); s.Limit > 0 && s.Free < roomLeast {
		return fmt.Errorf("the state is nearly full: only %d MiB of %d MiB are free; start with a larger --db.limit",
			s.Free>>20, s.Limit>>20)
	}
	left, err := h.free()
	switch {
	case err != nil && h.least > 0:
		return errNoRoom
	case err == nil && left < scarce:
		return fmt.Errorf(
			"the disk is nearly full: %d MiB are free; no transactions are taken, and no events made, until there is room",
			left>>20)
	case err == nil && left < h.least:
		return fmt.Errorf("the disk is nearly full: %d MiB are free, less than the %d of --datadir.minfreedisk",
			left>>20, h.least>>20)
	}
	return nil
}
