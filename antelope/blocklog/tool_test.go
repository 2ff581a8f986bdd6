package blocklog

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tarn/antelope/types"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// produced is a closed log of some blocks, and a tool for it.
func produced(t *testing.T, fs testFS, version uint32, blocks int) (Tool, *chain, []sample) {
	t.Helper()
	old(t, fs, version, 1)
	l := mustOpen(t, testOptions(fs))
	c := newChain(newRand(t), 1)
	all := add(t, l, c, blocks, 60)
	must(t, l.Close())
	return Tool{Dir: testDir, FS: fs, Now: testOptions(fs).Now}, c, all
}

// opened checks a log that a tool has made, under its range's name in a folder.
func opened(t *testing.T, fs testFS, dir, name string, want []sample) {
	t.Helper()
	alone := memory()
	for _, ext := range []string{".log", ".index"} {
		b := fs.mem.Blob(dir + "/" + name + ext)
		if b == nil {
			t.Fatalf("no %s%s", name, ext)
		}
		alone.mem.Put(testDir+"/blocks"+ext, b)
	}
	must(t, (Tool{Dir: testDir, FS: alone}).SmokeTest(1))
	l := mustOpen(t, testOptions(alone))
	must(t, check(l, want))
	if l.Recovery() != (Recovery{}) {
		t.Errorf("%s had to be repaired: %+v", name, l.Recovery())
	}
	g := types.DefaultGenesis()
	if id, _ := l.ChainID(); id != g.ChainID() {
		t.Errorf("%s is of another chain", name)
	}
	must(t, l.Close())
}

func TestTrimming(t *testing.T) {
	for _, version := range []uint32{1, 2, 3} {
		fs := memory()
		tool, _, all := produced(t, fs, version, 30)
		must(t, tool.TrimFront(10, ""))
		opened(t, fs, testDir, "blocks", all[9:])
		opened(t, fs, testDir+"/old", "old", all)
		if p, _, err := tool.Context(""); err != nil || p.Version != 3 || p.First != 10 {
			t.Errorf("%+v, %v", p, err)
		}
		must(t, tool.TrimEnd(25))
		opened(t, fs, testDir, "blocks", all[9:25])
		must(t, tool.TrimEnd(25))
		for _, err := range []error{tool.TrimFront(10, ""), tool.TrimFront(26, ""), tool.TrimEnd(9), tool.TrimEnd(26),
			tool.TrimFront(12, testDir)} {
			if err == nil {
				t.Error("trimmed all or nothing")
			}
		}
		opened(t, fs, testDir, "blocks", all[9:25])
	}
}

// A node that was killed leaves blocks.tail. A log that is trimmed goes to another program, which does not know
// that file and goes on with the log: it is gone with the blocks, whenever the power is cut. Blocks that it
// proves not to be whole stay in no trimmed log.
func TestTrimmingLeavesNoTail(t *testing.T) {
	fs := memory()
	l := mustOpen(t, testOptions(fs))
	c := newChain(newRand(t), 1)
	all := begin(t, l, c)
	all = append(all, add(t, l, c, 20, 800)...)
	must(t, l.Sync(21))
	all = append(all, add(t, l, c, 5, 800)...)
	must(t, l.Flush())
	killed := fs.mem.Clone()
	positions, err := l.work.positions(24, 1)
	must(t, err)
	must(t, l.Close())
	tail := filepath.Join(testDir, TailName)
	for name, trim := range map[string]func(Tool) error{
		"at the end, before what was durable":  func(tool Tool) error { return tool.TrimEnd(12) },
		"at the end, after what was durable":   func(tool Tool) error { return tool.TrimEnd(23) },
		"at the end, and nothing is behind it": func(tool Tool) error { return tool.TrimEnd(26) },
		"at the front":                         func(tool Tool) error { return tool.TrimFront(12, "") },
	} {
		mem := killed.Clone()
		record := recordfs.New(mem)
		must(t, record.Adopt(mem.Paths()...))
		must(t, trim(Tool{Dir: testDir, FS: testFS{record, mem}}))
		if mem.Blob(tail) != nil {
			t.Errorf("%s: the tail is left", name)
		}
		for state := range record.Recording().States(recordfs.Options{Count: 100, Seed: 1}) {
			l, err := Open(testOptions(testFS{state.FS, state.FS}))
			if err != nil {
				t.Fatalf("%s: %v\n%v", name, err, state)
			}
			// at the front the log has no name for a moment, and is in the other folder
			if head, _, ok := l.Head(); ok {
				must(t, check(l, all[l.First()-1:head]))
				if head < 12 {
					t.Fatalf("%s: the log ends with block %d\n%v", name, head, state)
				}
			}
			must(t, l.Close())
		}
	}

	torn := bytes.Clone(killed.Blob(workingBase(testDir).Log()).Bytes())
	torn[positions[0]+400] ^= 1
	killed.Put(workingBase(testDir).Log(), memfs.NewBlob(torn))
	tool := Tool{Dir: testDir, FS: testFS{killed, killed}}
	for _, err := range []error{tool.TrimEnd(24), tool.TrimFront(12, "")} {
		if err == nil || !strings.Contains(err.Error(), "Start it once") || killed.Blob(tail) == nil ||
			!bytes.Equal(killed.Blob(workingBase(testDir).Log()).Bytes(), torn) {
			t.Errorf("block 24 is torn: %v", err)
		}
	}
	must(t, tool.TrimEnd(23))
	opened(t, testFS{killed, killed}, testDir, "blocks", all[:23])
}

