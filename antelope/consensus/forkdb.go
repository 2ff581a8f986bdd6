package consensus

import (
	"slices"
	"sync"

	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// ForkDatabase is the tree of blocks above the last irreversible one, its root
// (Leap: fork_database). Head is the best block that has been applied, PendingHead
// the best one that there is; a node in irreversible mode follows PendingHead with
// headers only and leaves Head at what it has applied.
//
// A branch is better as [order] says. Between equals the one that came first stays, as
// far as nodeos lets it: adding any block makes the one with the lowest id the head,
// ids being compared as compareIDs does.
//
// All methods may be called from all goroutines. Block states are immutable, so
// that what a method returns stays good; the slices that it returns are the
// caller's.
type ForkDatabase struct {
	order
	mu       sync.RWMutex
	root     *BlockState
	rooted   *finality.Validation // after the root, nil before the genesis block of Savanna's rules
	head     *BlockState
	blocks   map[types.Checksum256]*branchNode
	children map[types.Checksum256][]*branchNode // by the id of the block before, which may be the root
	ranks    [2][]*branchNode                    // not valid, valid: from the worst to the best
	final    types.Checksum256                   // by what proper blocks claim, see claim; zero for none
	limit    int64                               // of bytes, see [ForkDatabase.Limit]; 0 for none
	waiting  int64                               // bytes of blocks that are not valid
	came     uint64                              // blocks that were added
}

// branchNode is a block of the tree.
type branchNode struct {
	*BlockState
	valid      bool
	gone       bool                 // about to be removed
	validation *finality.Validation // after a valid block from the genesis block of Savanna's rules on

	bytes int64  // that are kept because the block is
	came  uint64 // which one it was
}

// NewForkDatabase returns a fork database without a root, for a chain with these
// features; Reset or Load gives it one.
func NewForkDatabase(set *feature.Set) *ForkDatabase {
	f := &ForkDatabase{order: order{set}}
	f.clear()
	return f
}

// Better tells whether a branch that ends with a is preferred to one that ends with b.
func (f *ForkDatabase) Better(a, b *HeaderState) bool { return f.better(a, b) }

func (f *ForkDatabase) clear() {
	f.blocks = map[types.Checksum256]*branchNode{}
	f.children = map[types.Checksum256][]*branchNode{}
	f.ranks = [2][]*branchNode{}
	f.waiting, f.final = 0, types.Checksum256{}
}

func index(valid bool) int {
	if valid {
		return 1
	}
	return 0
}

// best returns the best of the valid blocks, or of the others; nil if there is none.
func (f *ForkDatabase) best(valid bool) *BlockState {
	list := f.ranks[index(valid)]
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1].BlockState
}

func (f *ForkDatabase) enlist(n *branchNode) {
	list := &f.ranks[index(n.valid)]
	i, _ := slices.BinarySearchFunc(*list, n, f.rank)
	*list = slices.Insert(*list, i, n)
	if !n.valid {
		f.waiting += n.bytes
	}
}

func (f *ForkDatabase) delist(n *branchNode) {
	list := &f.ranks[index(n.valid)]
	if i, found := slices.BinarySearchFunc(*list, n, f.rank); found {
		*list = slices.Delete(*list, i, i+1)
		if !n.valid {
			f.waiting -= n.bytes
		}
	}
}

// Reset drops all blocks and makes root both root and head.
func (f *ForkDatabase) Reset(root Head) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reset(&BlockState{HeaderState: root.HeaderState})
	f.rooted = root.Validation
}

func (f *ForkDatabase) reset(root *BlockState) {
	f.clear()
	f.root, f.head = root, root
}

// Root returns the last irreversible block; nil before the first Reset.
func (f *ForkDatabase) Root() *BlockState {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.root
}

// Head returns the best valid block, the root if there is none above it.
func (f *ForkDatabase) Head() *BlockState {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.head
}

// PendingHead returns the best block, valid or not; the head if none that is not
// known to be valid is better.
func (f *ForkDatabase) PendingHead() *BlockState {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if b := f.best(false); b != nil && f.better(b.HeaderState, f.head.HeaderState) {
		return b
	}
	return f.head
}

// Len returns the number of blocks above the root.
func (f *ForkDatabase) Len() int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return len(f.blocks)
}

// Block returns a block above the root, nil if there is none with this id.
func (f *ForkDatabase) Block(id types.Checksum256) *BlockState {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.block(id)
}

func (f *ForkDatabase) block(id types.Checksum256) *BlockState {
	if n := f.blocks[id]; n != nil {
		return n.BlockState
	}
	return nil
}

// HeaderState returns the header state of the root or of a block above it, nil if
// there is none with this id.
func (f *ForkDatabase) HeaderState(id types.Checksum256) *HeaderState {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if b := f.blockOrRoot(id); b != nil {
		return b.HeaderState
	}
	return nil
}

func (f *ForkDatabase) blockOrRoot(id types.Checksum256) *BlockState {
	if f.root != nil && id == f.root.ID {
		return f.root
	}
	return f.block(id)
}

