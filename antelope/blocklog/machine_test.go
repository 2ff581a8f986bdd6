package blocklog

import (
	"os"
	"path/filepath"
	"testing"

	"tarn/antelope/serial"
	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
)

// The same lives on the machine's own files.
func TestLogsOnTheMachine(t *testing.T) {
	r := newRand(t)
	for name, o := range lives {
		t.Run(name, func(t *testing.T) {
			o.Dir, o.FS = filepath.Join(t.TempDir(), "blocks"), nil
			l := mustOpen(t, o)
			c := newChain(r, 1)
			all := append(begin(t, l, c), add(t, l, c, 60, 3000)...)
			must(t, l.Flush())
			kept := all[l.First()-1:]
			must(t, check(l, kept))
			must(t, l.Close())
			l = mustOpen(t, o)
			must(t, check(l, kept))
			if l.Recovery() != (Recovery{}) {
				t.Errorf("%+v", l.Recovery())
			}
			must(t, l.Truncate(kept[len(kept)-1].num-2))
			must(t, check(l, kept[:len(kept)-2]))
			must(t, l.Close())
			tool := Tool{Dir: o.Dir}
			if o.RetainBlocks != nil {
				must(t, tool.Vacuum())
			}
			done, err := tool.Repair(0)
			must(t, err)
			if _, err := os.Stat(filepath.Join(done.Backup, LogName)); err != nil || done.Reason != nil {
				t.Errorf("%v, %v", err, done.Reason)
			}
			rev, err := OpenReversible(ReversibleOptions{Dir: o.Dir, CompactBytes: 1})
			must(t, err)
			must(t, rev.Append(all[3].data))
			must(t, rev.Append(all[4].data))
			must(t, rev.Obsolete(4))
			must(t, rev.Close())
		})
	}
}

// A log that somebody else wrote without syncing has no checksums; links tell what
// of its end is sound.
func TestDamageNearTheEndOfALogOfNodeosIsFound(t *testing.T) {
	for _, keep := range []*uint32{nil, ptr(uint32(100))} {
		fs := memory()
		o := testOptions(fs)
		o.RetainBlocks = keep
		l := mustOpen(t, o)
		c := newChain(newRand(t), 3)
		begin(t, l, c)
		want := add(t, l, c, 30, 1500)
		const damaged = 24
		at, _, err := l.Position(want[damaged].num)
		must(t, err)
		end := int64(at) + int64(len(want[damaged].data))
		must(t, l.Close())
		for name, place := range map[string][2]int64{
			"header": {int64(at), 60}, "time": {int64(at), 2}, "root": {int64(at) + 80, 20},
			"body":     {int64(at) + 170, 600},
			"position": {end, 8}, "all of it": {int64(at), end - int64(at) + 8}, "two blocks": {int64(at) - 100, 300},
		} {
			torn := fs.mem.Clone()
			b := torn.Blob(testDir + "/" + LogName)
			b.Zero(place[0], place[1])
			torn.Put(testDir+"/"+LogName, memfs.NewBlob(b.Bytes()))
			o.FS = testFS{torn, torn}
			l, err := Open(o)
			must(t, err)
			whole := damaged
			if name == "two blocks" {
				whole--
			}
			if err := check(l, want[:whole]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			must(t, l.Close())
		}
	}
}

// nodeos writes the count of a pruned log that it begins above block 1 before the
// first block, and leaves it there.
func TestTheGapInNodeosPrunedLogsIsTolerated(t *testing.T) {
	fs := memory()
	c := newChain(newRand(t), 9)
	p := newPreamble(9, nil, testChainID)
	p.Pruned = true
	log := append(p.Append(nil), 0, 0, 0, 0)
	var index []byte
	var want []sample
	for range 6 {
		s := c.next(5000)
		want = append(want, s)
		index = serial.AppendUint64(index, uint64(len(log)))
		log = serial.AppendUint64(append(log, s.data...), uint64(len(log)))
	}
	log = serial.AppendUint32(log, 6)
	must(t, vfs.MkdirAll(fs, testDir))
	for _, withIndex := range []bool{true, false} {
		for _, keep := range []*uint32{ptr(uint32(6)), nil} {
			fs.mem.Put(testDir+"/"+LogName, memfs.NewBlob(log))
			fs.mem.Put(testDir+"/"+IndexName, memfs.NewBlob(nil))
			if withIndex {
				fs.mem.Put(testDir+"/"+IndexName, memfs.NewBlob(index))
			}
			o := testOptions(fs)
			o.RetainBlocks = keep
			for range 2 {
				l := mustOpen(t, o)
				must(t, check(l, want))
				must(t, l.Close())
			}
			if keep != nil && string(fs.mem.Blob(testDir+"/"+LogName).Bytes()) != string(log) {
				t.Error("the log was changed")
			}
			if keep == nil {
				must(t, (Tool{Dir: testDir, FS: fs}).SmokeTest(1))
			}
		}
	}
}
