package difftest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tarn/internal/scratch"
	"tarn/opera/genesis"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/genesis/genesistest"
	"tarn/opera/inter"
)

var networks = flag.String("difftest.networks", "3",
	"sizes of the fakenets that are compared with go-opera's, with commas between")

var work = flag.Int("difftest.work", 150, "transactions of each network of go-operas that is replayed")

func TestMain(m *testing.M) {
	if os.Getenv(operaVariable) != "" {
		os.Exit(beOpera())
	}
	flag.Parse()
	if words := os.Getenv(replayer); words != "" {
		if err := beReplayer(words); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := scratch.OnDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// peer is go-opera, or the test is skipped.
func peer(t *testing.T) (*Peer, context.Context) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a node; not with -short")
	}
	ctx, cancel := context.WithTimeout(t.Context(), *forTime+8*time.Minute)
	t.Cleanup(cancel)
	p, err := Judge(ctx)
	if errors.Is(err, ErrNoPeer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p, ctx
}

// units are the roots of a genesis.
func units(t *testing.T, path string) (genesis.Header, genesis.Hashes) {
	t.Helper()
	f, err := genesis.Open(path, genesis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Verify(); err != nil {
		t.Fatal(err)
	}
	return f.Header(), f.Hashes()
}

// liveThrough starts a node with a genesis, stops it, and returns what it exports.
func liveThrough(ctx context.Context, t *testing.T, p *Peer, c Config) (genesis.Header, genesis.Hashes) {
	t.Helper()
	n, err := p.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.Dir, "exported.g")
	if err := p.ExportGenesis(ctx, c, path, "ext-mpt"); err != nil {
		t.Fatal(err)
	}
	return units(t, path)
}

func TestFakenetsAreGoOperas(t *testing.T) {
	p, ctx := peer(t)
	for text := range strings.SplitSeq(*networks, ",") {
		size, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		header, hashes := liveThrough(ctx, t, p, Config{Dir: t.TempDir(), Validators: size})
		g, err := fakenet.New(fakenet.Options{Validators: size})
		if err != nil {
			t.Fatal(err)
		}
		ours, err := genesistest.Write(&bytes.Buffer{}, g, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if g.Header() != header || ours.String() != hashes.String() {
			t.Errorf("%d validators: ours %v %v, go-opera's %v %v", size, g.Header(), ours, header, hashes)
		}
	}
}

// A network that go-opera cannot make by itself: that a file brings it is seen.
func TestGoOperaTakesAGenesisOfOurs(t *testing.T) {
	p, ctx := peer(t)
	rules := inter.FakeRules()
	rules.Name, rules.NetworkID = "ours", 5005
	rules.Upgrades = inter.Upgrades{}
	g, err := fakenet.New(fakenet.Options{Validators: 2, Rules: &rules})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "ours.g")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := genesistest.Write(out, g, dir)
	if err = errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	header, theirs := liveThrough(ctx, t, p, Config{Dir: dir, Genesis: path})
	if header != g.Header() || theirs.String() != hashes.String() {
		t.Errorf("go-opera's %v %v, ours %v %v", header, theirs, g.Header(), hashes)
	}
}

func TestWithoutAPeerTheReasonIsSaid(t *testing.T) {
	for _, what := range []string{"off", filepath.Join(t.TempDir(), "missing")} {
		t.Setenv("TARN_OPERA", what)
		if _, err := Find(t.Context()); !errors.Is(err, ErrNoPeer) ||
			!strings.Contains(err.Error(), "TARN_OPERA="+what) {
			t.Errorf("%v", err)
		}
	}
}