// IsValid tells whether a block above the root has been marked valid.
func (f *ForkDatabase) IsValid(id types.Checksum256) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	n := f.blocks[id]
	return n != nil && n.valid
}

// ValidSince tells whether a block, or one that it follows down to since, has been marked valid. A block before
// the root counts as the root, which is valid. It is false for a block that is neither in the tree nor its root
// (Spring: validated_block_exists).
func (f *ForkDatabase) ValidSince(id, since types.Checksum256) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for n := f.blocks[id]; n != nil; n = f.blocks[id] {
		if n.valid {
			return true
		}
		if id == since {
			return false
		}
		id = n.Header.Previous
	}
	return f.root != nil && id == f.root.ID
}

// Add adds a block that follows one in the tree. One that is there already is an
// error unless ignoreDuplicate.
func (f *ForkDatabase) Add(b *BlockState, ignoreDuplicate bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.add(&branchNode{BlockState: b}, ignoreDuplicate)
}

func (f *ForkDatabase) add(n *branchNode, ignoreDuplicate bool) error {
	if f.root == nil {
		return exception.New(exception.ForkDatabase, "root not yet set")
	}
	previous := f.blockOrRoot(n.Header.Previous)
	if previous == nil {
		return exception.New(exception.UnlinkableBlock, "unlinkable block", "id", n.ID, "previous", n.Header.Previous)
	}
	if f.blocks[n.ID] != nil {
		if ignoreDuplicate {
			return nil
		}
		return exception.New(exception.ForkDatabase, "duplicate block added", "id", n.ID)
	}
	f.came++
	n.came, n.bytes = f.came, n.grownBytes(previous.HeaderState)
	f.blocks[n.ID] = n
	f.children[n.Header.Previous] = append(f.children[n.Header.Previous], n)
	f.enlist(n)
	f.claim(n.HeaderState)
	if b := f.best(true); b != nil {
		f.head = b
	}
	return nil
}

// claim notes which block a proper one makes final that claims a strong certificate. The certificate was checked, so
// it counts whatever becomes of the block that carries it (Spring: fork_database.cpp, add_impl).
func (f *ForkDatabase) claim(s *HeaderState) {
	if !s.IsProper() {
		return
	}
	c := s.Finality.Core.Claim()
	if !c.Strong || c.Block <= types.BlockNum(f.final) {
		return
	}
	claimed := f.blocks[s.Finality.Core.Ref(c.Block).ID]
	if claimed == nil {
		return
	}
	core := &claimed.Finality.Core
	if r := core.Ref(core.Claim().Block); r != nil && r.Num() > types.BlockNum(f.final) {
		f.final = r.ID
	}
}

// NoteFinal lets a tree know that a proper block of it is irreversible, as another node's tree knows: a block of a
// branch that is not here may have claimed it.
func NoteFinal(f *ForkDatabase, id types.Checksum256) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.blocks[id] != nil && types.BlockNum(id) > types.BlockNum(f.final) {
		f.final = id
	}
}

// FinalBranch returns the blocks above the root that are irreversible, from the newest one down, on a branch that ends
// with a block of the tree: of a proper block what any block of the tree has claimed, if it is on that branch, else
// what the block itself says (Spring: controller_impl::log_irreversible).
func (f *ForkDatabase) FinalBranch(head *BlockState) []*BlockState {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if !head.IsProper() || f.root.Finality == nil {
		return f.branchTo(head.ID, head.LIB())
	}
	num := types.BlockNum(f.final)
	var branch []*BlockState
	switch {
	case num <= f.root.BlockNum:
	case num <= head.BlockNum:
		if branch = f.branchTo(head.ID, num); len(branch) > 0 && branch[0].ID != f.final {
			return nil
		}
	default:
		if branch = f.branchTo(f.final, head.BlockNum); len(branch) > 0 && branch[0].ID != head.ID {
			return nil
		}
	}
	return branch
}

// Validation is the tree over what blocks did, after the root or a valid block above it; nil if
// there is none.
func (f *ForkDatabase) Validation(id types.Checksum256) *finality.Validation {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.root != nil && id == f.root.ID {
		return f.rooted
	}
	if n := f.blocks[id]; n != nil {
		return n.validation
	}
	return nil
}

// MarkValid records that a block has been applied, with the tree after it, and makes it the head if
// it is better. To mark the root or a valid block changes nothing.
func (f *ForkDatabase) MarkValid(id types.Checksum256, v *finality.Validation) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.root != nil && id == f.root.ID {
		return nil
	}
	n := f.blocks[id]
	if n == nil {
		return exception.New(exception.ForkDatabase, "block state not in fork database; cannot mark as valid", "id", id)
	}
	if n.valid {
		return nil
	}
	f.delist(n)
	n.valid, n.validation = true, v
	f.enlist(n)
	if b := f.best(true); f.better(b.HeaderState, f.head.HeaderState) {
		f.head = b
	}
	return nil
}

// Remove removes a block and all that follow it, which must not lead to the head, and returns their
// ids.
func (f *ForkDatabase) Remove(id types.Checksum256) ([]types.Checksum256, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	doomed, err := f.descendants(nil, id)
	if err != nil {
		return nil, err
	}
	f.remove(doomed)
	return doomed, nil
}

