package tracelog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/tracelog"
	"tarn/antelope/tracelog/slicefile"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

// replay lets a history record every block of the sample's block log.
func replay(t testing.TB, dir string, h *tracelog.History) {
	t.Helper()
	if err := errors.Join(chaintest.Replay(t.Context(), dir, t.TempDir(), h.Hooks(), nil), h.Sync()); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, o tracelog.Options) *tracelog.History {
	t.Helper()
	if o.Files.Stride == 0 {
		o.Files.Stride = 20
	}
	h, err := tracelog.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// eventually waits for what happens beside the chain.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for begun := time.Now(); !so(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("%s does not happen", what)
		}
	}
}

// answers are what a history says of all blocks and transactions up to a block: what this
// node's own blocks lack is left out.
func answers(t *testing.T, h *tracelog.History, last uint32) (list []string) {
	t.Helper()
	for num := uint32(1); num <= last; num++ {
		b, irreversible, err := h.Block(num, nil)
		if errors.Is(err, tracelog.ErrNotFound) {
			list = append(list, fmt.Sprint(num, " missing"))
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Transactions {
			b.Transactions[i].Place.Producer = nil
			at, ok, err := h.Find(t.Context(), b.Transactions[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprint(b.Transactions[i].ID, " ", at, ok))
		}
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(irreversible, string(text)))
	}
	return list
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d answers, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("answer %d:\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}

// copyTraces copies nodeos' files into a folder.
func copyTraces(t *testing.T, dir string) string {
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(filepath.Join(dir, "traces"))); err != nil {
		t.Fatal(err)
	}
	return to
}

// A replay records what nodeos recorded when it made the chain, and nodeos' own files
// answer as ours do; a chain that is told again over them leaves them as they are.
func TestOursAndNodeosFilesAnswerTheSame(t *testing.T) {
	dir := refdata.Path(t, "history-sample")
	ours := open(t, tracelog.Options{Files: slicefile.Options{Dir: t.TempDir()}})
	replay(t, dir, ours)
	last := ours.Stats().Head
	eventually(t, "the index", func() bool { return ours.Stats().Indexed == last })
	copied := copyTraces(t, dir)
	before := contents(t, copied)
	theirs := open(t, tracelog.Options{Files: slicefile.Options{Dir: copied}})
	replay(t, dir, theirs)
	eventually(t, "the index", func() bool { return theirs.Stats().Indexed >= last })
	want := answers(t, theirs, last)
	same(t, answers(t, ours, last), want)
	if err := errors.Join(ours.Close(), theirs.Close()); err != nil {
		t.Fatal(err)
	}
	after := contents(t, copied)
	for name, b := range before {
		if !bytes.Equal(after[name], b) {
			t.Errorf("%s was changed: %d bytes, and %d before", name, len(after[name]), len(b))
		}
	}
}

// Where there can be no index, files are looked through, as long as somebody waits for it.
func TestWithoutAnIndexTransactionsAreFoundInTheFiles(t *testing.T) {
	dir, folder := refdata.Path(t, "history-sample"), t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "trace_find_0000000020"), []byte("in the way"), 0o644); err != nil {
		t.Fatal(err)
	}
	h := open(t, tracelog.Options{Files: slicefile.Options{Dir: folder}})
	defer h.Close()
	replay(t, dir, h)
	last := h.Stats().Head
	indexed := open(t, tracelog.Options{Files: slicefile.Options{Dir: t.TempDir()}})
	defer indexed.Close()
	replay(t, dir, indexed)
	same(t, answers(t, h, last), answers(t, indexed, last))
	eventually(t, "blocks leave memory", func() bool {
		_, _, err := h.Find(ended(t), types.Checksum256{})
		return errors.Is(err, context.Canceled)
	})
	if num, ok, err := h.Find(t.Context(), types.Checksum256{}); ok || err != nil {
		t.Errorf("a transaction that is none is in block %d, %v", num, err)
	}
}

// ended is a context that has ended.
func ended(t *testing.T) context.Context {
	ctx, end := context.WithCancel(t.Context())
	end()
	return ctx
}

func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	names, err := filepath.Glob(filepath.Join(dir, "trace_*log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // compressed or removed meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = b
	}
	return out
}

