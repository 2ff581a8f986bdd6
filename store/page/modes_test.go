package page_test

import (
	"path/filepath"
	"testing"

	"tarn/store/page"
	"tarn/store/vfs"
	"tarn/store/vfs/recordfs"
)

// TestCrashStatesOpenInEveryMode puts crash states on a real disk and opens them
// in the modes that map the file.
func TestCrashStatesOpenInEveryMode(t *testing.T) {
	first := seed(t)
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			h := w.record(t, first)
			dir := t.TempDir()
			i, n := 0, 0
			for s := range h.record.Recording().States(recordfs.Options{Seed: first, Count: budget(*crashes) / 100}) {
				if i++; i%5 > 0 {
					continue
				}
				o := page.Options{
					Mode: page.Mapped + page.Mode(n%2), LimitBytes: w.LimitBytes, GrowBytes: 2 << 20,
					PrivateBytes: 1 << 20, FS: vfs.OS, Dir: filepath.Join(dir, h.options.Dir),
				}
				if err := h.onDisk(s, dir, o); err != nil {
					t.Fatalf("mode %v: %v\n%v", o.Mode, err, s)
				}
				n++
			}
			t.Logf("%d states", n)
		})
	}
}

// onDisk opens a state below dir and works on with it.
func (h *history) onDisk(s recordfs.State, dir string, o page.Options) error {
	if err := vfs.MkdirAll(vfs.OS, o.Dir); err != nil {
		return err
	}
	for _, path := range []string{"state.tarn", "state.tarn.new"} {
		if ok, err := vfs.OS.Exists(filepath.Join(o.Dir, path)); err != nil {
			return err
		} else if ok {
			if err := vfs.OS.Remove(filepath.Join(o.Dir, path)); err != nil {
				return err
			}
		}
	}
	if err := s.FS.Export(dir); err != nil {
		return err
	}
	found, err := h.verify(o, h.candidates(s.At))
	if err != nil {
		return err
	}
	return goOn(o, found)
}
