package parquet

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"

	"tarn/fleet"
)

var seedFlag = flag.Uint64("parquet.seed", 1, "seed of random chains and interruptions")

// kept is a sink that remembers what it got.
type kept struct {
	t      *testing.T
	blocks []fleet.Point
	gaps   int // that are allowed
}

func (k *kept) write(b *fleet.Block) error {
	if last, any := k.written(); any && b.Parent != last {
		if k.gaps--; k.gaps < 0 {
			k.t.Fatalf("block %d follows block %d, and is written after block %d",
				b.Revision, b.Parent.Revision, last.Revision)
		}
	}
	k.blocks = append(k.blocks, b.Point)
	return nil
}

func (k *kept) written() (fleet.Point, bool) {
	if len(k.blocks) == 0 {
		return fleet.Point{}, false
	}
	return k.blocks[len(k.blocks)-1], true
}

// Whatever forks there are, and wherever the reading is interrupted, each irreversible block is written once, in order,
// and no other.
func TestIrreversibleBlocksAreWrittenOnce(t *testing.T) {
	for seed := *seedFlag; seed < *seedFlag+300; seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newScript(r, 120, 3+r.IntN(8))
		list := s.moves(r)
		o, _ := options(t)
		k := &kept{t: t}
		x := newOrder(&o, k)
		first := r.IntN(min(3, len(list))) // what was before is not kept
		list = list[first:]
		at := landing(list, x.From())
		there, last := 0, len(list)-1 // messages that exist, and the last one when the reading began
		for ; at < len(list); at++ {
			if r.IntN(12) == 0 {
				there += r.IntN(len(list) - there)
				at, last = landing(list[:there], x.From()), there-1
			}
			there = max(there, at+1)
			if err := taken(t, x, list[at], at >= last); err != nil {
				t.Fatalf("seed %d, move %d: %v", seed, at, err)
			}
		}
		check(t, seed, k, s, list)
	}
}

// check compares what was written with the blocks of the final chain.
func check(t *testing.T, seed uint64, k *kept, s script, list []*fleet.Move) {
	t.Helper()
	final := list[len(list)-1].Final
	chain := s.chain()
	for i, p := range k.blocks {
		if want := chain[int(k.blocks[0].Revision)-1+i].Point; p != want {
			t.Fatalf("seed %d: block %d (%s) is written, the chain has %s", seed, p.Revision, p.ID, want.ID)
		}
	}
	if last, _ := k.written(); last != final {
		t.Fatalf("seed %d: written up to block %d, irreversible is block %d", seed, last.Revision, final.Revision)
	}
	if base := list[0].Base().Revision; k.blocks[0].Revision > base+1 {
		t.Fatalf("seed %d: the first block is %d, the stream begins after %d", seed, k.blocks[0].Revision, base)
	}
}

// A stream that does not have what follows is an error, unless a gap is wanted.
func TestAGapIsFound(t *testing.T) {
	for seed := *seedFlag; seed < *seedFlag+100; seed++ {
		r := rand.New(rand.NewPCG(seed, 2))
		s := newScript(r, 120, 5)
		list := s.moves(r)
		for _, fromHere := range []bool{false, true} {
			o, _ := options(t)
			o.FromHere = fromHere
			k := &kept{t: t, gaps: 1}
			x := newOrder(&o, k)
			x.From()
			if err := tell(t, x, list[:len(list)/3], 0); err != nil {
				t.Fatal(err)
			}
			last, any := k.written()
			rest := list[len(list)*2/3:]
			if !any || rest[0].Base().Revision <= last.Revision+2*deepest {
				continue
			}
			x.From()
			err := tell(t, x, rest, 0)
			if !fromHere && !errors.Is(err, ErrGap) || fromHere && err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if now, _ := k.written(); fromHere && now != rest[len(rest)-1].Final || !fromHere && now != last {
				t.Fatalf("seed %d: written up to block %d", seed, now.Revision)
			}
		}
	}
}

// A new line that goes on where the one before it ended is followed, whatever it takes back; one that does not leaves a
// gap.
func TestALineBeginsAnew(t *testing.T) {
	r := rand.New(rand.NewPCG(*seedFlag, 3))
	s := newScript(r, 60, 0)
	move := func(final, from, to int) *fleet.Move {
		m := &fleet.Move{Blocks: s[from:to]}
		if final > 0 {
			m.Final = s[final-1].Point
		}
		return m
	}
	o, _ := options(t)
	k := &kept{t: t}
	x := newOrder(&o, k)
	x.From()
	for _, m := range []*fleet.Move{move(0, 0, 20), move(15, 20, 22), move(16, 18, 30), move(30, 25, 31),
		{Final: s[30].Point}} {
		if err := taken(t, x, m, true); err != nil {
			t.Fatal(err)
		}
	}
	if last, _ := k.written(); last != s[30].Point {
		t.Fatalf("written up to block %d", last.Revision)
	}
	if err := taken(t, x, move(35, 33, 36), true); !errors.Is(err, ErrGap) {
		t.Fatal(err)
	}
}

// A stream of another chain is refused, also where a gap is wanted.
func TestAnotherChainIsRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(*seedFlag, 4))
	list := newScript(r, 60, 0).moves(r)
	strange := newScript(r, 60, 0)
	for i := range strange {
		strange[i].ID[30] = 9
		if strange[i].Parent.Revision > 0 {
			strange[i].Parent.ID[30] = 9
		}
	}
	o, _ := options(t)
	o.FromHere = true
	k := &kept{t: t}
	x := newOrder(&o, k)
	x.From()
	if err := tell(t, x, list, 0); err != nil {
		t.Fatal(err)
	}
	others := strange.moves(r)
	if err := tell(t, x, others, landing(others, x.From())); !errors.Is(err, ErrOtherChain) {
		t.Fatal(err)
	}
	x.From()
	if err := taken(t, x, &fleet.Move{Final: fleet.Point{Revision: 57}, Blocks: list[0].Blocks}, false); err != nil {
		t.Fatal(err)
	}
}

// A publisher that makes nothing irreversible costs a bounded amount of memory.
func TestWhatIsHeldIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(*seedFlag, 5))
	s := newScript(r, 500, 0)
	o, _ := options(t)
	o.Held = 20_000
	x := newOrder(&o, &kept{t: t})
	x.From()
	for i := range s {
		err := taken(t, x, &fleet.Move{Blocks: s[i : i+1]}, true)
		if errors.Is(err, fleet.ErrTooLarge) {
			if i < 30 {
				t.Errorf("%d blocks are too many: %v", i, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("all blocks are held")
}

// A publisher that tells another block as irreversible than it has told is found out.
func TestAnotherIrreversibleBlockIsRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(*seedFlag, 6))
	s := newScript(r, 10, 0)
	o, _ := options(t)
	k := &kept{t: t}
	x := newOrder(&o, k)
	x.From()
	err := taken(t, x, &fleet.Move{Final: fleet.Point{Revision: 5, ID: fleet.ID{7}}, Blocks: s}, true)
	if !errors.Is(err, fleet.ErrDamaged) || len(k.blocks) > 4 {
		t.Fatal(err, len(k.blocks))
	}
}
