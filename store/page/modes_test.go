package page_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
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

// A session in a private mode leaves holes where it makes the file longer, even one
// that ends without an image. Under a shared mapping every page must have its blocks.
func TestASharedMappingHasNoHoles(t *testing.T) {
	o := page.Options{Dir: t.TempDir(), LimitBytes: 64 << 20, GrowBytes: 2 << 20}
	session := func(mode page.Mode, work func(s *revision.Store, table store.Table)) {
		o.Mode = mode
		e, err := page.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		s, err := revision.Open(e)
		if err != nil {
			t.Fatal(err)
		}
		table, err := s.Table("rows")
		if errors.Is(err, store.ErrNoTable) {
			table, err = s.CreateTable("rows")
		}
		if err != nil {
			t.Fatal(err)
		}
		work(s, table)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	session(page.Mapped, func(s *revision.Store, _ store.Table) {
		c, err := s.Checkpoint()
		if err := errors.Join(err, c.Wait()); err != nil {
			t.Fatal(err)
		}
	})
	session(page.MappedPrivate, func(s *revision.Store, table store.Table) {
		for i := range 20 {
			if err := s.Put(table, []byte{byte(i)}, make([]byte, 1<<20)); err != nil {
				t.Fatal(err)
			}
		}
	})
	session(page.Mapped, func(*revision.Store, store.Table) {
		var st syscall.Stat_t
		if err := syscall.Stat(filepath.Join(o.Dir, "state.tarn"), &st); err != nil {
			t.Fatal(err)
		}
		if st.Size < 20<<20 || st.Blocks*512 < st.Size {
			t.Errorf("%d of %d bytes have blocks", st.Blocks*512, st.Size)
		}
	})
}
