package node

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tarn/antelope/blocklog"
	"tarn/antelope/types"
	harm "tarn/internal/damage"
	"tarn/store/engine"
	"tarn/store/vfs"
	"tarn/store/vfs/torntail"
)

// reversibleFile is the file of reversible blocks, from a node's folder.
var reversibleFile = filepath.Join("blocks", blocklog.ReversibleDir, blocklog.ReversibleName)

// crashLeaves tells whether a crash can leave a file as damage has left it, so that nothing shows that
// there was more. Of all files that is so only of the reversible blocks: behind what is durable
// a power cut takes any of them, and leaves nothing or zeros. Where the file ends within
// a record, or where no write does, somebody can tell.
func crashLeaves(t *testing.T, whole, dir string, d harm.Done) bool {
	t.Helper()
	if d.File != reversibleFile {
		return false
	}
	was, is := mustRead(t, filepath.Join(whole, d.File)), mustRead(t, filepath.Join(dir, d.File))
	mark, err := torntail.OpenMark(vfs.OS, filepath.Join(whole, d.File+".mark"))
	if err != nil || !mark.Said().Known {
		t.Fatalf("the mark of a whole file: %+v, %v", mark.Said(), err)
	}
	end, left := uint64(0), len(bytes.TrimRight(is, "\x00"))
	for _, record := range reversibleRecords(was) {
		if record.at < left {
			end = uint64(record.end)
		}
	}
	return len(is)%vfs.Sector == 0 && uint64(len(is)) >= end && bytes.Equal(is[:end], was[:end]) &&
		end >= mark.Said().End
}

func mustRead(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reversibleRecord is where a block lies in the file of reversible ones, with the zeros behind it.
type reversibleRecord struct {
	at, end int
	num     uint32
}

// reversibleRecords are those of a whole file, as docs/formats/reversible.md has them.
func reversibleRecords(b []byte) (list []reversibleRecord) {
	for at := vfs.Sector; at < len(b); {
		size := int(binary.LittleEndian.Uint32(b[at:]))
		block := new(types.SignedBlock)
		if size == 0 || types.Decode(b[at+8:at+8+size], block) != nil {
			break
		}
		r := reversibleRecord{at: at, end: (at + 8 + size + vfs.Sector - 1) / vfs.Sector * vfs.Sector,
			num: block.BlockNum()}
		list, at = append(list, r), r.end
	}
	return list
}

// A file of reversible blocks that ends behind a whole record which was not durable is what a power cut leaves: the
// node goes on with less, and need not say so. Where no write ends, or before what is durable, it says so.
func TestReversibleBlocksThatAreCutAreNamedUnlessACrashTakesThem(t *testing.T) {
	if testing.Short() {
		t.Skip("opens many nodes; not with -short")
	}
	c := theChain(t)
	e := engine.Options{Kind: engine.Page, Mode: engine.Modes()[2], LimitBytes: 64 << 20}
	live, closed := filepath.Join(t.TempDir(), "live"), filepath.Join(t.TempDir(), "closed")
	traced := c.leftBehind(t, e, live, closed)
	was := mustRead(t, filepath.Join(live, reversibleFile))
	records := reversibleRecords(was)
	var last reversibleRecord // of those that are irreversible: without the ones behind, the head is another
	for _, r := range records {
		if r.num <= c.logged {
			last = r
		}
	}
	if last.end >= len(was) {
		t.Fatalf("no block is reversible behind the record at %d", last.at)
	}
	for _, cut := range []struct {
		whole   string
		to      int
		crash   bool
		outcome string
	}{
		{live, last.end, true, "less"},
		{live, last.end - 1, false, "less"},
		{live, records[0].end, false, "refused"},
		{closed, last.end, false, "refused"},
	} {
		dir := filepath.Join(t.TempDir(), "cut")
		copyFolder(t, cut.whole, dir)
		if err := os.Truncate(filepath.Join(dir, reversibleFile), int64(cut.to)); err != nil {
			t.Fatal(err)
		}
		d := harm.Done{File: reversibleFile, Way: harm.Truncate, At: int64(cut.to), Size: int64(len(was) - cut.to),
			Of: int64(len(was))}
		p := patient{t: t, c: c, dir: dir, engine: e, blocks: c.branch(), traced: traced,
			what:  fmt.Sprintf("-node.seed=%d, %s: %s", *seedFlag, filepath.Base(cut.whole), d),
			crash: crashLeaves(t, cut.whole, dir, d)}
		if p.crash != cut.crash {
			t.Errorf("%s: a crash leaves it so: %v", p.what, p.crash)
		}
		if got := p.examine(); got != cut.outcome {
			t.Errorf("%s: %s, want %s", p.what, got, cut.outcome)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}
