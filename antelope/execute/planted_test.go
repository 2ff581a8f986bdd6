package execute_test

import (
	"testing"

	"tarn/internal/planted"
)

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands that the
// tests of what transactions are charged for notice it, and that none fails without.
func TestPlantedFaultsAreCaught(t *testing.T) {
	planted.Test(t, []planted.Fault{
		{Name: "host functions cost nothing", File: "../wasm/intrinsic/charge.go", From: "if units <= a.fuel {", To: "if true {"},
		{Name: "instructions cost nothing", File: "../wasm/call.go", From: "importTick: {name: \"tick\", body: func(c *Call, _ []uint64) { c.Checktime() }}", To: "importTick: {name: \"tick\", body: func(c *Call, _ []uint64) {}}"},
		{Name: "memory that grows costs nothing", File: "../wasm/call.go", From: "			c.charge(c.instance.growCost(delta))\n", To: ""},
		{Name: "a transaction's memory has no end", File: "room.go", From: "r.left < 0 && n > 0 && r.binding", To: "false"},
		{Name: "console text has no end", File: "room.go", From: "text = text[:max(0, min(int64(len(text)), r.console, r.left))]", To: ""},
		{Name: "every old value of a row is kept", File: "../../store/revision/store.go", From: "if length-mark > max(condenseFrom, 2*kept) {", To: "if kept < 0 {"},
	}, "-timeout=25s", "-run=^(TestNoLoopOutlivesItsDeadline|TestTheMemoryOfATransactionHasABound)$")
}
