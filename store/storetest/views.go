package storetest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tarn/store"
)

func viewPromises() []promise {
	return []promise{
		{name: "a view shows what was published", check: viewShowsPublished},
		{name: "a view never changes", check: viewNeverChanges},
		{name: "a published revision is shown until the next", check: shownUntilTheNext},
		{name: "open sessions can be published", check: openSessionsShown},
		{name: "a view's values last until it is closed", check: viewValuesLast},
		{name: "thousands of views are open at once", check: thousandsOfViews},
		{name: "a view knows its tables", check: viewTables},
		{name: "readers and writer do not disturb each other", check: readersBesideWriter},
	}
}

func viewShowsPublished(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.put("a", "1")
	v := x.view()
	if _, err := v.Cursor(x.rows); err == nil {
		wantRows(t, v, x.rows, "") // the table is not part of it, or empty
	}
	x.must(v.Close())
	x.publish()
	want := func(revision uint64, rows string) {
		t.Helper()
		v := x.view()
		if v.Revision() != revision {
			t.Fatalf("view shows revision %d, should be %d", v.Revision(), revision)
		}
		wantRows(t, v, x.rows, rows)
		x.must(v.Close())
	}
	want(0, "a=1")
	x.begin()
	x.put("b", "2")
	want(0, "a=1")
	x.begin()
	x.del("a")
	want(0, "a=1")
	x.undo()
	x.push()
	want(0, "a=1")
	x.publish()
	want(1, "a=1 b=2")
	x.commit(1)
	x.checkpoint()
	want(1, "a=1 b=2")
	x.reopen()
	want(1, "a=1 b=2")
}

func viewNeverChanges(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	rng := source(1, "view", 0)
	var rows []row
	for i := range 1000 {
		rows = append(rows, row{numberedKey(i), value(rng, i%300)})
	}
	rows[500].value = value(rng, 300_000)
	for _, r := range rows {
		x.put(r.key, r.value)
	}
	x.publish()
	v := x.view()
	same := func(after string) {
		t.Helper()
		if err := compareTable(v, x.rows, rows, true); err != nil {
			t.Fatalf("after %s: %v", after, err)
		}
	}
	same("nothing")
	x.checkpoint()
	same("a checkpoint")
	x.begin()
	x.fill(1000, "new")
	same("overwriting all in a session")
	x.undo()
	same("undo")
	for i := range 5 {
		x.begin()
		x.fill(1000, strings.Repeat(fmt.Sprint(i), 100*i))
		x.push()
		x.publish()
		same("a published revision")
		x.commit(x.Head())
		x.checkpoint()
		same("its checkpoint")
	}
	x.begin()
	x.must(second(x.DeleteRange(x.rows, nil, nil)))
	x.push()
	x.publish()
	same("deleting all")
	x.checkpoint()
	x.must(x.UndoAll())
	same("undoall")
	c, err := x.Checkpoint()
	x.must(err)
	same("the start of a checkpoint")
	x.must(c.Wait())
	x.must(v.Close())
}

func openSessionsShown(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.revision("a", "1")
	x.begin()
	x.put("a", "2")
	x.begin()
	x.put("b", "3")
	x.publish()
	inside := x.view()
	x.put("b", "4")
	x.must(x.Undo())
	again := x.view()
	x.publish()
	outer := x.view()
	x.push()
	x.publish()
	x.undo()
	x.publish()
	undone := x.view()
	for _, v := range []struct {
		store.View
		rows string
	}{{inside, "a=2 b=3"}, {again, "a=2 b=3"}, {outer, "a=2"}, {undone, "a=1"}} {
		if v.Revision() != 1 {
			t.Errorf("the view of %s is of revision %d, the head was 1", v.rows, v.Revision())
		}
		wantRows(t, v, x.rows, v.rows)
		x.must(v.Close())
	}
}

func shownUntilTheNext(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.put("a", "0")
	x.publish()
	x.revision("a", "1")
	x.publish()
	x.undo()
	v := x.view()
	if v.Revision() != 1 {
		t.Fatalf("view shows revision %d, published was 1", v.Revision())
	}
	wantRows(t, v, x.rows, "a=1")
	x.publish() // the head, which is 0 again
	w := x.view()
	if w.Revision() != 0 {
		t.Fatalf("view shows revision %d, published was 0", w.Revision())
	}
	wantRows(t, w, x.rows, "a=0")
	x.revision("a", "another 1")
	x.publish()
	u := x.view()
	wantRows(t, u, x.rows, "a=another 1")
	wantRows(t, v, x.rows, "a=1")
	wantRows(t, w, x.rows, "a=0")
	for _, v := range []store.View{v, w, u} {
		x.must(v.Close())
	}
}

