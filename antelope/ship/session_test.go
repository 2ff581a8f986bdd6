package ship

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
)

// forked is a chain of ids that switches forks.
type forked struct {
	ids  []types.Checksum256 // by number, from 1 on
	salt uint32
	lib  uint32
	kept uint32 // how many blocks memory has
}

func (f *forked) add(num uint32) {
	f.ids = f.ids[:num-1]
	var id types.Checksum256
	f.salt++
	binary.BigEndian.PutUint32(id[:], num)
	binary.BigEndian.PutUint32(id[4:], f.salt)
	f.ids = append(f.ids, id)
}

func (f *forked) head() uint32 { return uint32(len(f.ids)) }

func (f *forked) position(num uint32) (wire.Position, bool) {
	if num < 1 || num > f.head() {
		return wire.Position{}, false
	}
	return wire.Position{Num: num, ID: f.ids[num-1]}, true
}

func (f *forked) has(p wire.Position) bool {
	q, ok := f.position(p.Num)
	return ok && p == q
}

func (f *forked) now() tip {
	h, _ := f.position(f.head())
	l, _ := f.position(f.lib)
	return tip{h, l}
}

// tip knows the newest heads, as memory does.
func (f *forked) tip(num uint32) (tip, bool) {
	h, ok := f.position(num)
	l, _ := f.position(min(f.lib, num))
	return tip{h, l}, ok && num+f.kept > f.head()
}

// reader is a client that takes a number it has for a fork, as indexers do.
type reader struct {
	blocks  map[uint32]types.Checksum256
	last    uint32
	credits int64
}

func (r *reader) take(t *testing.T, seed uint64, p wire.Position) {
	if r.credits--; r.credits < 0 {
		t.Fatalf("seed %d: block %d without a credit", seed, p.Num)
	}
	for n := p.Num; n <= r.last; n++ {
		delete(r.blocks, n)
	}
	r.blocks[p.Num], r.last = p.ID, p.Num
}

// Whatever forks, credits and restarts there are, a client ends with the blocks of the
// chain, and never gets more than it allowed.
func TestAClientEndsWithTheChain(t *testing.T) {
	for range 2000 {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		f := &forked{kept: uint32(r.IntN(10))}
		for range 1 + r.IntN(20) {
			f.add(f.head() + 1)
		}
		start := uint32(1 + r.IntN(int(f.head())))
		version := wire.Version(r.IntN(2))
		s, c := newSession(version, 1, f.now(), DefaultLimits().Statuses),
			&reader{blocks: map[uint32]types.Checksum256{}}
		ask := func() {
			q := &wire.BlocksRequest{Start: start, End: 1 << 31, Credits: uint32(r.IntN(4))}
			for n := range uint32(50) { // what it has, the newest first in no order
				if id, ok := c.blocks[n]; ok && r.IntN(2) == 0 {
					q.Have = append(q.Have, wire.Position{Num: n, ID: id})
				}
			}
			if c.last > 0 {
				q.Start = c.last + 1
			}
			c.credits = int64(q.Credits)
			s.asked(wire.Request{Blocks: q}, reach{has: f.has, first: math.MaxUint32})
		}
		ask()
		drain := func() {
			for {
				d, ok := s.take(f)
				if !ok {
					return
				}
				p, known := f.position(d.num)
				if !known {
					t.Fatalf("seed %d: block %d beyond the head %d", seed, d.num, f.head())
				}
				if at, known := f.position(d.at.head.Num); !known || at != d.at.head || d.num > at.Num {
					t.Fatalf("seed %d: block %d with the head %v of %d", seed, d.num, d.at.head, f.head())
				}
				c.take(t, seed, p)
			}
		}
		for range 60 {
			switch r.IntN(6) {
			case 0, 1:
				f.add(f.head() + 1)
				s.rewind(f.now())
			case 2: // a switch of forks, block by block
				from := max(f.lib+1, f.head()-min(f.head()-1, uint32(r.IntN(5))))
				to := f.head() + 1
				for n := from; n <= to; n++ {
					f.add(n)
					s.rewind(f.now())
					if r.IntN(3) == 0 {
						drain()
					}
				}
			case 3:
				f.lib = max(f.lib, f.head()-min(f.head(), 6))
			case 4:
				n := uint32(r.IntN(5))
				c.credits += int64(n)
				s.asked(wire.Request{Ack: &n}, reach{has: f.has, first: math.MaxUint32})
			default:
				drain()
			}
		}
		n := uint32(1 << 20)
		c.credits += int64(n)
		s.asked(wire.Request{Ack: &n}, reach{has: f.has, first: math.MaxUint32})
		drain()
		for num := start; num <= f.head(); num++ {
			if p, _ := f.position(num); c.blocks[num] != p.ID {
				t.Fatalf("seed %d: block %d of %d to %d is %s at the client, not %s",
					seed, num, start, f.head(), c.blocks[num], p.ID)
			}
		}
	}
}

