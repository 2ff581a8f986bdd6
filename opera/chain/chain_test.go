package chain

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/trie"

	"tarn/opera/eventfile"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"
)

// recorded is the events of a go-opera and the blocks that it made of them, a line each.
type recorded struct {
	events [][]byte
	blocks []string
}

func record(t testing.TB) recorded {
	t.Helper()
	r := recorded{events: eventsOf(t, "fakenet1.events.gz")}
	text, err := os.Open(filepath.Join("testdata", "fakenet1.blocks"))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	for lines := bufio.NewScanner(text); lines.Scan(); {
		if line := lines.Text(); !strings.HasPrefix(line, "#") {
			r.blocks = append(r.blocks, line)
		}
	}
	return r
}

// eventsOf reads a file of events in testdata.
func eventsOf(t testing.TB, name string) (events [][]byte) {
	t.Helper()
	in, err := eventfile.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for raw, err := range in.All() {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, raw)
	}
	return events
}

// source hands out events one after the other.
func source(events [][]byte) func() ([]byte, error) {
	return func() ([]byte, error) {
		if len(events) == 0 {
			return nil, io.EOF
		}
		raw := events[0]
		events = events[1:]
		return append([]byte(nil), raw...), nil
	}
}

// chainFolder is a store with its history, in one folder.
type chainFolder struct {
	store.Store
	history *History
}

func openStore(t testing.TB, dir string, o engine.Options) chainFolder {
	t.Helper()
	p := chainFolder{history: NewHistory(HistoryOptions{Dir: filepath.Join(dir, "history"), Notice: func(err error) {
		t.Log(err)
	}})}
	o.BeforeCheckpoint = p.history.Sync
	s, err := engine.Open(filepath.Join(dir, "state"), o)
	if err != nil {
		t.Fatal(err)
	}
	p.Store = s
	return p
}

func closeChain(t testing.TB, c *Chain) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// filledChain is the chain of a record in a page store, both closed at the test's end.
func filledChain(t testing.TB, r recorded) *Chain {
	t.Helper()
	s := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
	t.Cleanup(func() { s.Close() })
	c := newChain(t, s)
	t.Cleanup(func() { closeChain(t, c) })
	feed(t, c, r.events)
	return c
}

// newChain makes the chain of a fakenet of one validator.
func newChain(t testing.TB, s chainFolder) *Chain {
	t.Helper()
	return newChainOf(t, s, 1)
}

// newChainOf makes the chain of a fakenet.
func newChainOf(t testing.TB, s chainFolder, validators int) *Chain {
	t.Helper()
	g, err := fakenet.New(fakenet.Options{Validators: validators})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Store: s, History: s.history, Warn: func(err error) { t.Log(err) }}
	if err := ApplyGenesis(o, g); err != nil {
		t.Fatal(err)
	}
	if err := ApplyGenesis(o, g); !errors.Is(err, ErrNotEmpty) {
		t.Fatalf("a second genesis: %v", err)
	}
	return openChain(t, s)
}

