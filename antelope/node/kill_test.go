package node

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tarn/antelope/types"
	"tarn/store/engine"
	"tarn/store/page"
)

// roleVariable tells the test binary, run again by a test, what to do.
const roleVariable = "NODETEST_ROLE"

// job is what such a process does: run a node, and give it blocks. It ends when its
// standard input does.
type job struct {
	Dir, Genesis, Blocks, Snapshot string
	Kind                           engine.Kind
	Mode                           page.Mode
	HardReplay, ForceAll, NoBatch  bool
	Retain                         *uint32 // blocks in the log
	Stride, Files                  *uint32 // partitions of the log
	Archive                        *string
	Rare                           bool // checkpoints only where the log asks for one
}

func play(role string) int {
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // the end is what matters
		os.Exit(3)
	}()
	var j job
	err := json.Unmarshal([]byte(role), &j)
	if err == nil {
		err = j.run()
	}
	if err != nil {
		fmt.Println("failed", strings.ReplaceAll(err.Error(), "\n", "; "))
		return 1
	}
	return 0
}

func (j *job) run() error {
	o := options(j.Dir, engine.Options{Kind: j.Kind, Mode: j.Mode, LimitBytes: 256 << 20})
	if o.Recovery = time.Nanosecond; j.Rare {
		o.Recovery = time.Hour
	}
	o.Blocks.RetainBlocks, o.Blocks.PruneBytes, o.Blocks.SyncBytes = j.Retain, 4096, 8192
	o.Blocks.Stride, o.Blocks.MaxRetainedFiles, o.Blocks.ArchiveDir = j.Stride, j.Files, j.Archive
	o.Snapshot, o.HardReplay = j.Snapshot, j.HardReplay
	o.Chain.ForceAllChecks, o.Chain.DisableReplayOpts, o.Chain.Threads = j.ForceAll, j.NoBatch, 2
	if j.Genesis != "" {
		g, err := types.ParseGenesis(j.Genesis)
		if err != nil {
			return err
		}
		o.Genesis = &g
	}
	n, err := Open(context.Background(), o)
	if err != nil {
		return err
	}
	fmt.Println("opened")
	if err := n.Start(context.Background()); err != nil {
		return err
	}
	if err := j.say("started", n, true); err != nil {
		return err
	}
	if j.Blocks != "" {
		blocks, err := readBlocks(j.Blocks)
		if err != nil {
			return err
		}
		for _, b := range blocks {
			if err := give(n.Chain(), b); err != nil {
				return fmt.Errorf("block %d: %w", b.BlockNum(), err)
			}
			if err := j.say("head", n, false); err != nil {
				return err
			}
		}
	}
	if err := j.say("done", n, true); err != nil {
		return err
	}
	return n.Close()
}

func (j *job) say(what string, n *Node, hash bool) error {
	line := what + " " + n.Chain().Head().ID.String()
	if hash {
		h, err := n.IntegrityHash()
		if err != nil {
			return err
		}
		line += " " + h.String()
	}
	_, err := fmt.Println(line)
	return err
}

// runJob runs a process and kills it after so long, 0 for never. It returns what the
// process said, and whether it was killed.
func runJob(t *testing.T, j job, after time.Duration) (lines []string, killed bool) {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if after > 0 {
		defer time.AfterFunc(after, func() { cmd.Process.Kill() }).Stop() //nolint:errcheck // it may have ended
	}
	for in := bufio.NewScanner(stdout); in.Scan(); {
		lines = append(lines, in.Text())
	}
	err = cmd.Wait()
	stdin.Close()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		killed = true
	}
	return lines, killed
}

// ordeal is a data folder whose node is killed again and again.
type ordeal struct {
	t      *testing.T
	c      *testChain
	j      job
	fresh  job  // as it begins
	log    bool // with a block log
	random *rand.Rand
	whole  time.Duration // what an undisturbed run takes
	kills  int
	last   int // index of the newest head that was reported
}

// survive starts the node, kills it, and starts it again, until it has been killed so
// often; then it runs to its end, where it must be at the right head.
func (o *ordeal) survive(kills int, settle func(*job)) {
	o.t.Helper()
	for round := 0; ; round++ {
		after := time.Duration(0)
		if o.kills < kills && round < 3*kills {
			after = time.Duration(1 + o.random.Int64N(int64(o.whole)))
		}
		begun := time.Now()
		lines, killed := runJob(o.t, o.j, after)
		o.judge(lines)
		if !killed {
			if n := len(lines); n == 0 || !strings.HasPrefix(lines[n-1], "done "+o.c.final.String()) {
				o.t.Fatalf("after %d kills the node did not arrive at block %s: %v", o.kills, o.c.final, lines[max(0, n-1):])
			}
			o.whole = min(o.whole, time.Since(begun))
			if after == 0 {
				return
			}
			o.begin() // it was too fast: once more from the beginning
			continue
		}
		o.kills++
		settle(&o.j)
	}
}

// begin makes a new data folder.
func (o *ordeal) begin() {
	o.t.Helper()
	o.j, o.last = o.fresh, 0
	o.j.Dir = o.t.TempDir()
	if o.log {
		copyLog(o.t, filepath.Join(o.c.dir, "blocks"), filepath.Join(o.j.Dir, "blocks"))
	}
}

