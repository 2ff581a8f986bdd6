package storetest

import (
	"fmt"
	"strings"
	"testing"

	"tarn/store"
)

func cursorPromises() []promise {
	return []promise{
		{name: "a cursor begins nowhere", check: cursorBeginsNowhere},
		{name: "a cursor ends at both ends", check: cursorEnds},
		{name: "seek finds the row at or after", check: seeks},
		{name: "directions can be switched anywhere", check: switchDirections},
		{name: "an empty table has no rows", check: emptyTable},
		{name: "a cursor survives the writer's changes", check: cursorSurvives},
		{name: "a cursor survives what happens to revisions", check: cursorSurvivesRevisions},
		{name: "cursors do not disturb each other", check: manyCursors},
		{name: "a view's cursor does not see the writer", check: viewCursor},
	}
}

func (x *subject) cursor() store.Cursor {
	x.t.Helper()
	c, err := x.Cursor(x.rows)
	x.must(err)
	return c
}

// wantAt checks where a cursor stands; "" is nowhere.
func (x *subject) wantAt(c store.Cursor, moved bool, want string) {
	x.t.Helper()
	x.must(c.Err())
	got := ""
	if c.Valid() {
		got = string(c.Key())
	}
	if moved != (want != "") || c.Valid() != moved || got != want {
		x.t.Fatalf("moved %v, valid %v, at %q; should be at %q", moved, c.Valid(), got, want)
	}
}

func cursorBeginsNowhere(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.fill(3, "1")
	c := x.cursor()
	if c.Valid() {
		t.Fatal("stands on a row before it was moved")
	}
	x.wantAt(c, c.Next(), "")
	x.wantAt(c, c.Prev(), "")
	x.wantAt(c, c.First(), numberedKey(0))
	x.must(c.Close())
}

func cursorEnds(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.fill(3, "1")
	c := x.cursor()
	x.wantAt(c, c.Last(), numberedKey(2))
	x.wantAt(c, c.Next(), "")
	x.wantAt(c, c.Next(), "")
	x.wantAt(c, c.Prev(), "") // Next and Prev of a cursor on no row return false
	x.wantAt(c, c.First(), numberedKey(0))
	x.wantAt(c, c.Prev(), "")
	x.wantAt(c, c.Prev(), "")
	x.wantAt(c, c.Next(), "")
	x.wantAt(c, c.Seek([]byte("z")), "")
	x.wantAt(c, c.Prev(), "")
	x.wantAt(c, c.SeekLT([]byte("a")), "")
	x.wantAt(c, c.Next(), "")
	x.wantAt(c, c.Last(), numberedKey(2))
	x.must(c.Close())
}

func seeks(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	keys := []string{"\x00", "a", "aa", "ab", "b", "b\x00", "c", "\xff", "\xff\xff"}
	var rows []row
	for _, k := range keys {
		x.put(k, k)
		rows = append(rows, row{k, k})
	}
	sought := append([]string{"", "\x00\x00", "`", "a\x00", "aaa", "ac", "b\x00\x00", "bb", "\xfe", "\xff\xff\xff",
		strings.Repeat("\xff", store.MaxKey), strings.Repeat("a", store.MaxKey)}, keys...)
	w := walker{cursor: x.cursor()}
	for _, key := range sought {
		for _, s := range []step{stepSeek, stepSeekLT} {
			if err := w.move(s, key, rows); err != nil {
				t.Fatalf("%v %s: %v", s, quote(key), err)
			}
		}
	}
	x.wantAt(w.cursor, w.cursor.Seek(nil), keys[0])
	x.wantAt(w.cursor, w.cursor.SeekLT(nil), "")
	x.must(w.cursor.Close())
}

func switchDirections(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	const n = 400
	var rows []row
	for i := range n {
		rows = append(rows, row{numberedKey(i), strings.Repeat("v", i*37%900)})
		x.put(rows[i].key, rows[i].value)
	}
	x.checkpoint()
	w := walker{cursor: x.cursor()}
	rng := source(1, "directions", 0)
	for i := range 20_000 / slowness {
		s := stepNext
		switch r := rng.IntN(100); {
		case r < 2:
			s = []step{stepFirst, stepLast, stepSeek, stepSeekLT}[rng.IntN(4)]
		case r < 50:
			s = stepPrev
		}
		if !w.on && s >= stepNext {
			s = stepSeek
		}
		if err := w.move(s, numberedKey(rng.IntN(n)), rows); err != nil {
			t.Fatalf("step %d, %v: %v", i, s, err)
		}
	}
	x.must(w.cursor.Close())
}

func emptyTable(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	check := func() {
		t.Helper()
		c := x.cursor()
		for _, moved := range []bool{c.First(), c.Last(), c.Seek([]byte("a")), c.SeekLT([]byte("a")),
			c.Next(), c.Prev()} {
			x.wantAt(c, moved, "")
		}
		x.must(c.Close())
	}
	check()
	x.put("a", "1")
	x.del("a")
	check()
	x.checkpoint()
	x.reopen()
	check()
}

