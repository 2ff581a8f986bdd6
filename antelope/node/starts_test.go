package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tarn/antelope/blocklog"
	"tarn/antelope/types"
	"tarn/internal/loopdisk"
	"tarn/store/engine"
)

// lives is a data folder through starts whose options change, and what ends each run.
type lives struct {
	t      *testing.T
	c      *testChain
	own    *ownChain      // what the node makes by itself; nil for one that follows c
	disk   *loopdisk.Disk // nil where none can be made: then the power stays on, and there is room
	dir    string
	kind   engine.Kind
	blocks string // file of c's blocks
	random *rand.Rand
	last   int  // index of the head that a start must reach, in c or own
	whole  bool // the log has all blocks from the first: the state may be deleted
	counts map[string]int
	keeps  *keeping
	story  []string // of each run, for who reads a failure
}

// ending is how a run ends if it does not by itself.
type ending struct {
	heads int           // after so many reported heads
	delay time.Duration // and so much time
	cut   bool          // the power, and not only the process
}

func TestEveryStartIsAtTheRightHeadOrNamesARemedyThatWorks(t *testing.T) {
	c := theChain(t)
	blocks := filepath.Join(t.TempDir(), "all")
	if err := writeBlocks(blocks, c.blocks); err != nil {
		t.Fatal(err)
	}
	missing := loopdisk.Missing()
	if missing != "" {
		t.Logf("without power cuts and full disks: %s", missing)
	}
	for i, kind := range engine.Kinds() {
		for k, name := range []string{"follows", "produces"} {
			t.Run(fmt.Sprintf("%s/%s", kind, name), func(t *testing.T) {
				t.Parallel() // processes wait for their disks
				t.Logf("repeat with -node.seed=%d -node.starts=%d", *seedFlag, *startsFlag)
				l := &lives{t: t, c: c, kind: kind, blocks: blocks, counts: map[string]int{},
					random: rand.New(rand.NewPCG(*seedFlag, uint64(100+2*i+k)))}
				if k == 1 {
					l.own = newOwnChain(t)
				}
				base := t.TempDir()
				if missing == "" {
					l.makeDisk(base)
					defer l.disk.Close() //nolint:errcheck // its files are deleted
					base = l.disk.Dir
				}
				l.dir = filepath.Join(base, "node")
				l.run()
				t.Log(l.counts)
			})
		}
	}
}

