package consensus

import (
	"slices"
	"testing"

	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// siblings are blocks that follow one, of the same number and with the same irreversible block, by their ids.
func siblings(t *testing.T, db *ForkDatabase, count int) (list []*BlockState) {
	t.Helper()
	root := db.Root()
	for i := range count {
		s := *root.HeaderState
		s.BlockNum, s.Finality = root.BlockNum+1, nil
		s.Header.Previous, s.Header.ActionMRoot = root.ID, types.Checksum256{byte(i)}
		s.ID = s.Header.ID()
		list = append(list, &BlockState{HeaderState: &s})
	}
	slices.SortFunc(list, func(a, b *BlockState) int { return a.ID.Compare(b.ID) })
	return list
}

// Of blocks that are otherwise equals Spring's nodes follow the one with the greatest id, whenever it comes, where
// SAVANNA is active. Leap's stay with the first one.
func TestTiesGoToTheGreaterIDWhereSavannaIsActive(t *testing.T) {
	set := builtinSet(t)
	digest, _ := set.Digest(feature.Savanna)
	g := types.DefaultGenesis()
	for _, active := range []bool{false, true} {
		for first := range 3 {
			db, root := NewForkDatabase(set), Genesis(&g)
			if active {
				root.Activated = feature.NewActive(digest)
			}
			db.Reset(Head{HeaderState: root})
			list := siblings(t, db, 3)
			add := func(b *BlockState) {
				t.Helper()
				if err := db.Add(b, false); err != nil {
					t.Fatal(err)
				}
			}
			add(list[first])
			if err := db.MarkValid(list[first].ID, nil); err != nil {
				t.Fatal(err)
			}
			for i, b := range list {
				if i != first {
					add(b)
				}
			}
			want := list[first]
			if active {
				want = list[2]
			}
			if got := db.PendingHead(); got != want {
				t.Errorf("SAVANNA is active: %t: the block %d of 3 came first, and the best is %s of %s",
					active, first+1, got.ID, want.ID)
			}
			if err := db.MarkValid(want.ID, nil); err != nil {
				t.Fatal(err)
			}
			if got := db.Head(); got != want {
				t.Errorf("SAVANNA is active: %t: the block %d of 3 came first, and the head is %s of %s",
					active, first+1, got.ID, want.ID)
			}
		}
	}
}

// Where one of two branches has activated SAVANNA, blocks of one number are still in one order.
func TestTheOrderOfBlocksIsOne(t *testing.T) {
	set := builtinSet(t)
	digest, _ := set.Digest(feature.Savanna)
	g := types.DefaultGenesis()
	db := NewForkDatabase(set)
	db.Reset(Head{HeaderState: Genesis(&g)})
	var list []*branchNode
	for i, b := range siblings(t, db, 8) {
		if i%2 == 0 {
			b.Activated = feature.NewActive(digest)
		}
		list = append(list, &branchNode{BlockState: b})
	}
	for _, a := range list {
		for _, b := range list {
			if db.rank(a, b) != -db.rank(b, a) || (db.rank(a, b) == 0) != (a == b) {
				t.Errorf("%s and %s: %d, %d", a.ID, b.ID, db.rank(a, b), db.rank(b, a))
			}
			for _, c := range list {
				if db.rank(a, b) > 0 && db.rank(b, c) > 0 && db.rank(a, c) <= 0 {
					t.Errorf("%s is above %s, and that above %s, which is above the first", a.ID, b.ID, c.ID)
				}
			}
		}
	}
}
