package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tarn/store"
)

func rowPromises() []promise {
	return []promise{
		{name: "rows read back", check: rowsReadBack},
		{name: "keys outside the limits are refused", check: keysOutsideTheLimits},
		{name: "keys of every length within are rows", check: keysOfEveryLength},
		{name: "values of every size are kept", check: valuesOfEverySize},
		{name: "the largest value is kept", check: largestValue, kept: func(Engine) bool { return slowness == 1 }},
		{name: "an empty value is a value", check: emptyValue},
		{name: "rows are in byte order", check: byteOrder},
		{name: "arguments are copied", check: argumentsAreCopied},
		{name: "a range is deleted between its bounds", check: deleteRangeBounds},
		{name: "ids count from 0 in each table", check: idsCount},
		{name: "ids come back after undo", check: idsComeBack},
		{name: "tables are found by name", check: tablesByName},
		{name: "tables do not mix", check: tablesDoNotMix},
		{name: "tables are made outside revisions only", check: tablesOutsideRevisions},
		{name: "unknown tables are refused", check: unknownTables},
		{name: "many rows come and go", check: manyRows},
	}
}

func rowsReadBack(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	_, err := x.Get(x.rows, []byte("a"))
	wantError(t, "get of a missing row", err, store.ErrNotFound)
	wantError(t, "delete of a missing row", x.Delete(x.rows, []byte("a")), store.ErrNotFound)
	x.put("a", "1")
	x.put("b", "2")
	x.wantRows("a=1 b=2")
	x.put("a", "another, longer than before")
	wantValue(t, x, x.rows, "a", "another, longer than before")
	x.put("a", "s")
	x.wantRows("a=s b=2")
	x.del("a")
	_, err = x.Get(x.rows, []byte("a"))
	wantError(t, "get of a deleted row", err, store.ErrNotFound)
	wantError(t, "second delete", x.Delete(x.rows, []byte("a")), store.ErrNotFound)
	x.put("a", "3")
	x.wantRows("a=3 b=2")
}

func keysOutsideTheLimits(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.put("a", "1")
	x.publish()
	v := x.view()
	defer v.Close()
	for _, key := range [][]byte{nil, {}, make([]byte, store.MaxKey+1), make([]byte, 1<<16), make([]byte, 1<<17)} {
		what := fmt.Sprintf("with a key of %d bytes", len(key))
		wantError(t, "put "+what, x.Put(x.rows, key, []byte("1")), store.ErrKeySize)
		wantError(t, "delete "+what, x.Delete(x.rows, key), store.ErrKeySize)
		_, err := x.Get(x.rows, key)
		wantError(t, "get "+what, err, store.ErrKeySize)
		_, err = v.Get(x.rows, key)
		wantError(t, "get of a view "+what, err, store.ErrKeySize)
	}
	x.wantRows("a=1")
}

func keysOfEveryLength(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	for n := 1; n <= store.MaxKey; n += slowness {
		for _, c := range []string{"\x00", "k", "\xff"} {
			x.put(strings.Repeat(c, n), fmt.Sprint(n, c))
		}
	}
	x.checkpoint()
	x.reopen()
	for n := 1; n <= store.MaxKey; n += slowness {
		for _, c := range []string{"\x00", "k", "\xff"} {
			wantValue(t, x, x.rows, strings.Repeat(c, n), fmt.Sprint(n, c))
		}
	}
}

// valuesOfEverySize tries the sizes around multiples and parts of a page, where
// the ways to store a value change.
func valuesOfEverySize(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	var sizes []int
	for n := range 80 {
		sizes = append(sizes, n)
	}
	for _, edge := range []int{256, 512, 1024, 1280, 2048, 4096, 8192, 3 * 4096, 1 << 16} {
		for d := -70; d < 20; d += 3 {
			sizes = append(sizes, edge+d)
		}
	}
	sizes = append(sizes, 1<<20-1, 1<<20, 1<<20+1, 5<<20)
	rng := source(1, "sizes", 0)
	want := map[string]string{}
	for i, n := range sizes {
		key := fmt.Sprintf("%d/%d", i, n)
		want[key] = value(rng, n)
		x.put(key, want[key])
	}
	check := func(r store.Reader) {
		t.Helper()
		for key, v := range want {
			wantValue(t, r, x.rows, key, v)
		}
	}
	check(x)
	x.checkpoint()
	check(x)
	x.reopen()
	check(x)
	v := x.view()
	defer v.Close()
	check(v)
}

func largestValue(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	big := strings.Repeat("0123456789abcdef", store.MaxValue/16)
	x.begin()
	x.put("big", big)
	x.put("small", "1")
	wantError(t, "put of one byte more", x.Put(x.rows, []byte("big"), append([]byte(big), 'x')), store.ErrValueSize)
	wantValue(t, x, x.rows, "big", big)
	x.push()
	x.begin()
	x.del("big")
	x.wantRows("small=1")
	x.undo()
	wantValue(t, x, x.rows, "big", big)
	x.commit(1)
	x.checkpoint()
	x.reopen()
	wantValue(t, x, x.rows, "big", big)
	x.begin()
	x.put("big", "little")
	x.push()
	x.wantRows("big=little small=1")
	x.undo()
	wantValue(t, x, x.rows, "big", big)
}

