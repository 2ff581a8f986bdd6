package revision_test

import (
	"testing"

	"tarn/internal/plantedfault"
)

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands that its
// tests notice.
func TestPlantedFaultsAreCaught(t *testing.T) {
	plantedfault.Test(t, []plantedfault.Fault{
		{"a session that is taken back stays noted", "values.go", "v.buf, v.marks = v.buf[:v.marks[n]], v.marks[:n]", "v.marks = v.marks[:n]"},
		{"a row that was not there to delete stays noted", "values.go", "v.buf = v.buf[:v.last]", ""},
		{"what was noted of a revision that was taken back counts", "values.go", "func (v *values) undoHead() { v.whole = false }", "func (v *values) undoHead() {}"},
		{"a row that changed twice has its first value", "values.go", "cmp.Compare(b.record, a.record)", "cmp.Compare(a.record, b.record)"},
		{"a value of a record that is left out is told of another row", "values.go", "r.dropped[0].record == r.record {", "false {"},
		{"each change that is noted is passed over only if it is wanted", "changes.go", "if whole { // of each record, also of those that nobody wants", "if whole && (of == nil || of(t)) {"},
		{"every old value of a row is kept", "journal.go", "if j.Len()-mark > max(condenseFrom, 2*kept) {", "if kept < 0 {"},
		{"an earlier revision raises the bound of the next", "journal.go", "	j.condensed = min(j.condensed, mark)\n", ""},
	})
}
