package emitter

import (
	"testing"

	"tarn/internal/plantedfault"
)

// TestPlantedFaultsOfPowerCutsAreCaught builds this package with each planted fault and demands
// that a test of power cuts notices.
func TestPlantedFaultsOfPowerCutsAreCaught(t *testing.T) {
	plantedfault.Test(t, []plantedfault.Fault{
		{"the journal is not synced", "journal.go", "		err = j.file.Sync()\n", ""},
		{"an event is sent before the journal has it", "publish.go", "	others, reached, err := em.secure(p)\n",
			"	em.o.Network.Broadcast(p)\n	others, reached, err := em.secure(p)\n"},
		{"parents of others are not durable", "secured.go", "self && len(p.Parents) == 1", "true || self"},
		{"the ledger may be back in the epoch before", "secured.go", "self && len(p.Parents) == 1", "len(p.Parents) == 0 || self && len(p.Parents) == 1"},
		{"events of others are not beside an own one", "secured.go", "		others = append(others, raw)\n", ""},
		{"events beside one that was withdrawn count for durable", "publish.go",
			"	return nil, errors.Join(err, em.journal.withdraw())",
			"	em.secured = reached\n	return nil, errors.Join(err, em.journal.withdraw())"},
		{"events beside an own one are not connected again", "calm.go", "em.restore(c, others)", "em.restore(c, others[:0])"},
		{"the log of events is not synced", "../chain/events.go", "return l.events.Sync()", "return nil"},
		{"the half that was written first is written to", "record.go", "first[0].sequence > second[0].sequence", "first[0].sequence < second[0].sequence"},
		{"a half is read beyond a record that is not whole", "record.go", "return p, recordSum(", "return p, true || recordSum("},
		{"a start relies on a record that is not durable", "journal.go", "f.Sync(), ", ""},
		{"a start relies on a name that is not durable", "journal.go", "err := files.SyncDir(filepath.Dir(path)); err", "err := error(nil); err"},
		{"what the journal has is not connected again", "calm.go", "for ; len(j.kept) > 0;", "for ; false;"},
		{"only the last event of the journal is connected again", "record.go", "append(j.kept, p.content), p }", "[][]byte{p.content}, p }"},
		{"what the other half has is forgotten", "journal.go",
			"		if err := j.settle(); err != nil {\n			return err\n		}\n		next.half",
			"		next.half"},
	}, "-run=Outlives|NeedsNobodyElse|AStartReads|FollowsFromIsIn", "-crash.states=500")
}
