package difftest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/serial"
	"tarn/antelope/ship"
	"tarn/antelope/ship/shiplog"
	"tarn/antelope/snapshot"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/internal/freeport"
	"tarn/store/engine"
)

// chainOfABIs is a folder with the log of a chain of ours: in each block an ABI of so many random
// bytes is set, which both histories have.
func chainOfABIs(t *testing.T, blocks, size int) string {
	t.Helper()
	dir := t.TempDir()
	r := newReplaced(t, dir)
	rng := rand.NewChaCha8([32]byte{1})
	abi := make([]byte, size)
	for range blocks {
		if _, err := rng.Read(abi); err != nil {
			t.Fatal(err)
		}
		r.block(
			r.push(chaintest.Action(system, types.N("setabi"), system, serial.AppendBytes(system.Append(nil), abi))))
	}
	if err := r.log.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// form is a way to keep the files of a history: ours, below a folder, and nodeos' options.
type form struct {
	name   string
	ours   func(dir string) ship.Options
	theirs []string
}

func forms() []form {
	return []form{
		{"pruned", func(dir string) ship.Options { return ship.Options{Dir: dir, Retain: 1000} },
			[]string{"--state-history-log-retain-blocks", "1000"}},
		{"parted", func(dir string) ship.Options {
			return ship.Options{Dir: dir, Partition: &shiplog.Partition{
				Retained: filepath.Join(dir, "kept"), Archive: filepath.Join(dir, "old"), Stride: 30, MaxFiles: 2}}
		}, []string{"--state-history-stride", "30", "--max-retained-history-files", "2", "--state-history-retained-dir",
			"kept", "--state-history-archive-dir", "old"}},
	}
}

// Histories that are pruned, or spread over files of which the oldest are moved away, are written
// by each of the two and served by both: each frame is the same. With -history.all the chain is
// long enough for blocks to be pruned.
func TestEachServesThePrunedAndPartedHistoryOfTheOther(t *testing.T) {
	t.Parallel()
	p := peer(t)
	count, size := 100, 200
	if *historyAll > 0 {
		count, size = 1500, 6500 // more than 1000 blocks, and 8 MiB in each log
	}
	from := chainOfABIs(t, count, size)
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			work := t.TempDir()
			if err := replayFolder(from, work); err != nil {
				t.Fatal(err)
			}
			plugin := append([]string{"--plugin", "eosio::state_history_plugin",
				"--trace-history", "--chain-state-history"}, f.theirs...)
			ports, err := freeport.Addresses(2)
			if err != nil {
				t.Fatal(err)
			}
			out, err := os.Create(filepath.Join(work, "replay.out"))
			if err != nil {
				t.Fatal(err)
			}
			args := append(replayArguments(work, ports[0]), "--replay-blockchain", "--state-history-endpoint", ports[1])
			err = errors.Join(p.tellStart(t.Context(), out, filepath.Join(work, "replay.log"),
				append(args, plugin...)...), out.Close())
			if err != nil {
				t.Fatal(err)
			}
			theirs := func(dir string) [][]byte {
				n, err := p.Start(t.Context(), Config{Dir: work,
					Extra: append([]string{"--state-history-dir", dir, "--state-history-endpoint", ports[1],
						"--disable-replay-opts", "--read-only-threads", "0"}, plugin...)})
				if err != nil {
					t.Fatal(err)
				}
				list := frames(t, ports[1])
				if err := n.Stop(); err != nil {
					t.Fatal(err)
				}
				return list
			}
			// Both read what is in the files, and nothing that the one who wrote them remembers.
			compare := func(what, dir string) {
				t.Helper()
				copied := t.TempDir()
				if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				sameFrames(t, what, frames(t, serveHistory(t, from, f.ours(copied), false).Addresses()[0].String()),
					theirs(dir))
			}
			ours := t.TempDir()
			if err := serveHistory(t, from, f.ours(ours), true).Close(); err != nil {
				t.Fatal(err)
			}
			compare("of what we wrote", ours)
			compare("of what nodeos wrote", filepath.Join(work, "state-history"))
		})
	}
}