func emptyValue(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	check := func() {
		t.Helper()
		for _, key := range []string{"empty", "nil"} {
			v, err := x.Get(x.rows, []byte(key))
			if err != nil || len(v) != 0 {
				t.Fatalf("value of %s is %q, %v", key, v, err)
			}
		}
		x.wantRows("empty= nil=")
	}
	x.must(x.Put(x.rows, []byte("empty"), []byte{}))
	x.must(x.Put(x.rows, []byte("nil"), nil))
	check()
	x.begin()
	x.put("empty", "1")
	x.del("nil")
	x.undo()
	check()
	x.checkpoint()
	x.reopen()
	check()
}

func byteOrder(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	keys := []string{"\x00", "\x00\x00", "\x00\x01", "\x01", "A", "A\x00", "A\x00\x00", "AA", "a", "a\xff", "b", "\x7f",
		"\x80", "\xc3\xa4", "\xfe", "\xff", "\xff\x00", "\xff\xff"}
	for i := range keys {
		x.put(keys[(i*7)%len(keys)], "")
	}
	check := func() {
		t.Helper()
		want := make([]row, len(keys))
		for i, k := range keys {
			want[i].key = k
		}
		x.must(compareTable(x, x.rows, want, true))
	}
	check()
	x.checkpoint()
	x.reopen()
	check()
}

func argumentsAreCopied(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	key, value := []byte("key"), bytes.Repeat([]byte("v"), 9000)
	name := []byte("table name")
	x.must(x.Put(x.rows, key, value))
	x.must(second(x.CreateTable(string(name))))
	x.begin()
	x.must(x.Delete(x.rows, key))
	for _, b := range [][]byte{key, value, name} {
		for i := range b {
			b[i] = 'x'
		}
	}
	x.undo()
	wantValue(t, x, x.rows, "key", strings.Repeat("v", 9000))
	x.begin()
	from, to := []byte("a"), []byte("z")
	x.must(second(x.DeleteRange(x.rows, from, to)))
	from[0], to[0] = 'x', 'x'
	x.wantRows("")
	x.undo()
	wantValue(t, x, x.rows, "key", strings.Repeat("v", 9000))
}

func second[T any](_ T, err error) error { return err }

func deleteRangeBounds(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	other := x.table("other")
	x.must(x.Put(other, []byte("c"), []byte("kept")))
	for _, k := range []string{"a", "b", "c", "d", "e"} {
		x.put(k, "1")
	}
	all := "a=1 b=1 c=1 d=1 e=1"
	b := func(s string) []byte { return []byte(s) }
	for _, c := range []struct {
		from, to []byte
		n        int
		left     string
	}{
		{nil, nil, 5, ""},
		{nil, b("c"), 2, "c=1 d=1 e=1"},
		{b("c"), nil, 3, "a=1 b=1"},
		{b("b"), b("d"), 2, "a=1 d=1 e=1"},
		{b("b"), b("b"), 0, all},
		{b("d"), b("b"), 0, all},
		{b("aa"), b("cc"), 2, "a=1 d=1 e=1"},
		{b("x"), nil, 0, all},
		{nil, b("a"), 0, all},
		{b(""), b(""), 0, all},
		{b(""), b("b"), 1, "b=1 c=1 d=1 e=1"},
		{b("e"), b("e\x00"), 1, "a=1 b=1 c=1 d=1"},
		{b("c"), bytes.Repeat([]byte{0xff}, store.MaxKey), 3, "a=1 b=1"},
	} {
		x.begin()
		n, err := x.DeleteRange(x.rows, c.from, c.to)
		x.must(err)
		got, err := list(x, x.rows)
		x.must(err)
		if n != c.n || got != c.left {
			t.Fatalf("from %s to %s: %d deleted, left %q; should be %d, %q", bound(c.from), bound(c.to), n,
				got, c.n, c.left)
		}
		x.undo()
		x.wantRows(all)
	}
	wantRows(t, x, other, "c=kept")
}

func idsCount(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	other := x.table("other")
	for i := range uint64(300) {
		x.wantID(x.rows, i)
		if i%3 == 0 {
			x.wantID(other, i/3)
		}
	}
	x.checkpoint()
	x.reopen()
	x.wantID(x.rows, 300)
	x.wantID(other, 100)
	x.wantRows("")
}

func (x *subject) wantID(table store.Table, want uint64) {
	x.t.Helper()
	id, err := x.NextID(table)
	x.must(err)
	if id != want {
		x.t.Fatalf("next id is %d, should be %d", id, want)
	}
}

func idsComeBack(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.begin()
	x.wantID(x.rows, 0)
	x.begin()
	x.wantID(x.rows, 1)
	x.wantID(x.rows, 2)
	x.undo()
	x.wantID(x.rows, 1)
	x.push()
	x.begin()
	x.wantID(x.rows, 2)
	x.push()
	x.undo()
	x.begin()
	x.wantID(x.rows, 2)
	x.push()
	x.must(x.UndoAll())
	x.begin()
	x.wantID(x.rows, 0)
	x.push()
}

