package node

import (
	"math/rand/v2"
	"path/filepath"
	"strings"

	"tarn/antelope/types"
	"tarn/store/engine"
)

// keeping is how a life keeps histories: from one of its starts on, but for runs in which
// the operator forgets them.
type keeping struct {
	from   int
	forgot bool // the traces may miss blocks
}

func (k *keeping) choose(r *rand.Rand, start int) bool {
	return start >= k.from && r.IntN(6) > 0
}

// tell notes what a run leaves out.
func (k *keeping) tell(j *job) {
	if !j.History || j.Snapshot != "" {
		k.forgot = true
	}
}

// mendHistory closes a gap of the state history in one of the ways that the message names.
func (l *lives) mendHistory(j *job) string {
	if l.whole && !j.Replay && l.random.IntN(2) == 0 {
		j.Replay, j.Snapshot = true, ""
		return "the chain is replayed for its history"
	}
	j.DeleteHistory = true
	return "the history is given up"
}

// checkHistories demands that the state history has every block from its first to the
// head, and the traces every block that was applied with them: each is the block of the
// chain, with what an undisturbed node records of it.
func (l *lives) checkHistories() {
	l.t.Helper()
	j := job{Dir: l.dir}
	end := l.headNum() + 1
	want := l.runUndisturbed()
	for _, name := range []string{"trace_history", "chain_state_history"} {
		got := historyOf(l.t, j.history().Dir, name)
		if got.end != end || got.first >= end {
			l.fail("%s has blocks %d to %d, and the head is %d", name, got.first, got.end-1, end-1)
		}
		for num := got.first + 1; num < got.end; num++ { // the first may be the whole state
			l.compareEntry(name, num, got.entries[num], want[name])
		}
	}
	got := tracesOf(l.t, j.traces(), end)
	begun := false
	for num := uint32(2); num < end; num++ {
		if got.entries[num] != "" {
			begun = true
			l.compareEntry("traces", num, got.entries[num], want["traces"])
		} else if begun && !l.keeps.forgot {
			l.fail("there are no traces of block %d", num)
		}
	}
	if !begun {
		l.fail("there are no traces")
	}
}

// compareEntry compares with what an undisturbed node has, if it has the block.
func (l *lives) compareEntry(name string, num uint32, got string, want recording) {
	l.t.Helper()
	w := want.entries[num]
	if w == "" && l.own != nil && num > want.first { // not in the log: its last block, or one that was let go
		return
	}
	if num > want.first && got != w {
		l.fail("%s has block %d with %d bytes, an undisturbed node's %d", name, num, len(got), len(w))
	}
}

// headNum is the number of the head at the end.
func (l *lives) headNum() uint32 {
	if l.own != nil {
		return l.own.maker.Chain.Head().BlockNum
	}
	return types.BlockNum(l.c.final)
}

// runUndisturbed is what a node records that nothing disturbs. One that produces has a chain
// of its own: its log is replayed, as far as it has all blocks.
func (l *lives) runUndisturbed() map[string]recording {
	l.t.Helper()
	if l.own == nil {
		return l.c.histories(l.t)
	}
	out := map[string]recording{}
	if !l.whole {
		return out
	}
	dir := l.t.TempDir()
	copyLog(l.t, filepath.Join(l.dir, "blocks"), filepath.Join(dir, "blocks"))
	j := job{Dir: dir, Kind: engine.Page, History: true}
	lines, _ := runJob(l.t, j, 0)
	if n := len(lines); n == 0 || !strings.HasPrefix(lines[n-1], "done ") {
		l.fail("a replay of the log fails: %v", lines)
	}
	for _, name := range []string{"trace_history", "chain_state_history"} {
		out[name] = historyOf(l.t, j.history().Dir, name)
	}
	out["traces"] = tracesOf(l.t, j.traces(), out["trace_history"].end)
	return out
}
