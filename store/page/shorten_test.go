package page_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
)

// A store in a shared mapping keeps no room for changes to come when it ends, but for what
// the undoing of its revisions may need. A view that is still open then reads on, and holds
// the room until it is closed.
func TestASharedMappingGivesItsRoomBack(t *testing.T) {
	const growth, few, undo = 64 << 20, 1 << 20, 16 << 20
	for reversible, most := range map[bool]int64{false: few, true: few + undo} {
		t.Run(fmt.Sprintf("reversible %v", reversible), func(t *testing.T) {
			o := page.Options{Dir: t.TempDir(), LimitBytes: 1 << 30, GrowBytes: growth, Mode: page.Mapped}
			blocks := func() int64 {
				var st syscall.Stat_t
				if err := syscall.Stat(filepath.Join(o.Dir, "state.tarn"), &st); err != nil {
					t.Fatal(err)
				}
				return st.Blocks * 512
			}
			value := bytes.Repeat([]byte("v"), 1000)
			for session := range 3 {
				s, table := openRows(t, o)
				for i := range session * 100 {
					if got, err := s.Get(table, fmt.Append(nil, i)); err != nil || !bytes.Equal(got, value) {
						t.Fatalf("row %d: %q, %v", i, got, err)
					}
				}
				try(t, s.Begin())
				for i := range 100 {
					try(t, s.Put(table, fmt.Append(nil, session*100+i), value))
				}
				try(t, s.Push())
				if !reversible {
					try(t, s.Commit(s.Head()))
				}
				try(t, s.Publish())
				c, err := s.Checkpoint()
				try(t, err)
				try(t, c.Wait())
				v, err := s.View()
				try(t, err)
				if has := blocks(); has < growth {
					t.Fatalf("%d bytes have blocks while the store is open", has)
				}
				try(t, s.Close())
				if has := blocks(); has < growth {
					t.Fatalf("%d bytes have blocks while a view is open", has)
				}
				try(t, v.Close())
				if has := blocks(); has > most || reversible && has < undo {
					t.Fatalf("%d bytes have blocks after session %d", has, session)
				}
			}
			o.ReadOnly = true
			e, err := page.Open(o)
			try(t, err)
			try(t, clean(e))
			try(t, e.Close())
		})
	}
}

func try(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openRows opens a store with one table.
func openRows(t *testing.T, o page.Options) (*revision.Store, store.Table) {
	t.Helper()
	e, err := page.Open(o)
	try(t, err)
	s, err := revision.Open(e)
	try(t, err)
	table, err := s.Table("rows")
	if errors.Is(err, store.ErrNoTable) {
		table, err = s.CreateTable("rows")
	}
	try(t, err)
	return s, table
}
