package network

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tarn/antelope/difftest"
	"tarn/antelope/node"
	"tarn/internal/scratch"
)

// tarnVariable makes the test binary, run again by a test, a node of ours.
const tarnVariable = "NETWORKTEST_TARN"

var (
	seedFlag   = flag.Uint64("network.seed", 1, "seed of the random tests; 0 for a new one")
	killsFlag  = flag.Int("network.kills", 0, "kills of each kind, if more than a few")
	roundsFlag = flag.Int("network.rounds", 0,
		"rounds of partitions, with what is irreversible awaited; 0 for the short form")
)

// seed is that of the flag, or a new one.
func seed() uint64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	return uint64(time.Now().UnixNano())
}

func TestMain(m *testing.M) {
	if os.Getenv(tarnVariable) != "" {
		os.Exit(runTarn(os.Args[1:]))
	}
	if err := scratch.OnDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func runTarn(args []string) int {
	c := node.Command()
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetArgs(args)
	if err := c.ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// programs are ours and nodeos, or the test is skipped.
func programs(t *testing.T) (tarn, nodeos difftest.Executable) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts nodes; not with -short")
	}
	p, err := difftest.Find(t.Context())
	if errors.Is(err, difftest.ErrNoPeer) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return difftest.Executable{Name: "tarn", Path: self, Env: append(os.Environ(), tarnVariable+"=1")}, p.Nodeos()
}

// lines is a test's log as a writer.
type lines struct{ t *testing.T }

func (l lines) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSuffix(string(b), "\n"))
	return len(b), nil
}

// limitTime bounds a test by far more than it takes.
func limitTime(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(4+3**roundsFlag+*killsFlag)*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// newChain makes one, or the test fails.
func newChain(t *testing.T, s Shape) *Chain {
	t.Helper()
	c, err := NewChain(t.TempDir(), s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNodesSyncFromEachOther(t *testing.T) {
	t.Parallel()
	tarn, nodeos := programs(t)
	c := newChain(t, Shape{Blocks: 700, Transfers: 3, Users: 50})
	way := Condition{Delay: 5 * time.Millisecond, Rate: 4 << 20}
	if err := Sync(limitTime(t), c, []difftest.Executable{nodeos, tarn, nodeos}, way, t.TempDir(), lines{t}); err != nil {
		t.Fatal(err)
	}
}

func TestProducersAgreeAfterPartitions(t *testing.T) {
	t.Parallel()
	tarn, nodeos := programs(t)
	names := []string{"alpha", "beta", "gamma"}
	c := newChain(t, Shape{Users: 20, Producers: names})
	p := Partitions{Rounds: 2, Most: 4 * time.Second, Seed: seed()}
	lists := [][]difftest.Executable{{tarn, nodeos, tarn}}
	if *roundsFlag > 0 {
		p.Rounds, p.Most, p.Irreversible = *roundsFlag, 20*time.Second, true
		lists = append(lists, []difftest.Executable{nodeos, nodeos, tarn})
	}
	for _, list := range lists {
		if err := Partition(limitTime(t), c, list, names, p, t.TempDir(), lines{t}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAKilledNodeComesBackInANetwork(t *testing.T) {
	t.Parallel()
	tarn, nodeos := programs(t)
	c := newChain(t, Shape{Blocks: 1200, Transfers: 3, Users: 50})
	k := Kills{Count: max(3, *killsFlag), Most: 2 * time.Second, Seed: seed()}
	if err := Kill(limitTime(t), c, tarn, nodeos, k, t.TempDir(), lines{t}); err != nil {
		t.Fatal(err)
	}
}

func TestLightPeersGetAllBlocksAndTransactions(t *testing.T) {
	t.Parallel()
	tarn, nodeos := programs(t)
	c := newChain(t, Shape{Blocks: 300, Transfers: 3, Users: 50})
	for _, l := range []Load{
		{Peers: 40, Syncing: 4, Relaying: 4, Rate: 15, Time: 8 * time.Second},
		{Peers: 40, Rate: 15, Time: 8 * time.Second, Produce: true, Genesis: true},
	} {
		r, err := Measure(limitTime(t), c, tarn, nodeos, l, t.TempDir(), lines{t})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", *r)
		switch {
		case len(r.Failed) > 0:
			t.Errorf("peers failed: %v", r.Failed)
		case r.Delivered == 0 || r.Lost > r.Delivered: // a node that falls behind itself passes on nothing
			t.Errorf("%d blocks delivered, %d not", r.Delivered, r.Lost)
		case r.Sent == 0 || r.Taken == 0:
			t.Errorf("%d transactions sent, %d delivered", r.Sent, r.Taken)
		case l.Syncing > 0 && r.Synced == 0:
			t.Error("nobody fetched the chain")
		}
	}
}
