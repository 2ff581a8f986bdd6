package mergecursor

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/internal/seeded"
	"tarn/store/mergecursor/mergecursortest"
)

var errUnreadable = errors.New("unreadable")

// failing is a layer on a disk that cannot be read at one key: no move gets onto that row,
// or its value does not come. What failed is told until the next absolute move.
type failing struct {
	mergecursortest.Cursor
	key   []byte
	value bool // only the value fails
	err   error
}

func (c *failing) check(bool) bool {
	c.err = nil
	if !c.value && c.Cursor.Valid() && bytes.Equal(c.Cursor.Key(), c.key) {
		c.err = errUnreadable
	}
	return c.Valid()
}

func (c *failing) First() bool            { return c.check(c.Cursor.First()) }
func (c *failing) Last() bool             { return c.check(c.Cursor.Last()) }
func (c *failing) Seek(key []byte) bool   { return c.check(c.Cursor.Seek(key)) }
func (c *failing) SeekLT(key []byte) bool { return c.check(c.Cursor.SeekLT(key)) }
func (c *failing) Next() bool             { return c.err == nil && c.check(c.Cursor.Next()) }
func (c *failing) Prev() bool             { return c.err == nil && c.check(c.Cursor.Prev()) }
func (c *failing) Valid() bool            { return c.err == nil && c.Cursor.Valid() }
func (c *failing) Err() error             { return c.err }

func (c *failing) Value() []byte {
	if c.value && bytes.Equal(c.Cursor.Key(), c.key) {
		c.err = errUnreadable
		return nil
	}
	return c.Cursor.Value()
}

// spoil makes one layer fail at one of its keys.
func spoil(r *rand.Rand, stack []Layer) *failing {
	i := r.IntN(len(stack))
	list := stack[i].Cursor.(*mergecursortest.Cursor)
	if len(list.Rows) == 0 {
		return nil
	}
	f := &failing{Cursor: *list, key: list.Rows[r.IntN(len(list.Rows))][0], value: r.IntN(2) == 0}
	stack[i].Cursor = f
	return f
}

// Where a layer cannot be read, a walk shows the right rows up to there and then says why it
// ends: it never passes over the row, and never shows what lies below it.
func TestAWalkEndsWhereALayerCannotBeRead(t *testing.T) {
	r := seeded.Random(t, 1)
	ended := 0
	for round := range 3000 {
		stack, want := layers(r, 1+r.IntN(30))
		f := spoil(r, stack)
		if f == nil {
			continue
		}
		c := New(stack, false)
		ok, i, step := c.First(), 0, c.Next
		if r.IntN(2) == 0 {
			ok, step = c.Last(), c.Prev
			slices.Reverse(want)
		}
		for ; ok; i, ok = i+1, step() {
			value := c.Value()
			if !c.Valid() {
				break
			}
			if i >= len(want) || !bytes.Equal(c.Key(), want[i][0]) || !bytes.Equal(value, want[i][1]) {
				t.Fatalf("round %d: row %d is %s=%s, of %d", round, i, c.Key(), value, len(want))
			}
		}
		switch {
		case errors.Is(c.Err(), errUnreadable):
			ended++
			if c.Valid() || c.Next() || c.Prev() || c.Value() != nil || c.Key() != nil {
				t.Fatalf("round %d: the cursor stands on a row that could not be read", round)
			}
		case c.Err() != nil || i < len(want) || !f.value:
			t.Fatalf("round %d: the walk ended at row %d of %d: %v", round, i, len(want), c.Err())
		}
		f.key = nil // the disk can be read again
		for i, ok := 0, c.First(); ok; i, ok = i+1, c.Next() {
			if c.Value(); c.Err() != nil || i >= len(want) {
				t.Fatalf("round %d: after the failure: row %d of %d, %v", round, i, len(want), c.Err())
			}
		}
		if err := c.Close(); err != nil || c.Valid() {
			t.Fatal(err)
		}
	}
	if ended == 0 {
		t.Error("no walk met what could not be read")
	}
}

// A cursor that shows tombstones shows each key of the marked layers once, with what is
// newest, whichever way it goes and however often it is given other layers.
func TestTombstonesAreShownOnceInEveryDirection(t *testing.T) {
	r := seeded.Random(t, 1)
	c := New(nil, true)
	for round := range 300 {
		n := 1 + r.IntN(30)
		stack, _ := layers(r, n)
		newest := map[string][]byte{}
		for i := len(stack) - 1; i >= 0; i-- {
			for _, row := range stack[i].Cursor.(*mergecursortest.Cursor).Rows {
				value := row[1]
				if !stack[i].Marked {
					value = append([]byte{Present}, value...)
				}
				newest[string(row[0])] = value
			}
		}
		model := &mergecursortest.Cursor{At: -1}
		for k, v := range newest {
			model.Rows = append(model.Rows, [2][]byte{[]byte(k), v})
		}
		slices.SortFunc(model.Rows, func(a, b [2][]byte) int { return bytes.Compare(a[0], b[0]) })
		c.Reset(stack)
		for step := range 200 {
			if what := move(r, n, marked{c}, model); what != "" {
				t.Fatalf("round %d, step %d: %s", round, step, what)
			}
			if !model.Valid() {
				model.At = -1
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// marked shows a row's mark before its value.
type marked struct{ *Cursor }

func (c marked) Value() []byte {
	value, mark := c.Row()
	return append([]byte{mark}, value...)
}
