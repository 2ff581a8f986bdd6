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
		{"the first value of a row that blocks change stays", "joined.go", "x.value, x.present = value, present", "x.present = present"},
		{"a row that came and went must have been there", "joined.go", "t, present, !present}", "t, present, true}"},
		{"a row of blocks may be deleted without being there", "joined.go", "t, present, !present}", "t, present, false}"},
		{"a row is taken for one of another table", "joined.go", "maphash.Bytes(j.seed, key) + uint64(t)", "maphash.Bytes(j.seed, key)"},
		{"blocks may delete a row twice", "joined.go", "possible := present || x.present", "possible := true"},
		{"a row that comes back need not have been there", "joined.go", "if x.deleted && x.present {", "if false {"},
		{"the room of one large block counts for all that follow", "line.go", ", 2*rows.used()+entryBytes)", ")"},
		{"rows of a full room are left out", "joined.go", "return j.flush(s)\n\t\t})", "j.clear()\n\t\t\treturn nil\n\t\t})"},
		{"what claims to become too large is unpacked", "message.go", "case int64(n) > r.limits.Move:", "case false:"},
	})
}
