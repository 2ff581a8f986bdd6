package dag

import (
	"os"
	"testing"

	"tarn/internal/plantedfault"
)

// faults are pieces of the source, each with what it is changed into.
var faults = []plantedfault.Fault{
	{"a tie of votes is a no", "election.go", "if yes[s] < no {", "if yes[s] <= no {"},
	{"a vote decides one short of a quorum", "election.go", "if yes[s] >= e.quorum ||", "if yes[s]+1 >= e.quorum ||"},
	{"a no needs more than a quorum", "election.go", "|| no >= e.quorum {", "|| no > e.quorum {"},
	{"voters of the first round vote again in the second", "election.go", "if b.frame == e.deciding+1 {", "if b.frame <= e.deciding+2 {"},
	{"the Atropos is of any validator that was agreed on", "election.go",
		"		if !decided {\n			return none, nil", "		if !decided {\n			continue"},
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
	{"events of validators that forked count", "cause.go", "if tip == none || tip == forkMark {",
		"if tip == forkMark {\n			tip = e.last[i]\n		}\n		if tip == none {"},
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

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands
// that a test fails, and that none fails without.
func TestPlantedFaultsAreCaught(t *testing.T) {
	if os.Getenv("TARN_PLANTED") != "" {
		lachesisBase(t)
	}
	plantedfault.Test(t, faults, "-dag.graphs=400")
}
