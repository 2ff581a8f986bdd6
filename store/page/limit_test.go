package page_test

import (
	"testing"

	"tarn/store/page"
	"tarn/store/vfs"
)

// TestAFileLargerThanALoweredLimitOpens: what counts is the state, not the
// growth step that the file was made with.
func TestAFileLargerThanALoweredLimitOpens(t *testing.T) {
	for _, mode := range []page.Mode{page.Mapped, page.MappedPrivate, page.Heap} {
		t.Run(mode.String(), func(t *testing.T) {
			h := newHistory(t, 1, vfs.OS, nil, page.Options{
				Dir: t.TempDir(), Mode: mode, LimitBytes: 1 << 30, GrowBytes: 256 << 20,
			})
			h.fill(100, 1)
			h.checkpoint()
			h.wait()
			h.options.LimitBytes, h.options.GrowBytes = 1<<20, 2<<20
			h.reopen()
			h.block(20)
			h.checkpoint()
			h.reopen()
			h.try(clean(h.engine))
			h.close()
		})
	}
}
