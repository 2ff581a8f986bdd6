package node

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"tarn/antelope/ship/shiplog"
	"tarn/antelope/tracelog"
	"tarn/antelope/types"
	harm "tarn/internal/damage"
	"tarn/store/engine"
)

var damagesFlag = flag.Int("node.damages", 2, "folders of whole nodes that are damaged anywhere, on each engine")

// said keeps what a node's log says.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Any damage to any file of a node's folder, histories included, on all engines: what the node
// has afterwards is what it had before; or it refuses, or says what is wrong. It never has
// anything else, panics or hangs, and it comes to the same head if it takes further blocks at
// all. Of blocks that a crash takes without a trace it need say nothing.
func TestAnyDamageIsHarmlessOrNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("opens many nodes; not with -short")
	}
	c := theChain(t)
	blocks := c.branch()
	for k, e := range everyEngine() {
		t.Run(fmt.Sprint(e.Kind, "/", e.Mode), func(t *testing.T) {
			live, closed := filepath.Join(t.TempDir(), "live"), filepath.Join(t.TempDir(), "closed")
			traced := c.leftBehind(t, e, live, closed)
			random := rand.New(rand.NewPCG(*seedFlag, uint64(501+k)))
			count := map[string]int{}
			for i := range *damagesFlag {
				whole := []string{live, closed}[i%2]
				dir := filepath.Join(t.TempDir(), "damaged")
				copyFolder(t, whole, dir)
				d, err := harm.Spoil(random, dir)
				if err != nil {
					t.Fatal(err)
				}
				p := patient{t: t, c: c, dir: dir, engine: e, blocks: blocks, traced: traced,
					crash: crashLeaves(t, whole, dir, d),
					what:  fmt.Sprintf("-node.seed=%d, damage %d, %s: %s", *seedFlag, i, filepath.Base(whole), d)}
				count[p.examine()]++
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("damages=%d engine=%s/%s %v", *damagesFlag, e.Kind, e.Mode, count)
		})
	}
}

// everyEngine are the engines, the page engine in each of its modes.
func everyEngine() (list []engine.Options) {
	for _, kind := range engine.Kinds() {
		if kind != engine.Page {
			list = append(list, engine.Options{Kind: kind})
			continue
		}
		for _, mode := range engine.Modes() {
			list = append(list, engine.Options{Kind: kind, Mode: mode, LimitBytes: 64 << 20})
		}
	}
	return list
}

// keepingAll are the options of a node that keeps state history and traces.
func keepingAll(dir string, e engine.Options) Options {
	j := job{Dir: dir}
	o := options(dir, e)
	o.History = &History{Options: j.history()}
	o.Traces = &tracelog.Options{Files: j.traces()}
	return o
}

