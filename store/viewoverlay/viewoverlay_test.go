package viewoverlay

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tarn/internal/seeded"
	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
)

func list(t *testing.T, r store.Reader, table store.Table) string {
	t.Helper()
	c, err := r.Cursor(table)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var rows []string
	for ok := c.First(); ok; ok = c.Next() {
		rows = append(rows, fmt.Sprintf("%s=%s", c.Key(), c.Value()))
	}
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	var back []string
	for ok := c.Last(); ok; ok = c.Prev() {
		back = append(back, fmt.Sprintf("%s=%s", c.Key(), c.Value()))
	}
	if slices.Reverse(back); !slices.Equal(rows, back) {
		t.Fatalf("forward %q, backward %q", rows, back)
	}
	return strings.Join(rows, " ")
}

func listModel(m map[string]string) string {
	var rows []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		rows = append(rows, k+"="+m[k])
	}
	return strings.Join(rows, " ")
}

func newBase(t *testing.T) (store.Store, store.Table) {
	t.Helper()
	e, err := page.OpenVolatile(16 << 20)
	if err != nil {
		t.Fatal(err)
	}
	s, err := revision.Open(e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	table, err := s.CreateTable("rows")
	if err != nil {
		t.Fatal(err)
	}
	return s, table
}

func view(t *testing.T, s store.Store) store.View {
	t.Helper()
	if err := s.Publish(); err != nil {
		t.Fatal(err)
	}
	v, err := s.View()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Random work on one overlay, store after store, against a map; the store below goes on
// and never shows any of it.
func TestASandboxIsTheViewWithItsOwnChanges(t *testing.T) {
	r := seeded.Random(t, 1)
	base, table := newBase(t)
	below := map[string]string{}
	p, err := New(8 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	key := func() string { return fmt.Sprintf("k%02d", r.IntN(40)) }
	change := func(s store.Store, m map[string]string) {
		k := key()
		if r.IntN(3) > 0 {
			v := fmt.Sprint(r.IntN(1000))
			if err := s.Put(table, []byte(k), []byte(v)); err != nil {
				t.Fatal(err)
			}
			m[k] = v
			return
		}
		err := s.Delete(table, []byte(k))
		if _, exists := m[k]; exists != (err == nil) || !exists && !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("delete %s: %v", k, err)
		}
		delete(m, k)
	}
	for range 200 {
		for range r.IntN(10) {
			change(base, below)
		}
		v := view(t, base)
		want := maps.Clone(below)
		s, err := p.Open(v)
		if err != nil {
			t.Fatal(err)
		}
		var saved []map[string]string
		for range r.IntN(60) {
			switch n := r.IntN(10); {
			case n == 0 || len(saved) == 0:
				if err := s.Begin(); err != nil {
					t.Fatal(err)
				}
				saved = append(saved, maps.Clone(want))
			case n == 1:
				if err := s.Undo(); err != nil {
					t.Fatal(err)
				}
				want, saved = saved[len(saved)-1], saved[:len(saved)-1]
			case n == 2 && len(saved) > 1:
				if err := s.Squash(); err != nil {
					t.Fatal(err)
				}
				saved = saved[:len(saved)-1]
			case n == 3:
				change(base, below) // nothing for the view
			default:
				change(s, want)
			}
		}
		if got := list(t, s, table); got != listModel(want) {
			t.Fatalf("rows are %s, should be %s", got, listModel(want))
		}
		k := key()
		got, err := s.Get(table, []byte(k))
		if text, exists := want[k]; exists != (err == nil) || string(got) != text {
			t.Fatalf("row %s is %q, %v, should be %q", k, got, err, text)
		}
		if err := errors.Join(s.Close(), v.Close()); err != nil {
			t.Fatal(err)
		}
		if got := list(t, base, table); got != listModel(below) {
			t.Fatalf("the rows below are %s, should be %s", got, listModel(below))
		}
	}
}

func TestASandboxHasItsLimit(t *testing.T) {
	base, table := newBase(t)
	p, err := New(4 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	v := view(t, base)
	defer v.Close()
	s, err := p.Open(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	var full *store.FullError
	for i := 0; ; i++ {
		err := s.Put(table, fmt.Appendf(nil, "%d", i), bytes.Repeat([]byte{1}, 10_000))
		if errors.As(err, &full) {
			break
		}
		if err != nil || i > 1000 {
			t.Fatalf("after %d rows: %v", i, err)
		}
	}
	if err := s.Undo(); err != nil {
		t.Fatal(err)
	}
	if s, err = p.Open(v); err != nil { // and is of use again
		t.Fatal(err)
	}
	if err := s.Put(table, []byte("a"), bytes.Repeat([]byte{1}, 1_000_000)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.View(); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a view: %v", err)
	}
	if _, err := s.CreateTable("new"); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a new table: %v", err)
	}
	if _, err := s.Checkpoint(); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a checkpoint: %v", err)
	}
}

// Work that fills an overlay, however it ends, leaves it as good as new.
func TestAFilledSandboxServesTheNext(t *testing.T) {
	base, table := newBase(t)
	if err := base.Publish(); err != nil {
		t.Fatal(err)
	}
	v, err := base.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	box, err := New(4 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	var most int
	for round, size := range []int{100, 5000, 1, 300, 40_000, 100} {
		s, err := box.Open(v)
		if err != nil {
			t.Fatalf("after round %d: %v", round, err)
		}
		if err := s.Begin(); err != nil {
			t.Fatal(err)
		}
		n := 0
		for err == nil {
			err = s.Put(table, fmt.Appendf(nil, "%08d", n*7919%1_000_003), make([]byte, size))
			n++
		}
		if !errors.Is(err, store.ErrFull) {
			t.Fatal(err)
		}
		if size == 100 && most == 0 {
			most = n
		} else if size == 100 && n < most*9/10 {
			t.Errorf("there was room for %d rows, and now for %d", most, n)
		}
		if round%2 == 0 {
			if err := s.UndoAll(); err != nil {
				t.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Work that is undone takes no room, however often.
func TestWhatIsUndoneLeavesTheSandbox(t *testing.T) {
	base, table := newBase(t)
	for i := range 3000 {
		if err := base.Put(table, fmt.Appendf(nil, "old %d", i), make([]byte, 2000)); err != nil {
			t.Fatal(err)
		}
	}
	v := view(t, base)
	defer v.Close()
	box, err := New(2 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	s, err := box.Open(v)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		old, new := fmt.Appendf(nil, "old %d", i), fmt.Appendf(nil, "new %d", i)
		for _, err := range []error{
			s.Begin(),
			s.Put(table, new, make([]byte, 2000)),
			s.Put(table, old, []byte("changed")),
			s.Undo(),
			s.Begin(),
			s.Delete(table, old),
			s.Undo(),
		} {
			if err != nil {
				t.Fatalf("after %d rows: %v", i, err)
			}
		}
		if got, err := s.Get(table, old); err != nil || len(got) != 2000 {
			t.Fatalf("row %d has %d bytes: %v", i, len(got), err)
		}
		if _, err := s.Get(table, new); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("row %d is still there: %v", i, err)
		}
	}
}

// A row that is changed again and again in an overlay takes its room once, as it does in
// the store below.
func TestARowChangedOftenFitsASandbox(t *testing.T) {
	base, table := newBase(t)
	v := view(t, base)
	defer v.Close()
	box, err := New(4 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	s, err := box.Open(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		if err := s.Put(table, []byte("row"), bytes.Repeat([]byte{byte(i)}, 100_000)); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
	if err := s.Undo(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(table, []byte("row")); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}

// unreadable is a view on a disk that has lost its values.
type unreadable struct{ store.View }

type unreadableCursor struct {
	store.Cursor
	err error
}

func (v unreadable) Cursor(t store.Table) (store.Cursor, error) {
	c, err := v.View.Cursor(t)
	return &unreadableCursor{Cursor: c}, err
}

func (c *unreadableCursor) Value() []byte {
	c.err = &store.CorruptError{Path: "state", Detail: "checksum"}
	return nil
}
func (c *unreadableCursor) Valid() bool { return c.err == nil && c.Cursor.Valid() }
func (c *unreadableCursor) Err() error  { return c.err }

// A value that the view cannot read is an error of the overlay, not an empty value.
func TestAValueThatCannotBeReadIsNoEmptyValue(t *testing.T) {
	base, table := newBase(t)
	if err := base.Put(table, []byte("row"), []byte("value")); err != nil {
		t.Fatal(err)
	}
	v := view(t, base)
	defer v.Close()
	box, err := New(4 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	s, err := box.Open(unreadable{v})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Cursor(table)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !c.First() {
		t.Fatal("there is no row")
	}
	if value := c.Value(); value != nil || !errors.Is(c.Err(), store.ErrCorrupt) || c.Valid() || c.Next() {
		t.Errorf("the value is %q, and the error %v", value, c.Err())
	}
}
