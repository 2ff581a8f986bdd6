package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"tarn/opera/chain"
	"tarn/store/engine"
	"tarn/store/page"
)

var (
	kills    = flag.Int("node.kills", 1, "kills of an import on each engine")
	damages  = flag.Int("node.damages", 2, "damaged folders on each engine")
	seedFlag = flag.Uint64("node.seed", 1, "seed of the random tests; 0 for a new one")
)

// seed is that of the flag, or a new one, which the log has.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := *seedFlag
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("repeat with -node.seed=%d", s)
	return s
}

// roleVariable tells the test binary, run again by a test, what to do.
const roleVariable = "OPERANODETEST_ROLE"

// role is an import, each block of which is printed.
type role struct {
	Dir   string
	Kind  engine.Kind
	Mode  page.Mode
	Often bool // checkpoints
	End   bool // in order, after the import or an error; then it says where the chain is
	Lone  bool // no import: a validator by itself, see lone
}

func play(text string) int {
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // the end is what matters
		os.Exit(3)
	}()
	var r role
	err := json.Unmarshal([]byte(text), &r)
	if err == nil {
		err = r.run()
	}
	if err != nil {
		fmt.Println("failed", err)
		return 1
	}
	return 0
}

func (r *role) run() error {
	o := Options{
		Dir: r.Dir, Log: slog.New(slog.DiscardHandler), Genesis: &Beginning{Validators: 1}, Recovery: time.Hour,
		Engine: engine.Options{Kind: r.Kind, Mode: r.Mode, LimitBytes: 64 << 20},
	}
	if r.Often {
		o.Recovery = time.Nanosecond
	}
	n, err := Open(context.Background(), o)
	if err != nil {
		return err
	}
	if r.Lone {
		return lone(n, r.Dir)
	}
	fmt.Println("block", n.Chain().Head().Number)
	n.Subscribe(func(b *chain.Block) {
		fmt.Println("block", b.Number)
		time.Sleep(time.Millisecond)
	})
	err = n.Import(context.Background(), events)
	if r.End {
		at, failed := position(n)
		if err = errors.Join(err, failed, n.Close()); err == nil {
			fmt.Println("end", at)
		}
		return err
	}
	if err != nil {
		return err
	}
	time.Sleep(time.Minute) // until it is killed
	return nil
}

// A kill in the middle of the genesis or of an import loses no block that was told, and the
// next start goes on by itself.
func TestAKilledImportGoesOnWithWhatItHad(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes; not with -short")
	}
	want := open(t, options(t.TempDir(), io.Discard))
	importEvents(t, want)
	head := summary(t, want)
	random := rand.New(rand.NewPCG(seed(t), 0))
	every(t, func(t *testing.T, e engine.Options) {
		for range *kills {
			r := role{Dir: t.TempDir(), Kind: e.Kind, Mode: e.Mode, Often: random.IntN(2) == 0}
			stop := random.IntN(16) - 1
			last := killRole(t, r, stop)
			o := options(r.Dir, io.Discard)
			o.Engine = e
			n := open(t, o)
			if got := int(n.Chain().Head().Number); got < last {
				t.Errorf("killed after block %d, and block %d is there", last, got)
			}
			importEvents(t, n)
			if got := summary(t, n); got != head {
				t.Errorf("killed after block %d it becomes %s, want %s", last, got, head)
			}
			checkNode(t, n)
			shut(t, n)
		}
	})
}

// A start that recovers from a kill may be killed itself, and the next one too: at any moment
// the folder has what was told, and a start that nobody kills comes to the same chain.
func TestAStartThatIsKilledIsRecoveredByTheNext(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes; not with -short")
	}
	want := open(t, options(t.TempDir(), io.Discard))
	importEvents(t, want)
	head := summary(t, want)
	random := rand.New(rand.NewPCG(seed(t), 2))
	every(t, func(t *testing.T, e engine.Options) {
		for range *kills {
			r := role{Dir: t.TempDir(), Kind: e.Kind, Mode: e.Mode, Often: random.IntN(2) == 0}
			told := killRole(t, r, 1+random.IntN(14))
			for life := range 3 {
				if told = struckOpening(t, r, told, random); t.Failed() {
					t.Fatalf("in life %d", life)
				}
			}
			o := options(r.Dir, io.Discard)
			o.Engine = e
			n := open(t, o)
			if got := int(n.Chain().Head().Number); got < told {
				t.Errorf("block %d was told, and block %d is there", told, got)
			}
			importEvents(t, n)
			if got := summary(t, n); got != head {
				t.Errorf("after block %d it becomes %s, want %s", told, got, head)
			}
			checkNode(t, n)
			shut(t, n)
		}
	})
}

// struckOpening starts a node that was killed after it had told of a block, kills it while it
// opens or with the next blocks, and returns the last block that it told of.
func struckOpening(t *testing.T, r role, told int, random *rand.Rand) int {
	t.Helper()
	r.Often = random.IntN(2) == 0
	after := time.Duration(random.IntN(150)) * time.Millisecond
	stop := told + random.IntN(3)
	if random.IntN(3) > 0 {
		stop = 0
	}
	last, spoke := strikeRole(t, r, stop, after)
	if spoke && last < told {
		t.Errorf("block %d was told, and the next start is at block %d", told, last)
	}
	return max(last, told)
}

// killRole runs an import until it has told of a block, or, before any, for a moment, kills
// it, and returns the last block that it told of.
func killRole(t *testing.T, r role, stop int) (last int) {
	t.Helper()
	last, _ = strikeRole(t, r, stop, 20*time.Millisecond)
	return last
}

// strikeRole runs an import until it has told of the block stop, or for a time if stop is below
// one, kills it, and returns the last block that it told of, if it told of any.
func strikeRole(t *testing.T, r role, stop int, after time.Duration) (last int, spoke bool) {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if stop < 1 {
		time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	}
	for line := bufio.NewScanner(out); line.Scan(); {
		if _, err := fmt.Sscanf(line.Text(), "block %d", &last); err != nil {
			t.Errorf("it says %q", line.Text())
			break
		}
		spoke = true
		if stop > 0 && last >= min(stop, 14) {
			break
		}
	}
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()         // by the kill
	return last, spoke
}
