package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tarn/antelope/ship"
	"tarn/antelope/ship/shiplog"
	"tarn/antelope/tracelog"
	"tarn/antelope/tracelog/slicefile"
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
	Replay                         bool
	Limit                          int64 // of a page store, in bytes; 0 for one that is never reached
	Most                           int   // of Blocks, from the first; 0 for all of them
	Make                           int   // blocks of its own, after those
	History                        bool  // kept of traces and state
	DeleteHistory                  bool  // of the state, before
}

func play(role string) int {
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // the end is what matters
		os.Exit(3)
	}()
	var j job
	err := json.Unmarshal([]byte(role), &j)
	if err == nil {
		err = remedy(j.run())
	}
	if err != nil {
		fmt.Println("failed", strings.ReplaceAll(err.Error(), "\n", "; "))
		return 1
	}
	return 0
}

func (j *job) run() error {
	o := options(j.Dir, engine.Options{Kind: j.Kind, Mode: j.Mode, LimitBytes: j.Limit})
	if o.Engine.LimitBytes == 0 {
		o.Engine.LimitBytes = 256 << 20
	}
	if o.Recovery = time.Nanosecond; j.Rare {
		o.Recovery = time.Hour
	}
	o.Blocks.RetainBlocks, o.Blocks.PruneBytes, o.Blocks.SyncBytes = j.Retain, 4096, 8192
	o.Blocks.Stride, o.Blocks.MaxRetainedFiles, o.Blocks.ArchiveDir = j.Stride, j.Files, j.Archive
	o.Snapshot, o.HardReplay, o.Replay = j.Snapshot, j.HardReplay, j.Replay
	if j.History {
		o.History = &History{Options: j.history(), Delete: j.DeleteHistory}
		o.Traces = &tracelog.Options{Files: j.traces(), Plain: new(uint32(5)),
			Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))}
	}
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
	if err := j.work(n); err != nil {
		return errors.Join(err, n.Close()) // as a node ends over an error
	}
	return n.Close()
}

// work brings a node to its head, and further.
func (j *job) work(n *Node) error {
	if err := n.Start(context.Background()); err != nil {
		return err
	}
	if j.Make > 0 {
		return j.produce(n)
	}
	if err := j.say("started", n, true); err != nil {
		return err
	}
	if err := j.follow(n); err != nil {
		return err
	}
	return j.say("done", n, true)
}

// follow gives a node the blocks of the file.
func (j *job) follow(n *Node) error {
	if j.Blocks == "" {
		return nil
	}
	blocks, err := readBlocks(j.Blocks)
	if err != nil {
		return err
	}
	if j.Most > 0 {
		blocks = blocks[:min(j.Most, len(blocks))]
	}
	for _, b := range blocks {
		if err := give(n.Chain(), b); err != nil {
			return fmt.Errorf("block %d: %w", b.BlockNum(), err)
		}
		if err := j.say("head", n, false); err != nil {
			return err
		}
	}
	return nil
}

// history says where the history is kept.
func (j *job) history() ship.Options {
	return ship.Options{Dir: filepath.Join(j.Dir, "state-history"), Traces: true, State: true}
}

// traces says where the traces are.
func (j *job) traces() slicefile.Options {
	return slicefile.Options{Dir: filepath.Join(j.Dir, "traces"), Stride: 7}
}

func (j *job) say(what string, n *Node, hash bool, more ...string) error {
	line := what + " " + n.Chain().Head().ID.String()
	if hash {
		h, err := n.IntegrityHash()
		if err != nil {
			return err
		}
		line += " " + h.String()
	}
	_, err := fmt.Println(strings.Join(append([]string{line}, more...), " "))
	return err
}

// process is the test binary, run again by a test.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines *bufio.Scanner // that it says
}

// startProcess runs the test binary again, which finds in a variable of its environment what
// it is to do.
func startProcess(t *testing.T, variable string, role any) *process {
	t.Helper()
	text, err := json.Marshal(role)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(exe)}
	p.cmd.Env = append(os.Environ(), variable+"="+string(text))
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(stdout)
	p.lines.Buffer(nil, 1<<20)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// end waits for the process, which has said its last, and returns its exit code; -1 if a
// signal ended it.
func (p *process) end() int {
	p.cmd.Wait() //nolint:errcheck // the code is in its state
	p.stdin.Close()
	return p.cmd.ProcessState.ExitCode()
}

