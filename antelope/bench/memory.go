package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tarn/bench/watcher"
	"tarn/internal/figures"
)

// memorySection takes root, which the others do without.
const memorySection = "memory"

// Memory is what a node did in a container whose memory is a part of its state's size.
type Memory struct {
	State  string        // how the state was kept
	Bytes  int64         // of the snapshot
	Limit  int64         // of the container
	Load   time.Duration // from the start of the process until it answered
	Hash   time.Duration // reading all of the state
	Stop   time.Duration
	Second time.Duration // the next start
	Peak   int64         // of the process, page cache left out, in bytes
	End    string        // the node's last words, if it ended by itself
}

// stateKind is a way to keep a state, and whether a state that is larger than memory can be
// kept so.
type stateKind struct {
	name  string
	fits  bool
	extra []string
}

// states are the ways that are tried.
var states = []stateKind{
	{"mapped", true, []string{"--database-map-mode", "mapped"}},
	{"mapped_private", true, []string{"--database-map-mode", "mapped_private"}},
	{"heap", false, []string{"--database-map-mode", "heap"}},
	{"locked", false, []string{"--database-map-mode", "locked"}},
	{"leveldb", true, []string{"--state-engine", "leveldb"}},
	{"pebble", true, []string{"--state-engine", "pebble"}},
	{"badger", true, []string{"--state-engine", "badger"}},
}

func (b *bench) memoryLimit() (*Section, error) {
	path, err := b.filled(b.config.SnapshotBytes)
	if err != nil {
		return nil, err
	}
	defer os.Remove(path)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	s := &Section{}
	for _, st := range states {
		if len(b.config.States) > 0 && !slices.Contains(b.config.States, st.name) {
			continue
		}
		m := Memory{State: st.name, Bytes: info.Size(), Limit: max(info.Size()/5*2, leastLimit)}
		if err := b.memoryOnce(&m, path, st.extra); err != nil {
			return nil, fmt.Errorf("%s: %w", st.name, err)
		}
		if small := m.Bytes < 2*m.Limit; !small && (m.End == "") != st.fits {
			return nil, fmt.Errorf("%s: with %d MB of memory for a snapshot of %d MB: ended %q", st.name, m.Limit>>20, m.Bytes>>20, m.End)
		}
		s.Memories = append(s.Memories, m)
	}
	s.memoryTable()
	return s, nil
}

// leastLimit is what a node needs whatever its state is.
const leastLimit = 384 << 20

// memoryOnce loads a snapshot in a container, reads the whole state, works, stops and
// starts again.
func (b *bench) memoryOnce(m *Memory, snapshot string, extra []string) (err error) {
	group, err := watcher.NewGroup(m.Limit)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, group.Close()) }()
	dir := b.folder("node")
	defer os.RemoveAll(dir)
	p := plan{subject: tarn, dir: dir, snapshot: snapshot, produce: true, group: group, extra: extra}
	b.logf("memory: %s, %d MB", m.State, m.Limit>>20)
	n, err := b.starts(p)
	if err != nil {
		text, _ := os.ReadFile(filepath.Join(dir, "nodeos.log"))
		if m.End = lastError(string(text)); m.End == "" {
			return err // killed, or it does not end
		}
		return nil
	}
	defer func() { n.Kill() }()
	m.Load = n.took
	begin := time.Now()
	if _, _, err := n.IntegrityHash(b.ctx); err != nil {
		return err
	}
	m.Hash = time.Since(begin)
	if err := b.steady(n, b.config.Reads, b.config.SlowRate); err != nil {
		return err
	}
	if m.Peak, err = n.peak(); err != nil {
		return err
	}
	begin = time.Now()
	if err := n.Stop(); err != nil {
		return err
	}
	m.Stop = time.Since(begin)
	p.snapshot = ""
	if n, err = b.starts(p); err != nil {
		return err
	}
	m.Second = n.took
	return n.Stop()
}

// lastError is the last line of a log that is an error, "" if there is none.
func lastError(log string) (last string) {
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, "error") {
			last = strings.TrimSpace(line)
		}
	}
	return last
}

func (s *Section) memoryTable() {
	t := figures.Table{Title: "A state larger than memory", How: "Loading is from the start of the process until `get_info` is answered. Then all of the state is read once " +
		"for the integrity hash, transfers come, and the node is stopped and started again. All in a control group whose memory includes the page cache.",
		Head: []string{"state", "snapshot MB", "memory MB", "load s", "load MB/s", "hash s", "stop s", "next start s", "largest MB"}}
	for _, m := range s.Memories {
		if m.End != "" {
			t.Add(m.State, figures.Megabytes(m.Bytes), figures.Megabytes(m.Limit), "refused", "", "", "", "", "")
			continue
		}
		t.Add(m.State, figures.Megabytes(m.Bytes), figures.Megabytes(m.Limit), figures.Significant(m.Load.Seconds()),
			figures.Significant(float64(m.Bytes)/1e6/m.Load.Seconds()), figures.Significant(m.Hash.Seconds()), figures.Significant(m.Stop.Seconds()),
			figures.Significant(m.Second.Seconds()), figures.Megabytes(m.Peak))
	}
	s.Tables = append(s.Tables, t)
}
