package execute_test

import (
	"testing"

	"tarn/internal/plantedfault"
)

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands that the
// tests of what transactions are charged for notice it, and that none fails without.
func TestPlantedFaultsAreCaught(t *testing.T) {
	plantedfault.Test(t, []plantedfault.Fault{
		{"host functions cost nothing", "../wasm/intrinsic/charge.go", "if units <= a.fuel {", "if true {"},
		{"instructions cost nothing", "../wasm/call.go",
			"importTick: {name: \"tick\", body: func(c *Call, _ []uint64) { c.Checktime() }}",
			"importTick: {name: \"tick\", body: func(c *Call, _ []uint64) {}}"},
		{"memory that grows costs nothing", "../wasm/call.go", "			c.charge(c.instance.growCost(delta))\n", ""},
		{"long multiplications are begun at any time", "../wasm/intrinsic/fork.go",
			"if err := a.Chain.CheckTimeFor(d); err != nil {", "if err := a.Chain.CheckTime(); err != nil {"},
		{"a transaction's memory has no end", "budget.go", "r.left < 0 && n > 0 && r.binding", "false"},
		{"what nobody signed is rehearsed", "rehearsal.go", "one.Rehearse(x, Rehearsed,", "one.Rehearse(x, DryRun,"},
		{"who sends what fails is rehearsed again", "rehearsal.go", "			r.noteFailure(x.Trx.FirstAuthorizer())\n", ""},
		{"what was executed is rehearsed", "rehearsal.go", "return r.recorded(x.ID) || r.has", "return r.has"},
		{"rehearsals keep what they hold", "rehearsal.go", "		r.free()\n", ""},
		{"console text has no end", "budget.go", "text = text[:max(0, min(int64(len(text)), r.console, r.left))]", ""},
	}, "-timeout=35s",
		"-run=^(TestRowsThatShrinkTakeRoomForTheirOldValues|TestTextIsPrintedUpToTheBound|TestNoLoopOutlivesItsDeadline|"+
			"TestNoMultiplicationIsBegunThatWouldEndTooLate|TestTheMemoryOfATransactionHasABound|"+
			"TestRehearsalsOfWhatFailsEnd|TestRehearsalsLeaveNothing|TestARehearsalReadsWhatTheTransactionDoes)$")
}