// Slices are compressed and removed when nodeos would, and answers stay the same.
func TestSlicesAreCompressedAndRemovedWhenNodeosDoes(t *testing.T) {
	dir := refdata.Path(t, "history-sample")
	plain := open(t, tracelog.Options{Files: slicefile.Options{Dir: t.TempDir()}})
	replay(t, dir, plain)
	defer plain.Close()
	last := plain.Stats().Head
	want := answers(t, plain, last)
	for _, c := range []struct{ keep, packed *uint32 }{
		{nil, new(uint32(0))}, {nil, new(uint32(100))}, {new(uint32(100)), nil}, {new(uint32(100)), new(uint32(50))},
		{new(uint32(50)), new(uint32(50))}, {new(uint32(1000)), new(uint32(1000))},
	} {
		folder := t.TempDir()
		h := open(t, tracelog.Options{Files: slicefile.Options{Dir: folder}, Keep: c.keep, Plain: c.packed})
		replay(t, dir, h)
		due := func(n *uint32) int64 { // slices before it
			if at := int64(last) - int64(*n) - 20; at >= 0 {
				return at/20 + 1
			}
			return 0
		}
		removed, packed := int64(0), int64(0)
		if c.keep != nil {
			removed = due(c.keep)
		}
		if c.packed != nil && (c.keep == nil || *c.packed < *c.keep) {
			packed = due(c.packed)
		}
		eventually(t, fmt.Sprintf("removing %d, compressing %d slices", removed, packed), func() bool {
			logs, clogs, index := 0, 0, 0
			for name := range contents(t, folder) {
				switch {
				case filepath.Ext(name) == ".clog":
					clogs++
				case len(name) == len("trace_0000000000-0000000020.log"):
					logs++
				case len(name) == len("trace_index_0000000000-0000000020.log"):
					index++
				}
			}
			all := int64(last/20 + 1)
			return int64(clogs) == max(0, packed-removed) && int64(logs) == all-max(packed, removed) &&
				int64(index) == all-removed
		})
		if removed == 0 {
			same(t, answers(t, h, last), want)
		} else {
			for num := uint32(removed) * 20; num <= last; num++ {
				if _, _, err := h.Block(num, nil); err != nil {
					t.Errorf("block %d: %v", num, err)
				}
			}
			if _, _, err := h.Block(uint32(removed)*20-1, nil); !errors.Is(err, tracelog.ErrNotFound) {
				t.Errorf("a removed block: %v", err)
			}
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		// A replay over what is left brings nothing back, and goes on.
		h = open(t, tracelog.Options{Files: slicefile.Options{Dir: folder}, Keep: c.keep, Plain: c.packed})
		replay(t, dir, h)
		if removed == 0 {
			same(t, answers(t, h, last), want)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Blocks that were not recorded, because the plugin was off, are recorded in a replay, and
// their transactions are found.
func TestAReplayFillsWhatIsMissing(t *testing.T) {
	dir := refdata.Path(t, "history-sample")
	folder := copyTraces(t, dir)
	for _, kind := range []string{"", "index_", "trx_id_"} {
		if err := os.RemoveAll(filepath.Join(folder, "trace_"+kind+"0000000060-0000000080.log")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(folder, "trace_0000000060-0000000080.clog")); err != nil {
		t.Fatal(err)
	}
	h := open(t, tracelog.Options{Files: slicefile.Options{Dir: folder}})
	replay(t, dir, h)
	b, _, err := h.Block(70, nil)
	if err != nil || b.Number != 70 {
		t.Fatalf("block 70: %v, %v", b, err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}

// Whoever cannot take the memory gets his error, and nothing is read.
func TestMemoryIsAskedForFirst(t *testing.T) {
	dir := refdata.Path(t, "history-sample")
	h := open(t, tracelog.Options{Files: slicefile.Options{Dir: copyTraces(t, dir)}})
	defer h.Close()
	full := errors.New("full")
	for _, num := range []uint32{30, 521} { // compressed, and not
		var asked int64
		if _, _, err := h.Block(num, func(n int64) error { asked += n; return nil }); err != nil || asked == 0 {
			t.Errorf("block %d: %d bytes asked for, %v", num, asked, err)
		}
		if _, _, err := h.Block(num, func(int64) error { return full }); !errors.Is(err, full) {
			t.Errorf("block %d: %v", num, err)
		}
	}
}
