package wire_test

import (
	"testing"

	"tarn/internal/plantedfault"
	"tarn/internal/refdata"
)

const (
	notesFile = "../../state/notes.go"

	goneLoop = `	for i := len(gone) - 1; i >= 0; i-- {
		if err := add(gone[i], old(gone[i]), false); err != nil {
			return nil, err
		}
	}
`
	madeLoop = `	for i := range n.list {
		if x := &n.list[i]; !x.before && fates[x.key].made == i {
			if err := add(x.key, nil, true); err != nil {
				return nil, err
			}
		}
	}
`
)

// TestPlantedFaultsInTheOrderOfRowsAreCaught builds this package with each fault in what is
// noted of a block's rows, and demands that the histories of the sample differ then. What the
// sample does not show is planted in antelope/difftest.
func TestPlantedFaultsInTheOrderOfRowsAreCaught(t *testing.T) {
	refdata.Path(t, "history-sample")
	plantedfault.Test(t, []plantedfault.Fault{
		{"changed rows come oldest first", notesFile, "for i := len(touched) - 1; i >= 0; i-- {", "for i := range touched {"},
		{"removed rows come oldest first", notesFile, "for i := len(gone) - 1; i >= 0; i-- {", "for i := range gone {"},
		{"removed rows are left out", notesFile, goneLoop, ""},
		{"removed rows come after new ones", notesFile, goneLoop + madeLoop, madeLoop + goneLoop},
		{"new rows come newest first", notesFile, madeLoop, "	for i := len(n.list) - 1; i >= 0; i-- {\n" + madeLoop[len("	for i := range n.list {\n"):]},
	}, "-run=^TestTheHistoriesOfASampleAreNodeosOwn$")
}
