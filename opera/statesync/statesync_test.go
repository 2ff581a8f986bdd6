package statesync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
)

func random(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// small has a state of some hundred accounts come in many pages.
func small() Options {
	return Options{Bytes: 512, Patience: time.Minute}
}

func honest(t *testing.T, w *world, name string) *peer {
	return &peer{world: w, name: name, dropped: func(err error) { t.Errorf("an honest peer is dropped: %v", err) }}
}

func syncState(t *testing.T, s *Syncer, w *world) *memory {
	t.Helper()
	m := new(memory)
	if err := s.Sync(t.Context(), w.root, m); err != nil {
		t.Fatal(err)
	}
	m.is(t, w)
	return m
}

func TestAStateComesFromSeveralPeersInBoundedRequests(t *testing.T) {
	w := newWorld(t, random(t), 700)
	o := small()
	o.Workers, o.PerPeer = 7, 3
	s := New(o)
	var peers []*peer
	var all, most atomic.Int64
	for i := range 5 {
		p := honest(t, w, fmt.Sprint(i))
		p.before = func(context.Context) error {
			n := all.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(100 * time.Microsecond)
			all.Add(-1)
			return nil
		}
		peers = append(peers, p)
		s.Add(p)
	}
	syncState(t, s, w)
	for _, p := range peers {
		if n := p.most.Load(); n > 3 || n == 0 {
			t.Errorf("peer %s was asked %d things at once", p.name, n)
		}
	}
	if n := most.Load(); n > 7 || n < 4 {
		t.Errorf("%d requests went on at once", n)
	}
	p := s.Progress()
	if p.Accounts != 700 || p.Slots != uint64(len(w.want.slots)) || p.Codes < uint64(len(w.want.codes)) ||
		p.Share != 1 || p.Bytes == 0 {
		t.Errorf("in the end %+v", p)
	}
}

func TestOnePeerIsAskedNoMoreAtOnceThanItMayBe(t *testing.T) {
	w := newWorld(t, random(t), 100)
	o := small()
	o.PerPeer = 2
	s, p := New(o), honest(t, w, "one")
	p.before = func(context.Context) error { time.Sleep(time.Millisecond); return nil }
	s.Add(p)
	syncState(t, s, w)
	if n := p.most.Load(); n != 2 {
		t.Errorf("%d things at once", n)
	}
}

// lies are what a peer may answer that is not right, and how that is called.
func lies() map[string]func(*peer) {
	big := bytes.Repeat([]byte{1}, spare+8<<10)
	accounts := func(change func(a *Accounts)) func(*peer) {
		return func(p *peer) {
			p.accounts = func(a *Accounts) {
				if len(a.Leaves) > 2 {
					change(a)
				}
			}
		}
	}
	slots := func(change func(s *Slots)) func(*peer) { return func(p *peer) { p.slots = change } }
	partial := func(change func(s *Slots)) func(*peer) {
		return slots(func(s *Slots) {
			if len(s.Proof) > 0 {
				change(s)
			}
		})
	}
	codes := func(change func(c [][]byte) [][]byte) func(*peer) { return func(p *peer) { p.codes = change } }
	return map[string]func(*peer){
		"accounts: another balance: invalid proof": accounts(func(a *Accounts) {
			if full, err := types.FullAccount(a.Leaves[1].Body); err == nil {
				full.Balance.AddUint64(full.Balance, 1)
				a.Leaves[1].Body = types.SlimAccountRLP(*full)
			}
		}),
		"accounts: the first lacks: invalid proof":   accounts(func(a *Accounts) { a.Leaves = a.Leaves[1:] }),
		"accounts: one lacks: invalid proof":         accounts(func(a *Accounts) { a.Leaves = slices.Delete(a.Leaves, 1, 2) }),
		"accounts: the last lacks: ":                 accounts(func(a *Accounts) { a.Leaves = a.Leaves[:len(a.Leaves)-1] }),
		"accounts: all lack: more entries available": accounts(func(a *Accounts) { a.Leaves = nil }),
		"accounts: out of order: not monotonically":  accounts(func(a *Accounts) { slices.Reverse(a.Leaves) }),
		"accounts: no proof: proves nothing":         accounts(func(a *Accounts) { a.Proof = nil }),
		"accounts: another proof: proof node":        accounts(func(a *Accounts) { a.Proof = a.Proof[:0:0]; a.Proof = append(a.Proof, big[:40]) }),
		"accounts: no account: decode account":       accounts(func(a *Accounts) { a.Leaves[1].Body = []byte("?") }),
		"accounts: too many bytes: much larger":      accounts(func(a *Accounts) { a.Leaves[1].Body = big }),
		"accounts: too much proof: much larger":      accounts(func(a *Accounts) { a.Proof = append(a.Proof, big) }),
		"slots: another value: invalid proof": slots(func(s *Slots) {
			s.Of[0][0].Body = []byte{1 ^ s.Of[0][0].Body[0]&1}
		}),
		"slots: one lacks: invalid proof":     slots(func(s *Slots) { s.Of[0] = s.Of[0][1:] }),
		"slots: those of nobody: not asked":   slots(func(s *Slots) { s.Of = append(slices.Repeat(s.Of, slotAccounts), s.Of...) }),
		"slots: proof alone: proves nothing":  partial(func(s *Slots) { s.Of = nil }),
		"slots: no proof: ":                   partial(func(s *Slots) { s.Proof = nil }),
		"slots: too many bytes: much larger":  slots(func(s *Slots) { s.Of[0][0].Body = big }),
		"slots: the last ones: invalid proof": partial(func(s *Slots) { n := len(s.Of) - 1; s.Of[n] = slices.Delete(s.Of[n], 1, 2) }),
		"codes: another: not asked":           codes(func(c [][]byte) [][]byte { return [][]byte{[]byte("another")} }),
		"codes: twice: not asked":             codes(func(c [][]byte) [][]byte { return append(c, c[0]) }),
		"codes: too many bytes: much larger":  codes(func(c [][]byte) [][]byte { return append(c, big) }),
	}
}

// A peer that lies, in whatever way, is dropped with the reason, nothing of what it lied about is
// brought, and the rest comes from another.
func TestALiarIsDroppedAndAnotherAsked(t *testing.T) {
	w := newWorld(t, random(t), 200)
	for name, lie := range lies() {
		t.Run(name, func(t *testing.T) {
			words := name[strings.LastIndex(name, ": ")+2:]
			s := New(Options{Bytes: 4 << 10, Patience: time.Minute, Workers: 1})
			var why error
			liar := &peer{world: w, name: "liar"}
			lie(liar)
			liar.dropped = func(err error) {
				why = err
				s.Add(honest(t, w, "honest"))
			}
			s.Add(liar)
			syncState(t, s, w)
			if why == nil || !strings.Contains(why.Error(), words) {
				t.Errorf("dropped for %v", why)
			}
		})
	}
}

// Answers with fewer accounts, slots or codes than could be had are no lies.
func TestAPeerMayAnswerInSmallParts(t *testing.T) {
	w := newWorld(t, random(t), 60)
	s, p := New(Options{Bytes: 1, Patience: time.Minute}), honest(t, w, "one")
	s.Add(p)
	syncState(t, s, w)
}

func TestASilentPeerIsDroppedAndAnotherAsked(t *testing.T) {
	w := newWorld(t, random(t), 100)
	o := small()
	o.Patience = 20 * time.Millisecond
	s := New(o)
	var why atomic.Pointer[error]
	silent := &peer{world: w, name: "silent", before: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	silent.dropped = func(err error) {
		if why.Swap(&err) == nil {
			s.Add(honest(t, w, "honest"))
		}
	}
	s.Add(silent)
	began := time.Now()
	m := new(memory)
	err := s.Sync(t.Context(), w.root, m)
	for err != nil && time.Since(began) < time.Minute { // a busy machine has the honest one be late, too
		t.Logf("again: %v", err)
		err = s.Sync(t.Context(), w.root, m)
	}
	m.is(t, w)
	if why.Load() == nil || !errors.Is(*why.Load(), errSilent) {
		t.Errorf("dropped for %v", why.Load())
	}
}

// Peers whose answers are right, late and small do not keep the workers from one that serves.
func TestSlowPeersDoNotHoldUpTheOthers(t *testing.T) {
	w := newWorld(t, random(t), 300)
	o := small()
	o.Workers, o.PerPeer = 16, 4
	s := New(o)
	const late = 300 * time.Millisecond
	s.Add(honest(t, w, "honest"))
	var slow []*peer
	for i := range 6 {
		p := honest(t, w, fmt.Sprint("slow ", i))
		p.small = true
		p.before = func(ctx context.Context) error {
			select {
			case <-time.After(late):
			case <-ctx.Done():
			}
			return ctx.Err()
		}
		slow = append(slow, p)
		s.Add(p)
	}
	began := time.Now()
	syncState(t, s, w)
	asked := int64(0)
	for _, p := range slow {
		asked += p.asks.Load()
	}
	t.Logf("it took %v, with %d requests to slow peers", time.Since(began), asked)
	if asked > 4*int64(len(slow)) {
		t.Errorf("%d requests went to %d slow peers", asked, len(slow))
	}
}

// A state that all peers have forgotten in the middle is given up, and a later one comes from the
// beginning, without anything of the other.
func TestAStateThatIsForgottenIsGivenUpForALaterOne(t *testing.T) {
	r := random(t)
	w, later := newWorld(t, r, 300), newWorld(t, r, 250)
	s, m := New(small()), new(memory)
	for i := range 2 {
		p := honest(t, w, fmt.Sprint(i))
		p.before = func(context.Context) error {
			if p.asks.Load() > 60 {
				return errForgotten
			}
			return nil
		}
		s.Add(p)
	}
	if err := s.Sync(t.Context(), w.root, m); !errors.Is(err, ErrNotServed) {
		t.Fatalf("a state that is forgotten: %v", err)
	}
	if p := s.Progress(); p.Accounts == 0 || p.Share == 0 || p.Share >= 1 {
		t.Errorf("it was forgotten at %+v", p)
	}
	for i := range 2 {
		s.Add(honest(t, later, fmt.Sprint("later ", i)))
	}
	if err := s.Sync(t.Context(), later.root, m); err != nil {
		t.Fatal(err)
	}
	m.is(t, later)
	if m.begun != 2 {
		t.Errorf("begun %d times", m.begun)
	}
}

// A peer without the state is asked for it once by each worker at most, and not dropped.
func TestAPeerWithoutTheStateIsLeftAlone(t *testing.T) {
	r := random(t)
	w, other := newWorld(t, r, 100), newWorld(t, r, 10)
	o := small()
	o.PerPeer = 100
	s := New(o)
	lacks := honest(t, other, "lacks")
	s.Add(lacks)
	s.Add(honest(t, w, "has"))
	syncState(t, s, w)
	if n := lacks.asks.Load(); n > 16 {
		t.Errorf("asked %d times", n)
	}
}

// A download that ends in the middle, by its context or an error of the target, is begun again.
func TestADownloadThatEndedIsBegunAgain(t *testing.T) {
	w := newWorld(t, random(t), 300)
	s, m, p := New(small()), new(memory), honest(t, w, "one")
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	p.before = func(context.Context) error {
		if p.asks.Load() == 100 {
			cancel(stopped)
		}
		return nil
	}
	s.Add(p)
	if err := s.Sync(ctx, w.root, m); !errors.Is(err, stopped) {
		t.Fatalf("stopped: %v", err)
	}
	m.failed = errors.New("no room")
	if err := s.Sync(t.Context(), w.root, m); !errors.Is(err, m.failed) {
		t.Fatalf("a target that fails: %v", err)
	}
	syncState(t, s, w)
}

// Without peers a download waits for some.
func TestADownloadWaitsForPeers(t *testing.T) {
	w := newWorld(t, random(t), 20)
	s := New(small())
	p := honest(t, w, "one")
	s.Add(p)
	s.Remove(p)
	time.AfterFunc(20*time.Millisecond, func() { s.Add(honest(t, w, "late")) })
	syncState(t, s, w)
	if p.asks.Load() != 0 {
		t.Error("a peer that is gone was asked")
	}
}
