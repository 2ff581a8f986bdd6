package difftest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/internal/loopdisk"
	"tarn/opera/chain"
	"tarn/opera/chain/chaintest"
	"tarn/opera/eventfile"
	"tarn/opera/inter"
	"tarn/store/engine"
)

var kills = flag.Int("difftest.kills", 1, "times that a replay is killed on each engine")

// replayer is the variable that makes the test's program one that replays events and is
// killed: the folder, the engine's number, the file, a seed. Without a file it makes the chain,
// and ends.
const replayer = "TARN_DIFFTEST_REPLAY"

const killedValidators = 4

// subjects are the engines, the page engine in each of its modes.
func subjects() []engine.Options {
	list := []engine.Options{{Kind: engine.LevelDB}, {Kind: engine.Pebble}, {Kind: engine.Badger}}
	for _, m := range engine.Modes() {
		list = append(list, engine.Options{Kind: engine.Page, Mode: m})
	}
	return list
}

// replay connects the events of a file that a chain does not have. It says how many it has,
// and of how many it is certain.
func replay(c *chain.Chain, path string, random *rand.Rand, out io.Writer) error {
	list, err := raws(path)
	if err != nil {
		return err
	}
	at := 0
	for ; at < len(list); at++ {
		p, err := inter.DecodePayload(list[at])
		if err != nil {
			return err
		}
		if has, err := c.HasEvent(p.ID()); err != nil {
			return err
		} else if !has {
			break
		}
	}
	fmt.Fprintln(out, "found", at)
	for at < len(list) {
		next := min(len(list), at+1+random.IntN(20))
		if _, err := c.Feed(context.Background(), from(list[at:next]), nil); err != nil {
			return err
		}
		at = next
		switch random.IntN(4) {
		case 0:
			if err := c.SyncEvents(); err != nil {
				return err
			}
			fmt.Fprintln(out, "certain", at)
		case 1: // of blocks, not of what no block has confirmed
			done, err := c.Checkpoint()
			if err == nil {
				err = done.Wait()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// from hands out events.
func from(list [][]byte) func() ([]byte, error) {
	return func() ([]byte, error) {
		if len(list) == 0 {
			return nil, io.EOF
		}
		raw := list[0]
		list = list[1:]
		return raw, nil
	}
}

// raws are the events of a file, as they travel.
func raws(path string) (list [][]byte, err error) {
	in, err := eventfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	for raw, err := range in.All() {
		if err != nil {
			return nil, err
		}
		list = append(list, raw)
	}
	return list, nil
}

// beReplayer is the program that is killed.
func beReplayer(words string) error {
	var w [4]string
	copy(w[:], strings.Split(words, "|"))
	number, err := strconv.Atoi(w[1])
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(w[3], 10, 64)
	if err != nil {
		return err
	}
	o := chaintest.Options{Engine: subjects()[number]}
	if w[2] == "" {
		p, err := chaintest.New(w[0], killedValidators, o)
		if err != nil {
			return err
		}
		return p.Close()
	}
	p, err := chaintest.Open(w[0], o)
	if err != nil {
		return err
	}
	if err := replay(p.Chain, w[2], rand.New(rand.NewPCG(seed, 1)), os.Stdout); err != nil {
		return err
	}
	if err := digest(p.Chain, os.Stdout); err != nil {
		return err
	}
	return p.Close()
}

// digest writes a line that says what blocks and what epoch a chain has.
func digest(c *chain.Chain, out io.Writer) error {
	sum := sha256.New()
	for number := inter.BlockNumber(1); number <= c.Head().Number; number++ {
		record, err := c.BlockRecord(number)
		if err == nil {
			err = rlp.Encode(sum, record)
		}
		if err != nil {
			return err
		}
	}
	record, err := c.EpochRecord(c.Epoch().Epoch)
	if err == nil {
		err = rlp.Encode(sum, record)
	}
	if err == nil {
		_, err = fmt.Fprintf(out, "chain %d blocks %x\n", c.Head().Number, sum.Sum(nil))
	}
	return err
}

// run is a replay that is struck: by a kill, or a power cut under it.
type run struct {
	words  string
	strike func(*os.Process) error

	mu      sync.Mutex
	struck  bool   // what it says from then on counts for nothing
	found   bool   // it said how many events are there
	certain int    // events that must be there
	chain   string // what it came to
	err     error  // of the strike
}

// goes starts the replay, strikes it after a while, and returns whether it came to its end. It
// must have found as many events as the one before was certain of.
func (r *run) goes(t *testing.T, after time.Duration) (ended bool, err error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		return false, err
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^$")
	cmd.Env = append(os.Environ(), replayer+"="+r.words)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return false, err
	}
	r.struck, r.found = false, false
	done := make(chan struct{})
	var beside sync.WaitGroup
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if err = r.hear(lines.Text()); err != nil {
			break
		}
		if r.found && strings.HasPrefix(lines.Text(), "found") {
			beside.Go(func() {
				select {
				case <-time.After(after):
					r.mu.Lock()
					r.struck = true
					r.mu.Unlock()
					if err := r.strike(cmd.Process); !errors.Is(err, os.ErrProcessDone) { // it had come to its end
						r.err = err
					}
				case <-done:
				}
			})
		}
	}
	if err != nil {
		_ = cmd.Process.Kill() // it may have ended
	}
	failed := cmd.Wait()
	close(done)
	beside.Wait()
	var exit *exec.ExitError
	switch {
	case err != nil || r.err != nil:
		return false, errors.Join(err, r.err)
	case r.struck && errors.As(failed, &exit): // over the kill, or the errors of its disk
		return false, nil
	}
	return failed == nil, failed
}

// hear takes a line that the replay says.
func (r *run) hear(line string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	word, text, _ := strings.Cut(line, " ")
	if r.struck {
		return nil
	}
	if word == "chain" {
		r.chain = line
		return nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return fmt.Errorf("it says %q", line)
	case word == "certain":
		r.certain = max(r.certain, n)
	case n < r.certain:
		return fmt.Errorf("%d events are there, %d were certain", n, r.certain)
	default:
		r.found = true
	}
	return nil
}

// A replay that is killed again and again comes to the same blocks, on every engine, and
// loses nothing of which it was certain.
func TestAKilledReplayComesToTheSameBlocks(t *testing.T) {
	seed := *firstSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	dir := t.TempDir()
	path := filepath.Join(dir, "made.events")
	reference := lifeOf(t, dir, path, seed)
	random := rand.New(rand.NewPCG(seed, 2))
	for i, o := range subjects() {
		name := string(o.Kind)
		if o.Kind == engine.Page {
			name += "-" + o.Mode.String()
		}
		t.Run(name, func(t *testing.T) {
			place := filepath.Join(dir, name)
			p, err := chaintest.New(place, killedValidators, chaintest.Options{Engine: o})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			r := run{strike: (*os.Process).Kill}
			for round, ended := 0, false; !ended; round++ {
				after := time.Hour
				if round < *kills {
					after = time.Duration(random.Int64N(int64(120 * time.Millisecond)))
				}
				r.words = fmt.Sprintf("%s|%d|%s|%d", place, i, path, random.Uint64())
				if ended, err = r.goes(t, after); err != nil {
					t.Fatal(err)
				}
				if !ended {
					t.Logf("killed after %v, when %d events were certain", after, r.certain)
				}
			}
			if p, err = chaintest.Open(place, chaintest.Options{Engine: o}); err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if err := sameChains(p.Chain, reference); err != nil {
				t.Error(err)
			}
		})
	}
}

// A replay under which the power is cut again and again, on a disk of its own, comes to the same
// blocks, on every engine, and loses nothing that it had made durable.
func TestAReplayWithoutPowerComesToTheSameBlocks(t *testing.T) {
	if reason := loopdisk.Missing(); reason != "" {
		t.Skip(reason)
	}
	seed := *firstSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	dir := t.TempDir()
	path := filepath.Join(dir, "made.events")
	var want strings.Builder
	if err := digest(lifeOf(t, dir, path, seed), &want); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 3))
	for i, o := range subjects() {
		name := string(o.Kind)
		if o.Kind == engine.Page {
			name += "-" + o.Mode.String()
		}
		t.Run(name, func(t *testing.T) {
			got, err := withoutPower(t, i, path, random)
			if err != nil {
				t.Fatal(err)
			}
			if got+"\n" != want.String() {
				t.Errorf("it comes to %s, want %s", got, want.String())
			}
		})
	}
}

