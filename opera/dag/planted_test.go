package dag

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// planted are faults, each a piece of this package's source and what it is changed into.
var planted = []struct{ fault, file, from, to string }{
	{"a tie of votes is a no", "election.go", "if yes[s] < no {", "if yes[s] <= no {"},
	{"a vote decides one short of a quorum", "election.go", "if yes[s] >= e.quorum ||", "if yes[s]+1 >= e.quorum ||"},
	{"a no needs more than a quorum", "election.go", "|| no >= e.quorum {", "|| no > e.quorum {"},
	{"voters of the first round vote again in the second", "election.go", "if b.frame == e.deciding+1 {", "if b.frame <= e.deciding+2 {"},
	{"the Atropos is of any validator that was agreed on", "election.go", "		if !decided {\n			return none, nil", "		if !decided {\n			continue"},
	{"roots of several frames are roots of the last", "election.go", "f := max(e.nodes[n.self].frame, e.deciding) + 1", "f := max(n.frame-1, e.deciding) + 1"},
	{"roots that are known do not vote again", "election.go", "v.waiting = append(v.waiting, b.inOrder...)", "_ = b"},
	{"a fork that a parent has seen is forgotten", "rows.go", "	clear(row)\n	for _, p := range e.found {",
		"	clear(row)\n	for _, p := range e.found {\n		for i, seen := range e.row(p) {\n			if seen == forkMark {\n				e.row(p)[i] = e.last[i]\n			}\n		}"},
	{"forks are not looked for", "rows.go", "			row[i] = forkMark\n", ""},
	{"a creator does not see its own fork", "rows.go", "		*own = forkMark\n", "		*own = number\n"},
	{"every second event of a forking validator is a fork", "chain.go", "return tip == number", "return tip == number && number%2 == 0"},
	{"a jump may miss", "chain.go", "n.jump >= number", "n.jump >= number-1"},
	{"the root of a frame is the last event of it", "chain.go", "e.nodes[n.self].frame >= frame", "e.nodes[n.self].frame > frame"},
	{"a quorum to cause is one less", "cause.go", "sums[i] >= e.quorum", "sums[i]+1 >= e.quorum"},
	{"a quorum to cause is one more", "cause.go", "sums[i] >= e.quorum", "sums[i] > e.quorum"},
	{"a frame needs one less than a quorum", "cause.go", "return causes, total >= e.quorum", "return causes, total+1 >= e.quorum"},
	{"an own frame needs one less than a quorum", "cause.go", "return total >= e.quorum", "return total+1 >= e.quorum"},
	{"events of validators that forked count", "cause.go", "if tip == none || tip == forkMark {", "if tip == forkMark {\n			tip = e.last[i]\n		}\n		if tip == none {"},
	{"who saw a root itself does not count", "cause.go", "if row[j] < roots[j] {", "if row[j] <= roots[j] {"},
	{"frames may be claimed without a limit", "cause.go", "return causes, total >= e.quorum", "return causes, total+e.quorum >= e.quorum"},
	{"the highest frame must be claimed", "cause.go", "return nil, frame == before", "return nil, frame == before && !e.causedByQuorum(n, row, frame)"},
	{"a first event may claim any frame", "cause.go", "return nil, frame == 1", "return nil, frame >= 1"},
	{"cheaters have a say about time", "median.go", "w = weighted{}", "w.weight += 0"},
	{"half of the weight is of all", "median.go", "e.times, honest / 2", "e.times, e.options.Validators.Total() / 2"},
	{"a validator that was not seen has no time", "median.go", "w := weighted{e.options.Start, e.weights[i]}", "w := weighted{0, e.weights[i]}"},
	{"events are confirmed again", "decision.go", "n.confirmed = true", "n.confirmed = number%7 > 0"},
	{"cheaters are those who forked", "decision.go", "if seen == forkMark {", "if seen >= 0 && e.forked[i] {"},
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands
// that a test fails, and that none fails without.
func TestPlantedFaultsAreCaught(t *testing.T) {
	if os.Getenv("TARN_PLANTED") == "" {
		t.Skip("set TARN_PLANTED=1 to build and test the package once for each planted fault; takes some minutes")
	}
	lachesisBase(t)
	if out, err := testWith(t, "dag.go", "package dag", "package dag"); err != nil {
		t.Fatalf("without a planted fault: %v\n%s", err, out)
	}
	for _, p := range planted {
		t.Run(p.fault, func(t *testing.T) {
			out, err := testWith(t, p.file, p.from, p.to)
			caught := failedTest.FindAllStringSubmatch(out, -1)
			switch {
			case err == nil:
				t.Errorf("no test noticed that %s", p.fault)
			case len(caught) == 0 && !strings.Contains(out, "panic: "):
				t.Errorf("the tests did not run: %v\n%s", err, out)
			}
			for _, m := range caught {
				t.Logf("caught by %s", m[1])
			}
		})
	}
}

// testWith runs the tests with a piece of one file changed.
func testWith(t *testing.T, file, from, to string) (out string, err error) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(source), from, to, 1)
	if !strings.Contains(string(source), from) {
		t.Fatalf("%s has no %q", file, from)
	}
	dir := t.TempDir()
	original, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: filepath.Join(dir, file)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{file: []byte(changed), "overlay.json": overlay} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := exec.Command("go", "test", "-overlay", filepath.Join(dir, "overlay.json"), "-count=1",
		"-skip=Planted", ".", "-dag.graphs=400").CombinedOutput()
	return string(b), err
}