func sameFrames(t *testing.T, what string, ours, theirs [][]byte) {
	t.Helper()
	if len(ours) != len(theirs) {
		t.Fatalf("%s: %d frames here, %d of nodeos", what, len(ours), len(theirs))
	}
	for i := range ours {
		if !bytes.Equal(ours[i], theirs[i]) {
			at := 0
			for at < min(len(ours[i]), len(theirs[i])) && ours[i][at] == theirs[i][at] {
				at++
			}
			part := func(b []byte) []byte { return b[max(0, at-20):min(len(b), at+100)] }
			t.Fatalf(
				"%s: frame %d of %d, whose status is %x, differs from byte %d on:\n%d bytes here, %x\n%d of nodeos, %x",
				what, i, len(ours), theirs[1], at, len(ours[i]), part(ours[i]), len(theirs[i]), part(theirs[i]))
		}
	}
	t.Logf("%s: %d frames; the status is %x", what, len(ours), ours[1])
}

// The whole state with which a history begins after a snapshot is nodeos' own, row by row.
func TestTheStateAfterASnapshotIsThatOfNodeos(t *testing.T) {
	t.Parallel()
	p := peer(t)
	for _, dir := range historyCases(t, p, "mix") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			work := t.TempDir()
			path := filepath.Join(work, SnapshotFile)
			snapshotOfCase(t, dir, path)
			want := stateAtNodeos(t, p, path, work)
			got := stateAfter(t, path)
			if !bytes.Equal(got, want) {
				t.Errorf("they differ:\n%s", differingRows(want, got))
			}
			t.Logf("%d bytes", len(want))
		})
	}
}

// snapshotOfCase replays a case and writes a snapshot of its end.
func snapshotOfCase(t *testing.T, dir, path string) {
	t.Helper()
	c := newChain(t, deepMindEngine())
	err := blocks(dir, c.Genesis, replaying(t.Context(), c))
	if err = errors.Join(err, writeSnapshot(c, path)); err != nil {
		t.Fatal(err)
	}
}

// newChain is a chain without blocks, on an engine.
func newChain(t *testing.T, e engine.Options) *chain.Chain {
	t.Helper()
	st, err := engine.Open(t.TempDir(), e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	c, err := chain.Open(st, chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// stateAtNodeos is what nodeos records when it starts from a snapshot.
func stateAtNodeos(t *testing.T, p *Peer, path, work string) []byte {
	t.Helper()
	ports, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	n, err := p.Start(t.Context(),
		Config{Dir: work, Extra: []string{"--snapshot", path, "--plugin", "eosio::state_history_plugin",
			"--state-history-endpoint", ports[0], "--chain-state-history", "--disable-replay-opts",
			"--read-only-threads", "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	return onlyEntry(t, filepath.Join(work, "state-history"))
}

// stateAfter is what we record when we start from a snapshot.
func stateAfter(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := snapshot.FromFile(f)
	if err != nil {
		t.Fatal(err)
	}
	dir, c := t.TempDir(), newChain(t, deepMindEngine())
	if err := c.Load(func(s *state.State) (consensus.Head, error) { return snapshot.Load(r, s, nil) }); err != nil {
		t.Fatal(err)
	}
	h, err := ship.Open(ship.Options{Dir: dir, State: true})
	if err != nil {
		t.Fatal(err)
	}
	c.Subscribe(h.Hooks(caseSource{c, nil}))
	if err := errors.Join(c.Resume(t.Context(), nil, nil), h.Close()); err != nil {
		t.Fatal(err)
	}
	return onlyEntry(t, dir)
}

// onlyEntry is the one block that a history has.
func onlyEntry(t *testing.T, dir string) []byte {
	t.Helper()
	list, err := historyLog(filepath.Join(dir, "chain_state_history.log"))
	if err != nil || len(list) != 1 {
		t.Fatalf("%d blocks: %v", len(list), err)
	}
	for _, b := range list {
		return b
	}
	return nil
}