// withoutPower has the power cut as often as is asked for, and returns what chain it comes to.
// Only processes that this goroutine starts see the disk.
func withoutPower(t *testing.T, number int, path string, random *rand.Rand) (chain string, err error) {
	t.Helper()
	if err := loopdisk.Apart(); err != nil {
		return "", err
	}
	d, err := loopdisk.New(t.TempDir(), 512<<20)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	place := filepath.Join(d.Dir, "chain")
	r := run{strike: func(p *os.Process) error {
		err := d.Cut()
		_ = p.Kill() // it may have ended over the errors of its disk
		return err
	}}
	r.words = fmt.Sprintf("%s|%d||0", place, number)
	if ended, err := r.goes(t, time.Hour); err != nil || !ended {
		return "", fmt.Errorf("make the chain: %w", err)
	}
	for cut := 0; ; cut++ {
		after := time.Hour
		if cut < *kills {
			after = time.Duration(random.Int64N(int64(200 * time.Millisecond)))
		}
		r.words = fmt.Sprintf("%s|%d|%s|%d", place, number, path, random.Uint64())
		ended, err := r.goes(t, after)
		if err != nil {
			return "", err
		}
		if ended && !r.struck {
			return r.chain, nil
		}
		t.Logf("without power after %v, when %d events were certain", after, r.certain)
		if err := d.Unmount(); err != nil {
			return "", err
		}
		if err := d.Mount(); err != nil {
			return "", err
		}
	}
}