func TestExtraction(t *testing.T) {
	fs := memory()
	tool, _, all := produced(t, fs, 3, 12)
	must(t, tool.Extract(3, 7, "/out"))
	opened(t, fs, "/out", "blocks-3-7", all[2:7])
	must(t, tool.Extract(1, 9, "/out"))
	opened(t, fs, "/out", "blocks-1-9", all[:9])
	must(t, tool.Extract(5, 1<<32-1, "/out"))
	opened(t, fs, "/out", "blocks-5-4294967295", all[4:])

	must(t, fs.Rename("/out/blocks-1-9.log", "/out/blocks.log"))
	must(t, fs.Rename("/out/blocks-1-9.index", "/out/blocks.index"))
	again := Tool{Dir: "/out", FS: fs}
	must(t, again.Extract(1, 6, "/out2"))
	opened(t, fs, "/out2", "blocks-1-6", all[:6])
	if g, err := again.Genesis(""); err != nil || g == nil {
		t.Errorf("genesis: %v, %v", g, err)
	}
	if err := tool.Extract(7, 7, "/out"); !is(err, Unsound) {
		t.Errorf("a range of one: %v", err)
	}
}

func TestSplittingAndMerging(t *testing.T) {
	fs := memory()
	tool, _, all := produced(t, fs, 3, 160)
	must(t, tool.TrimFront(50, "/temporary"))
	must(t, tool.TrimEnd(150))
	const retained = testDir + "/retained"
	must(t, tool.Split(50, retained))
	for _, r := range [][2]int{{50, 50}, {51, 100}, {101, 150}} {
		opened(t, fs, retained, fmt.Sprintf("blocks-%d-%d", r[0], r[1]), all[r[0]-1:r[1]])
	}
	must(t, fs.Remove(workingBase(testDir).Log()))
	must(t, fs.Remove(workingBase(testDir).Index()))
	o := testOptions(fs)
	o.RetainedDir = ptr("retained")
	l := mustOpen(t, o)
	must(t, check(l, all[49:150]))
	must(t, l.Close())

	parts := Tool{Dir: retained, FS: fs}
	must(t, parts.Merge("/merged"))
	opened(t, fs, "/merged", "blocks-50-150", all[49:150])
	must(t, fs.Remove(retained+"/blocks-51-100.log"))
	must(t, fs.Remove(retained+"/blocks-51-100.index"))
	must(t, parts.Merge("/gap"))
	opened(t, fs, "/gap", "blocks-50-50", all[49:50])
	opened(t, fs, "/gap", "blocks-101-150", all[100:150])
}

// Copies of a range from block 1 on are the same bytes, so nodeos' files are.
func TestSplittingAndMergingGivesTheSameBytes(t *testing.T) {
	fs := memory()
	tool, _, _ := produced(t, fs, 3, 45)
	must(t, tool.Split(20, "/parts"))
	must(t, (Tool{Dir: "/parts", FS: fs}).Merge("/whole"))
	for _, ext := range []string{".log", ".index"} {
		if !bytes.Equal(fs.mem.Blob(testDir+"/blocks"+ext).Bytes(), fs.mem.Blob("/whole/blocks-1-45"+ext).Bytes()) {
			t.Errorf("%s differs", ext)
		}
	}
	must(t, tool.MakeIndex("/whole/made.index"))
	if !bytes.Equal(fs.mem.Blob("/whole/made.index").Bytes(), fs.mem.Blob(testDir+"/blocks.index").Bytes()) {
		t.Error("the index that was made differs")
	}
}

