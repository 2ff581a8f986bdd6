package recordfs

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"tarn/store/vfs/memfs"
)

// exhaustive is the number of pending changes up to which every subset of whole
// changes is a state.
const exhaustive = 5

// Recording is a finished record.
type Recording struct {
	events []event
}

// Len is the number of events; crash positions go from 0 to Len.
func (r *Recording) Len() int { return len(r.events) }

// Options choose crash states.
type Options struct {
	// From and To are the first and the last position of the crash; To 0 means
	// the end of the record.
	From, To int
	// Count is how many states to aim for. Every position gets at least the
	// state in which all that was asked has happened, and the one with only
	// what is durable; the rest is drawn.
	Count int
	Seed  uint64
}

// State is one content that the disk may have after a crash.
type State struct {
	// At is the position of the crash: the events before it had happened.
	At int
	// FS is the caller's own.
	FS *memfs.FS

	recording *Recording
	pending   []change
	fates     []fate
	order     []int
}

// String tells the crash in full: the last events before it, and what became of
// each change that was not durable.
func (s State) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "crash at position %d of %d, after\n", s.At, s.recording.Len())
	for i := max(0, s.At-4); i < s.At; i++ {
		fmt.Fprintf(&b, "  %6d %v\n", i, &s.recording.events[i])
	}
	b.WriteString("with these changes not durable (+ survived, - lost, ? garbled)\n")
	for _, i := range s.order {
		fmt.Fprintf(&b, "  %6d %v: %v\n", s.pending[i].at, s.pending[i].event, &s.fates[i])
	}
	return b.String()
}

// States yields distinct crash states, position by position: the same for the
// same recording and options.
func (r *Recording) States(o Options) iter.Seq[State] {
	if o.To == 0 {
		o.To = len(r.events)
	}
	return func(yield func(State) bool) {
		s := &sampler{recording: r, disk: newDisk(), rand: rand.New(rand.NewPCG(o.Seed, 1)),
			seen: map[uint64]bool{}, yield: yield}
		left := o.Count
		for at := 0; at <= o.To; at++ {
			if at >= o.From {
				before := s.yielded
				if !s.position(max(2, left/(o.To-at+1))) {
					return
				}
				left -= s.yielded - before
			}
			if at < len(r.events) {
				s.disk.step(&r.events[at])
			}
		}
	}
}

// Some yields some of what States does, drawn at random and the same for the same recording and
// options: of a record with more positions than Count, about Count for each state that a position
// has.
func (r *Recording) Some(o Options) iter.Seq[State] {
	if o.To == 0 {
		o.To = len(r.events)
	}
	return func(yield func(State) bool) {
		drawn := rand.New(rand.NewPCG(o.Seed, 2))
		for s := range r.States(o) {
			if drawn.IntN(max(1, o.To-o.From)) <= o.Count && !yield(s) {
				return
			}
		}
	}
}

// sampler draws the states of one position after the other.
type sampler struct {
	recording *Recording
	disk      *disk
	rand      *rand.Rand
	yield     func(State) bool
	seen      map[uint64]bool // states of the present epoch
	epoch     int
	yielded   int
	stopped   bool
}

// seed of state hashes: they only tell states of one run apart.
var hashSeed = maphash.MakeSeed()

// position yields about quota states of the disk as it is now.
func (s *sampler) position(quota int) bool {
	if s.disk.epoch != s.epoch {
		s.epoch = s.disk.epoch
		clear(s.seen)
	}
	n := len(s.disk.pending)
	end := s.yielded + quota
	for _, all := range []bool{true, false} {
		fates := make([]fate, n)
		for i := range fates {
			fates[i].all = all
		}
		s.emit(fates)
	}
	if n <= exhaustive && quota > 1<<n {
		for subset := range 1 << n {
			fates := make([]fate, n)
			for i := range fates {
				fates[i].all = subset>>i&1 == 1
			}
			s.emit(fates)
		}
	}
	for try := 0; try < 2*quota && s.yielded < end && n > 0 && !s.stopped; try++ {
		s.emit(s.draw())
	}
	return !s.stopped
}

// draw chooses a fate for each pending change. Half of the draws are about the
// newest change alone, where an order is most easily broken; the others lose or
// tear any of them, few or many.
func (s *sampler) draw() []fate {
	p := s.disk.pending
	fates := make([]fate, len(p))
	last := len(p) - 1
	switch s.rand.IntN(6) {
	case 0: // everything but the newest, which is torn
		for i := range last {
			fates[i].all = true
		}
		fates[last] = p[last].tear(s.rand)
	case 1: // the newest overtook some of the others
		lose := s.rand.IntN(100)
		for i := range last {
			fates[i].all = s.rand.IntN(100) >= lose
		}
		fates[last].all = true
	case 2: // one is lost or torn, wherever it is
		for i := range p {
			fates[i].all = true
		}
		i := s.rand.IntN(len(p))
		fates[i] = fate{}
		if s.rand.IntN(2) == 0 {
			fates[i] = p[i].tear(s.rand)
		}
	case 3: // one alone survives
		i := s.rand.IntN(len(p))
		fates[i] = fate{all: s.rand.IntN(2) == 0}
		if !fates[i].all {
			fates[i] = p[i].tear(s.rand)
		}
	default:
		lose, torn := s.rand.IntN(100), s.rand.IntN(60)
		for i := range p {
			switch {
			case s.rand.IntN(100) < torn:
				fates[i] = p[i].tear(s.rand)
			case s.rand.IntN(100) < lose:
				fates[i].grown = s.rand.IntN(8) == 0
			default:
				fates[i].all = true
			}
		}
	}
	return fates
}

// emit yields the state of these fates unless it was yielded already. One in
// four does the changes in another order than they were asked for.
func (s *sampler) emit(fates []fate) {
	if s.stopped {
		return
	}
	order := make([]int, len(fates))
	for i := range order {
		order[i] = i
	}
	if len(order) > 1 && s.rand.IntN(4) == 0 {
		s.rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	if !s.fresh(fates, order) {
		return
	}
	s.yielded++
	s.stopped = !s.yield(State{
		At: s.disk.position, FS: s.disk.build(fates, order),
		recording: s.recording, pending: slices.Clone(s.disk.pending), fates: fates, order: order,
	})
}

// fresh reports whether no equal state came before in this epoch.
func (s *sampler) fresh(fates []fate, order []int) bool {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	for _, i := range order {
		f := &fates[i]
		if !f.all && f.sectors == nil && !f.grown {
			continue
		}
		var b [10]byte
		binary.LittleEndian.PutUint64(b[:], uint64(s.disk.pending[i].at))
		if f.all {
			b[8] = 1
		}
		if f.grown {
			b[9] = 1
		}
		h.Write(b[:])      //nolint:errcheck // never fails
		h.Write(f.sectors) //nolint:errcheck // never fails
	}
	sum := h.Sum64()
	if s.seen[sum] {
		return false
	}
	s.seen[sum] = true
	return true
}
