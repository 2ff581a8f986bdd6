package mergecursor

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"tarn/internal/seeded"
	"tarn/store"
	"tarn/store/mergecursor/mergecursortest"
)

// layers makes random stack over the keys 0..n-1 and what they amount to.
func layers(r *rand.Rand, n int) (stack []Layer, want [][2][]byte) {
	top := map[int][]byte{}
	count := 1 + r.IntN(4)
	for l := count - 1; l >= 0; l-- { // oldest first
		base := l == count-1
		c := &mergecursortest.Cursor{At: -1}
		for k := range n {
			if r.IntN(3) == 0 {
				continue
			}
			value := []byte(fmt.Sprintf("%d.%d", l, k))
			row := value
			if !base {
				row = append([]byte{Present}, value...)
				if r.IntN(3) == 0 {
					row, value = []byte{Tombstone}, nil
				}
			}
			c.Rows = append(c.Rows, [2][]byte{keyOf(k), row})
			top[k] = value
		}
		stack = append([]Layer{{c, !base}}, stack...)
	}
	for k := range n {
		if top[k] != nil {
			want = append(want, [2][]byte{keyOf(k), top[k]})
		}
	}
	return stack, want
}

func keyOf(k int) []byte { return []byte(fmt.Sprintf("k%04d", 2*k)) }

// move makes the same random move on both cursors.
func move(r *rand.Rand, n int, a, b store.Cursor) string {
	key := []byte(fmt.Sprintf("k%04d", r.IntN(2*n+2)-1))
	var got, want bool
	var what string
	switch r.IntN(10) {
	case 0:
		what, got, want = "first", a.First(), b.First()
	case 1:
		what, got, want = "last", a.Last(), b.Last()
	case 2:
		what, got, want = "seek "+string(key), a.Seek(key), b.Seek(key)
	case 3:
		what, got, want = "seeklt "+string(key), a.SeekLT(key), b.SeekLT(key)
	case 4, 5, 6:
		what, got, want = "next", a.Next(), b.Next()
	default:
		what, got, want = "prev", a.Prev(), b.Prev()
	}
	switch {
	case got != want || a.Valid() != b.Valid() || got != a.Valid():
		return fmt.Sprintf("%s: %v, should be %v", what, got, want)
	case got && (!bytes.Equal(a.Key(), b.Key()) || !bytes.Equal(a.Value(), b.Value())):
		return fmt.Sprintf("%s: %s=%s, should be %s=%s", what, a.Key(), a.Value(), b.Key(), b.Value())
	case a.Err() != nil:
		return fmt.Sprintf("%s: %v", what, a.Err())
	}
	return ""
}

func TestMergeIsTheLayersAsOneTable(t *testing.T) {
	r := seeded.Random(t, 1)
	for round := range 300 {
		n := 1 + r.IntN(30)
		stack, want := layers(r, n)
		c := New(stack, false)
		model := &mergecursortest.Cursor{Rows: want, At: -1}
		for step := range 200 {
			if what := move(r, n, c, model); what != "" {
				t.Fatalf("round %d, step %d: %s", round, step, what)
			}
			if !model.Valid() {
				model.At = -1 // a cursor that has left the table stands nowhere
			}
		}
	}
}

// valueless is a layer whose values must not be read.
type valueless struct {
	mergecursortest.Cursor
	t *testing.T
}

func (c *valueless) Value() []byte {
	c.t.Errorf("the value of %s was read", c.Key())
	return c.Cursor.Value()
}

// A walk over keys asks a layer without marks for no value, whatever lies above it.
func TestAWalkOverKeysReadsNoValues(t *testing.T) {
	above := &mergecursortest.Cursor{Rows: [][2][]byte{{[]byte("b"), {Tombstone}}, {[]byte("c"), {Present, 'x'}}}}
	below := &valueless{t: t}
	for _, key := range []string{"a", "b", "c", "d"} {
		below.Rows = append(below.Rows, [2][]byte{[]byte(key), []byte("value")})
	}
	c := New([]Layer{{Cursor: above, Marked: true}, {Cursor: below}}, false)
	for name, walk := range map[string][2]func() bool{"acd": {c.First, c.Next}, "dca": {c.Last, c.Prev}} {
		seen := ""
		for ok := walk[0](); ok; ok = walk[1]() {
			seen += string(c.Key())
		}
		if seen != name || c.Err() != nil {
			t.Errorf("%s: the walk has the keys %s, %v", name, seen, c.Err())
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