// descendants appends the ids of a block and of all that follow it, none of which
// may be the head.
func (f *ForkDatabase) descendants(list []types.Checksum256, id types.Checksum256) ([]types.Checksum256, error) {
	next := len(list)
	list = append(list, id)
	for ; next < len(list); next++ {
		if f.head != nil && list[next] == f.head.ID {
			return nil, exception.New(exception.ForkDatabase,
				"removing the block and its descendants would remove the current head block")
		}
		for _, n := range f.children[list[next]] {
			list = append(list, n.ID)
		}
	}
	return list, nil
}

// remove removes blocks; ids that are not in the tree are ignored.
func (f *ForkDatabase) remove(ids []types.Checksum256) {
	var doomed []*branchNode
	parents := map[types.Checksum256]struct{}{}
	for _, id := range ids {
		n := f.blocks[id]
		if n == nil {
			continue
		}
		n.gone = true
		delete(f.blocks, id)
		doomed, parents[n.Header.Previous] = append(doomed, n), struct{}{}
	}
	// A producer may have signed any number of blocks with one parent: a list is gone through once.
	gone := func(n *branchNode) bool { return n.gone }
	for previous := range parents {
		if siblings := slices.DeleteFunc(f.children[previous], gone); len(siblings) > 0 {
			f.children[previous] = siblings
		} else {
			delete(f.children, previous)
		}
	}
	if len(doomed) == 1 {
		f.delist(doomed[0])
		return
	}
	for i := range f.ranks {
		f.ranks[i] = slices.DeleteFunc(f.ranks[i], gone)
	}
	for _, n := range doomed {
		if !n.valid {
			f.waiting -= n.bytes
		}
	}
}

// AdvanceRoot makes a valid block the root. What does not follow it goes; the ids of that and of the root
// are returned.
func (f *ForkDatabase) AdvanceRoot(id types.Checksum256) ([]types.Checksum256, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.root == nil {
		return nil, exception.New(exception.ForkDatabase, "root not yet set")
	}
	root := f.blocks[id]
	switch {
	case root == nil:
		return nil, exception.New(exception.ForkDatabase,
			"cannot advance root to a block that does not exist in the fork database")
	case !root.valid:
		return nil, exception.New(exception.ForkDatabase,
			"cannot advance root to a block that has not yet been validated")
	}
	gone := []types.Checksum256{id}
	for b := root; ; {
		previous := b.Header.Previous
		for _, n := range f.children[previous] {
			if n != b { // of b's own followers some stay
				var err error
				if gone, err = f.descendants(gone, n.ID); err != nil {
					return nil, err
				}
			}
		}
		gone = append(gone, previous)
		if previous == f.root.ID {
			break
		}
		if b = f.blocks[previous]; b == nil {
			return nil, exception.New(exception.ForkDatabase,
				"invariant violation: orphaned branch was present in forked database")
		}
		if b.BlockState == f.head {
			return nil, exception.New(exception.ForkDatabase,
				"removing the block and its descendants would remove the current head block")
		}
	}
	if f.head == f.root {
		return nil, exception.New(exception.ForkDatabase,
			"removing the block and its descendants would remove the current head block")
	}
	f.remove(gone)
	f.root, f.rooted = root.BlockState, root.validation
	return gone, nil
}

// FetchBranch returns the blocks from id down to the root's successor, without
// those above trimAfter.
func (f *ForkDatabase) FetchBranch(id types.Checksum256, trimAfter uint32) []*BlockState {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.branchTo(id, trimAfter)
}

func (f *ForkDatabase) branchTo(id types.Checksum256, trimAfter uint32) []*BlockState {
	var branch []*BlockState
	for b := f.block(id); b != nil; b = f.block(b.Header.Previous) {
		if b.BlockNum <= trimAfter {
			branch = append(branch, b)
		}
	}
	return branch
}

// SearchOnBranch returns the block of a number on the branch that ends with id, nil
// if the tree has none.
func (f *ForkDatabase) SearchOnBranch(id types.Checksum256, num uint32) *BlockState {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for b := f.block(id); b != nil; b = f.block(b.Header.Previous) {
		if b.BlockNum == num {
			return b
		}
	}
	return nil
}

// FetchBranchFrom returns the blocks from each of two down to, without it, the
// block that both have in common.
func (f *ForkDatabase) FetchBranchFrom(first, second types.Checksum256) (a, b []*BlockState, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	find := func(id types.Checksum256) *BlockState {
		found := f.blockOrRoot(id)
		if found == nil && err == nil {
			err = exception.New(exception.ForkDBBlockNotFound, "block ${id} does not exist", "id", id)
		}
		return found
	}
	x, y := find(first), find(second)
	for err == nil && x.ID != y.ID {
		// The higher one goes down; of two equally high ones both do.
		downX, downY := x.BlockNum >= y.BlockNum, y.BlockNum >= x.BlockNum
		if downX {
			a = append(a, x)
			x = find(x.Header.Previous)
		}
		if downY && err == nil {
			b = append(b, y)
			y = find(y.Header.Previous)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return a, b, nil
}