// lifeOf makes a chain of a simulated network and a file of its events.
func lifeOf(t *testing.T, dir, path string, seed uint64) *chain.Chain {
	t.Helper()
	c := newChain(t, filepath.Join(dir, "reference"), killedValidators)
	var made [][]byte
	s, err := NewSimulation(c.Chain, seed, killedValidators, func(raw []byte) error {
		made = append(made, raw)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if err := s.Step(); err != nil {
			t.Fatal(err)
		}
	}
	out, err := eventfile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range made {
		p, err := inter.DecodePayload(raw)
		if err != nil {
			t.Fatal(err)
		}
		if has, err := c.HasEvent(p.ID()); err != nil {
			t.Fatal(err)
		} else if has { // no rule forbids it
			if err := out.Write(raw); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return c.Chain
}

// sameChains compares all records of two chains.
func sameChains(c, reference *chain.Chain) error {
	if c.Head() != reference.Head() {
		return fmt.Errorf("the head is %+v, want %+v", c.Head(), reference.Head())
	}
	for number := inter.BlockNumber(1); number <= c.Head().Number; number++ {
		ours, err := c.BlockRecord(number)
		if err != nil {
			return err
		}
		theirs, err := reference.BlockRecord(number)
		if err != nil {
			return err
		}
		if err := sameEncoding("record of block", uint64(number), ours, theirs); err != nil {
			return err
		}
	}
	ours, err := c.EpochRecord(c.Epoch().Epoch)
	if err != nil {
		return err
	}
	theirs, err := reference.EpochRecord(c.Epoch().Epoch)
	if err != nil {
		return err
	}
	return sameEncoding("record of epoch", uint64(c.Epoch().Epoch), ours, theirs)
}
