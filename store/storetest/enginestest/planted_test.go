package enginestest

import (
	"testing"

	"tarn/internal/plantedfault"
)

// The model with failing flushes, or the test of their steps, notices each fault of a flush.
func TestPlantedFaultsOfFlushesAreCaught(t *testing.T) {
	const flush, folder = "../../lsm/checkpoint.go", "../../lsm/folder.go"
	plantedfault.Test(t, []plantedfault.Fault{
		{Name: "rows that may have been committed are taken for absent", File: flush,
			From: "open, e.unsure = false, true", To: "open = false"},
		{Name: "a sealed flush counts as done before its residue is there", File: flush,
			From: "e.named = len(f.tables)\n", To: "e.named, e.unsure = len(f.tables), false\n"},
		{Name: "a residue for which there is no memory counts as none", File: flush,
			From: "residue, err := f.residue(undone, e.overlayLimit())\n", To: "residue, _ := f.residue(undone, e.overlayLimit())\n"},
		{Name: "a flush goes on although what must come before failed", File: flush,
			From: "err := e.opts.BeforeCheckpoint(f.image.Irreversible); err != nil",
			To:   "err := e.opts.BeforeCheckpoint(f.image.Irreversible); false && err != nil"},
		{Name: "a seal that was not written counts as one", File: folder,
			From: "s.file.write(next); err != nil", To: "s.file.write(next); false && err != nil"},
	}, "-run=ModelFailing|FailedStep")
}
