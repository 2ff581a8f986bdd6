package blocklog

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
)

// old makes an empty log of an older version, as an older nodeos would have.
func old(t *testing.T, fs logcatalog.FS, version, first uint32) Preamble {
	t.Helper()
	g := types.DefaultGenesis()
	p := Preamble{Version: version, First: first, ChainID: g.ChainID()}
	if p.hasGenesis() {
		p.Genesis = &g
	}
	must(t, vfs.MkdirAll(fs, testDir))
	must(t, createLog(fs, workingBase(testDir), p))
	return p
}

func TestLogsOfAllVersionsAreReadAndGoneOnWith(t *testing.T) {
	for _, c := range []struct {
		version, first uint32
		header         int64
	}{{1, 1, 4 + 110}, {2, 1, 8 + 110 + 8}, {2, 40, 8 + 110 + 8}, {3, 1, 8 + 110 + 8}, {3, 40, 8 + 32 + 8}} {
		fs := memory()
		p := old(t, fs, c.version, c.first)
		if got := int64(len(p.Append(nil))); got != c.header {
			t.Errorf("version %d from block %d: preamble of %d bytes, expected %d", c.version, c.first, got, c.header)
		}
		ch := newChain(newRand(t), c.first)
		l := mustOpen(t, testOptions(fs))
		if l.First() != c.first {
			t.Errorf("first is %d", l.First())
		}
		want := add(t, l, ch, 30, 200)
		must(t, l.Close())
		l = mustOpen(t, testOptions(fs))
		must(t, check(l, want))
		if l.Version() != c.version {
			t.Errorf("version %d became %d", c.version, l.Version())
		}
		if id, _ := l.ChainID(); id != p.ChainID {
			t.Error("the chain's id is another one")
		}
		must(t, l.Close())
	}
}

