package mergecursor

import (
	"testing"

	"tarn/internal/plantedfault"
)

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands that its
// tests notice.
func TestPlantedFaultsAreCaught(t *testing.T) {
	plantedfault.Test(t, []plantedfault.Fault{
		{"a row that cannot be read is passed over", "merge.go", "if err := l.Err(); err != nil {", "if err := l.Err(); err != nil && false {"},
		{"a value that cannot be read is empty", "merge.go", "if value == nil && !l.Valid() {", "if false {"},
		{"the oldest layer counts", "merge.go", "if order < 0 {", "if order <= 0 {"},
		{"a cursor that turns stays where its layers stood", "merge.go", "			l.Seek(c.key)\n", "			l.Valid()\n"},
	})
}
