package parquet

import (
	"testing"

	"tarn/internal/plantedfault"
)

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands that its tests notice.
func TestPlantedFaultsAreCaught(t *testing.T) {
	plantedfault.Test(t, []plantedfault.Fault{
		{"blocks are written that can be taken back", "order.go", "o.held[n].Revision <= final.Revision", "final.Revision > 0"},
		{"what a move takes back stays", "order.go", "			o.hold(o.held[:n])\n", "			_ = n\n"},
		{"what is held is part of a message that goes", "order.go", "		o.held[i] = o.copy(&o.held[i])\n", ""},
		{"another irreversible block is taken", "order.go", "b.Revision == final.Revision && b.ID != final.ID", "false"},
		{"a gap is not seen", "order.go", "	if !passed && !(newest", "	if !(newest && passed"},
		{"nothing bounds what is held", "order.go", "if o.size > o.limit {", "if false {"},
		{"a set counts before its files are durable", "writer.go", "		err = f.file.Sync()\n", ""},
		{"a set counts before its files have durable names", "writer.go", "		err = w.files.SyncDir(filepath.Dir(f.path))\n", ""},
		{"a start leaves files unnamed", "writer.go",
			"		if err := w.rename(p); err != nil {\n			return err\n		}\n	}\n	return w.discard()",
			"	}\n	return w.discard()"},
		{"a failed end removes what may count", "writer.go", "	w.counted = true\n", ""},
		{"a gap is within a file", "writer.go", "w.first != 0 && b.Parent != w.last", "false"},
		{"a row that is gone is empty", "table.go", "		if present {\n", "		if value != nil || !present {\n"},
		{"row groups never end", "table.go", "t.bytes >= t.most", "false"},
	}, "-timeout=3m")
}
