package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tarn/antelope/blocklog"
	"tarn/antelope/difftest"
	"tarn/antelope/tracelog/slicefile"
	"tarn/internal/freeport"
)

// shared is a data folder that a nodeos and this node use in turns, with both histories.
type shared struct {
	t    *testing.T
	peer *difftest.Peer
	http string
	conf string // the folder of config.ini
	dir  string // the data folder
}

// args are nodeos' arguments for a data folder with this configuration.
func (s *shared) args(dir string, more ...string) []string {
	return append([]string{"--config-dir", s.conf, "--data-dir", dir}, more...)
}

const sharedStride = 5 // blocks of a slice

func newShared(t *testing.T) *shared {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real nodeos")
	}
	peer, err := difftest.Find(t.Context())
	if err != nil {
		t.Skip(err)
	}
	base := t.TempDir()
	s := &shared{t: t, peer: peer, http: freeport.Address(t), dir: filepath.Join(base, "data")}
	ini := fmt.Sprintf(
		"plugin = eosio::chain_api_plugin\nplugin = eosio::producer_api_plugin\nhttp-server-address = "+
			"%s\np2p-listen-endpoint = %s\n"+
			"producer-name = eosio\nenable-stale-production = true\nmax-clients = 200\nhttp-validate-host = "+
			"false\neos-vm-oc-enable = none\n"+
			"resource-monitor-not-shutdown-on-threshold-exceeded = true\nread-only-threads = 0\n"+
			"plugin = eosio::state_history_plugin\ntrace-history = true\nchain-state-history = "+
			"true\nstate-history-endpoint = %s\n"+
			"plugin = eosio::trace_api_plugin\ntrace-no-abis = true\ntrace-slice-stride = %d\n",
		s.http, freeport.Address(t), freeport.Address(t), sharedStride)
	conf := filepath.Join(base, "config")
	if err := errors.Join(os.MkdirAll(conf, 0o755), os.WriteFile(filepath.Join(conf, "config.ini"), []byte(ini),
		0o644)); err != nil {
		t.Fatal(err)
	}
	s.conf = conf
	return s
}

// theirs runs nodeos until it says something. Before version 5 it is told to keep undo data
// for a history.
func (s *shared) theirs(until string, more ...string) {
	s.t.Helper()
	runUntil(s.t, s.peer.Command(s.t.Context(), s.args(s.dir, append(more, "--disable-replay-opts")...)...), until)
}

// ours runs this node until a block.
func (s *shared) ours(until uint32, more ...string) {
	s.t.Helper()
	var log buffer
	if err := run(s.t.Context(), s.args(s.dir, append(more, "--terminate-at-block", fmt.Sprint(until))...),
		streams{&log, &log}); err != nil {
		s.t.Fatal(err, log.String())
	}
}

// snapshot lets this node go on until it has written one, and returns it.
func (s *shared) snapshot() (path string) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), 3*time.Minute)
	defer stop()
	var log buffer
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, s.args(s.dir), streams{&log, &log}) }()
	log.await(s.t, "Produced block")
	c := difftest.NewClient(s.http)
	for _, err := c.Info(ctx); err != nil && ctx.Err() == nil; _, err = c.Info(ctx) {
		time.Sleep(100 * time.Millisecond) // the API may be there later than blocks
	}
	_, path, err := c.Snapshot(ctx)
	stop()
	if err := errors.Join(err, <-ended); err != nil {
		s.t.Fatal(err, log.String())
	}
	return path
}

// forget removes what nodeos starts without from a snapshot.
func (s *shared) forget() {
	s.t.Helper()
	if err := errors.Join(os.RemoveAll(filepath.Join(s.dir, "state")),
		os.RemoveAll(filepath.Join(s.dir, "blocks", blocklog.ReversibleDir))); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shared) last() uint32 { return lastLogged(s.t, filepath.Join(s.dir, "blocks")) }

// check compares both histories with what this node records of the same blocks when it is
// never disturbed. The first entry of the state is all of it.
func (s *shared) check() {
	s.t.Helper()
	last := s.last()
	alone := s.t.TempDir()
	copyLog(s.t, filepath.Join(s.dir, "blocks"), filepath.Join(alone, "blocks"))
	var log buffer
	if err := run(s.t.Context(), s.args(alone, "--terminate-at-block", fmt.Sprint(last)),
		streams{&log, &log}); err != nil {
		s.t.Fatal(err, log.String())
	}
	for _, name := range []string{"trace_history", "chain_state_history"} {
		got, want := historyOf(s.t, filepath.Join(s.dir, "state-history"), name), historyOf(s.t,
			filepath.Join(alone, "state-history"), name)
		if got.first > 2 || got.end <= last || want.end != last+1 {
			s.t.Errorf("%s has blocks %d to %d, and the block log ends with %d", name, got.first, got.end-1, last)
		}
		for num := uint32(2); num <= last; num++ {
			if g, w := got.entries[num], want.entries[num]; g != w && (num > want.first || name == "trace_history") {
				s.t.Errorf("%s has block %d as\n%x\nnot\n%x", name, num, g, w)
			}
		}
	}
	files := func(dir string) slicefile.Options {
		return slicefile.Options{Dir: filepath.Join(dir, "traces"), Stride: sharedStride}
	}
	got, want := tracesOf(s.t, files(s.dir), last+1), tracesOf(s.t, files(alone), last+1)
	for num := uint32(2); num <= last; num++ {
		if g, w := got.entries[num], want.entries[num]; g != w || g == "" {
			s.t.Errorf("the traces of block %d are\n%s\nnot\n%s", num, g, w)
		}
	}
}

// Histories go on through the turns of both programs without a gap.
func TestNodeosAndThisNodeTakeTurnsOnBothHistories(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.theirs(" #6 ")
	s.ours(14)
	s.check()
	for range 2 {
		path := s.snapshot()
		s.check()
		s.forget()
		s.theirs(fmt.Sprintf(" #%d ", s.last()+4), "--snapshot", path)
		s.check()
		s.ours(s.last() + 6)
		s.check()
	}
}
