package page

import (
	"encoding/binary"
	"maps"
	"os"
	"strings"
	"testing"

	"tarn/store"
)

// What the file grows by is memory of no file at first. A checkpoint makes it the
// file's, but where a page was changed while it was under way.
func TestGrownMemoryBecomesTheFiles(t *testing.T) {
	e, tb := newRows(t, Options{Mode: MappedPrivate, LimitBytes: 256 << 20, GrowBytes: 4 << 20})
	rows := map[string]string{}
	put := func(from, to uint32) {
		for i := from; i < to; i++ {
			k, v := string(binary.BigEndian.AppendUint32(nil, i)), strings.Repeat("v", 200)
			if err := e.Put(tb, []byte(k), []byte(v), nil); err != nil {
				t.Fatal(err)
			}
			rows[k] = v
		}
	}
	fresh := func() (n int) {
		e.mem.fresh.runs(0, uint32(e.mem.reserved/hugePage), func(_, chunks uint32) { n += int(chunks) })
		return n
	}
	head := uint64(0)
	begin := func() store.Checkpoint {
		head++
		c, err := e.Checkpoint(store.Image{Head: head, Irreversible: head})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	put(0, 100_000)
	if fresh() < 8 {
		t.Fatalf("%d chunks are fresh", fresh())
	}
	if err := e.Publish(1); err != nil {
		t.Fatal(err)
	}
	view, err := e.View()
	if err != nil {
		t.Fatal(err)
	}
	seen := maps.Clone(rows)
	c := begin()
	put(100_000, 100_100)
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	e.settle()
	// The chunk in which the last rows are stays, and those that are not in use.
	if used := int(e.space.end+hugePages-1) / hugePages; !e.mem.fresh.get(uint32(used - 1)) {
		t.Errorf("the last of %d chunks has changed pages and is the file's", used)
	}
	if e.privatePages > 2*hugePages {
		t.Errorf("%d pages are private still", e.privatePages)
	}
	if returned := e.Stats().LastCheckpoint.Returned; returned < 16<<20 {
		t.Errorf("%d bytes were returned", returned)
	}
	compare(t, view, tb, seen)
	view.Close()
	if err := begin().Wait(); err != nil {
		t.Fatal(err)
	}
	e.settle()
	if e.privatePages != 0 {
		t.Errorf("%d pages are private", e.privatePages)
	}
	compare(t, e, tb, rows)
	verify(t, e)
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	if n := strings.Count(string(maps), "state.tarn\n"); n == 0 || n > 8 {
		t.Errorf("the file is mapped in %d pieces", n)
	}
}

// A value of many pages is verified at its first one, and anew when a part of it is
// read from the file again.
func TestARunIsVerifiedAgainWhenItsTailIsDropped(t *testing.T) {
	e, err := Open(Options{Dir: t.TempDir(), LimitBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	tb := onePut(t, e, make([]byte, 5<<20))
	n, i, err := e.lookup(&e.tables[tb-1].tree, tb, []byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	ref, _ := n.value(i)
	page := decodeRunRef(ref).page
	if !e.isChecked(page) {
		t.Fatal("a run that was just written is not known to be sound")
	}
	e.uncheck(firstPage, page+700, 5, e.raw)
	if e.isChecked(page) || e.isChecked(page+704) {
		t.Error("the run is not verified again")
	}
}