// leftBehind leaves the folder of a node that has all blocks, as it is while the node lives and
// after its end, and returns which blocks the traces have, by number.
func (c *testChain) leftBehind(t *testing.T, e engine.Options, live, closed string) map[uint32]string {
	t.Helper()
	o := keepingAll(closed, e)
	o.Genesis = &c.genesis
	n := mustStart(t, o)
	for i, b := range c.blocks {
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
		if i == len(c.blocks)*3/4 {
			if err := n.checkpointNow(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := n.traces.Sync(); err != nil { // they are written beside
		t.Fatal(err)
	}
	list := map[uint32]string{}
	for num := uint32(2); num <= c.logged; num++ {
		text, err := traceBlock(n, num)
		if err != nil || text == "" {
			t.Fatalf("no traces of block %d: %v", num, err)
		}
		list[num] = text
	}
	copyFolder(t, closed, live)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	return list
}

// patient is a node whose folder was damaged.
type patient struct {
	t      *testing.T
	c      *testChain
	dir    string
	engine engine.Options
	blocks map[uint32][]byte // of the log, by number
	traced map[uint32]string // what the traces have of a block, likewise
	what   string            // was done to it
	crash  bool              // can have done it, and taken blocks that were not durable without a trace
	faults int
}

// slowest is after what time a node hangs.
const slowest = 5 * time.Minute

// examine starts a node twice, looks into its histories, and says how the first start went.
func (p *patient) examine() (outcome string) {
	watch := time.AfterFunc(slowest, func() {
		debug.SetTraceback("all")
		panic("it hangs: " + p.what)
	})
	defer watch.Stop()
	p.t.Log(p.what) // a panic has no other place
	outcome = p.live("first start")
	p.crash = false // that life got all blocks again, and ended well
	p.live("second start")
	p.histories()
	return outcome
}

// live is one life: what is there, and then all blocks again.
func (p *patient) live(when string) string {
	log := &said{}
	o := keepingAll(p.dir, p.engine)
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	o.History.Log, o.Traces.Log, o.Traces.Files.Logger, o.Blocks.Logger = o.Log, o.Log, o.Log, o.Log
	n, err := Open(context.Background(), o)
	if err == nil {
		if err = n.Start(context.Background()); err != nil {
			p.checkNamed(when, errors.Join(err, n.Close()))
			return "refused"
		}
	}
	if err != nil {
		p.checkNamed(when, err)
		return "refused"
	}
	defer func() { _ = n.Close() }() // a second time it fails, harmlessly
	outcome := p.compare(when, n, log)
	p.traces(when, n)
	for _, b := range p.c.blocks {
		if err := give(n.Chain(), b); err != nil {
			p.checkNamed(when+", further blocks", err)
			return "refused blocks"
		}
	}
	if id := n.Chain().Head().ID; id != p.c.final {
		p.wrong("%s: head %d %s after all blocks, want %s", when, n.Chain().Head().BlockNum, id, p.c.final)
	}
	p.compare(when+" and all blocks", n, log)
	p.traces(when+" and all blocks", n)
	if err := n.Close(); err != nil {
		p.checkNamed(when+", close", err)
	}
	return outcome
}

// compare demands that the state is that of the head, and that the blocks are those of the
// chain, or that somebody says why not.
func (p *patient) compare(when string, n *Node, log *said) string {
	head := n.Chain().Head()
	if hash, err := n.IntegrityHash(); err != nil {
		p.checkNamed(when, err)
		return "failed answers"
	} else if want := p.c.hashAt(p.t, head.ID); hash != want {
		p.wrong("%s: hash %s at block %d, want %s", when, hash, head.BlockNum, want)
	}
	failed := 0
	for num, want := range p.blocks {
		got, err := n.blocks().Logged(num)
		switch {
		case err != nil:
			failed++
			p.checkNamed(when, err)
		case got == nil:
			failed++
		case !bytes.Equal(got, want):
			p.wrong("%s: block %d is another one", when, num)
		}
	}
	if failed > 0 {
		return "failed answers"
	}
	if head.ID != p.c.final {
		if text := log.String(); !p.crash && !strings.Contains(text, "level=WARN") &&
			!strings.Contains(text, "level=ERROR") {
			p.wrong("%s: the head is block %d, and the log says nothing of it:\n%.2000s", when, head.BlockNum, text)
		}
		return "less"
	}
	return "the same"
}

// branch are the blocks of the log of a node that has all of the chain, packed, by number.
func (c *testChain) branch() map[uint32][]byte {
	byID := map[types.Checksum256]*types.SignedBlock{}
	for _, b := range c.blocks {
		byID[b.ID()] = b
	}
	list := map[uint32][]byte{}
	for b := byID[c.final]; b != nil; b = byID[b.Previous] {
		if num := b.BlockNum(); num <= c.logged {
			list[num] = b.Append(nil)
		}
	}
	return list
}

// wrong fails the test; of one damage it says two things at most.
func (p *patient) wrong(format string, args ...any) {
	if p.faults++; p.faults > 2 {
		p.t.Fail()
		return
	}
	p.t.Errorf("%s: %s", p.what, fmt.Sprintf(format, args...))
}

// histories demands of each entry of the histories that it is what an undisturbed node has, or
// cannot be read.
func (p *patient) histories() {
	want := p.c.histories(p.t)
	j := job{Dir: p.dir}
	for _, name := range []string{"trace_history", "chain_state_history"} {
		l, err := shiplog.Open(shiplog.Options{Name: name, Dir: j.history().Dir})
		if err != nil {
			p.checkNamed(name, err)
			continue
		}
		first, end := l.Range()
		for num := first; num < end; num++ {
			e, err := l.Read(num)
			if err != nil {
				p.checkNamed(name, err)
				continue
			}
			b, err := io.ReadAll(e)
			if err = errors.Join(err, e.Close()); err != nil {
				p.checkNamed(name, err)
				continue
			}
			w := want[name].entries[num]
			// who asks compares the id
			if id := e.ID.String(); num > want[name].first && strings.HasPrefix(w, id) && w != id+string(b) {
				p.wrong("block %d of %s has %d bytes that are others", num, name, len(b))
			}
		}
		if err := l.Close(); err != nil {
			p.checkNamed(name, err)
		}
	}
}

// traces demands of the traces what can be known of them without a checksum, which their files
// do not have: which blocks they are, and which transactions these have.
func (p *patient) traces(when string, n *Node) {
	for num, want := range p.traced {
		got, err := traceBlock(n, num)
		if err != nil {
			p.checkNamed(when+", traces", err)
		} else if got != "" && got != want {
			p.wrong("%s: the traces of block %d are of %s, want %s", when, num, got, want)
		}
	}
}

// traceBlock tells which block the traces have as one, "" for none, and which transactions it has.
func traceBlock(n *Node, num uint32) (string, error) {
	b, _, err := n.traces.Block(num, func(int64) error { return nil })
	if err != nil || b == nil {
		return "", err
	}
	text := fmt.Sprint(b.Number, " ", b.ID, " after ", b.Previous)
	for _, x := range b.Transactions {
		text += fmt.Sprint(" ", x.ID)
	}
	return text, nil
}

// checkNamed demands that an error says more than that there is one.
func (p *patient) checkNamed(when string, err error) {
	if len(err.Error()) < 15 || strings.Contains(err.Error(), "runtime error") {
		p.wrong("%s: %v", when, err)
	}
}
