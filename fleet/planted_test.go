package fleet

import (
	"testing"

	"tarn/internal/plantedfault"
)

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands that its
// tests notice.
func TestPlantedFaultsAreCaught(t *testing.T) {
	plantedfault.Test(t, []plantedfault.Fault{
		{"a part in another place is taken", "message.go", "case b.Parts == 0 || h.Part != b.Part+1:", "case b.Parts == 0:"},
		{"a part of another move is taken", "message.go", "case h.Parts != b.Parts || h.Digest != b.Digest || h.Line != b.Line:", "case false:"},
		{"a move that came before is taken again", "message.go", "	case h.Number < next:\n		return true, nil\n", ""},
		{"a move that does not follow is taken", "message.go", "r.last.Number > 0 && h.Before != r.last.Digest", "false"},
		{"nobody looks at the digest", "message.go", "d != h.Digest", "false"},
		{"another line is taken for the next move", "message.go", "case h.Line != r.last.Line:", "case false:"},
		{"blocks are told that readers do not see", "line.go", "end < l.shown &&", "end < len(l.blocks) &&"},
		{"blocks that were taken back are forgotten", "line.go", "l.parents[e.Point] = e.Parent", ""},
		{"a block that is taken back stays shown", "line.go", "min(l.shown, n)", "l.shown"},
		{"a row that is gone is one without a value", "rows.go", "		x.buf = append(x.buf, 0)\n", "		x.buf = append(x.buf, 1, 0)\n"},
		{"a row is told as one of the table before", "rows.go", " || r.tables[r.last].table != t {", " {"},
		{"the room of one large block counts for all that follow", "line.go", ", 2*rows.used()+entryBytes)", ")"},
		{"an older value of a row is put after a newer one", "latest.go", ", cmp.Compare(a.row, b.row))", ", cmp.Compare(b.row, a.row))"},
		{"keys that begin alike are taken for one", "latest.go", "	return bytes.Compare(l.keyOf(a), l.keyOf(b))\n", "	return 0 * bytes.Compare(nil, nil)\n"},
		{"what came and went is missed", "latest.go", "					before = true\n", ""},
		{"what never was there is not missed", "latest.go", "!(before && !r.present &&", "!(before != !before && !r.present &&"},
		{"what claims to become too large is unpacked", "message.go", "case int64(n) > r.limits.Move:", "case false:"},
	})
}
