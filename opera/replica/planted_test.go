package replica

import (
	"testing"

	"tarn/internal/plantedfault"
)

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands that its tests notice.
func TestPlantedFaultsAreCaught(t *testing.T) {
	const told, follower = "../chain/told.go", "../chain/follower.go"
	const older, elsewhere = "../rpc/older.go", "../rpc/elsewhere.go"
	plantedfault.Test(t, []plantedfault.Fault{
		{"the rows of a block are left out", "replica.go", "return fleet.Apply(st, rows)", "_ = rows; return nil"},
		{"a snapshot brings fewer blocks", "origin.go", "const snapshotBlocks = 257", "const snapshotBlocks = 1"},
		{"the head is not told", "origin.go", "		o.line.Show(b.at, b.made)\n", ""},
		{"records of epochs are not told", told, "if t == c.rows.head && !bytes.Equal(key, headKey) {", "if t == c.rows.epochs || bytes.Equal(key, nil) {"},
		{"events keep the node's numbers", told, "t.Block.Events[i] = uint64(i)", "t.Block.Events[i] = n"},
		{"the head's row keeps the node's numbers", follower, "h.Follows, h.Logs = true, c.counted\n", "h.Follows = true\n"},
		{"what does not fit stays in the store", follower, "if undo := c.store.Undo(); undo != nil {", "if undo := c.store.Squash(); undo != nil {"},
		{"rows may lead to another block", follower, "case last.Number != t.Number || last.Atropos != t.Block.ID || last.Time != t.Block.Time:", "case false:"},
		{"the parent of the oldest block is not asked for", older, "least = max(1, m.number-1)", "least = m.number"},
		{"states are never older", older, "errors.Is(err, state.ErrNoState) {", "errors.Is(err, state.ErrNoState) && false {"},
		{"a failure is not told", elsewhere, "said.Error.Code == noMethod ||", "said.Error.Code != 0 ||"},
		{"logs of the node's newest blocks are told", older, "m.fixed, err = json.Marshal(whole)", "_, err = json.Marshal(whole)"},
		{"blocks that are not here yet are told", elsewhere, "inter.BlockNumber(*number) <= head, err", "head >= 0, err"},
	}, "-timeout=5m")
}
