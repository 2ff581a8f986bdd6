// Package statesync downloads the state of an epoch's beginning from several peers.
//
// It owns what is asked of whom, the proofs that answers are compared with, and the bounds on
// memory and requests. It never decides which state is worth having, says nothing over a wire
// ([Peer] does), and writes nothing ([Target] does). What it has brought is the state of its root if
// every peer is a liar: nothing is brought that was not proved.
//
// # What there is
//
//   - The hashes of accounts are cut into 256 parts. A worker takes a part and asks for its
//     accounts page by page, and for the slots and codes of each page before the next one.
//   - crowd: the peers, who of them has the state, and how much each is asked at once.
//
// # What a stranger costs
//
//  1. Workers bound the requests that wait for answers, and with them the memory: each holds one
//     page of accounts and one answer. An answer that is much larger than was asked for is a lie.
//  2. A peer that lies, or is silent for too long, is asked nothing any more and dropped. What it was asked
//     is asked of another.
//  3. A peer that does not have the state is no liar. It is not asked again for this state.
//  4. A peer whose answers are right and of little use, late or small, is not asked while a much better one is there:
//     a few such would keep all workers. New peers are tried by some of the workers, once each at a time.
//  5. A state that nobody has any more is given up ([ErrNotServed]); a later one is begun anew.
package statesync

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/state"
)

// ErrNotServed is returned when there are peers and none of them has the state.
var ErrNotServed = errors.New("no peer has this state")

// Peer gives parts of states. Any goroutine may call it. An answer without data and proof says that
// the peer does not have the state.
type Peer interface {
	// Name is for messages.
	Name() string
	// Accounts asks for the accounts from one hash to another, as many as bytes allow.
	Accounts(ctx context.Context, root, from, to common.Hash, bytes uint64) (*Accounts, error)
	// Slots asks for all slots of accounts, one account after the other, as many as bytes allow;
	// of the first account from a hash on.
	Slots(ctx context.Context, root common.Hash, accounts []common.Hash, from common.Hash, bytes uint64) (*Slots, error)
	// Codes asks for codes by their hashes.
	Codes(ctx context.Context, hashes []common.Hash, bytes uint64) ([][]byte, error)
	// Drop ends the connection.
	Drop(why error)
}

// Leaf is a value of a trie at its key.
type Leaf struct {
	Hash common.Hash
	Body []byte // of an account: RLP without the hashes that stand for nothing; of a slot: RLP
}

// Accounts is a range of accounts, and the nodes that prove its ends.
type Accounts struct {
	Leaves []Leaf
	Proof  [][]byte
}

// Slots is the slots of accounts, and the nodes that prove the ends of the last one's if they are
// not all of its slots.
type Slots struct {
	Of    [][]Leaf
	Proof [][]byte
}

// Target is where a state is brought. Any goroutine may call it.
type Target interface {
	// Begin forgets what was brought before.
	Begin(ctx context.Context) error
	// Bring takes a part of the state. It may be brought twice.
	Bring(ctx context.Context, p *Part) error
}

// Part is a part of a state. Slots and codes may come before their accounts.
type Part struct {
	Accounts []Account
	Of       common.Hash // the account of the slots
	Slots    []state.Slot
	Codes    [][]byte
}

// Account is an account at its hashed address.
type Account struct {
	Hash common.Hash
	state.Account
}

// Options of a Syncer. Zero values stand for the defaults.
type Options struct {
	Workers  int           // requests at a time: 16
	PerPeer  int           // of them of one peer: 4
	Bytes    uint64        // that a request asks for: 512 KiB
	Patience time.Duration // for an answer: 30 seconds
	// Notice, if not nil, is told why a peer was dropped. Any goroutine may call it.
	Notice func(error)
}

func (o *Options) fill() {
	if o.Workers == 0 {
		o.Workers = 16
	}
	if o.PerPeer == 0 {
		o.PerPeer = 4
	}
	if o.Bytes == 0 {
		o.Bytes = 512 << 10
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	if o.Notice == nil {
		o.Notice = func(error) {}
	}
}

// Syncer downloads one state at a time. Any goroutine may call its methods.
type Syncer struct {
	o     Options
	crowd crowd
	at    counters
}

// New returns a Syncer without peers.
func New(o Options) *Syncer {
	o.fill()
	s := &Syncer{o: o}
	s.crowd.make(o.Workers, o.PerPeer)
	return s
}

// Add has a peer asked from now on.
func (s *Syncer) Add(p Peer) { s.crowd.add(p) }

// Remove has a peer asked no more. Its requests should end.
func (s *Syncer) Remove(p Peer) { s.crowd.remove(p) }

// Progress is how far the present download, or the last one, is.
type Progress struct {
	Accounts, Slots, Codes uint64
	Bytes                  uint64  // of them
	Share                  float64 // of all hashes of accounts that are done
}

// Progress returns how far it is.
func (s *Syncer) Progress() Progress {
	c := &s.at
	p := Progress{Accounts: c.accounts.Load(), Slots: c.slots.Load(), Codes: c.codes.Load(), Bytes: c.bytes.Load()}
	for i := range c.done {
		p.Share += float64(c.done[i].Load()) / (1 << 32) / parts
	}
	return p
}

// counters are what Progress tells.
type counters struct {
	accounts, slots, codes, bytes atomic.Uint64
	done                          [parts]atomic.Uint64 // of each part, of 2^32
}

func (c *counters) begin() {
	for _, n := range []*atomic.Uint64{&c.accounts, &c.slots, &c.codes, &c.bytes} {
		n.Store(0)
	}
	for i := range c.done {
		c.done[i].Store(0)
	}
}

// parts are how many the state is cut into, by the first byte of the hashes of accounts.
const parts = 256

// Sync downloads the state of a root. It waits for peers as long as there are none. An error of the
// target ends it. After success the target has the whole state, whose root it still has to compute;
// after an error it has a part of it. One Sync may run at a time.
func (s *Syncer) Sync(ctx context.Context, root common.Hash, to Target) error {
	s.at.begin()
	s.crowd.begin()
	if err := to.Begin(ctx); err != nil {
		return err
	}
	d := &download{Syncer: s, root: root, to: to, known: map[common.Hash]struct{}{}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range s.o.Workers {
		workers.Go(func() {
			for n := next.Add(1) - 1; n < parts && ctx.Err() == nil; n = next.Add(1) - 1 {
				if err := d.part(ctx, byte(n)); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}
