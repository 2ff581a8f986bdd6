package replica

import (
	"testing"

	"tarn/internal/plantedfault"
)

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands that its
// tests notice.
func TestPlantedFaultsAreCaught(t *testing.T) {
	plantedfault.Test(t, []plantedfault.Fault{
		{"nothing is taken back", "replica.go", "follower.BackTo(types.Checksum256(base.ID)); err != nil", "error(nil); err != nil"},
		{"the rows of a block are left out", "replica.go", "return fleet.Apply(st, rows)", "_ = rows; return nil"},
		{"the rows of joined blocks are left out", "replica.go", "			rows[i] = blocks[i].Rows\n", "			rows[i] = blocks[m.settled-1].Rows\n"},
		{"joined blocks follow a head that can be taken back", "replica.go", "follower.SettleHead(); err != nil", "error(nil); err != nil"},
		{"readers see what is irreversible before its state", "../chain/adopt.go",
			"	if err := c.store.Publish(); err != nil {\n		return err\n	}\n	c.fork.Reset", "	c.fork.Reset"},
		{"a better branch that is lost stays", "../chain/adopt.go", "	c.fork.Reset(c.Standing())\n	return c.logs.obsolete",
			"	if err := c.advanceRoot(c.head.ID); err != nil {\n		return err\n	}\n	return c.logs.obsolete"},
		{"what was adopted is not settled", "replica.go", "return follower.Settle(types.Checksum256(m.final.ID))", "return nil"},
		{"what is told as irreversible is ignored", "replica.go", "follower.Settle(types.Checksum256(m.final.ID))", "follower.Settle(types.Checksum256{})"},
		{"another block is told as irreversible", "origin.go",
			"	if o.store.Irreversible() < uint64(final.BlockNum) {\n		final = o.chain.Fork().Root()\n	}\n",
			""},
		{"the state history keeps bytes of a message that goes", "../ship/ship.go", "bytes.Clone(b)", "bytes.TrimSuffix(b, nil)"},
		{"traces keep bytes of a message that goes", "../tracelog/tracelog.go", "bytes.Clone(b)", "bytes.TrimSuffix(b, nil)"},
		{"traces of another block are kept", "../tracelog/tracelog.go", "e.traces.ID != x.Block.ID ||", ""},
	}, "-replica.seed=1795861420") // in which a branch that is left makes a block irreversible
}