// judge compares what a process reported.
func (o *ordeal) judge(lines []string) {
	o.t.Helper()
	for _, line := range lines {
		words := strings.Fields(line)
		switch {
		case words[0] == "failed":
			o.t.Fatalf("after %d kills: %s", o.kills, line)
		case len(words) < 2:
			continue
		}
		id, err := types.ParseChecksum256(words[1])
		if err != nil {
			o.t.Fatal(err)
		}
		if len(words) > 2 {
			if want := o.c.hashAt(o.t, id).String(); words[2] != want {
				o.t.Fatalf("after %d kills: hash %s at block %s, want %s", o.kills, words[2], words[1], want)
			}
		}
		if i := o.c.index(id); i >= 0 {
			if words[0] == "started" && i < o.last {
				o.t.Fatalf("after %d kills: the node starts with head %d, and had been at %d", o.kills, i, o.last)
			}
			o.last = max(o.last, i)
		}
	}
}

type killEngine struct {
	name string
	kind engine.Kind
	mode page.Mode
}

func killEngines() []killEngine {
	var list []killEngine
	for _, m := range engine.Modes() {
		list = append(list, killEngine{m.String(), engine.Page, m})
	}
	return append(list, killEngine{"leveldb", engine.LevelDB, 0}, killEngine{"pebble", engine.Pebble, 0})
}

func TestAKilledNodeComesBackByItself(t *testing.T) {
	c := theChain(t)
	dir := t.TempDir()
	blocks := filepath.Join(dir, "all")
	if err := writeBlocks(blocks, c.blocks); err != nil {
		t.Fatal(err)
	}
	genesis := string(c.genesis.AppendJSON(nil))
	none, few := uint32(0), uint32(24)
	kinds := []struct {
		name   string
		log    bool
		j      job
		settle func(*job)
	}{
		{"pushing", false, job{Genesis: genesis, Blocks: blocks}, func(*job) {}},
		{"pushing, few blocks kept", false, job{Genesis: genesis, Blocks: blocks, Retain: &few}, func(*job) {}},
		{"pushing, no log", false, job{Genesis: genesis, Blocks: blocks, Retain: &none}, func(*job) {}},
		{"replay", true, job{Blocks: blocks}, func(*job) {}},
		{"hard replay", true, job{Blocks: blocks, HardReplay: true}, func(j *job) { j.HardReplay = false }},
		{"snapshot", true, job{Blocks: blocks, Snapshot: c.mid}, dropSnapshot},
	}
	for i, e := range killEngines() {
		for k, kind := range kinds {
			t.Run(e.name+"/"+kind.name, func(t *testing.T) {
				t.Logf("repeat with -node.seed=%d", *seedFlag)
				o := &ordeal{t: t, c: c, fresh: kind.j, log: kind.log, random: rand.New(rand.NewPCG(*seedFlag, uint64(10*i+k))), whole: 1200 * time.Millisecond}
				o.fresh.Kind, o.fresh.Mode = e.kind, e.mode
				o.fresh.ForceAll, o.fresh.NoBatch = (i+k)%2 == 0, (i+k)%3 == 0
				o.begin()
				o.survive(*killsFlag, kind.settle)
				t.Logf("kills=%d", o.kills)
			})
		}
	}
}

// Each start may have other options than the one before: how much of the log is kept,
// where its parts go, how the state is mapped.
func TestAKilledNodeComesBackWithOtherOptions(t *testing.T) {
	c := theChain(t)
	blocks := filepath.Join(t.TempDir(), "all")
	if err := writeBlocks(blocks, c.blocks); err != nil {
		t.Fatal(err)
	}
	for i, kind := range []engine.Kind{engine.Page, engine.LevelDB, engine.Pebble} {
		for k, cut := range []func(*rand.Rand, *job){changePruning, changePartitions} {
			t.Run(fmt.Sprintf("%s/%d", kind, k), func(t *testing.T) {
				t.Logf("repeat with -node.seed=%d", *seedFlag)
				o := &ordeal{t: t, c: c, random: rand.New(rand.NewPCG(*seedFlag, uint64(100+2*i+k))), whole: 1200 * time.Millisecond}
				o.fresh = job{Genesis: string(c.genesis.AppendJSON(nil)), Blocks: blocks, Kind: kind}
				change := func(j *job) {
					cut(o.random, j)
					j.ForceAll, j.NoBatch = o.random.IntN(2) == 0, o.random.IntN(2) == 0
					j.Rare = o.random.IntN(3) > 0
					if kind == engine.Page {
						modes := engine.Modes()
						j.Mode = modes[o.random.IntN(len(modes))]
					}
				}
				change(&o.fresh)
				o.begin()
				o.survive(*killsFlag, change)
				t.Logf("kills=%d", o.kills)
			})
		}
	}
}

// changePruning chooses among a whole log, pruned ones, and none.
func changePruning(r *rand.Rand, j *job) {
	keeps := []uint32{0, 1, 3, 24}
	if j.Retain = nil; r.IntN(3) > 0 {
		j.Retain = &keeps[r.IntN(len(keeps))]
	}
}

// changePartitions chooses how long parts are, how many stay, and where the others go.
func changePartitions(r *rand.Rand, j *job) {
	stride, files := 3+r.Uint32N(9), r.Uint32N(4)
	j.Stride, j.Files, j.Archive = &stride, &files, nil
	if r.IntN(2) == 0 {
		j.Archive = new(string)
	}
}

// dropSnapshot starts without naming the snapshot again, once the node has begun to
// load it.
func dropSnapshot(j *job) {
	state := filepath.Join(j.Dir, "state")
	_, unfinished := engine.Unfinished(state)
	if _, err := engine.Detect(state); unfinished == nil || err == nil {
		j.Snapshot = ""
	}
}
