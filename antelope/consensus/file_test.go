package consensus

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// forkedNode is a node with two branches above its root, one of which is not valid.
func forkedNode(t *testing.T) *node {
	t.Helper()
	n := newNode(t)
	n.produceMany(3)
	n.propose("a", "b", "c")
	n.produceMany(40)
	n.until("a", "b")
	other := newNode(t)
	other.sync(n, all)
	n.produceMany(6)
	for i, slots := range []uint32{2, 1, 1} {
		if err := n.push(other.produce(slots).Block); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	return n
}

func encode(t *testing.T, n *node) []byte {
	t.Helper()
	b, err := n.db.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFilesThatDoNotFitTogetherAreRefused(t *testing.T) {
	n := forkedNode(t)
	whole := encode(t, n)
	reload(t, n)
	f := NewForkDatabase(n.set)
	f.Reset(Head{HeaderState: n.db.Root().HeaderState})
	before, _ := f.Encode()
	refuse := func(name string, b []byte, kind *exception.Kind) {
		t.Helper()
		if err := f.Decode(b, "file"); err == nil || kind != nil && !exception.Is(err, kind) {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := f.Encode(); string(after) != string(before) {
			t.Fatalf("%s: what was refused has changed the fork database", name)
		}
	}
	change := func(at int, to byte) []byte {
		b := append([]byte(nil), whole...)
		b[at] = to
		return b
	}
	refuse("empty", nil, nil)
	refuse("magic", change(0, 1), exception.ForkDatabase)
	refuse("version", change(4, 2), exception.ForkDatabase)
	refuse("head", change(len(whole)-1, whole[len(whole)-1]^1), exception.ForkDatabase)
	refuse("longer", append(whole[:len(whole):len(whole)], 0), nil)
	for i := 8; i < len(whole); i += 97 {
		refuse("cut off", whole[:i], nil)
	}
	oldHead := append(append([]byte(nil), whole[:len(whole)-32]...), n.db.Root().ID.Append(nil)...)
	refuse("a head that is not the best", oldHead, exception.ForkDatabase)

	dir := t.TempDir()
	if _, err := f.Load(dir); err == nil {
		t.Error("a folder is loaded")
	}
	if err := f.Save(filepath.Join(dir, "none", FileName)); err == nil {
		t.Error("saved to a folder that is not there")
	}
	if err := NewForkDatabase(feature.NewSet()).Save(filepath.Join(dir, FileName)); !exception.Is(err,
		exception.ForkDatabase) {
		t.Errorf("saved without a root: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("%d files are left", len(entries))
	}
}

func TestAFileWithFeaturesThatAreNotRecognisedIsRefused(t *testing.T) {
	n := newNode(t)
	n.produceMany(3)
	n.propose("a", "b", "c")
	n.produceMany(20)
	d, _ := n.set.Digest(feature.GetSender)
	n.produce(1, d)
	b := encode(t, n)
	if err := NewForkDatabase(n.set).Decode(b, "file"); err != nil {
		t.Fatal(err)
	}
	err := NewForkDatabase(feature.NewSet()).Decode(b, "file")
	if !exception.Is(err, exception.ForkDatabase) {
		t.Errorf("unknown feature: %v", err)
	}
}

func TestFilesHaveTheOrderOfTheOriginals(t *testing.T) {
	n := forkedNode(t)
	r := serial.NewReader(encode(t, n)[8:])
	new(HeaderState).Read(r)
	var last *BlockState
	lastValid, both := true, 0
	for range r.Varuint32() {
		b, valid := readBlockState(r)
		if last != nil {
			equal := !n.db.better(b.HeaderState, last.HeaderState) && !n.db.better(last.HeaderState, b.HeaderState)
			if n.db.better(last.HeaderState, b.HeaderState) || equal && valid && !lastValid {
				t.Errorf("block %d (valid %v) after block %d (valid %v)", b.BlockNum, valid, last.BlockNum, lastValid)
			}
			if equal && valid != lastValid {
				both++
			}
		}
		last, lastValid = b, valid
	}
	if r.Err() != nil || both == 0 {
		t.Errorf("%d pairs of equals: %v", both, r.Err())
	}
}

// equal-forks.dat is the file that nodeos 4.1 wrote when it closed, having been given
// eight blocks with the same parent and number. Their ids differ in the upper and the
// lower bytes of their first word, so that the order of the file tells which of two
// equal blocks nodeos prefers.
func TestEqualForksHaveTheOrderThatNodeosGivesThem(t *testing.T) {
	path := filepath.Join("testdata", "equal-forks.dat")
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := NewForkDatabase(builtinSet(t))
	if found, err := f.Load(path); !found || err != nil {
		t.Fatalf("load: %v, %v", found, err)
	}
	got, err := f.Encode()
	if err != nil || f.Len() != 8 {
		t.Fatalf("%d blocks: %v", f.Len(), err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the blocks are in another order than nodeos wrote them")
		for _, b := range f.Blocks() {
			t.Logf("%s", b.ID)
		}
	}
}

func TestIDsAreComparedAsWords(t *testing.T) {
	first := types.Checksum256{0, 0, 0, 2, 0, 0, 0, 5}
	for _, c := range []struct {
		name string
		at   map[int]byte // what differs from the first id
		want int
	}{
		{"equal", nil, 0},
		{"last byte of the word below", map[int]byte{7: 4}, 1},
		{"last byte of the word above", map[int]byte{7: 200}, -1},
		{"first byte of the hash above, last below", map[int]byte{4: 255, 7: 4}, 1},
		{"first byte of the hash below, last above", map[int]byte{4: 0, 7: 6}, -1},
		{"first byte of the id above", map[int]byte{0: 1}, -1},
		{"second word above, third below", map[int]byte{8: 1, 23: 0}, -1},
		{"first word below, last word above", map[int]byte{7: 4, 31: 255}, 1},
		{"last word above", map[int]byte{24: 1}, -1},
	} {
		other := first
		for i, v := range c.at {
			other[i] = v
		}
		if got, back := compareIDs(&first, &other), compareIDs(&other, &first); got != c.want || back != -c.want {
			t.Errorf("%s: %d and %d, want %d", c.name, got, back, c.want)
		}
	}
}

// A schedule that returns to a producer who has long been away takes the
// irreversible block back: blocks are then better than those that follow them.
func TestFilesKeepBlocksBehindTheOnesTheyFollow(t *testing.T) {
	f := NewForkDatabase(feature.NewSet())
	g := types.DefaultGenesis()
	f.Reset(Head{HeaderState: Genesis(&g)})
	prev := f.Root().HeaderState
	var last *BlockState
	for _, irreversible := range []uint32{5, 5, 3, 4, 9} {
		s := *prev
		s.BlockNum++
		s.Irreversible = irreversible
		s.Header.Previous = prev.ID
		s.ID = s.Header.ID()
		last = &BlockState{HeaderState: &s, Block: &types.SignedBlock{SignedBlockHeader: s.Header}}
		if err := f.Add(last, false); err != nil {
			t.Fatal(err)
		}
		prev = last.HeaderState
	}
	b, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again := NewForkDatabase(feature.NewSet())
	if err := again.Decode(b, "file"); err != nil {
		t.Fatal(err)
	}
	if again.PendingHead().ID != last.ID || again.Len() != 5 {
		t.Error("not what was saved")
	}
}

func FuzzHeaderState(f *testing.F) {
	g := types.DefaultGenesis()
	s := Genesis(&g)
	f.Add(s.Append(nil), false)
	if p, err := s.Next(0, 0); err == nil {
		h, _ := p.Header(&Content{}, feature.NewSet())
		if s, err = p.Finish(&h, nil, feature.NewSet(), nil); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(s.Append(nil), false)
	f.Add(s.Append(nil), true)
	f.Fuzz(func(t *testing.T, b []byte, legacy bool) {
		var s, again HeaderState
		r := serial.NewReader(b)
		if legacy {
			s.ReadV2(r)
		} else {
			s.Read(r)
		}
		if r.Err() != nil {
			return
		}
		packed := s.Append(nil)
		if err := types.Decode(packed, &again); err != nil || string(again.Append(nil)) != string(packed) {
			t.Fatalf("%x became %x: %v", packed, again.Append(nil), err)
		}
		s.Next(0, 1)
	})
}

func FuzzForkDatabaseFile(f *testing.F) {
	g := types.DefaultGenesis()
	db := NewForkDatabase(feature.NewSet())
	db.Reset(Head{HeaderState: Genesis(&g)})
	b, _ := db.Encode()
	f.Add(b)
	s := db.Root().HeaderState
	for range 3 {
		p, err := s.Next(0, 0)
		if err != nil {
			f.Fatal(err)
		}
		block := new(types.SignedBlock)
		block.SignedBlockHeader, _ = p.Header(&Content{}, feature.NewSet())
		next, err := NewBlockState(s, block, feature.NewSet(), nil)
		if err != nil {
			f.Fatal(err)
		}
		if err := db.Add(next, false); err != nil {
			f.Fatal(err)
		}
		s = next.HeaderState
	}
	b, _ = db.Encode()
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		db := NewForkDatabase(feature.NewSet())
		if db.Decode(b, "file") != nil {
			return
		}
		packed, err := db.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again := NewForkDatabase(feature.NewSet())
		if err := again.Decode(packed, "file"); err != nil {
			t.Fatal(err)
		}
		if repacked, _ := again.Encode(); string(repacked) != string(packed) {
			t.Fatalf("%x became %x", packed, repacked)
		}
	})
}

func BenchmarkFollow(b *testing.B) {
	g := types.DefaultGenesis()
	s := Genesis(&g)
	names := make([]string, 21)
	for i := range names {
		names[i] = string(rune('a' + i))
	}
	set := feature.NewSet()
	produce := func(change *types.ProducerSchedule) {
		slot := s.Header.Timestamp + 1
		last, _ := s.LastProduced.Get(s.ScheduledProducer(slot).Producer)
		p, err := s.Next(slot, uint16(s.BlockNum-last))
		if err != nil {
			b.Fatal(err)
		}
		h, err := p.Header(&Content{Schedule: change}, set)
		if err != nil {
			b.Fatal(err)
		}
		if s, err = p.Finish(&h, nil, set, nil); err != nil {
			b.Fatal(err)
		}
	}
	produce(nil)
	produce(schedule(1, names...))
	for range 1000 {
		produce(nil)
	}
	b.ReportAllocs()
	for b.Loop() {
		produce(nil)
	}
}

// Whatever Spring's file may hold is read without a panic, and no block is taken that its tree does not
// lead to.
func FuzzSpringBlocks(f *testing.F) {
	g := types.DefaultGenesis()
	root := Genesis(&g)
	b := serial.AppendUint32(serial.AppendUint32(serial.AppendUint32(nil, fileMagic), springVersion), 0)
	b = append(serial.AppendBool(b, true), make([]byte, 32)...)
	b = append(root.Append(b), 0, 1, 0)
	f.Add(append(slices.Clone(b), 0, 0))
	p, err := root.Next(0, 0)
	if err != nil {
		f.Fatal(err)
	}
	block := new(types.SignedBlock)
	block.SignedBlockHeader, _ = p.Header(&Content{}, feature.NewSet())
	next, err := NewBlockState(root, block, feature.NewSet(), nil)
	if err != nil {
		f.Fatal(err)
	}
	one := append(block.Append(append(next.HeaderState.Append(append(b, 1)), 1)), 1, 0, 0)
	if list, err := DecodeSpring(one, "there"); err != nil || len(list) != 1 || list[0].ID() != next.ID {
		f.Fatal(list, err)
	}
	f.Add(one)
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := DecodeSpring(b, "there")
		if err != nil && list != nil {
			t.Error("blocks beside an error")
		}
		for i, b := range list[:max(len(list), 1)-1] {
			if slices.ContainsFunc(list[i+1:],
				func(later *types.SignedBlock) bool { return later.ID() == b.Previous }) {
				t.Error("a block stands before the one that it follows")
			}
		}
	})
}