func TestUnknownPreamblesAreRefused(t *testing.T) {
	for version, kind := range map[uint32]Fault{0: Unsound, 4: Unsupported} {
		fs := memory()
		p := Preamble{Version: version, First: 2}
		b := append(p.Append(nil), make([]byte, 100)...)
		fs.mem.Put(workingBase(testDir).Log(), memfs.NewBlob(b))
		if _, err := Open(testOptions(fs)); !is(err, kind) {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

// An index that is missing, short, long, torn or wrong is repaired by opening.
func TestAnyIndexIsRepaired(t *testing.T) {
	fs := memory()
	o := testOptions(fs)
	o.SyncBytes = 500 // a window of few blocks
	l := mustOpen(t, o)
	c := newChain(newRand(t), 5)
	begin(t, l, c)
	want := add(t, l, c, 60, 300)
	must(t, l.Close())
	path := workingBase(testDir).Index()
	good := fs.mem.Blob(path).Bytes()
	zeroed := slices.Clone(good)
	clear(zeroed[:80])
	shifted := slices.Clone(good)
	shifted[len(shifted)-16]++
	for name, index := range map[string][]byte{
		"missing": nil, "empty": {}, "short": good[:8*10], "torn": good[:8*59+3],
		"long": append(slices.Clone(good), good[:24]...),
		"odd":  append(slices.Clone(good), 1, 2, 3, 4), "zeros at the front": zeroed, "wrong near the end": shifted,
		"of another log": bytes.Repeat([]byte{1, 2, 0, 0, 0, 0, 0, 0}, 60),
		"huge":           append(slices.Clone(good), bytes.Repeat([]byte{0xff}, 8)...),
	} {
		bad := fs.mem.Clone()
		if index == nil {
			must(t, bad.Remove(path))
		} else {
			bad.Put(path, memfs.NewBlob(index))
		}
		o.FS = testFS{bad, bad}
		l, err := Open(o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := check(l, want); err != nil || !l.Recovery().Index {
			t.Errorf("%s: %v, %+v", name, err, l.Recovery())
		}
		must(t, l.Close())
		if !bytes.Equal(bad.Blob(path).Bytes(), good) {
			t.Errorf("%s: the index is not what it was", name)
		}
	}
	// A log without blocks needs none.
	fs = memory()
	fs.mem.Put(path, memfs.NewBlob(good))
	o.FS = fs
	l = mustOpen(t, o)
	if _, _, ok := l.Head(); ok {
		t.Error("an index made a head")
	}
	must(t, l.Reset(testChainID, 2))
	must(t, l.Close())
	must(t, mustOpen(t, o).Close())
}

// As nodeos' block log does with a prune threshold of eight bytes: each append
// leaves the newest blocks only.
func TestPrunedLogsKeepTheNewestBlocks(t *testing.T) {
	const payload = 4096*2 + 2048
	for _, first := range []uint32{1, 10} {
		for _, reopen := range []bool{false, true} {
			for _, keep := range []uint32{4, 1} {
				fs := memory()
				o := testOptions(fs)
				o.RetainBlocks, o.PruneBytes = ptr(keep), 8
				l := mustOpen(t, o)
				c := newChain(newRand(t), first)
				want := begin(t, l, c)
				for range 12 {
					want = append(want, add(t, l, c, 1, payload)...)
					if reopen {
						must(t, l.Close())
						l = mustOpen(t, o)
					} else {
						must(t, l.Sync(want[len(want)-1].num))
					}
					if n := len(want) - int(keep); n > 0 {
						want = want[n:]
					}
					must(t, check(l, want))
				}
				at, _, err := l.Position(want[0].num)
				must(t, err)
				hole := make([]byte, 4096)
				_, err = fs.mem.Blob(workingBase(testDir).Log()).ReadAt(hole, int64(at/4096*4096)-4096)
				must(t, err)
				if !bytes.Equal(hole, make([]byte, 4096)) {
					t.Error("pruned blocks take space")
				}
				if is, err := (Tool{Dir: testDir, FS: fs}).IsPruned(); err != nil || !is {
					t.Errorf("the log is not pruned: %v", err)
				}
				must(t, l.Close())

				// Without the option it is vacuumed.
				o.RetainBlocks = nil
				l = mustOpen(t, o)
				must(t, check(l, want))
				want = append(want, add(t, l, c, 2, 100)...)
				must(t, l.Close())
				l = mustOpen(t, o)
				must(t, check(l, want))
				must(t, l.Close())
				tool := Tool{Dir: testDir, FS: fs}
				must(t, tool.SmokeTest(1))
				p, ok, err := tool.Context("")
				if err != nil || !ok || p.Pruned || p.Genesis != nil || p.First != want[0].num || p.Version != 3 {
					t.Errorf("vacuumed preamble: %+v, %v", p, err)
				}
			}
		}
	}
}

// What a log has of genesis survives becoming pruned and back as long as block 1 does.
func TestGenesisStaysWithBlockOne(t *testing.T) {
	for _, version := range []uint32{1, 2, 3} {
		fs := memory()
		tool := Tool{Dir: testDir, FS: fs}
		o := testOptions(fs)
		o.PruneBytes = 8
		g := types.DefaultGenesis()
		old(t, fs, version, 1)
		c := newChain(newRand(t), 1)
		l := mustOpen(t, o)
		want := add(t, l, c, 4, 9000)
		must(t, l.Close())
		turn := func(keep *uint32, n int) {
			t.Helper()
			o.RetainBlocks = keep
			l = mustOpen(t, o)
			must(t, check(l, want))
			want = append(want, add(t, l, c, n, 9000)...)
			if keep != nil && len(want) > int(*keep) {
				want = want[len(want)-int(*keep):]
			}
			must(t, check(l, want))
			must(t, l.Close())
		}
		turn(ptr(uint32(10)), 2)
		turn(nil, 1)
		if got, err := tool.Genesis(""); err != nil || got == nil || !bytes.Equal(got.Append(nil), g.Append(nil)) {
			t.Errorf("version %d: genesis is lost: %v", version, err)
		}
		turn(ptr(uint32(10)), 5)
		if want[0].num != 3 {
			t.Fatalf("the first block is %d", want[0].num)
		}
		turn(nil, 0)
		if p, _, err := tool.Context(""); err != nil || p.Genesis != nil || p.ChainID != g.ChainID() || p.First != 3 {
			t.Errorf("version %d: %+v, %v", version, p, err)
		}
		must(t, tool.SmokeTest(1))
		o.RetainBlocks = ptr(uint32(2))
		l = mustOpen(t, o)
		must(t, check(l, want[len(want)-2:]))
		must(t, l.Close())
	}
}

func TestRetainingNothingKeepsNoLog(t *testing.T) {
	for _, first := range []uint32{1, 10} {
		fs := memory()
		l := mustOpen(t, testOptions(fs))
		c := newChain(newRand(t), first)
		begin(t, l, c)
		add(t, l, c, 3, 10)
		must(t, l.Close())
		o := testOptions(fs)
		o.RetainBlocks = ptr(uint32(0))
		l = mustOpen(t, o)
		if len(fs.mem.Paths()) != 0 {
			t.Errorf("files are left: %v", fs.mem.Paths())
		}
		c = newChain(c.rand, first)
		begin(t, l, c)
		if first > 1 && l.First() != first {
			t.Errorf("first is %d", l.First())
		}
		s := add(t, l, c, 3, 10)[2]
		must(t, l.Sync(s.num))
		must(t, l.Flush())
		if num, id, ok := l.Head(); !ok || num != s.num || id != s.id || l.First() != s.num {
			t.Errorf("head is %d", num)
		}
		if _, err := l.ReadRaw(s.num); !errors.Is(err, ErrNotFound) {
			t.Errorf("read: %v", err)
		}
		must(t, l.Close())
	}
}

func exists(t *testing.T, fs logcatalog.FS, want bool, names ...string) {
	t.Helper()
	for _, name := range names {
		pair := logcatalog.Pair(testDir + "/" + name)
		for _, path := range []string{pair.Log(), pair.Index()} {
			if ok, err := fs.Exists(path); err != nil || ok != want {
				t.Errorf("%s exists: %v (%v), expected %v", path, ok, err, want)
			}
		}
	}
}

func produce(t *testing.T, o Options, blocks int) (*Log, *chain, []sample) {
	t.Helper()
	l := mustOpen(t, o)
	c := newChain(newRand(t), 1)
	all := append(begin(t, l, c), add(t, l, c, blocks-1, 50)...)
	return l, c, all
}

func TestPartitionsAreRetainedAndArchived(t *testing.T) {
	fs := memory()
	o := testOptions(fs)
	o.Stride, o.MaxRetainedFiles, o.ArchiveDir = ptr(uint32(20)), ptr(uint32(5)), ptr("archive")
	l, _, all := produce(t, o, 150)
	exists(t, fs, true, "archive/blocks-1-20", "archive/blocks-21-40", "blocks-41-60", "blocks-61-80",
		"blocks-81-100", "blocks-101-120", "blocks-121-140", "blocks")
	exists(t, fs, false, "blocks-1-20", "blocks-21-40")
	must(t, check(l, all[40:]))
	must(t, l.Close())
	l = mustOpen(t, o)
	must(t, check(l, all[40:]))
	must(t, l.Close())
}

func TestPartitionsGoWhereTheOptionsSay(t *testing.T) {
	for _, c := range []struct {
		retained, archive *string
		max               *uint32
		stride, blocks    uint32
		there, gone       []string
	}{
		{ptr("retained"), ptr("archive"), ptr(uint32(0)), 50, 150,
			[]string{"archive/blocks-1-50", "archive/blocks-51-100", "archive/blocks-101-150"},
			[]string{"retained/blocks-101-150"}},
		{ptr("retained"), ptr("archive"), nil, 50, 150,
			[]string{"retained/blocks-1-50", "retained/blocks-51-100", "retained/blocks-101-150"},
			[]string{"archive/blocks-1-50"}},
		{nil, ptr(""), ptr(uint32(5)), 10, 75,
			[]string{"blocks-21-30", "blocks-31-40", "blocks-41-50", "blocks-51-60", "blocks-61-70"},
			[]string{"blocks-1-10", "blocks-11-20", "archive/blocks-1-10"}},
		{nil, nil, ptr(uint32(1)), 10, 35, []string{"archive/blocks-1-10", "archive/blocks-11-20", "blocks-21-30"},
			[]string{"blocks-11-20"}},
	} {
		fs := memory()
		o := testOptions(fs)
		o.RetainedDir, o.ArchiveDir, o.MaxRetainedFiles, o.Stride = c.retained, c.archive, c.max, ptr(c.stride)
		l, ch, all := produce(t, o, int(c.blocks))
		exists(t, fs, true, c.there...)
		exists(t, fs, false, c.gone...)
		must(t, l.Close())
		l = mustOpen(t, o)
		if head, id, ok := l.Head(); c.max == nil || *c.max > 0 {
			if !ok || head != c.blocks || id != all[c.blocks-1].id {
				t.Errorf("head is %d after opening again", head)
			}
			add(t, l, ch, 30, 10)
		}
		must(t, l.Close())
	}
}

// The catalog is gone on with when there is no working log, and repaired when a
// partition's index is gone.
func TestPartitionsAloneAreALog(t *testing.T) {
	fs := memory()
	o := testOptions(fs)
	o.Stride, o.MaxRetainedFiles = ptr(uint32(20)), ptr(uint32(10))
	l, c, all := produce(t, o, 160)
	must(t, l.Close())
	base := workingBase(testDir)
	must(t, fs.Remove(base.Log()))
	must(t, fs.Remove(base.Index()))
	must(t, fs.Remove(testDir+"/blocks-41-60.index"))
	l = mustOpen(t, o)
	must(t, check(l, all))
	if !l.Recovery().Rebuilt {
		t.Error("the index of a partition was not rebuilt")
	}
	all = append(all, add(t, l, c, 25, 10)...)
	must(t, check(l, all))
	if err := l.Reset(types.Hash([]byte("another chain")), 500); !is(err, Unsound) {
		t.Errorf("reset to another chain: %v", err)
	}
	must(t, l.Close())
	l = mustOpen(t, o)
	must(t, check(l, all))
	must(t, l.Truncate(95))
	must(t, check(l, all[:95]))
	c.last = all[94]
	all = append(all[:95:95], add(t, l, c, 10, 20)...)
	must(t, check(l, all))
	must(t, l.Close())
	l = mustOpen(t, o)
	must(t, check(l, all))
	must(t, l.Close())
}

// A partition whose blocks another one has, as somebody may have extracted it, is not the end of the log.
func TestAPartitionThatAnotherCoversIsNotTheLast(t *testing.T) {
	var disks [2]testFS
	var all []sample
	var o Options
	for i, stride := range []uint32{10, 40} {
		disks[i] = memory()
		o = testOptions(disks[i])
		o.Stride = ptr(stride)
		l := mustOpen(t, o)
		if i == 0 {
			c := newChain(newRand(t), 1)
			all = append(begin(t, l, c), add(t, l, c, 44, 50)...)
		} else {
			must(t, l.ResetGenesis(types.DefaultGenesis(), all[0].data))
			for _, s := range all[1:] {
				must(t, l.Append(s.num, s.id, s.data))
			}
		}
		must(t, l.Close())
	}
	fs := disks[1]
	extracted, live := logcatalog.NewPart(testDir, logName, 21, 30), workingBase(testDir)
	for _, path := range []string{extracted.Log(), extracted.Index()} {
		fs.mem.Put(path, disks[0].mem.Blob(path).Clone())
	}
	must(t, live.Remove(fs))
	l := mustOpen(t, o)
	if head, _, _ := l.Head(); head != 40 {
		t.Errorf("partitions up to block 40 are a log that ends with block %d", head)
	}
	must(t, check(l, all[:40]))
	must(t, l.Close())
}

func TestAPrunedLogBecomesAPartitionedOne(t *testing.T) {
	for _, first := range []uint32{1, 10} {
		fs := memory()
		o := testOptions(fs)
		o.RetainBlocks, o.PruneBytes = ptr(uint32(5)), 8
		l := mustOpen(t, o)
		c := newChain(newRand(t), first)
		want := begin(t, l, c)
		must(t, l.Close())
		o.RetainBlocks, o.Stride, o.MaxRetainedFiles = nil, ptr(uint32(5)), ptr(uint32(1))
		l = mustOpen(t, o)
		must(t, check(l, want))
		want = append(want, add(t, l, c, 10, 9000)...)
		last := want[len(want)-1].num
		must(t, check(l, want[(last-5)/5*5+1-first:]))
		must(t, l.Close())
	}
}

func TestALogOfAnotherChainIsNotMixedIn(t *testing.T) {
	fs := memory()
	o := testOptions(fs)
	o.Stride = ptr(uint32(10))
	l, _, _ := produce(t, o, 25)
	must(t, l.Close())
	must(t, createLog(fs, workingBase(testDir), newPreamble(21, nil, testChainID)))
	if _, err := Open(o); !is(err, Unsound) {
		t.Errorf("opened: %v", err)
	}
}

// A model of what a log has, over random calls and all kinds of logs.
func TestLogsDoWhatTheModelSays(t *testing.T) {
	r := newRand(t)
	for round := range 60 {
		fs := memory()
		o := testOptions(fs)
		var keep, stride uint32
		switch round % 3 {
		case 1:
			keep = 1 + r.Uint32N(12)
			o.RetainBlocks, o.PruneBytes = ptr(keep), 8
		case 2:
			stride = 1 + r.Uint32N(9)
			o.Stride, o.ArchiveDir = ptr(stride), ptr("")
		}
		o.BufferBytes, o.SyncBytes = int(r.Uint32N(3)*2000), int64(1+r.Uint32N(20_000))
		first := 1 + r.Uint32N(2)*r.Uint32N(50)
		l := mustOpen(t, o)
		c := newChain(r, first)
		model := begin(t, l, c)
		for range 60 {
			switch r.IntN(8) {
			default:
				model = append(model, add(t, l, c, 1+r.IntN(3), r.IntN(3000))...)
			case 5:
				must(t, l.Close())
				l = mustOpen(t, o)
			case 6:
				if len(model) > 0 {
					must(t, l.Sync(model[len(model)-1].num))
				}
			case 7:
				if n := len(model); n > 3 {
					k := 1 + r.IntN(n-1)
					if keep > 0 {
						k = max(k, n-int(keep)+1)
					}
					must(t, l.Truncate(model[k-1].num))
					model, c.last = model[:k:k], model[k-1]
				}
			}
			if keep > 0 {
				must(t, l.Flush())
				model = model[l.First()-model0(model, first):]
				if len(model) > int(keep) {
					t.Fatalf("%d blocks are kept instead of %d", len(model), keep)
				}
			}
			if err := check(l, model); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		must(t, l.Close())
	}
}

func model0(model []sample, first uint32) uint32 {
	if len(model) == 0 {
		return first
	}
	return model[0].num
}

// Where the index has the first block to be kept at the place of a later one, nothing before that
// place is let go.
func TestNothingIsLetGoByAWrongPosition(t *testing.T) {
	base := workingBase(testDir)
	spoil := func(t *testing.T, fs testFS, at, as int) {
		t.Helper()
		f, err := fs.Open(base.Index(), true)
		must(t, err)
		_, err = f.WriteAt(fs.mem.Blob(base.Index()).Bytes()[8*as:8*as+8], int64(8*at))
		must(t, errors.Join(err, f.Close()))
	}
	filled := func(t *testing.T, blocks int, o Options) (testFS, *Log, []sample) {
		t.Helper()
		fs := memory()
		o.Dir, o.FS, o.Now = testDir, fs, testOptions(fs).Now
		l := mustOpen(t, o)
		c := newChain(newRand(t), 5)
		begin(t, l, c)
		list := add(t, l, c, blocks, 10000)
		must(t, l.Flush())
		return fs, l, list
	}
	t.Run("pruned", func(t *testing.T) {
		fs, l, list := filled(t, 10, Options{RetainBlocks: ptr(uint32(4)), PruneBytes: 8})
		spoil(t, fs, 6, 9)
		before := fs.mem.Blob(base.Log()).Bytes()
		must(t, l.Sync(list[9].num))
		if !bytes.Equal(fs.mem.Blob(base.Log()).Bytes(), before) {
			t.Error("space was given back")
		}
	})
	t.Run("made a pruned one", func(t *testing.T) {
		fs, l, list := filled(t, 300, Options{})
		must(t, l.Close())
		spoil(t, fs, 150, 250)
		o := testOptions(fs)
		// opening looks at the newest positions, and at every fourth before them
		o.RetainBlocks, o.SyncBytes = ptr(uint32(150)), 500
		before := fs.mem.Blob(base.Log()).Bytes()
		l = mustOpen(t, o)
		if l.First() != list[150].num || !bytes.Equal(fs.mem.Blob(base.Log()).Bytes()[4:len(before)], before[4:]) {
			t.Errorf("space was given back; the first block is %d", l.First())
		}
		must(t, l.Close())
	})
}
