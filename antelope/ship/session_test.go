package ship

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
)

// forked is a chain of ids that switches forks.
type forked struct {
	ids  []types.Checksum256 // by number, from 1 on
	salt uint32
	lib  uint32
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

func (f *forked) tip() tip {
	h, _ := f.position(f.head())
	l, _ := f.position(f.lib)
	return tip{h, l}
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
		f := &forked{}
		for range 1 + r.IntN(20) {
			f.add(f.head() + 1)
		}
		start := uint32(1 + r.IntN(int(f.head())))
		s, c := newSession(1, f.tip()), &reader{blocks: map[uint32]types.Checksum256{}}
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
			s.asked(wire.Request{Blocks: q}, f.has)
		}
		ask()
		drain := func() {
			for {
				d, ok := s.take(f.position)
				if !ok {
					return
				}
				p, known := f.position(d.num)
				if !known {
					t.Fatalf("seed %d: block %d beyond the head %d", seed, d.num, f.head())
				}
				c.take(t, seed, p)
			}
		}
		for range 60 {
			switch r.IntN(6) {
			case 0, 1:
				f.add(f.head() + 1)
				s.accepted(f.tip())
			case 2: // a switch of forks, block by block
				from := max(f.lib+1, f.head()-min(f.head()-1, uint32(r.IntN(5))))
				to := f.head() + 1
				for n := from; n <= to; n++ {
					f.add(n)
					s.accepted(f.tip())
					if r.IntN(3) == 0 {
						drain()
					}
				}
			case 3:
				f.lib = max(f.lib, f.head()-min(f.head(), 6))
			case 4:
				n := uint32(r.IntN(5))
				c.credits += int64(n)
				s.asked(wire.Request{Ack: &n}, f.has)
			default:
				drain()
			}
		}
		n := uint32(1 << 20)
		c.credits += int64(n)
		s.asked(wire.Request{Ack: &n}, f.has)
		drain()
		for num := start; num <= f.head(); num++ {
			if p, _ := f.position(num); c.blocks[num] != p.ID {
				t.Fatalf("seed %d: block %d of %d to %d is %s at the client, not %s", seed, num, start, f.head(), c.blocks[num], p.ID)
			}
		}
	}
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
		s := newSession(c.first, f.tip())
		c.q.Credits = 100
		s.asked(wire.Request{Blocks: &c.q}, f.has)
		var got []uint32
		for {
			d, ok := s.take(f.position)
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
	s := newSession(1, tip{})
	for range mostStatuses {
		if !s.asked(wire.Request{Status: true}, nil) {
			t.Fatal("too early")
		}
	}
	if s.asked(wire.Request{Status: true}, nil) {
		t.Error("it goes on")
	}
}