// Heads that come while a client is being sent others are answered one by one: a message
// names the head that it answers. Who is behind, or allows nothing, is told the newest.
func TestEachBlockOfASwitchNamesItselfAsTheHead(t *testing.T) {
	f := &forked{kept: 5}
	grow := func(s *session, from, to uint32) {
		for n := from; n <= to; n++ {
			f.add(n)
			s.rewind(f.now())
		}
	}
	sent := func(s *session) (list [][2]uint32) {
		for {
			d, ok := s.take(f)
			if !ok {
				return list
			}
			list = append(list, [2]uint32{d.num, d.at.head.Num})
		}
	}
	s := newSession(wire.Leap, 1, f.now(), DefaultLimits().Statuses)
	want := func(what string, list ...[2]uint32) {
		t.Helper()
		if got := sent(s); !slices.Equal(got, list) {
			t.Errorf("%s: %v, want %v", what, got, list)
		}
	}
	grow(s, 1, 10)
	s.asked(wire.Request{Blocks: &wire.BlocksRequest{Start: 9, End: 100, Credits: 12}}, reach{has: f.has, first: math.MaxUint32})
	want("before the request there was one head", [2]uint32{9, 10}, [2]uint32{10, 10})
	grow(s, 8, 11)
	want("a switch", [2]uint32{8, 8}, [2]uint32{9, 9}, [2]uint32{10, 10}, [2]uint32{11, 11})
	grow(s, 12, 14)
	grow(s, 13, 14)
	want("a switch before the one before is answered", [2]uint32{12, 12}, [2]uint32{13, 13}, [2]uint32{14, 14})
	grow(s, 8, 15)
	want("more than memory has, and more than is allowed", [2]uint32{8, 15}, [2]uint32{9, 15}, [2]uint32{10, 15})
	grow(s, 16, 17)
	n := uint32(3)
	s.asked(wire.Request{Ack: &n}, reach{has: f.has, first: math.MaxUint32})
	want("what was a head while nothing was allowed", [2]uint32{11, 17}, [2]uint32{12, 17}, [2]uint32{13, 17})
	n = 20
	s.asked(wire.Request{Ack: &n}, reach{has: f.has, first: math.MaxUint32})
	grow(s, 18, 19)
	want("one that is behind", [2]uint32{14, 18}, [2]uint32{15, 19}, [2]uint32{16, 19}, [2]uint32{17, 19},
		[2]uint32{18, 19}, [2]uint32{19, 19})
}

func TestPositionsThatAClientHasAreTold(t *testing.T) {
	f := &forked{}
	for range 10 {
		f.add(f.head() + 1)
	}
	same := func(n uint32) wire.Position { p, _ := f.position(n); return p }
	other := wire.Position{Num: 5}
	for _, c := range []struct {
		name  string
		q     wire.BlocksRequest
		first uint32
		want  []uint32
	}{
		{"from a block", wire.BlocksRequest{Start: 8, End: 20}, 1, []uint32{8, 9, 10}},
		{"the end is not sent", wire.BlocksRequest{Start: 3, End: 5}, 1, []uint32{3, 4}},
		{"from before the first", wire.BlocksRequest{Start: 0, End: 4}, 2, []uint32{2, 3}},
		{"one that it has is passed over", wire.BlocksRequest{Start: 8, End: 20, Have: []wire.Position{same(8)}}, 1, []uint32{9, 10}},
		{"one that is another here", wire.BlocksRequest{Start: 8, End: 9, Have: []wire.Position{other}}, 1, []uint32{5, 6, 7, 8}},
		{"irreversible ones", wire.BlocksRequest{Start: 1, End: 20, Irreversible: true}, 1, []uint32{1, 2, 3}},
	} {
		f.lib = 3
		s := newSession(wire.Leap, c.first, f.now(), DefaultLimits().Statuses)
		c.q.Credits = 100
		s.asked(wire.Request{Blocks: &c.q}, reach{has: f.has, first: math.MaxUint32})
		var got []uint32
		for {
			d, ok := s.take(f)
			if !ok {
				break
			}
			got = append(got, d.num)
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
}

func TestWhoAsksForMoreThanItTakesIsEnded(t *testing.T) {
	s := newSession(wire.Leap, 1, tip{}, DefaultLimits().Statuses)
	for range DefaultLimits().Statuses {
		if !s.asked(wire.Request{Status: &wire.StatusRequest{}}, reach{}) {
			t.Fatal("too early")
		}
	}
	if s.asked(wire.Request{Status: &wire.StatusRequest{}}, reach{}) {
		t.Error("it goes on")
	}
}
