package oracle

import (
	"bufio"
	"context"
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
	"testing"
	"time"

	"tarn/opera/chain"
	"tarn/opera/chain/chaintest"
	"tarn/opera/eventfile"
	"tarn/opera/inter"
	"tarn/store/engine"
)

var kills = flag.Int("oracle.kills", 2, "times that a replay is killed on each engine")

// replayer is the variable that makes the test's program one that replays events and is
// killed: the folder, the engine's number, the file, a seed.
const replayer = "TARN_ORACLE_REPLAY"

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
	p, err := chaintest.Open(w[0], chaintest.Options{Engine: subjects()[number]})
	if err != nil {
		return err
	}
	if err := replay(p.Chain, w[2], rand.New(rand.NewPCG(seed, 1)), os.Stdout); err != nil {
		return err
	}
	return p.Close()
}

// killed runs a replay and kills it after a while, and returns whether it came to its end,
// and of how many events it was certain. It must have found as many as the one before was
// certain of.
func killed(t *testing.T, words string, after time.Duration, before int) (ended bool, certain int, err error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		return false, 0, err
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^$")
	cmd.Env = append(os.Environ(), replayer+"="+words)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, 0, err
	}
	if err := cmd.Start(); err != nil {
		return false, 0, err
	}
	certain = before
	found := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		word, text, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.Atoi(text)
		if err != nil {
			return false, 0, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
		}
		if word == "certain" {
			certain = max(certain, n)
		}
		if word == "found" {
			if found = true; n < before {
				return false, 0, errors.Join(fmt.Errorf("%d events are there, %d were certain", n, before), cmd.Process.Kill(), cmd.Wait())
			}
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Exited() && found {
		return false, certain, nil
	}
	return err == nil, certain, err
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
			certain, ended := 0, false
			for round := 0; !ended; round++ {
				after := time.Hour
				if round < *kills {
					after = time.Duration(random.Int64N(int64(120 * time.Millisecond)))
				}
				words := fmt.Sprintf("%s|%d|%s|%d", place, i, path, random.Uint64())
				if ended, certain, err = killed(t, words, after, certain); err != nil {
					t.Fatal(err)
				}
				if !ended {
					t.Logf("killed after %v, when %d events were certain", after, certain)
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
