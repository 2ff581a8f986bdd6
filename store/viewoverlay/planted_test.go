package viewoverlay

import (
	"testing"

	"tarn/internal/plantedfault"
)

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands that its
// tests notice. The seed is one whose random stores fall into the last of them, which few do.
func TestPlantedFaultsAreCaught(t *testing.T) {
	plantedfault.Test(t, []plantedfault.Fault{
		{"a store leaves its rows to the next", "viewoverlay.go", "	e.box.used = true\n	return nil\n", "	return nil\n"},
		{"a row that is undone to what the view has stays deleted", "viewoverlay.go", "return e.box.rows.Restore(t, key, nil, false)", "return nil"},
		{"a row passes what is deleted", "viewoverlay.go", "		return nil, store.ErrNotFound\n", "		return e.view.Get(t, key)\n"},
		{"a cursor whose row is gone leaves out the next", "../revision/cursor.go", "return c.noteMove(c.rows.Valid())", "return c.noteMove(c.rows.Next())"},
		{"a cursor goes back from where others have moved the rows", "../revision/cursor.go",
			"	if c.detached {\n		return c.noteMove(c.rows.SeekLT(c.key))",
			"	if false {\n		return c.noteMove(c.rows.SeekLT(c.key))"},
		{"a session's old values are taken for those of the one around it", "../revision/store.go",
			"return s.journal.makeRoom(s.marks[len(s.marks)-1])", "return s.journal.makeRoom(0)"},
	}, "-seed=1795543429145472684")
}
