package revision_test

import (
	"testing"

	"tarn/internal/plantedfault"
)

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands that its
// tests notice.
func TestPlantedFaultsAreCaught(t *testing.T) {
	plantedfault.Test(t, []plantedfault.Fault{
		{"every old value of a row is kept", "journal.go", "if j.Len()-mark > max(condenseFrom, 2*kept) {", "if kept < 0 {"},
		{"an earlier revision raises the bound of the next", "journal.go", "	j.condensed = min(j.condensed, mark)\n", ""},
	})
}
