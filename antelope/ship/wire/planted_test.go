package wire_test

import (
	"testing"

	"tarn/internal/planted"
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
// noted of a block's rows, and demands that the histories of the sample differ then.
func TestPlantedFaultsInTheOrderOfRowsAreCaught(t *testing.T) {
	sample(t)
	planted.Test(t, []planted.Fault{
		{"changed rows come oldest first", notesFile, "for i := len(touched) - 1; i >= 0; i-- {", "for i := range touched {"},
		{"removed rows come oldest first", notesFile, "for i := len(gone) - 1; i >= 0; i-- {", "for i := range gone {"},
		{"removed rows are left out", notesFile, goneLoop, ""},
		{"removed rows come after new ones", notesFile, goneLoop + madeLoop, madeLoop + goneLoop},
		{"new rows come newest first", notesFile, madeLoop, "	for i := len(n.list) - 1; i >= 0; i-- {\n" + madeLoop[len("	for i := range n.list {\n"):]},
		{"a row that is removed and made again is only removed", notesFile, "fates[x.key].made == i {", "fates[x.key].made == i && !fates[x.key].gone {"},
		{"an ABI that is set to what it was is left out", "../../state/state.go", "	if err := s.Accounts.note(n); err != nil {",
			"	if was, err := s.ABI(n); err != nil || string(was) == string(abi) {\n		return err\n	}\n	if err := s.Accounts.note(n); err != nil {"},
		{"what only an undone transaction touched is shown", notesFile, "	n.marks = n.marks[:len(n.marks)-1]\n	for i := mark;",
			"	n.marks = n.marks[:len(n.marks)-1]\n	for mark < len(n.list) && n.list[mark].before && n.list[mark].after {\n		mark++\n	}\n	for i := mark;"},
		{"a row that is as it was is left out", "delta.go", `changed(d, "resource_usage", c.Usages, nil, appendUsage)`,
			`changed(d, "resource_usage", c.Usages, func(a, b *state.ResourceUsage) bool { return *a != *b }, appendUsage)`},
	}, "-run=^TestTheHistoriesOfASampleAreNodeosOwn$")
}