func TestSmokeTestSeesWhatDisagrees(t *testing.T) {
	fs := memory()
	tool, _, _ := produced(t, fs, 3, 20)
	must(t, tool.SmokeTest(0))
	path := workingBase(testDir).Index()
	good := fs.mem.Blob(path).Bytes()
	swapped := bytes.Clone(good)
	copy(swapped[80:88], good[88:96])
	for name, index := range map[string][]byte{"short": good[:8*19], "odd": good[:77], "swapped": swapped} {
		fs.mem.Put(path, memfs.NewBlob(index))
		if err := tool.SmokeTest(1); !is(err, Unsound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The index of a pruned log has entries for the blocks that were dropped too.
func TestPrunedLogsAgreeWithTheirIndex(t *testing.T) {
	fs := memory()
	tool, c, _ := produced(t, fs, 3, 20)
	o := testOptions(fs)
	o.RetainBlocks = ptr(uint32(8))
	l := mustOpen(t, o)
	add(t, l, c, 1, 10)
	must(t, l.Close())
	for _, interval := range []uint32{0, 1} {
		must(t, tool.SmokeTest(interval))
	}
	if err := tool.TrimEnd(20); !is(err, Unsound) ||
		!strings.Contains(err.Error(), "is a pruned log; vacuum it first") {
		t.Errorf("trim the end: %v", err)
	}
	path := workingBase(testDir).Index()
	fs.mem.Put(path, memfs.NewBlob(fs.mem.Blob(path).Bytes()[:8*20]))
	const want = "says it has 21 blocks which disagrees with 20 indicated by"
	if err := tool.SmokeTest(0); !is(err, Unsound) || !strings.Contains(err.Error(), want) {
		t.Errorf("an index that is short: %v", err)
	}
}

func TestVacuum(t *testing.T) {
	fs := memory()
	tool, c, all := produced(t, fs, 3, 20)
	if err := tool.Vacuum(); err == nil || err.Error() != "blocks.log is not a pruned log; nothing to vacuum" {
		t.Error(err)
	}
	o := testOptions(fs)
	o.RetainBlocks = ptr(uint32(7))
	l := mustOpen(t, o)
	all = append(all, add(t, l, c, 1, 10)...)
	must(t, l.Close())
	must(t, tool.Vacuum())
	opened(t, fs, testDir, "blocks", all[13:])
}

func TestPrunedLogsAreNotCut(t *testing.T) {
	fs := memory()
	tool, c, _ := produced(t, fs, 3, 20)
	o := testOptions(fs)
	o.RetainBlocks = ptr(uint32(100)) // its index agrees, for nothing was dropped yet
	l := mustOpen(t, o)
	add(t, l, c, 1, 10)
	must(t, l.Close())
	path := workingBase(testDir).Log()
	before := fs.mem.Blob(path).Bytes()
	for name, cut := range map[string]func() error{
		"trim the front": func() error { return tool.TrimFront(5, "") },
		"trim the end":   func() error { return tool.TrimEnd(28) },
		"extract":        func() error { return tool.Extract(25, 28, "/out") },
		"split":          func() error { return tool.Split(4, "/out") },
	} {
		if err := cut(); !is(err, Unsound) || !strings.Contains(err.Error(), "is a pruned log; vacuum it first") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !bytes.Equal(fs.mem.Blob(path).Bytes(), before) {
		t.Error("a refused tool has changed the log")
	}
}

func TestPrinting(t *testing.T) {
	fs := memory()
	tool, _, _ := produced(t, fs, 3, 10)
	encode := func(b []byte, block *types.SignedBlock) ([]byte, error) {
		return fmt.Appendf(b, `{"block_num":%d}`, block.BlockNum()), nil
	}
	var out strings.Builder
	must(t, tool.Print(&out, PrintOptions{First: 3, Last: 5, Encode: encode}))
	if got := out.String(); got != "{\"block_num\":3}\n{\"block_num\":4}\n{\"block_num\":5}\n" {
		t.Errorf("%q", got)
	}
	out.Reset()
	after := new(types.SignedBlock)
	after.Previous[3] = 10
	must(t, tool.Print(&out, PrintOptions{First: 9, Array: true, Encode: encode, After: []*types.SignedBlock{after}}))
	if got := out.String(); got != `[{"block_num":9},{"block_num":10},{"block_num":11}]` {
		t.Errorf("%q", got)
	}
	after.Previous[3] = 11
	if err := tool.Print(&out, PrintOptions{Encode: encode, After: []*types.SignedBlock{after}}); !is(err, Unsound) {
		t.Errorf("a gap was printed: %v", err)
	}
}

func TestRepairKeepsTheSoundPrefix(t *testing.T) {
	damage := map[string]func(b []byte, starts []int) []byte{
		"undamaged": func(b []byte, _ []int) []byte { return b },
		"torn":      func(b []byte, s []int) []byte { return b[:s[12]+40] },
		"link":      func(b []byte, s []int) []byte { b[s[12]+30] ^= 1; return b },
		"number":    func(b []byte, s []int) []byte { b[s[12]+17]++; return b },
		"position":  func(b []byte, s []int) []byte { b[s[13]-8]++; return b },
		"garbage":   func(b []byte, s []int) []byte { clear(b[s[12]:s[13]]); return b },
	}
	for name, hurt := range damage {
		fs := memory()
		tool, _, all := produced(t, fs, 3, 20)
		fs.mem.Put(testDir+"/reversible/fork_db.dat", memfs.NewBlob([]byte("fork")))
		b := fs.mem.Blob(testDir + "/blocks.log").Bytes()
		var starts []int
		at := len(b)
		for _, s := range all {
			at -= len(s.data) + positionBytes
		}
		for _, s := range all {
			starts = append(starts, at)
			at += len(s.data) + positionBytes
		}
		b = hurt(b, starts)
		fs.mem.Put(testDir+"/blocks.log", memfs.NewBlob(bytes.Clone(b)))
		done, err := tool.Repair(0)
		must(t, err)
		keep := 12
		switch name {
		case "undamaged":
			keep = len(all)
		case "link": // either of the two blocks may be the damaged one
			keep = 11
		}
		want := all[:keep]
		if done.Backup != testDir+"-2023-11-14T22:13:20.000" || done.Head != want[len(want)-1].num ||
			(done.Reason != nil) != (name != "undamaged") {
			t.Errorf("%s: %+v", name, done)
		}
		opened(t, fs, testDir, "blocks", want)
		if got := fs.mem.Blob(done.Backup + "/blocks.log"); got == nil || !bytes.Equal(got.Bytes(), b) {
			t.Errorf("%s: the backup is not what was there", name)
		}
		if fs.mem.Blob(done.Backup+"/reversible/fork_db.dat") == nil ||
			fs.mem.Blob(testDir+"/reversible/fork_db.dat") != nil {
			t.Errorf("%s: the reversible blocks were not moved", name)
		}
		if name != "undamaged" && !bytes.Equal(fs.mem.Blob(done.Tail).Bytes(), b[starts[keep]:]) {
			t.Errorf("%s: the rest is not kept", name)
		}
		if _, err := tool.Repair(0); !is(err, InTheWay) {
			t.Errorf("%s: a second backup of the same name: %v", name, err)
		}
	}
}

func TestRepairStopsWhereItIsTold(t *testing.T) {
	fs := memory()
	tool, _, all := produced(t, fs, 1, 20)
	done, err := tool.Repair(7)
	must(t, err)
	if done.Head != 7 || done.Reason != nil {
		t.Errorf("%+v", done)
	}
	opened(t, fs, testDir, "blocks", all[:7])

	o := testOptions(fs)
	o.RetainBlocks = ptr(uint32(3))
	must(t, mustOpen(t, o).Close())
	if _, err := tool.Repair(0); !is(err, Unsound) {
		t.Errorf("a pruned log was repaired: %v", err)
	}
	if _, err := (Tool{Dir: "/nowhere", FS: fs}).Repair(0); !is(err, Missing) {
		t.Errorf("no log was repaired: %v", err)
	}
	if _, ok, err := (Tool{Dir: "/nowhere", FS: fs}).Context("/no"); ok || err != nil {
		t.Errorf("a context of nothing: %v", err)
	}
	if err := (Tool{Dir: "/nowhere", FS: fs}).SmokeTest(1); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("smoke test of nothing: %v", err)
	}
}
