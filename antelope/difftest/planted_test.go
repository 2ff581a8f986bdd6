package difftest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tarn/internal/plantedfault"
)

// TestPlantedFaultsInTheOrderOfRowsAreCaught builds this package with faults in what is noted of a
// block's rows that the recorded sample does not show (antelope/ship/wire has the others), and
// demands that the comparison with nodeos does.
func TestPlantedFaultsInTheOrderOfRowsAreCaught(t *testing.T) {
	if os.Getenv("TARN_PLANTED") != "" {
		t.Setenv("TARN_DIFFTEST_CASES", casesWithHistory(t, "code-all", "db-all"))
	}
	plantedfault.Test(t, []plantedfault.Fault{
		{"a row that is removed and made again is only removed", "../state/notes.go", "fates[x.key].made == i {",
			"fates[x.key].made == i && !fates[x.key].gone {"},
		{"an ABI that is set to what it was is left out", "../state/state.go", "	if err := s.Accounts.note(n); err != nil {",
			"	if was, err := s.ABI(n); err != nil || string(was) == string(abi) {\n		return err\n	}\n	if err := s.Accounts.note(n); err != nil {"},
		{"what only an undone transaction touched is shown", "../state/notes.go", "	n.marks = n.marks[:len(n.marks)-1]\n	for i := mark;",
			"	n.marks = n.marks[:len(n.marks)-1]\n	for mark < len(n.list) && n.list[mark].before && n.list[mark].after {\n		mark++\n	}\n	for i := mark;"},
	}, "-run=^TestOurStateHistoryIsThatOfNodeos$")
}

// casesWithHistory records workloads, each with the logs that nodeos makes of it.
func casesWithHistory(t *testing.T, names ...string) string {
	p, cases := peer(t), t.TempDir()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, w := range Workloads() {
		if !slices.Contains(names, w.Name) {
			continue
		}
		dir := filepath.Join(cases, w.Name)
		_, err := p.RecordSteered(t.Context(), w, seed, 4*time.Second, dir, lines{t})
		var theirs string
		if err == nil {
			theirs, err = p.StateHistory(t.Context(), dir, t.TempDir())
		}
		if err = errors.Join(err, os.CopyFS(filepath.Join(dir, "state-history"), os.DirFS(theirs))); err != nil {
			t.Fatal(err)
		}
	}
	return cases
}
