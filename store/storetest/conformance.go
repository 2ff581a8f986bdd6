package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tarn/store"
)

// promise is one sentence of the contract and how it is checked.
type promise struct {
	name  string
	check func(t *testing.T, e Engine)
	// kept tells which engines give the promise; nil: all.
	kept func(e Engine) bool
}

// Conformance checks the contract of store.Store, sentence by sentence.
func (s *Suite) Conformance(t *testing.T) {
	var promises []promise
	for _, group := range [][]promise{rowPromises(), cursorPromises(), sessionPromises(), viewPromises(),
		checkpointPromises(), openPromises(), limitPromises()} {
		promises = append(promises, group...)
	}
	s.each(t, func(t *testing.T, e Engine) {
		checked := 0
		for _, p := range promises {
			if p.kept == nil || p.kept(e) {
				checked++
				t.Run(p.name, func(t *testing.T) { p.check(t, e) })
			}
		}
		t.Logf("promises=%d engine=%s", checked, e.Name)
	})
}

// subject is an open store under a conformance test. Its methods fail the test
// where the store's return an error.
type subject struct {
	store.Store
	t      testing.TB
	engine Engine
	dir    string
	knobs  Knobs
	rows   store.Table // a table to work in
	closed bool
}

const rowsTable = "rows"

// open opens a store in a folder of its own, with one table.
func open(t testing.TB, e Engine, k Knobs) *subject {
	t.Helper()
	return openAt(t, e, t.TempDir(), k)
}

func openAt(t testing.TB, e Engine, dir string, k Knobs) *subject {
	t.Helper()
	s, err := e.Open(dir, k)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	x := &subject{Store: s, t: t, engine: e, dir: dir, knobs: k}
	t.Cleanup(func() { x.close() })
	x.rows, err = s.Table(rowsTable)
	if errors.Is(err, store.ErrNoTable) && s.Head() == s.Irreversible() && !k.ReadOnly {
		x.rows = x.table(rowsTable)
	}
	return x
}

func (x *subject) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *subject) close() {
	x.t.Helper()
	if !x.closed {
		x.closed = true
		x.must(x.Close())
	}
}

// reopen closes the store and opens it again.
func (x *subject) reopen() {
	x.t.Helper()
	x.close()
	s, err := x.engine.Open(x.dir, x.knobs)
	x.must(err)
	x.Store, x.closed = s, false
}

func (x *subject) table(name string) store.Table {
	x.t.Helper()
	h, err := x.CreateTable(name)
	x.must(err)
	return h
}

func (x *subject) put(key, value string) {
	x.t.Helper()
	x.must(x.Put(x.rows, []byte(key), []byte(value)))
}

func (x *subject) del(key string) {
	x.t.Helper()
	x.must(x.Delete(x.rows, []byte(key)))
}

// fill puts rows from key 0 to n-1, all with the same value.
func (x *subject) fill(n int, value string) {
	x.t.Helper()
	for i := range n {
		x.put(numberedKey(i), value)
	}
}

func numberedKey(i int) string { return fmt.Sprintf("key%06d", i) }

func (x *subject) begin() { x.t.Helper(); x.must(x.Begin()) }
func (x *subject) push()  { x.t.Helper(); x.must(x.Push()) }
func (x *subject) undo()  { x.t.Helper(); x.must(x.Undo()) }

// revision makes one revision that puts one row.
func (x *subject) revision(key, value string) {
	x.t.Helper()
	x.begin()
	x.put(key, value)
	x.push()
}

func (x *subject) commit(revision uint64) { x.t.Helper(); x.must(x.Commit(revision)) }
func (x *subject) publish()               { x.t.Helper(); x.must(x.Publish()) }

func (x *subject) view() store.View {
	x.t.Helper()
	v, err := x.View()
	x.must(err)
	return v
}

func (x *subject) checkpoint() {
	x.t.Helper()
	c, err := x.Checkpoint()
	x.must(err)
	x.must(c.Wait())
}

// image is what a checkpoint now would make durable.
func (x *subject) image() store.Durable {
	if x.engine.StoresUndo {
		return store.Durable{Head: x.Head(), Irreversible: x.Irreversible()}
	}
	return store.Durable{Head: x.Irreversible(), Irreversible: x.Irreversible()}
}

// wantRows compares the rows of the table with "key=value key=value ...".
func (x *subject) wantRows(want string) {
	x.t.Helper()
	wantRows(x.t, x, x.rows, want)
}

func wantRows(t testing.TB, r store.Reader, table store.Table, want string) {
	t.Helper()
	got, err := list(r, table)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("rows are %q, should be %q", got, want)
	}
}

func list(r store.Reader, table store.Table) (string, error) {
	c, err := r.Cursor(table)
	if err != nil {
		return "", err
	}
	var all []string
	for ok := c.First(); ok; ok = c.Next() {
		all = append(all, fmt.Sprintf("%s=%s", c.Key(), c.Value()))
	}
	return strings.Join(all, " "), errors.Join(c.Err(), c.Close())
}

// wantValue compares one value.
func wantValue(t testing.TB, r store.Reader, table store.Table, key, want string) {
	t.Helper()
	got, err := r.Get(table, []byte(key))
	if err != nil {
		t.Fatalf("get %s: %v", quote(key), err)
	}
	if !bytes.Equal(got, []byte(want)) {
		t.Fatalf("value of %s is %s, should be %s", quote(key), quote(string(got)), quote(want))
	}
}

// wantError is the check of an expected answer.
func wantError(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("%s: error is %v, should be %v", what, got, want)
	}
}

// wantNumbers compares depth, head and irreversible.
func (x *subject) wantNumbers(depth int, head, irreversible uint64) {
	x.t.Helper()
	if x.Depth() != depth || x.Head() != head || x.Irreversible() != irreversible {
		x.t.Fatalf("depth %d, head %d, irreversible %d; should be %d, %d, %d",
			x.Depth(), x.Head(), x.Irreversible(), depth, head, irreversible)
	}
}

func (x *subject) wantDurable(want store.Durable) {
	x.t.Helper()
	if got := x.Durable(); got != want {
		x.t.Fatalf("durable is %+v, should be %+v", got, want)
	}
}