func tablesByName(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	_, err := x.Table("none")
	wantError(t, "table by an unknown name", err, store.ErrNoTable)
	long := strings.Repeat("n", 255)
	names := []string{"a", "ä name with spaces/and\x00bytes", long}
	made := map[string]store.Table{}
	for _, name := range names {
		made[name] = x.table(name)
	}
	for _, name := range []string{"", long + "n"} {
		if _, err := x.CreateTable(name); err == nil {
			t.Fatalf("a table with a name of %d bytes was made", len(name))
		}
	}
	check := func() {
		t.Helper()
		for i, info := range x.Tables() {
			if int(info.ID) != i+1 {
				t.Fatalf("handle of table %d in the list is %d", i, info.ID)
			}
		}
		listed := handles(x.Tables())
		for _, name := range names {
			again := x.table(name)
			found, err := x.Table(name)
			x.must(err)
			if again != made[name] || found != made[name] || listed[name] != made[name] {
				t.Fatalf("handle of %q is %d, then %d, listed as %d; was %d", name, again, found,
					listed[name], made[name])
			}
		}
	}
	check()
	x.checkpoint()
	x.reopen()
	check()
}

func tablesDoNotMix(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	const n = 300 // handles of two bytes, too
	var tables []store.Table
	for i := range n {
		tables = append(tables, x.table(fmt.Sprintf("table %d", i)))
	}
	for i, table := range tables {
		for _, key := range []string{"\x00", "same", "\xff\xff"} {
			x.must(x.Put(table, []byte(key), fmt.Append(nil, i)))
		}
	}
	x.must(second(x.DeleteRange(tables[100], nil, nil)))
	x.checkpoint()
	x.reopen()
	for i, table := range tables {
		if i == 100 {
			wantRows(t, x, table, "")
			continue
		}
		wantRows(t, x, table, fmt.Sprintf("\x00=%d same=%d \xff\xff=%d", i, i, i))
	}
}

func tablesOutsideRevisions(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.begin()
	_, err := x.CreateTable("new")
	wantError(t, "new table in a session", err, store.ErrSessionOpen)
	if again := x.table(rowsTable); again != x.rows {
		t.Fatalf("table that exists, in a session: handle is %d, was %d", again, x.rows)
	}
	x.push()
	_, err = x.CreateTable("new")
	wantError(t, "new table with an undoable revision", err, store.ErrNoSession)
	x.commit(1)
	x.must(x.Put(x.table("new"), []byte("a"), []byte("1")))
}

func unknownTables(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.publish()
	v := x.view()
	defer v.Close()
	after := x.table("made after the view")
	for _, table := range []store.Table{0, after + 1, 999, 65535} {
		what := fmt.Sprintf(" of table %d", table)
		wantError(t, "put"+what, x.Put(table, []byte("a"), nil), store.ErrNoTable)
		wantError(t, "delete"+what, x.Delete(table, []byte("a")), store.ErrNoTable)
		wantError(t, "deleterange"+what, second(x.DeleteRange(table, nil, nil)), store.ErrNoTable)
		wantError(t, "nextid"+what, second(x.NextID(table)), store.ErrNoTable)
		wantError(t, "get"+what, second(x.Get(table, []byte("a"))), store.ErrNoTable)
		wantError(t, "cursor"+what, second(x.Cursor(table)), store.ErrNoTable)
		wantError(t, "view's get"+what, second(v.Get(table, []byte("a"))), store.ErrNoTable)
		wantError(t, "view's cursor"+what, second(v.Cursor(table)), store.ErrNoTable)
	}
	wantError(t, "get of a table that is newer than the view", second(v.Get(after, []byte("a"))), store.ErrNoTable)
	wantError(t, "cursor over a table that is newer than the view", second(v.Cursor(after)), store.ErrNoTable)
}

// manyRows makes a tree of some height, in three orders, and takes it down.
func manyRows(t *testing.T, e Engine) {
	const n = 12_000 / slowness
	for _, order := range []struct {
		name string
		at   func(i int) int
	}{
		{"forward", func(i int) int { return i }},
		{"backward", func(i int) int { return n - 1 - i }},
		{"scattered", func(i int) int { return i * 7919 % n }},
	} {
		x := open(t, e, Knobs{})
		want := make([]row, n)
		x.begin()
		for i := range n {
			k := order.at(i)
			want[k] = row{numberedKey(k), strings.Repeat("v", k%150)}
			x.put(want[k].key, want[k].value)
		}
		x.push()
		x.must(errors.Join(compareTable(x, x.rows, want, true)))
		x.begin()
		for i := range n / 2 {
			x.del(numberedKey(order.at(i)))
		}
		got, err := x.DeleteRange(x.rows, nil, nil)
		x.must(err)
		if got != n-n/2 {
			t.Fatalf("%s: %d rows were left, should be %d", order.name, got, n-n/2)
		}
		x.wantRows("")
		x.undo()
		x.must(compareTable(x, x.rows, want, false))
		x.commit(1)
		x.checkpoint()
		x.reopen()
		x.must(compareTable(x, x.rows, want, true))
	}
}
