package chain

import (
	"os"
	"testing"

	"tarn/internal/plantedfault"
	"tarn/internal/refimpl"
)

// faults are pieces of the source, each with what it is changed into.
var faults = []plantedfault.Fault{
	{"a third of the weight decides", "../llr/vote.go", "uint32(group.Total())/3+1", "(uint32(group.Total())+2)/3"},
	{"one more than enough decides", "../llr/vote.go", "uint32(group.Total())/3+1", "uint32(group.Total())/3+2"},
	{"a vote counts twice", "../llr/vote.go", "tally[4+index/8] |= 1 << (index % 8)", "tally[4+index/8] |= 0"},
	{"validators beyond the eighth share bits", "../llr/vote.go", "tally[4+index/8] |= 1 << (index % 8)", "tally[4] |= 1 << (index % 8)"},
	{"all votes for a record are of one tally", "../llr/vote.go", "append(bytes.Clone(ballot), vote[:]...)",
		"append(bytes.Clone(ballot), make([]byte, 32)...)"},
	{"votes of other epochs are of one tally", "../llr/vote.go", "AppendUint32(blockKey(n), uint32(of))", "AppendUint32(blockKey(n), 0)"},
	{"the last record that has enough votes is decided", "../llr/vote.go", "case won == nil && enough:", "case enough:"},
	{"what is undecided does not go on", "../llr/vote.go", "		l.state.pass(kind)\n", "		l.state.pass(kind)\n		return nil\n"},
	{"last votes go back", "../llr/vote.go", "max(was.block, v.Last())", "v.Last()"},
	{"last votes for epochs go back", "../llr/vote.go", "max(was.epoch, v.Epoch)", "v.Epoch"},
	{"what is decided is forgotten before its record came", "../llr/vote.go", "err = l.forget(key, has)", "err = l.forget(key, has || true)"},
	{"any record of an epoch is taken", "fill.go", "!bytes.Equal(decided, hash[:]):", "false && !bytes.Equal(decided, hash[:]):"},
	{"any record of a block is taken", "fill.go", "!bytes.Equal(decided, hash[:]) {", "false && !bytes.Equal(decided, hash[:]) {"},
	{"the validators of an epoch vote for its own beginning", "fill.go", "group, err := c.group(v.Val.Epoch-1,",
		"group, err := c.group(v.Val.Epoch,"},
	{"the present validators vote for any epoch", "fill.go",
		"c.EpochRecord(e)\n	if err != nil {\n		return nil, c.fail",
		"c.EpochRecord(c.epoch.Epoch)\n	if err != nil {\n		return nil, c.fail"},
	{"the validators of the blocks' epoch vote", "fill.go", "c.group(v.Signed.Locator.Epoch,", "c.group(v.Val.Epoch,"},
	{"strangers vote", "fill.go", "_, ok := group.Index(by); !ok {", "_, ok := group.Index(by); false && !ok {"},
	{"votes for blocks come twice", "fill.go", "		return eventcheck.ErrAlreadyProcessedBVs", "		return nil"},
	{"votes for an epoch come twice", "fill.go", "		return eventcheck.ErrAlreadyProcessedEV", "		return nil"},
	{"a block comes twice", "fill.go", "	if has {\n		return eventcheck.ErrAlreadyProcessedBR\n",
		"	if false && has {\n		return eventcheck.ErrAlreadyProcessedBR\n"},
	{"an epoch comes twice", "fill.go", "	if known != nil {\n		return eventcheck.ErrAlreadyProcessedER\n",
		"	if false && known != nil {\n		return eventcheck.ErrAlreadyProcessedER\n"},
	{"a start forgets how far records go", "fill.go", "		c.beyond.epoch = epochOf(cursor.Key())\n", ""},
	{"votes are not written", "fill.go", "		func() error { return c.votes.Write(c.store) },\n", ""},
	{"records stay in memory", "fill.go", "		c.logs.blocks.FlushRecords,\n", ""},
	{"the record of an epoch is written under the next one", "fill.go", "epochKey(r.Epoch), r)", "epochKey(r.Epoch+1), r)"},
	{"a record is of the next block", "fill.go", "AppendRecord(r.Number,", "AppendRecord(r.Number+1,"},
	{"the epoch that a record is of may be any", "verify.go", "record, err := v.chain.rows.getRecord(view, e)",
		"record, err := v.chain.rows.getRecord(view, e+1)"},
	{"keys of any epoch sign", "verify.go", "Profiles: record.State.EpochState.Profiles}", "Profiles: v.present.Profiles}"},
}

// TestPlantedFaultsOfRecordsAreCaught builds this package with each planted fault and demands
// that a test of votes and records fails, and that none fails without.
func TestPlantedFaultsOfRecordsAreCaught(t *testing.T) {
	if os.Getenv("TARN_PLANTED") != "" {
		refimpl.Build(t, "../../refimpl/llr")
	}
	plantedfault.Test(t, faults, "-run=Record|Decided|WasShown", "-fill.worlds=12")
}
