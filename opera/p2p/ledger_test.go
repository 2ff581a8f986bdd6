package p2p

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"tarn/internal/scratch"
	"tarn/opera/chain"
	"tarn/opera/chain/chaintest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := scratch.OnDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// ledger is a chain in a folder, with a goroutine that owns it.
type ledger struct {
	*chaintest.Chain
	work   chan func()
	all    sync.WaitGroup
	paused func() error // nil: never
}

func (l *ledger) Do(ctx context.Context, work func(*chain.Chain) error) error {
	done := make(chan error, 1)
	select {
	case l.work <- func() { done <- work(l.Chain.Chain) }:
		return <-done
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *ledger) Paused() error {
	if l.paused == nil {
		return nil
	}
	return l.paused()
}

// openLedger opens the chain of a fakenet in a folder, and makes it if there is none.
func openLedger(t testing.TB, dir string, validators int) *ledger {
	t.Helper()
	o := chaintest.Options{Beginnings: true, Warn: func(err error) { t.Log(err) }}
	c, err := chaintest.Open(dir, o)
	if errors.Is(err, chain.ErrEmpty) || errors.Is(err, fs.ErrNotExist) {
		c, err = chaintest.New(dir, validators, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{Chain: c, work: make(chan func())}
	l.all.Go(func() {
		for work := range l.work {
			work()
		}
	})
	return l
}

// close ends the chain, with a checkpoint or as a crash of the process does.
func (l *ledger) close(t testing.TB, checkpoint bool) {
	t.Helper()
	close(l.work)
	l.all.Wait()
	if checkpoint {
		done, err := l.Checkpoint()
		if err == nil {
			err = done.Wait()
		}
		if err != nil {
			t.Error(err)
		}
	}
	if err := l.Chain.Close(); err != nil {
		t.Error(err)
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// startNode makes a node of a ledger that listens on this machine only.
func startNode(t testing.TB, l Ledger, change func(*Options)) *Node {
	t.Helper()
	o := Options{Ledger: l, Server: Server{Key: newKey(t), Name: "tarn-opera/test", Listen: "127.0.0.1:0"},
		Notice: func(err error) { t.Log(err) }, Limits: DefaultLimits()}
	if change != nil {
		change(&o)
	}
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	return n
}

func closeNode(t testing.TB, n *Node) {
	t.Helper()
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// unhurried is how long handshakes may last in tests that keep the processors busy: a side that gave up
// is dialled again only after 35 seconds.
const unhurried = time.Minute

// awaitProgress waits until something is so, as long as what is counted goes on. It stands for 35
// seconds before a side that gave up is dialled again.
func awaitProgress(t testing.TB, what string, at func() (so bool, count int)) {
	t.Helper()
	const patience = 90 * time.Second
	last, end := -1, time.Time{}
	for {
		so, count := at()
		switch {
		case so:
			return
		case count != last:
			last, end = count, time.Now().Add(patience)
		case time.Now().After(end):
			t.Fatalf("%s: stands at %d for %v", what, count, patience)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// await waits until something is so. How soon it is depends on what else the machine does.
func await(t testing.TB, what string, so func() bool) {
	t.Helper()
	const patience = 2 * time.Minute
	for end := time.Now().Add(patience); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
