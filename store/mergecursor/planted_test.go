package mergecursor

import (
	"testing"

	"tarn/internal/plantedfault"
)

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands that its
// tests notice.
func TestPlantedFaultsAreCaught(t *testing.T) {
	plantedfault.Test(t, []plantedfault.Fault{
		{"a row that cannot be read is passed over", "mergecursor.go", "if err := l.Err(); err != nil {", "if err := l.Err(); err != nil && false {"},
		{"a value that cannot be read is empty", "mergecursor.go", "if value == nil && !l.Valid() {", "if false {"},
		{"the oldest layer counts", "mergecursor.go", "if order < 0 {", "if order <= 0 {"},
		{"a cursor that turns stays where its layers stood", "mergecursor.go", "			l.Seek(c.key)\n", "			l.Valid()\n"},
	})
}
