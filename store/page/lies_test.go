package page_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"tarn/store/page"
	"tarn/store/revision"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// TestADiskThatLiesIsFoundOut: from some moment on every sync of the state file
// returns at once, without doing anything. No store can keep its promise then;
// but what it opens after a power cut is an image that was, or an error.
func TestADiskThatLiesIsFoundOut(t *testing.T) {
	first := seed(t)
	var whole, found int
	for run := range uint64(6) {
		mem := memfs.New()
		record := recordfs.New(mem)
		liar := errorfs.New(record)
		h := newHistory(t, first+run<<32, liar, record, heap(8<<20))
		h.fill(80, 3)
		h.checkpoint()
		h.wait()
		from := h.position()
		liar.Inject(errorfs.Fault{Ops: errorfs.Sync, Path: "state.tarn", Ever: true, Lie: true})
		for range 10 {
			h.block(6)
			h.commit(2)
			h.checkpoint()
		}
		h.close()
		for s := range record.Recording().States(recordfs.Options{From: from, Count: budget(*crashes) / 60,
			Seed: first + run}) {
			err := h.honest(s)
			if err == nil {
				whole++
			} else if damaged(err) {
				found++
			} else {
				t.Fatalf("%v\n%v", err, s)
			}
		}
	}
	t.Logf("%d states: %d open at an image that was, %d are found damaged", whole+found, whole, found)
	if whole == 0 || found == 0 {
		t.Error("expected some of both")
	}
}

// honest returns nil if a state holds an image that was, and the damage that was
// found otherwise.
func (h *history) honest(s recordfs.State) (err error) {
	e, err := page.Open(page.Options{
		Dir: h.options.Dir, FS: s.FS, Mode: page.Heap, LimitBytes: h.options.LimitBytes, GrowBytes: 2 << 20,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	st, err := revision.Open(e)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(h.spans, func(s span) bool { return s.image == st.Durable() })
	if i < 0 {
		return fmt.Errorf("shows an image at %+v that never was", st.Durable())
	}
	_, wrong := match(st, h.spans[i:i+1])
	verified := clean(e)
	if wrong != nil && verified == nil {
		return fmt.Errorf("verify finds nothing, reading does: %v", wrong) // not %w: this must not count as found
	}
	if wrong != nil {
		return wrong
	}
	return verified
}
