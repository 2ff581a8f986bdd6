package storetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tarn/store"
)

func openPromises() []promise {
	return []promise{
		{name: "a second opener is told at once", check: secondOpener},
		{name: "another process is told who has the store", check: lockedByProcess},
		{name: "stores in two folders are two stores", check: twoStores},
		{name: "a read-only store refuses every change", check: readOnly},
		{name: "read-only beside a writer is safe or refused", check: readOnlyBesideWriter},
		{name: "there is nothing to read in an empty folder", check: readOnlyNothing},
		{name: "what is not a folder is refused", check: notAFolder},
		{name: "a closed store says so", check: closedStore},
		{name: "a store may be closed while it is watched", check: closedWhileWatched},
		{name: "a failed open leaves nothing open", check: failedOpen},
		{name: "a closed store can be opened at once, whoever starts processes", check: openedWhileForking},
	}
}

func secondOpener(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.put("a", "1")
	x.checkpoint()
	begun := time.Now()
	s, err := e.Open(x.dir, Knobs{})
	if err == nil {
		t.Fatal(errors.Join(errors.New("the store was opened twice"), s.Close()))
	}
	wantError(t, "second open", err, store.ErrLocked)
	var locked *store.LockedError
	if !errors.As(err, &locked) || locked.Path == "" {
		t.Fatalf("the error is not a LockedError with a path: %#v", err)
	}
	if d := time.Since(begun); d > 20*time.Second {
		t.Fatalf("it took %v to say so", d)
	}
	x.put("b", "2") // the first is not disturbed
	x.checkpoint()
	x.reopen()
	x.wantRows("a=1 b=2")
}