func openChain(t testing.TB, s chainFolder) *Chain {
	t.Helper()
	c, err := Open(Options{Store: s, History: s.history, Warn: func(err error) { t.Log(err) }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func feed(t testing.TB, c *Chain, events [][]byte) Fed {
	t.Helper()
	fed, err := c.Feed(context.Background(), source(events), nil)
	if err != nil {
		t.Fatal(err)
	}
	return fed
}

// lineOf says of a block what the record does.
func lineOf(c *Chain, n int) (string, error) {
	v, err := c.View()
	if err != nil {
		return "", err
	}
	defer v.Close()
	number := inter.BlockNumber(n)
	b, err := v.Block(number)
	if err != nil || b == nil {
		return "", errors.Join(err, fmt.Errorf("no block %d", number))
	}
	root, err := v.Root(number)
	if err != nil {
		return "", err
	}
	epoch, err := v.EpochOf(number)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %v %d %d 0x%x 0x%x %v %d %d", number, b.ID, b.Time, b.GasUsed, root, inter.TxsRoot(b.Txs),
		types.DeriveSha(b.Receipts, trie.NewStackTrie(nil)), len(b.Txs), max(epoch, b.ID.Epoch())), nil
}

func compare(t *testing.T, c *Chain, r recorded) {
	t.Helper()
	for i, want := range r.blocks {
		if got, err := lineOf(c, i+1); err != nil || got != want {
			t.Fatalf("block %d is\n%s, %v, go-opera's\n%s", i+1, got, err, want)
		}
	}
	if n := int(c.Head().Number); n != len(r.blocks) {
		t.Fatalf("%d blocks, go-opera has %d", n, len(r.blocks))
	}
}

// everyEngine is the options of each engine, the page engine's in each mode.
func everyEngine() []engine.Options {
	all := []engine.Options{{Kind: "leveldb"}, {Kind: "pebble"}, {Kind: "badger"}}
	for _, m := range engine.Modes() {
		o := engine.Options{Kind: engine.Page, Mode: m}
		if m == page.Locked {
			o.LimitBytes = 64 << 20
		}
		all = append(all, o)
	}
	return all
}

func TestBlocksAreGoOperasOnEveryEngine(t *testing.T) {
	r := record(t)
	for _, o := range everyEngine() {
		t.Run(fmt.Sprint(o.Kind, " ", o.Mode), func(t *testing.T) {
			s := openStore(t, t.TempDir(), o)
			defer s.Close()
			c := newChain(t, s)
			defer closeChain(t, c)
			if fed := feed(t, c, r.events); fed.Events != len(r.events) || fed.Known != 0 {
				t.Errorf("of %d events %+v", len(r.events), fed)
			}
			compare(t, c, r)
			if fed := feed(t, c, r.events); fed.Events != 0 || fed.Known != len(r.events) {
				t.Errorf("fed again: %+v", fed)
			}
		})
	}
}

// Closing a store takes no checkpoint, so what came after the last one is gone.
func TestAChainGoesOnFromWhateverIsDurable(t *testing.T) {
	r := record(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	s := openStore(t, dir, engine.Options{Kind: engine.Page})
	c := newChain(t, s)
	for reached := 0; reached < len(r.events); {
		reached = min(len(r.events), reached+1+random.IntN(6))
		feed(t, c, r.events[:reached])
		if random.IntN(2) == 0 {
			done, err := c.Checkpoint()
			if err != nil {
				t.Fatal(err)
			}
			if err := done.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		if random.IntN(3) > 0 {
			closeChain(t, c)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openStore(t, dir, engine.Options{})
			c = openChain(t, s)
		}
	}
	defer s.Close()
	defer closeChain(t, c)
	feed(t, c, r.events)
	compare(t, c, r)
}

func TestAWrongEventChangesNothing(t *testing.T) {
	r := record(t)
	s := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
	defer s.Close()
	c := newChain(t, s)
	defer closeChain(t, c)
	const good = 10
	feed(t, c, r.events[:good])
	if _, err := c.Feed(context.Background(), source(r.events[good+1:good+2]), nil); !errors.Is(err, ErrParents) {
		t.Errorf("an event without its parent: %v", err)
	}
	for at := range r.events[good] {
		bad := append([]byte(nil), r.events[good]...)
		bad[at] ^= 1
		// One that says it is of an epoch that is over is passed over.
		if fed, err := c.Feed(context.Background(), source([][]byte{bad}), nil); fed.Events != 0 ||
			err == nil && fed.Known == 0 {
			t.Fatalf("an event with another byte %d of %d is connected: %+v", at, len(bad), fed)
		}
	}
	feed(t, c, r.events)
	compare(t, c, r)
}

// Who is told of an event can read it, and does not wait for the blocks that it decides.
func TestAnEventIsAcceptedBeforeItsBlocksAreMade(t *testing.T) {
	r := record(t)
	s := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
	defer s.Close()
	c := newChain(t, s)
	defer closeChain(t, c)
	decided := 0
	for i, raw := range r.events {
		p, err := c.Verifier().Decode(raw)
		if err == nil {
			err = c.Verifier().Verify(p)
		}
		if err != nil {
			t.Fatal(err)
		}
		before, told := c.Head().Number, 0
		err = c.Connect(p, func() {
			told++
			if has, err := c.HasEvent(p.ID()); !has || err != nil {
				t.Errorf("event %d cannot be read: %v", i, err)
			}
			if now := c.Head().Number; now != before {
				t.Errorf("event %d is accepted when block %d is made", i, now)
			}
		})
		if err != nil || told != 1 {
			t.Fatalf("event %d is accepted %d times: %v", i, told, err)
		}
		if c.Head().Number > before {
			decided++
		}
	}
	if decided == 0 {
		t.Error("no event decides a block")
	}
}
