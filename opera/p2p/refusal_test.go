package p2p

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"
)

// refusals are what an operator is told of handshakes.
type refusals struct {
	mu   sync.Mutex
	list []Refusal
}

func (r *refusals) add(x Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, x)
}

func (r *refusals) first() (x Refusal, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 {
		return Refusal{}, false
	}
	return r.list[0], true
}

// Of two nodes of different networks either is told why they part, who was dialled and who dials,
// and the one whose operator named the other knows that.
func TestBothSidesOfAFailedHandshakeAreToldWhy(t *testing.T) {
	one, two := openLedger(t, t.TempDir(), 1), openLedger(t, t.TempDir(), 2)
	defer one.close(t, false)
	defer two.close(t, false)
	var dialled, dials refusals
	a := startNode(t, NewLedger(one.Chain.Chain, one), func(o *Options) {
		o.Refused, o.Limits.Handshake = dialled.add, unhurried
	})
	defer closeNode(t, a)
	b := startNode(t, NewLedger(two.Chain.Chain, two), func(o *Options) {
		o.Refused, o.Limits.Handshake, o.Server.Static = dials.add, unhurried, []*enode.Node{a.Self()}
	})
	defer closeNode(t, b)
	for _, side := range []struct {
		of   *refusals
		node *Node
		kept bool
	}{{&dialled, a, false}, {&dials, b, true}} {
		var r Refusal
		await(t, "a refusal", func() (ok bool) { r, ok = side.of.first(); return ok })
		if r.Reason != OtherGenesis || r.Kept != side.kept || r.Peer == "" ||
			!strings.HasPrefix(r.Address, "127.0.0.1:") || !strings.Contains(r.Err.Error(), "Genesis object mismatch") {
			t.Errorf("told is %+v", r)
		}
		side.node.Refusals(func(why Reason, count uint64) {
			if (count > 0) != (why == OtherGenesis) {
				t.Errorf("%d connections ended for %v", count, why)
			}
		})
	}
}

// Who says nothing is left after the time for handshakes.
func TestAPeerThatSaysNothingIsLeft(t *testing.T) {
	l := openLedger(t, t.TempDir(), 1)
	defer l.close(t, false)
	var told refusals
	n := startNode(t, NewLedger(l.Chain.Chain, l), func(o *Options) {
		o.Refused, o.Limits.Handshake = told.add, 50*time.Millisecond
	})
	defer closeNode(t, n)
	mute, _ := connectStranger(t, n, "opera-mute", nil)
	select {
	case <-mute:
	case <-time.After(time.Minute):
		t.Fatal("it is not left")
	}
	var r Refusal
	await(t, "a refusal", func() (ok bool) { r, ok = told.first(); return ok })
	if r.Reason != Silent {
		t.Errorf("told is %+v", r)
	}
}

// Messages that are being handled, as many as may be, keep nobody from a handshake.
func TestHandshakesDoNotWaitBehindMessages(t *testing.T) {
	l := openLedger(t, t.TempDir(), 1)
	defer l.close(t, false)
	n := startNode(t, NewLedger(l.Chain.Chain, l), nil)
	defer closeNode(t, n)
	if err := n.reading.acquire(t.Context(), n.limits.MessageBytes); err != nil {
		t.Fatal(err)
	}
	connectStranger(t, n, "opera", func(s *stranger) { <-s.over })
	awaitProgress(t, "a peer", func() (bool, int) { n := n.PeerCount(); return n == 1, n })
}

// A connection that breaks is no message that cannot be read.
func TestABrokenConnectionIsGone(t *testing.T) {
	broken := &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	for err, want := range map[error]Reason{
		io.EOF: Gone, broken: Gone, fmt.Errorf("say who we are: %w", broken): Gone,
		p2p.ErrShuttingDown: Gone, p2p.DiscReadTimeout: Silent, errors.New("rlp: too short"): Malformed,
	} {
		if got := reasonOf(err); got != want {
			t.Errorf("%v: %v, not %v", err, got, want)
		}
	}
}

// Each reason has a word of its own.
func TestReasonsHaveNames(t *testing.T) {
	names := map[string]bool{}
	for r := range reasons {
		names[r.String()] = true
	}
	if len(names) != int(reasons) || names[""] {
		t.Errorf("names are %v", names)
	}
}