func viewValuesLast(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	rng := source(1, "values", 0)
	var want []string
	for i := range 300 {
		want = append(want, value(rng, i*i%9000))
		x.put(numberedKey(i), want[i])
	}
	x.publish()
	v := x.view()
	var given [][]byte
	for i := range want {
		b, err := v.Get(x.rows, []byte(numberedKey(i)))
		x.must(err)
		given = append(given, b)
	}
	for range 3 {
		x.begin()
		x.fill(300, strings.Repeat("overwritten", 500))
		x.push()
		x.commit(x.Head())
		x.publish()
		x.checkpoint()
	}
	for i, b := range given {
		if string(b) != want[i] {
			t.Fatalf("value %d became %s, was %s", i, quote(string(b)), quote(want[i]))
		}
	}
	x.must(v.Close())
}

func thousandsOfViews(t *testing.T, e Engine) {
	const revisions, each = 40, 100
	x := open(t, e, Knobs{})
	x.fill(300, "0")
	x.publish()
	var views []store.View
	for i := 1; i <= revisions; i++ {
		x.begin()
		for j := range 30 {
			x.put(numberedKey((i*31+j)%300), fmt.Sprint(i))
		}
		x.put("revision", fmt.Sprint(i))
		x.push()
		x.commit(x.Head())
		x.publish()
		for range each {
			views = append(views, x.view())
		}
		if i%10 == 0 {
			x.checkpoint()
		}
	}
	s := x.Stats()
	if s.OpenViews != revisions*each || s.OldestView != 1 {
		t.Fatalf("%d views open, the oldest of revision %d; should be %d, 1", s.OpenViews, s.OldestView, revisions*each)
	}
	for i, v := range views {
		if v.Revision() != uint64(1+i/each) {
			t.Fatalf("view %d is of revision %d", i, v.Revision())
		}
		wantValue(t, v, x.rows, "revision", fmt.Sprint(v.Revision()))
	}
	for i := range views { // in no order
		x.must(views[i*1009%len(views)].Close())
	}
	if s := x.Stats(); s.OpenViews != 0 {
		t.Fatalf("%d views open, all were closed", s.OpenViews)
	}
	x.checkpoint()
}

func viewTables(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.fill(10, "1")
	x.publish()
	v := x.view()
	x.table("newer")
	x.begin()
	x.fill(20, "1")
	x.push()
	tables := v.Tables()
	for _, info := range tables {
		switch {
		case info.Name == "newer":
			t.Fatal("the view lists a table that is newer than it")
		case info.Name == rowsTable && (info.ID != x.rows || info.Rows != -1 && info.Rows != 10):
			t.Fatalf("the view says of its table: %+v", info)
		}
	}
	if _, ok := handles(tables)[rowsTable]; !ok {
		t.Fatalf("the view's tables are %+v", tables)
	}
	x.must(v.Close())
	x.publish()
	for _, info := range x.Tables() {
		if info.Name == rowsTable && info.Rows != -1 && info.Rows != 20 {
			t.Fatalf("the store says of its table: %+v", info)
		}
	}
}

// readersBesideWriter: each revision writes its number into every row, so that a
// view that mixes two is found out. Run it with the race detector.
func readersBesideWriter(t *testing.T, e Engine) {
	const rows, revisions, readers = 200, 150, 4
	x := open(t, e, Knobs{})
	x.fill(rows, "0")
	x.publish()
	var done atomic.Bool
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			for last := uint64(0); !done.Load(); {
				revision, err := readWhole(x.Store, x.rows, rows)
				if err == nil && revision < last {
					err = fmt.Errorf("revision %d was shown after %d", revision, last)
				}
				if err != nil {
					t.Error(err)
					return
				}
				last = revision
				x.Store.Stats()
				x.Store.Durable()
				x.Store.Tables()
			}
		})
	}
	for i := 1; i <= revisions && !t.Failed(); i++ {
		x.begin()
		for j := range rows {
			x.put(numberedKey(j), fmt.Sprint(i))
		}
		x.push()
		x.publish()
		x.commit(x.Head())
		if i%10 == 0 {
			x.must(second(x.Checkpoint()))
		}
		if i%25 == 0 { // a block that is taken back was never published
			x.revision(numberedKey(0), "lost")
			x.undo()
		}
	}
	done.Store(true)
	all.Wait()
}

// readWhole takes a view and checks that all its rows are of one revision.
func readWhole(s store.Store, table store.Table, rows int) (uint64, error) {
	v, err := s.View()
	if err != nil {
		return 0, err
	}
	defer v.Close()
	want := make([]row, rows)
	for i := range want {
		want[i] = row{numberedKey(i), fmt.Sprint(v.Revision())}
	}
	if err := compareTable(v, table, want, false); err != nil {
		return 0, fmt.Errorf("view of revision %d: %w", v.Revision(), err)
	}
	got, err := v.Get(table, []byte(numberedKey(rows/2)))
	if err != nil || string(got) != want[rows/2].value {
		return 0, fmt.Errorf("view of revision %d: get gives %q, %v", v.Revision(), got, err)
	}
	return v.Revision(), nil
}