// cursorSurvives changes the table around a cursor and goes on from the key that
// it stood on.
func cursorSurvives(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	for _, k := range []string{"b", "d", "f", "h"} {
		x.put(k, "1")
	}
	for _, c := range []struct {
		name       string
		change     func()
		next, prev string
		value      string // of the row; "-" if there is none any more
	}{
		{"nothing", func() {}, "f", "b", "1"},
		{"row deleted", func() { x.del("d") }, "f", "b", "-"},
		{"row deleted and put again", func() { x.del("d"); x.put("d", "2") }, "f", "b", "2"},
		{"row overwritten", func() { x.put("d", "3") }, "f", "b", "3"},
		{"row overwritten with much", func() { x.put("d", strings.Repeat("4", 9000)) }, "f", "b", strings.Repeat("4", 9000)},
		{"neighbours put", func() { x.put("c", "1"); x.put("e", "1") }, "e", "c", "1"},
		{"neighbours deleted", func() { x.del("b"); x.del("f") }, "h", "", "1"},
		{"row and neighbours deleted", func() { x.del("b"); x.del("d"); x.del("f") }, "h", "", "-"},
		{"all deleted", func() { x.must(second(x.DeleteRange(x.rows, nil, nil))) }, "", "", "-"},
		{"deleted, neighbours put", func() { x.del("d"); x.put("d\x00", "1"); x.put("c\xff", "1") }, "d\x00", "c\xff", "-"},
		{"a thousand rows put", func() { x.fill(1000, "1") }, "f", "b", "1"},
		{"session undone", func() { x.begin(); x.del("d"); x.put("e", "1"); x.undo() }, "f", "b", "1"},
	} {
		for _, forward := range []bool{true, false} {
			x.begin()
			cursor := x.cursor()
			x.wantAt(cursor, cursor.Seek([]byte("d")), "d")
			c.change()
			if !cursor.Valid() || string(cursor.Key()) != "d" {
				t.Fatalf("%s: stands on %q, should be on d", c.name, cursor.Key())
			}
			if got := cursor.Value(); c.value != "-" && string(got) != c.value {
				t.Fatalf("%s: value is %s, should be %s", c.name, quote(string(got)), quote(c.value))
			}
			if forward {
				x.wantAt(cursor, cursor.Next(), c.next)
			} else {
				x.wantAt(cursor, cursor.Prev(), c.prev)
			}
			x.must(cursor.Close())
			x.undo()
		}
	}
	x.wantRows("b=1 d=1 f=1 h=1")
}

func cursorSurvivesRevisions(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.fill(2000, "old")
	c := x.cursor()
	n := 0
	x.wantAt(c, c.First(), numberedKey(0))
	on := func(what string, do func()) {
		t.Helper()
		do()
		n++
		if !c.Next() || string(c.Key()) != numberedKey(n) {
			t.Fatalf("after %s: at %q, should be at %s (%v)", what, c.Key(), numberedKey(n), c.Err())
		}
	}
	on("begin", x.begin)
	on("put", func() { x.put(numberedKey(1500), "new") })
	on("push", x.push)
	on("publish", x.publish)
	on("checkpoint", x.checkpoint)
	on("commit", func() { x.commit(1) })
	on("createtable", func() {
		for i := range 50 {
			x.table(fmt.Sprintf("more %d", i))
		}
		x.del(numberedKey(n + 1))
		x.put(numberedKey(n+1), "put after it")
	})
	if got := string(c.Value()); got != "put after it" {
		t.Fatalf("value is %q after tables were made, not the new one", got)
	}
	on("nextid", func() { x.must(second(x.NextID(x.rows))) })
	on("setrevision", func() { x.must(x.SetRevision(10)) })
	on("a revision with many changes", func() {
		x.begin()
		for i := range 1000 {
			x.put(numberedKey(2*i), strings.Repeat("v", 300))
		}
		x.push()
	})
	on("undo", x.undo)
	on("undoall", func() { x.revision("z", "1"); x.must(x.UndoAll()) })
	on("close of another", func() {
		other := x.cursor()
		other.Last()
		x.must(other.Close())
	})
	x.must(c.Close())
}

func manyCursors(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	other := x.table("other")
	x.must(x.Put(other, []byte("key000100"), nil))
	x.must(x.Put(other, []byte("z"), nil))
	x.fill(200, "1")
	over, err := x.Cursor(other)
	x.must(err)
	over.First()
	cursors := make([]store.Cursor, 100)
	for i := range cursors {
		cursors[i] = x.cursor()
		x.wantAt(cursors[i], cursors[i].Seek([]byte(numberedKey(i))), numberedKey(i))
	}
	x.begin()
	x.must(second(x.DeleteRange(x.rows, []byte(numberedKey(20)), []byte(numberedKey(120)))))
	for i, c := range cursors {
		want := numberedKey(i + 1)
		if i+1 >= 20 {
			want = numberedKey(120)
		}
		x.wantAt(c, c.Next(), want)
	}
	x.wantAt(over, over.Next(), "z")
	x.undo()
	for _, c := range cursors[20:] {
		x.wantAt(c, c.Prev(), numberedKey(119))
		x.must(c.Close())
	}
	for _, c := range cursors[:20] {
		x.must(c.Close())
	}
	x.must(over.Close())
}

func viewCursor(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.fill(500, "old")
	x.publish()
	v := x.view()
	c, err := v.Cursor(x.rows)
	x.must(err)
	n := 0
	for ok := c.First(); ok; ok = c.Next() {
		if string(c.Key()) != numberedKey(n) || string(c.Value()) != "old" {
			t.Fatalf("row %d of the view is %q=%q", n, c.Key(), c.Value())
		}
		switch n % 100 {
		case 10:
			x.must(second(x.DeleteRange(x.rows, []byte(numberedKey(n)), []byte(numberedKey(n+40)))))
		case 20:
			x.put(numberedKey(n+1), strings.Repeat("new", 2000))
			x.put(numberedKey(n)+"/more", "new")
		case 30:
			x.publish()
			x.checkpoint()
		}
		n++
	}
	x.must(c.Err())
	if n != 500 {
		t.Fatalf("the view has %d rows, should have 500", n)
	}
	x.must(c.Close())
	x.must(v.Close())
}