// runJob runs a process and kills it after so long, 0 for never. It returns what the
// process said, and whether it was killed.
func runJob(t *testing.T, j job, after time.Duration) (lines []string, killed bool) {
	t.Helper()
	p := startProcess(t, roleVariable, j)
	if after > 0 {
		defer time.AfterFunc(after, func() { p.cmd.Process.Kill() }).Stop() //nolint:errcheck // it may have ended
	}
	for p.lines.Scan() {
		lines = append(lines, p.lines.Text())
	}
	code := p.end()
	return lines, code != 0 && code != 1
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
				o.t.Fatalf("after %d kills the node did not arrive at block %s: %v",
					o.kills, o.c.final, lines[max(0, n-1):])
			}
			o.whole = min(o.whole, time.Since(begun))
			if after == 0 {
				o.checkHistory()
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

// checkHistory looks for every block of the chain in the history: the one that it is, and
// what an undisturbed node records of it.
func (o *ordeal) checkHistory() {
	o.t.Helper()
	if !o.j.History {
		return
	}
	want := o.c.histories(o.t)
	for _, name := range []string{"trace_history", "chain_state_history"} {
		got := historyOf(o.t, o.j.history().Dir, name)
		for num := got.first + 1; num < got.end; num++ {
			if g, w := got.entries[num], want[name].entries[num]; g != w {
				o.t.Fatalf("after %d kills: %s has block %d with %d bytes, an undisturbed node's %d",
					o.kills, name, num, len(g), len(w))
			}
		}
		if got.end != want[name].end || got.first > want[name].end-3 {
			o.t.Fatalf("after %d kills: %s has blocks %d to %d, an undisturbed node's %d to %d",
				o.kills, name, got.first, got.end, want[name].first, want[name].end)
		}
	}
	o.checkTraces()
}

// checkTraces looks for every block of the chain in the traces.
func (o *ordeal) checkTraces() {
	o.t.Helper()
	want := o.c.history["traces"]
	got := tracesOf(o.t, o.j.traces(), want.end)
	missing := 0
	for num := want.first; num < want.end; num++ {
		if got.entries[num] == "" && missing == int(num-want.first) {
			missing++ // before a snapshot
			continue
		}
		if g, w := got.entries[num], want.entries[num]; g != w {
			o.t.Fatalf("after %d kills: the traces of block %d are\n%s\nan undisturbed node's\n%s", o.kills, num, g, w)
		}
	}
	if uint32(missing)+3 > want.end-want.first {
		o.t.Fatalf("after %d kills: there are no traces", o.kills)
	}
}

// tracesOf reads the traces of blocks before end.
func tracesOf(t *testing.T, o slicefile.Options, end uint32) recording {
	t.Helper()
	l, err := slicefile.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := recording{first: 2, end: end, entries: map[uint32]string{}}
	for num := r.first; num < end; num++ {
		b, _, err := l.Read(num, nil)
		if errors.Is(err, slicefile.ErrNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		ids, err := l.IDs(num)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Transactions { // it depends on when a block was told
			b.Transactions[i].Place.Producer = nil
		}
		r.entries[num] = fmt.Sprintf("%x %v", b.Append(nil), ids)
	}
	return r
}

// recording is what a history log has: ids and payloads.
type recording struct {
	first, end uint32
	entries    map[uint32]string
}

func historyOf(t *testing.T, dir, name string) recording {
	t.Helper()
	l, err := shiplog.Open(shiplog.Options{Name: name, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := recording{entries: map[uint32]string{}}
	r.first, r.end = l.Range()
	for num := r.first; num < r.end; num++ {
		e, err := l.Read(num)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(e)
		if err = errors.Join(err, e.Close()); err != nil {
			t.Fatal(err)
		}
		r.entries[num] = e.ID.String() + string(b)
	}
	return r
}

// histories are those of a node that was never disturbed.
func (c *testChain) histories(t *testing.T) map[string]recording {
	t.Helper()
	c.recorded.Do(func() {
		dir := t.TempDir()
		blocks := filepath.Join(dir, "all")
		if err := writeBlocks(blocks, c.blocks); err != nil {
			t.Fatal(err)
		}
		j := job{Dir: dir, Genesis: string(c.genesis.AppendJSON(nil)), Blocks: blocks, Kind: engine.Page, History: true}
		runJob(t, j, 0)
		c.history = map[string]recording{}
		for _, name := range []string{"trace_history", "chain_state_history"} {
			c.history[name] = historyOf(t, j.history().Dir, name)
		}
		c.history["traces"] = tracesOf(t, j.traces(), c.history["trace_history"].end)
	})
	return c.history
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
			if *killsFlag == 0 && (i+k)%2 == 1 {
				continue
			}
			t.Run(e.name+"/"+kind.name, func(t *testing.T) {
				t.Parallel() // processes wait for the disk
				t.Logf("repeat with -node.seed=%d", *seedFlag)
				o := &ordeal{t: t, c: c, fresh: kind.j, log: kind.log,
					random: rand.New(rand.NewPCG(*seedFlag, uint64(10*i+k))), whole: 1200 * time.Millisecond}
				o.fresh.Kind, o.fresh.Mode = e.kind, e.mode
				o.fresh.ForceAll, o.fresh.NoBatch, o.fresh.History = (i/2+k)%2 == 0, (i+k)%3 == 0, (i/2+k)%2 == 1
				o.begin()
				o.survive(max(1, *killsFlag), kind.settle)
				t.Logf("kills=%d", o.kills)
			})
		}
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
