package node

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// flipByte changes a byte of a file.
func flipByte(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	_, err = f.ReadAt(b[:], at)
	b[0] ^= 0x10
	if err == nil {
		_, err = f.WriteAt(b[:], at)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// A nodeos opens histories that `tarn history repair` has mended, and goes on with them.
func TestNodeosGoesOnWithHistoriesThatWereRepaired(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.ours(14)
	snapshot := s.snapshot()
	ship, traces := filepath.Join(s.dir, "state-history"), filepath.Join(s.dir, "traces")
	index, err := os.ReadFile(filepath.Join(ship, "chain_state_history.index"))
	if err != nil {
		t.Fatal(err)
	}
	slices, err := filepath.Glob(filepath.Join(traces, "trace_index_*.log"))
	if err != nil || len(slices) < 2 {
		t.Fatal(slices, err)
	}
	// a magic number
	flipByte(t, filepath.Join(ship, "chain_state_history.log"), int64(binary.LittleEndian.Uint64(index[5*8:])))
	flipByte(t, filepath.Join(ship, "trace_history.index"), 20)
	flipByte(t, slices[1], 10)
	for _, want := range []string{"done: write the header", "0 repairs done"} {
		var out bytes.Buffer
		c := HistoryTools()
		c.SetArgs([]string{"repair", s.dir})
		c.SetOut(&out)
		c.SetErr(&out)
		if err := c.ExecuteContext(t.Context()); err != nil || !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Fatalf("%v, want %q:\n%s", err, want, out.String())
		}
	}
	s.check()
	s.forget()
	s.theirs(fmt.Sprintf(" #%d ", s.last()+4), "--snapshot", snapshot)
	s.check()
	s.ours(s.last() + 6)
	s.check()
}
