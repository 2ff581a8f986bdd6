package page_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"tarn/store"
	"tarn/store/page"
	"tarn/store/vfs"
)

// TestAFileCutShortIsAnErrorNotACrash truncates the file of a running store, in
// the modes that map it. Whatever is then asked of the store, the answer is right
// or an error that names the file and the offset.
func TestAFileCutShortIsAnErrorNotACrash(t *testing.T) {
	for _, mode := range []page.Mode{page.Mapped, page.MappedPrivate} {
		for _, cutAt := range []int64{0, 2, 3, 40, 100} {
			t.Run(fmt.Sprintf("%v/cut at page %d", mode, cutAt), func(t *testing.T) {
				h := newHistory(t, 1, vfs.OS, nil, page.Options{
					Dir: t.TempDir(), Mode: mode, LimitBytes: 16 << 20, GrowBytes: 2 << 20,
				})
				h.keys = 500
				h.fill(900, 1)
				h.checkpoint()
				h.reopen()
				h.cut(cutAt * pageBytes)
			})
		}
	}
}

// cut truncates the file under the open store and uses everything of it.
func (h *history) cut(size int64) {
	t := h.t
	path := h.options.Dir + "/state.tarn"
	v, err := h.store.View()
	h.try(err)
	c, err := v.Cursor(h.tables[0])
	h.try(err)
	h.try(os.Truncate(path, size))

	faults, grows := 0, false
	check := func(what string, err error) {
		t.Helper()
		var fault *store.FaultError
		var damage *store.CorruptError
		switch {
		case err == nil || errors.Is(err, store.ErrNotFound):
		case errors.As(err, &damage) && grows: // it has zeros where it was cut
			if damage.Path != path || damage.Offset < size {
				t.Errorf("%s: the error names offset %d of %s", what, damage.Offset, damage.Path)
			}
		case !errors.As(err, &fault):
			t.Errorf("%s: %v", what, err)
		case fault.Path != path || fault.Offset < size || fault.Offset >= 16<<20:
			t.Errorf("%s: the error names offset %d of %s", what, fault.Offset, fault.Path)
		default:
			faults++
		}
	}
	check("view", equal(v, h.now))
	check("writer", equal(h.store, h.now))
	for range 50 {
		table, key := h.key()
		_, err := h.store.Get(h.tables[table], []byte(key))
		check("get", err)
	}
	for ok := c.Last(); ok; ok = c.Prev() {
		c.Value()
	}
	check("cursor", c.Err())
	if err := clean(h.engine); err == nil {
		t.Error("verify finds nothing")
	}

	h.try(h.store.Begin())
	grows = true // changes make the file longer
	for range 50 {
		table, key := h.key()
		check("put", h.store.Put(h.tables[table], []byte(key), []byte(h.value())))
		table, key = h.key()
		check("delete", h.store.Delete(h.tables[table], []byte(key)))
	}
	check("push", h.store.Push())
	if k, err := h.store.Checkpoint(); err != nil {
		check("checkpoint", err)
	} else {
		k.Wait() //nolint:errcheck // it may write what is still there
	}
	h.waiting = false
	check("close of the cursor", c.Close())
	check("close of the view", v.Close())
	if err := h.store.Close(); err != nil {
		check("close", err)
	}
	if faults == 0 {
		t.Error("no call met the missing pages")
	}
}
