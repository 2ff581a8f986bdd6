package consensus

import (
	"cmp"
	"container/heap"

	"tarn/antelope/types"
)

// Limit bounds what blocks may take that are not valid and do not lead to the best block, in bytes; 0 is for no
// bound. [ForkDatabase.Shed] removes what is too much.
func (f *ForkDatabase) Limit(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit = bytes
}

// Shed removes blocks if those that are not valid and do not lead to the best block take more than the limit, and
// returns their ids. What a producer signs costs it nothing, so of the producer whose blocks take most the largest
// goes first, and of equally large ones the first that came; blocks that others follow go after those. There is
// room for more than one block then.
func (f *ForkDatabase) Shed() []types.Checksum256 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.limit == 0 || f.waiting <= f.limit {
		return nil
	}
	aside := f.waiting
	leading := map[*branchNode]bool{}
	if best := f.best(false); best != nil && f.better(best.HeaderState, f.head.HeaderState) {
		for n := f.blocks[best.ID]; n != nil && !n.valid; n = f.blocks[n.Header.Previous] {
			leading[n] = true
			aside -= n.bytes
		}
	}
	if aside <= f.limit {
		return nil
	}
	s := shedding{tree: f, leading: leading, signed: map[types.Name]*signedBlocks{}, followers: map[*branchNode]int{}}
	for _, n := range f.ranks[index(false)] {
		if !leading[n] {
			s.count(n)
		}
	}
	var gone []types.Checksum256
	for aside > f.limit-f.limit/4 {
		n := s.next()
		if n == nil {
			break
		}
		aside -= n.bytes
		gone = append(gone, n.ID)
	}
	f.remove(gone)
	return gone
}

// shedding finds out which blocks go first.
type shedding struct {
	tree      *ForkDatabase
	leading   map[*branchNode]bool // these stay
	signed    map[types.Name]*signedBlocks
	followers map[*branchNode]int // blocks that follow and have not gone; without those that none follows
}

// signedBlocks are those of a producer that may go.
type signedBlocks struct {
	bytes int64
	last  lastBlocks
}

func (s *shedding) count(n *branchNode) {
	p := s.signed[n.Header.Producer]
	if p == nil {
		p = new(signedBlocks)
		s.signed[n.Header.Producer] = p
	}
	p.bytes += n.bytes
	if following := len(s.tree.children[n.ID]); following > 0 {
		s.followers[n] = following
	} else {
		heap.Push(&p.last, n)
	}
}

// next takes the block that is to go; nil if there is none.
func (s *shedding) next() *branchNode {
	var from *signedBlocks
	for _, p := range s.signed {
		if len(p.last) > 0 &&
			(from == nil || cmp.Or(cmp.Compare(p.bytes, from.bytes), p.last.compareFirst(from.last)) > 0) {
			from = p
		}
	}
	if from == nil {
		return nil
	}
	n := heap.Pop(&from.last).(*branchNode)
	from.bytes -= n.bytes
	if before := s.tree.blocks[n.Header.Previous]; before != nil && !before.valid && !s.leading[before] {
		if s.followers[before]--; s.followers[before] == 0 {
			heap.Push(&s.signed[before.Header.Producer].last, before)
		}
	}
	return n
}

// lastBlocks are blocks that none follows: a heap whose first is to go first.
type lastBlocks []*branchNode

func (l lastBlocks) Len() int { return len(l) }

func (l lastBlocks) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(l[j].bytes, l[i].bytes), cmp.Compare(l[i].came, l[j].came)) < 0
}

func (l lastBlocks) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

// Push is for package heap.
func (l *lastBlocks) Push(x any) { *l = append(*l, x.(*branchNode)) }

// Pop is for package heap.
func (l *lastBlocks) Pop() any {
	last := len(*l) - 1
	n := (*l)[last]
	*l = (*l)[:last]
	return n
}

// compareFirst compares the first ones of two heaps by when they came, the earlier one being greater.
func (l lastBlocks) compareFirst(o lastBlocks) int { return cmp.Compare(o[0].came, l[0].came) }