func lockedByProcess(t *testing.T, e Engine) {
	dir := t.TempDir()
	holder, err := start(job{Role: roleHold, Engine: e.Name, Dir: dir}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.kill() //nolint:errcheck // only after a failure is it still there
	if err := holder.await("opened", 1, openPatience); err != nil {
		t.Fatal(err)
	}
	s, err := e.Open(storeDir(dir), Knobs{})
	if err == nil {
		t.Fatal(errors.Join(errors.New("the store was opened by two processes"), s.Close()))
	}
	var locked *store.LockedError
	if !errors.As(err, &locked) || locked.PID != holder.cmd.Process.Pid {
		t.Fatalf("error is %v, should be a LockedError of process %d", err, holder.cmd.Process.Pid)
	}
	if text := fmt.Sprint(locked.PID); !strings.Contains(err.Error(), text) {
		t.Fatalf("the message does not name process %s: %v", text, err)
	}
	if err := holder.kill(); err != nil {
		t.Fatal(err)
	}
	if s, err = e.Open(storeDir(dir), Knobs{}); err != nil {
		t.Fatalf("open after the holder was killed: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func twoStores(t *testing.T, e Engine) {
	x, y := open(t, e, Knobs{}), open(t, e, Knobs{})
	x.put("a", "x")
	y.put("a", "y")
	x.checkpoint()
	y.checkpoint()
	x.reopen()
	y.wantRows("a=y")
	x.wantRows("a=x")
}

func readOnly(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.put("a", "1")
	x.wantID(x.rows, 0)
	x.revision("b", "2")
	x.commit(1)
	x.checkpoint()
	x.close()
	before := folder(t, x.dir)

	r := openAt(t, e, x.dir, Knobs{ReadOnly: true})
	r.wantRows("a=1 b=2")
	r.wantNumbers(0, 1, 1)
	r.wantDurable(store.Durable{Head: 1, Irreversible: 1})
	v := r.view()
	wantRows(t, v, r.rows, "a=1 b=2")
	r.must(v.Close())
	wantError(t, "put", r.Put(r.rows, []byte("c"), nil), store.ErrReadOnly)
	wantError(t, "delete", r.Delete(r.rows, []byte("a")), store.ErrReadOnly)
	wantError(t, "deleterange", second(r.DeleteRange(r.rows, nil, nil)), store.ErrReadOnly)
	wantError(t, "nextid", second(r.NextID(r.rows)), store.ErrReadOnly)
	wantError(t, "createtable", second(r.CreateTable("new")), store.ErrReadOnly)
	wantError(t, "checkpoint", second(r.Checkpoint()), store.ErrReadOnly)
	if again := r.table(rowsTable); again != r.rows {
		t.Fatalf("table that exists: handle is %d, was %d", again, r.rows)
	}
	r.wantRows("a=1 b=2")
	r.close()
	for name, size := range folder(t, x.dir) {
		if before[name] != size {
			t.Fatalf("%s had %d bytes before it was opened for reading, has %d", name, before[name], size)
		}
	}
	x.reopen()
	x.wantRows("a=1 b=2")
	x.put("c", "3")
}

// folder lists the files of a store and their sizes, but for locks and what a
// library tells of itself.
func folder(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	files := map[string]int64{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "LOCK") || strings.HasPrefix(d.Name(), "LOG") {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files[path] = info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readOnlyBesideWriter(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.fill(500, "durable")
	x.checkpoint()
	x.begin()
	x.fill(500, "not durable")
	r, err := e.Open(x.dir, Knobs{ReadOnly: true})
	if err != nil {
		wantError(t, "open for reading beside a writer", err, store.ErrLocked)
	} else {
		for range 3 { // it must go on showing what it opened at
			wantValue(t, r, x.rows, numberedKey(499), "durable")
			x.push()
			x.commit(x.Head())
			x.checkpoint()
			x.begin()
			x.fill(500, "later")
		}
		x.must(r.Close())
	}
	x.undo()
	x.reopen()

	x.close()
	first, err := e.Open(x.dir, Knobs{ReadOnly: true})
	x.must(err)
	s, err := e.Open(x.dir, Knobs{})
	if err == nil {
		x.must(s.Close())
		t.Log("a writer may open beside a reader")
	} else {
		wantError(t, "open for writing beside a reader", err, store.ErrLocked)
	}
	x.must(first.Close())
	x.reopen()
}

func readOnlyNothing(t *testing.T, e Engine) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		s, err := e.Open(dir, Knobs{ReadOnly: true})
		if err == nil {
			t.Fatal(errors.Join(errors.New("a store was opened where there is none"), s.Close()))
		}
		wantError(t, "open of nothing", err, os.ErrNotExist)
		if _, err := os.Stat(dir); err == nil && len(folder(t, dir)) > 0 {
			t.Fatalf("the open left %v", folder(t, dir))
		}
	}
}

func notAFolder(t *testing.T, e Engine) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, k := range []Knobs{{}, {ReadOnly: true}} {
		s, err := e.Open(file, k)
		if err == nil {
			t.Fatal(errors.Join(errors.New("a file was opened as a folder"), s.Close()))
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "text" {
		t.Fatalf("the file is now %q, %v", b, err)
	}
}

func closedStore(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.revision("a", "1")
	x.publish()
	x.close()
	s, a := x.Store, []byte("a")
	for what, err := range map[string]error{
		"get":         second(s.Get(x.rows, a)),
		"cursor":      second(s.Cursor(x.rows)),
		"put":         s.Put(x.rows, a, nil),
		"delete":      s.Delete(x.rows, a),
		"deleterange": second(s.DeleteRange(x.rows, nil, nil)),
		"nextid":      second(s.NextID(x.rows)),
		"createtable": second(s.CreateTable("new")),
		"begin":       s.Begin(),
		"squash":      s.Squash(),
		"push":        s.Push(),
		"undo":        s.Undo(),
		"undoall":     s.UndoAll(),
		"commit":      s.Commit(1),
		"setrevision": s.SetRevision(9),
		"publish":     s.Publish(),
		"view":        second(s.View()),
		"checkpoint":  second(s.Checkpoint()),
		"close":       s.Close(),
	} {
		wantError(t, what, err, store.ErrClosed)
	}
	x.reopen()
}

// closedWhileWatched: whoever watches a store need not know when it is closed.
func closedWhileWatched(t *testing.T, e Engine) {
	for range 10 {
		x := open(t, e, Knobs{})
		x.fill(100, "1")
		x.publish()
		var done atomic.Bool
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				for !done.Load() {
					x.Store.Stats()
					x.Store.Durable()
					x.Store.Tables()
					v, err := x.Store.View()
					if errors.Is(err, store.ErrClosed) {
						return
					}
					if err != nil {
						t.Errorf("view: %v", err)
						return
					}
					if err := v.Close(); err != nil {
						t.Errorf("close of a view: %v", err)
					}
				}
			})
		}
		c, err := x.Checkpoint()
		x.must(err)
		x.close()
		x.must(c.Wait())
		time.Sleep(time.Millisecond)
		done.Store(true)
		all.Wait()
	}
}

// failedOpen: an open that failed must not keep the lock.
func failedOpen(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.put("a", "1")
	x.checkpoint()
	for range 3 {
		if s, err := e.Open(x.dir, Knobs{}); err == nil {
			t.Fatal(errors.Join(errors.New("the store was opened twice"), s.Close()))
		}
	}
	x.reopen()
	x.wantRows("a=1")
}

// openedWhileForking: a process that is being started has, for a moment, copies
// of all open files, and with them of a lock that is given back by closing.
func openedWhileForking(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.put("a", "1")
	x.checkpoint()
	var done atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		for !done.Load() {
			exec.Command("/bin/true").Run() //nolint:errcheck // starting it is all
		}
	})
	defer all.Wait()
	defer done.Store(true)
	for begun := time.Now(); time.Since(begun) < 300*time.Millisecond; {
		x.reopen()
	}
	x.wantRows("a=1")
}