func (l *lives) makeDisk(base string) {
	l.t.Helper()
	err := loopdisk.Apart()
	if err == nil {
		l.disk, err = loopdisk.New(base, 512<<20)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// run goes through the starts, and at last to the head.
func (l *lives) run() {
	l.keeps = &keeping{from: l.random.IntN(*startsFlag + 1)}
	l.begin()
	for i := range *startsFlag {
		j := l.choose()
		j.History = l.keeps.choose(l.random, i)
		l.prepare(&j)
		e := &ending{heads: l.random.IntN(60), cut: l.disk != nil && l.random.IntN(2) == 0}
		if e.heads < 20 {
			e.heads, e.delay = 0, time.Duration(l.random.Int64N(int64(300*time.Millisecond)))
		}
		if l.random.IntN(4) == 0 {
			e = nil
		}
		if l.disk != nil && l.random.IntN(3) == 0 {
			l.fill(l.random.Int64N(6 << 20))
		}
		l.live(j, e)
	}
	j := job{Kind: l.kind, Most: 0, History: true}
	if l.own != nil {
		j.Make = 3
	}
	l.live(j, nil)
	if l.own == nil && l.last != len(l.c.heads)-1 {
		l.fail("the node ends at head %d of %d", l.last, len(l.c.heads)-1)
	}
	l.checkHistories()
}

func (l *lives) begin() {
	l.last, l.whole = 0, true
	l.note("an empty folder")
	if err := os.RemoveAll(l.dir); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lives) note(format string, args ...any) {
	l.story = append(l.story, fmt.Sprintf(format, args...))
}

func (l *lives) fail(format string, args ...any) {
	l.t.Helper()
	l.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(l.story, "\n"))
}

func (l *lives) fill(left int64) {
	l.note("%d bytes of room are left", left)
	if err := l.disk.Fill(left); err != nil {
		l.t.Fatal(err)
	}
}

// choose draws the options of a start.
func (l *lives) choose() job {
	r := l.random
	j := job{Kind: l.kind, ForceAll: r.IntN(2) == 0, NoBatch: r.IntN(2) == 0, Rare: r.IntN(3) > 0,
		Most: max(1, l.last+r.IntN(1+len(l.c.blocks)/4))}
	switch r.IntN(3) {
	case 0:
		changePruning(r, &j)
	case 1:
		changePartitions(r, &j)
	}
	if j.Retain != nil || j.Files != nil {
		l.whole = false
	}
	if l.kind == engine.Page {
		modes := engine.Modes()
		j.Mode = modes[r.IntN(len(modes))]
		if r.IntN(6) == 0 {
			j.Limit = 1 << 20
		}
	}
	if r.IntN(8) == 0 {
		kinds := engine.Kinds()
		j.Kind = kinds[r.IntN(len(kinds))]
	}
	if l.own != nil {
		j.Make = 1 + r.IntN(30)
	}
	return j
}

// prepare does what an operator does between two runs, which may ask for what the folder
// cannot give.
func (l *lives) prepare(j *job) {
	switch r := l.random; {
	case l.own != nil:
		if l.whole && r.IntN(5) == 0 {
			j.Replay = true
		}
	case r.IntN(5) == 0:
		j.Snapshot = l.c.mid // over a state, or into an empty folder
	case r.IntN(5) == 0:
		j.Replay, j.HardReplay = true, r.IntN(2) == 0
		if l.forget(); j.HardReplay {
			l.last = 0 // reversible blocks are in the backup
		}
	case r.IntN(6) == 0:
		l.remove("state")
		j.Snapshot = l.c.mid
	case r.IntN(8) == 0:
		l.begin()
	}
}

// forget is for what loses blocks that the log does not have.
func (l *lives) forget() {
	if !l.whole {
		l.last = 0
	}
}

func (l *lives) remove(name string) {
	l.note("%s is removed", name)
	l.forget()
	if err := os.RemoveAll(filepath.Join(l.dir, name)); err != nil {
		l.t.Fatal(err)
	}
}

// removeLog leaves of the blocks those that may be reversible.
func (l *lives) removeLog() {
	if l.own == nil {
		l.last = 0
	}
	names, _ := filepath.Glob(filepath.Join(l.dir, "blocks", "blocks*")) //nolint:errcheck // a good pattern
	for _, name := range append(names, filepath.Join(l.dir, "blocks", blocklog.TailName)) {
		if err := os.RemoveAll(name); err != nil {
			l.t.Fatal(err)
		}
	}
}

// live starts a node and ends it as e says, or lets it come to its end. Where it refuses
// to start, or ends, with a remedy, that is tried; it has to help.
func (l *lives) live(j job, e *ending) {
	j.Dir, j.Genesis, j.Blocks = l.dir, string(l.c.genesis.AppendJSON(nil)), l.blocks
	if l.own != nil {
		j.Genesis, j.Blocks = string(l.own.maker.Genesis.AppendJSON(nil)), ""
	}
	for tried := ""; ; {
		if j.Snapshot != "" {
			j.Genesis = ""
		}
		text, _ := json.Marshal(j) //nolint:errcheck // of plain values
		l.note("%s, ends %+v", text, e)
		l.keeps.tell(&j)
		reason := l.process(j, e)
		if reason == "" {
			break
		}
		l.counts["refused"]++
		l.note("it says: %s", reason)
		r := l.remedy(reason, &j)
		if r == "" {
			l.fail("a node names no remedy: %s", reason)
		}
		if r == tried {
			l.fail("the remedy does not help: %s", reason)
		}
		l.note("so %s", r)
		l.counts[r]++
		tried, e = r, nil
	}
	if kind, err := engine.Detect(filepath.Join(l.dir, "state")); err == nil {
		l.kind = kind
	}
	if l.disk != nil {
		if err := l.disk.Empty(); err != nil {
			l.t.Fatal(err)
		}
	}
}

// remedy does what a message says, and tells what that was; "" if it says nothing.
func (l *lives) remedy(reason string, j *job) string {
	says := func(text string) bool { return strings.Contains(reason, text) }
	switch {
	case says("free space on the disk of ") && l.disk != nil:
		if err := l.disk.Empty(); err != nil {
			l.t.Fatal(err)
		}
		return "room is made"
	case says("--delete-state-history"):
		return l.mendHistory(j)
	case says(`increase the value set for "chain-state-db-size-mb"`) && j.Limit > 0:
		j.Limit = 0
		return "the limit is raised"
	case says("start without --snapshot"):
		j.Snapshot = ""
		return "the snapshot is left out"
	case says("convert it first"):
		kind, err := engine.Detect(filepath.Join(l.dir, "state"))
		if err != nil {
			return ""
		}
		j.Kind = kind
		return "the engine is the folder's"
	case says("start without --hard-replay-blockchain"):
		j.HardReplay, j.Replay = false, false
		return "the hard replay is left out"
	case says("or start without --replay-blockchain") && l.random.IntN(2) == 0:
		j.Replay = false
		return "the replay is left out"
	case says("or move the log's files away from blocks-dir") && (l.own != nil || l.random.IntN(2) == 0):
		l.whole = false
		l.removeLog()
		return "the log's files are away"
	case l.own != nil:
		return ""
	case says("or move the log away"):
		l.whole = false
		l.remove("blocks")
		return "the log is away"
	case says("start from a snapshot"), says("load from snapshot"):
		l.whole = false
		l.remove("state")
		j.Snapshot, j.Replay, j.HardReplay = l.c.mid, false, false
		return "a snapshot is the start"
	}
	return ""
}

// process runs a node and ends it; it returns why the node ended with an error.
func (l *lives) process(j job, e *ending) (reason string) {
	l.t.Helper()
	p := startProcess(l.t, roleVariable, j)
	heads, struck := 0, false
	if e != nil && e.heads == 0 {
		time.Sleep(e.delay)
		struck = l.strike(p, e)
	}
	for p.lines.Scan() {
		line := p.lines.Text()
		if struck && e.cut {
			l.doubt(line)
			continue
		}
		if text, failed := strings.CutPrefix(line, "failed "); failed {
			reason = text
			continue
		}
		l.judge(line)
		if heads++; e != nil && !struck && heads == e.heads {
			struck = l.strike(p, e)
		}
	}
	code := p.end()
	switch {
	case struck && e.cut:
		if err := errors.Join(l.disk.Unmount(), l.disk.Mount()); err != nil {
			l.t.Fatal(err)
		}
		if l.own == nil {
			l.last = 0 // any earlier head may be what is left
		}
		return ""
	case struck:
		return ""
	case code != 0 && reason == "":
		l.fail("the process ends with code %d", code)
	}
	return reason
}

// doubt takes what was said after the power went: it promises nothing.
func (l *lives) doubt(line string) {
	words := strings.Fields(line)
	if l.own == nil || len(words) < 3 || words[0] == "failed" || words[len(words)-1] == "unknown" {
		return
	}
	if err := l.own.suspect(words[len(words)-1]); err != nil {
		l.fail("%s: %v", words[0], err)
	}
}

// strike ends the process, or the power.
func (l *lives) strike(p *process, e *ending) bool {
	if e.cut {
		l.counts["cuts"]++
		if err := l.disk.Cut(); err != nil {
			l.t.Fatal(err)
		}
	} else {
		l.counts["kills"]++
	}
	p.cmd.Process.Kill() //nolint:errcheck // it may have ended
	return true
}

// judge compares what a process reported.
func (l *lives) judge(line string) {
	l.t.Helper()
	words := strings.Fields(line)
	if len(words) < 2 {
		return
	}
	id, err := types.ParseChecksum256(words[1])
	if err != nil {
		l.t.Fatal(err)
	}
	index, hash := 0, ""
	if l.own != nil {
		if index, err = l.own.learn(l.t, id, words[len(words)-1]); err != nil {
			l.fail("%s: %v", words[0], err)
		}
	} else {
		index = l.c.index(id)
	}
	if words[0] == "started" || words[0] == "done" {
		if hash = l.hashAt(id); words[2] != hash {
			l.fail("%s: the hash is %s at block %s, want %s", words[0], words[2], words[1], hash)
		}
	}
	if words[0] == "started" {
		l.counts["starts"]++
		l.note("starts with head %d", index)
		if index < l.last && index >= 0 {
			l.fail("the node starts with head %d, and had been at %d", index, l.last)
		}
	}
	if index >= 0 {
		l.last = max(l.last, index)
	}
}

func (l *lives) hashAt(id types.Checksum256) string {
	if l.own != nil {
		return l.own.hashAt(l.t, id).String()
	}
	return l.c.hashAt(l.t, id).String()
}

// changePruning chooses among a whole log, pruned ones, and none.
func changePruning(r *rand.Rand, j *job) {
	keeps := []uint32{0, 1, 3, 24}
	j.Retain = &keeps[r.IntN(len(keeps))]
}

// changePartitions chooses how long parts are, how many stay, and where the others go.
func changePartitions(r *rand.Rand, j *job) {
	stride, files := 3+r.Uint32N(9), r.Uint32N(4)
	j.Stride, j.Files, j.Archive = &stride, &files, nil
	if r.IntN(2) == 0 {
		j.Archive = new(string)
	}
}
