package finality

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// block is the id of a block of a branch.
func block(num uint32, branch byte) types.Checksum256 {
	return types.Checksum256{byte(num >> 24), byte(num >> 16), byte(num >> 8), byte(num), branch}
}

// follow makes the core of a block that claims that, on a branch, a slot after its parent.
func follow(c Core, branch byte, claim types.QCClaim) Core {
	num := c.Num()
	return c.Next(Ref{ID: block(num, branch), Time: types.BlockTimestamp(100 + num), Active: 1}, claim)
}

// A weak certificate makes nothing final; a strong one makes final what its block claims, whether
// that claim was weak or strong.
func TestStrongCertificatesMakeFinalWhatTheirBlockClaims(t *testing.T) {
	c := GenesisCore(10, 110)
	for i, step := range []struct {
		claim      types.QCClaim
		final      uint32
		first      uint32 // the oldest link that is kept
		remembered int
	}{
		{types.QCClaim{Block: 10}, 10, 10, 1},               // 11
		{types.QCClaim{Block: 11, Strong: true}, 10, 11, 2}, // 12: 11 claims 10
		{types.QCClaim{Block: 12, Strong: false}, 10, 11, 3},
		{types.QCClaim{Block: 13, Strong: true}, 12, 13, 2}, // 14: 13 claims 12, weakly
		{types.QCClaim{Block: 13, Strong: true}, 12, 13, 3},
		{types.QCClaim{Block: 14, Strong: false}, 12, 13, 4},
		{types.QCClaim{Block: 14, Strong: true}, 13, 14, 4},
	} {
		if !c.Accepts(step.claim) {
			t.Fatalf("step %d: the claim is refused", i)
		}
		if got := c.FinalAfter(step.claim); got != step.final {
			t.Errorf("step %d: %d is to be final, want %d", i, got, step.final)
		}
		c = follow(c, 1, step.claim)
		if c.LastFinal() != step.final || c.links[0].Source != step.first || len(c.refs) != step.remembered ||
			c.Claim() != step.claim {
			t.Errorf("step %d: %+v, want %+v", i, c, step)
		}
		if !c.Extends(block(c.Num()-1, 1)) || c.Extends(block(c.Num()-1, 2)) || c.Extends(block(c.Num(), 1)) {
			t.Errorf("step %d: it extends what it does not", i)
		}
		var again Core
		if err := types.Decode(c.Append(nil), &again); err != nil || !slices.Equal(again.links, c.links) ||
			!slices.Equal(again.refs, c.refs) || again.genesis != c.genesis {
			t.Errorf("step %d: read as %+v, %v", i, again, err)
		}
	}
	for _, claim := range []types.QCClaim{{Block: 13, Strong: true}, {Block: 14}, {Block: c.Num() + 1}} {
		if c.Accepts(claim) {
			t.Errorf("a claim of %+v is taken", claim)
		}
	}
}

// numberedPolicy are finalizers by small numbers.
func numberedPolicy(numbers ...int) *types.FinalizerPolicy {
	p := &types.FinalizerPolicy{Generation: 1}
	for _, n := range numbers {
		p.Finalizers = append(p.Finalizers,
			types.Finalizer{Description: fmt.Sprint(n), Weight: 1, Key: types.BLSPublicKey{byte(n)}})
	}
	p.Threshold = uint64(len(numbers))*2/3 + 1
	return p
}

// Headers carry these diffs and no others: another one that leads to the same gives another id.
func TestDiffsAreThoseOfTheProtocol(t *testing.T) {
	for _, c := range []struct {
		from, to          []int
		removed, inserted []uint16
	}{
		{nil, []int{1, 2}, nil, []uint16{0, 1}},
		{[]int{1, 2}, nil, []uint16{0, 1}, nil},
		{[]int{1, 2, 3}, []int{1, 2, 3}, nil, nil},
		{[]int{1, 2, 3}, []int{1, 4, 3}, []uint16{1}, []uint16{1}},
		{[]int{1, 2, 3}, []int{1, 2, 4}, []uint16{2}, []uint16{2}}, // both at their ends
		{[]int{1}, []int{2, 3}, []uint16{0}, []uint16{0, 1}},
		{[]int{1, 2}, []int{3, 1, 2}, nil, []uint16{0}},
		{[]int{1, 2, 3}, []int{3, 2, 1}, []uint16{0, 2}, []uint16{0, 2}},
		{[]int{1, 2, 3, 4}, []int{4, 1}, []uint16{1, 2, 3}, []uint16{0}},
		{[]int{1, 2, 3, 4}, []int{3, 4, 1, 2}, []uint16{0, 1}, []uint16{2, 3}},
	} {
		d := DiffFinalizers(numberedPolicy(c.from...), numberedPolicy(c.to...))
		var inserted []uint16
		for _, x := range d.Finalizers.Inserted {
			inserted = append(inserted, x.Index)
		}
		if !slices.Equal(d.Finalizers.Removed, c.removed) || !slices.Equal(inserted, c.inserted) {
			t.Errorf("%v to %v: removed %v, inserted %v, want %v, %v", c.from, c.to, d.Finalizers.Removed, inserted,
				c.removed, c.inserted)
		}
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		from, to := numberedPolicy(r.Perm(9)[:r.IntN(10)]...), numberedPolicy(r.Perm(9)[:r.IntN(10)]...)
		got, err := ApplyFinalizers(from, DiffFinalizers(from, to))
		if err != nil || !slices.Equal(got.Finalizers, to.Finalizers) {
			t.Fatalf("seed %d: %v to %v gives %v, %v", seed, from.Finalizers, to.Finalizers, got, err)
		}
	}
}

func TestDiffsThatDoNotFitAreRefused(t *testing.T) {
	insert := func(index uint16) types.Inserted[types.Finalizer] {
		return types.Inserted[types.Finalizer]{Index: index}
	}
	for name, d := range map[string]types.ListDiff[types.Finalizer]{
		"removed beyond":     {Removed: []uint16{3}},
		"removed twice":      {Removed: []uint16{1, 1}},
		"removed descending": {Removed: []uint16{2, 1}},
		"inserted beyond":    {Inserted: []types.Inserted[types.Finalizer]{insert(4)}},
		"inserted twice":     {Inserted: []types.Inserted[types.Finalizer]{insert(1), insert(1)}},
		"inserted, removed":  {Removed: []uint16{0, 1}, Inserted: []types.Inserted[types.Finalizer]{insert(2)}},
	} {
		if _, err := ApplyFinalizers(numberedPolicy(1, 2, 3),
			&types.FinalizerPolicyDiff{Finalizers: d}); !exception.Is(err, exception.FCAssert) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A certificate needs the threshold of each policy, bits for all finalizers, and one vote of each.
func TestCertificatesThatAreNoneAreRefused(t *testing.T) {
	four, other := numberedPolicy(1, 2, 3, 4), numberedPolicy(4, 5, 6)
	votes := func(n int, set ...int) *types.Bitset { return types.NewBitset(n, set...) }
	for name, c := range map[string]struct {
		active  types.QCSignature
		pending *types.QCSignature
		next    *types.FinalizerPolicy
		good    bool
	}{
		"strong":                   {types.QCSignature{Strong: votes(4, 0, 1, 2)}, nil, nil, true},
		"strong, one short":        {types.QCSignature{Strong: votes(4, 0, 1)}, nil, nil, false},
		"weak":                     {types.QCSignature{Strong: votes(4, 0, 1), Weak: votes(4, 3)}, nil, nil, true},
		"weak, one short":          {types.QCSignature{Strong: votes(4, 0), Weak: votes(4, 3)}, nil, nil, false},
		"weak without strong ones": {types.QCSignature{Weak: votes(4, 1, 2, 3)}, nil, nil, true},
		"none":                     {types.QCSignature{}, nil, nil, false},
		"a vote of both kinds":     {types.QCSignature{Strong: votes(4, 0, 1, 2), Weak: votes(4, 2)}, nil, nil, false},
		"too few bits":             {types.QCSignature{Strong: votes(3, 0, 1, 2)}, nil, nil, false},
		"too many bits":            {types.QCSignature{Strong: votes(5, 0, 1, 2)}, nil, nil, false},
		"pending missing":          {types.QCSignature{Strong: votes(4, 0, 1, 2)}, nil, other, false},
		"pending of nobody":        {types.QCSignature{Strong: votes(4, 0, 1, 2)}, &types.QCSignature{Strong: votes(3, 0, 1, 2)}, nil, false},
		"both":                     {types.QCSignature{Strong: votes(4, 0, 1, 2, 3)}, &types.QCSignature{Strong: votes(3, 0, 1, 2)}, other, true},
		"both, pending short":      {types.QCSignature{Strong: votes(4, 0, 1, 2, 3)}, &types.QCSignature{Strong: votes(3, 0, 1)}, other, false},
		"one of both votes once":   {types.QCSignature{Strong: votes(4, 0, 1, 2)}, &types.QCSignature{Strong: votes(3, 0, 1, 2)}, other, false},
		"one of both, two ways": {types.QCSignature{Strong: votes(4, 0, 1, 2), Weak: votes(4, 3)},
			&types.QCSignature{Strong: votes(3, 0, 1, 2), Weak: votes(3)}, other, false},
	} {
		p := Policies{Active: four, Pending: c.next}
		err := p.Check(&types.QuorumCertificate{Block: 7, Active: c.active, Pending: c.pending})
		if (err == nil) != c.good || err != nil && !exception.Is(err, exception.InvalidQC) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A claim goes on from the parent's, and brings the certificate that it is of.
func TestClaimsFollowTheirParents(t *testing.T) {
	strong := func(block uint32) *types.QuorumCertificate {
		return &types.QuorumCertificate{Block: block, Active: types.QCSignature{Strong: types.NewBitset(1, 0)}}
	}
	weak := &types.QuorumCertificate{Block: 6, Active: types.QCSignature{Weak: types.NewBitset(1, 0)}}
	before := types.QCClaim{Block: 6}
	for name, c := range map[string]struct {
		claim types.QCClaim
		qc    *types.QuorumCertificate
		fresh bool
		kind  *exception.Kind
	}{
		"the same":                 {before, nil, false, nil},
		"the same, with a QC":      {before, weak, false, exception.InvalidQCClaim},
		"older":                    {types.QCClaim{Block: 5, Strong: true}, strong(5), false, exception.InvalidQCClaim},
		"its own":                  {types.QCClaim{Block: 9, Strong: true}, strong(9), false, exception.InvalidQCClaim},
		"its parent":               {types.QCClaim{Block: 8, Strong: true}, strong(8), true, nil},
		"the same, strong now":     {types.QCClaim{Block: 6, Strong: true}, strong(6), true, nil},
		"new without a QC":         {types.QCClaim{Block: 8, Strong: true}, nil, false, exception.BlockValidate},
		"the QC of another":        {types.QCClaim{Block: 8, Strong: true}, strong(7), false, exception.BlockValidate},
		"a QC of another strength": {types.QCClaim{Block: 8}, strong(8), false, exception.BlockValidate},
	} {
		fresh, err := CheckClaim(9, before, c.claim, c.qc)
		if fresh != c.fresh || (err == nil) != (c.kind == nil) || err != nil && !exception.Is(err, c.kind) {
			t.Errorf("%s: %t, %v", name, fresh, err)
		}
	}
	if _, err := CheckClaim(9, types.QCClaim{Block: 6, Strong: true}, before, weak); !exception.Is(err,
		exception.InvalidQCClaim) {
		t.Errorf("weaker: %v", err)
	}
}

// stateOf is a state with that core, as far as votes need one.
func stateOf(c Core, branch byte) *State {
	num := c.Num()
	return &State{
		ID: block(num, branch), Core: c,
		Header:    types.BlockHeader{Timestamp: types.BlockTimestamp(100 + num), Previous: block(num-1, branch)},
		Proposers: &types.ProposerPolicy{}, Finalizers: numberedPolicy(1, 2, 3, 4),
	}
}

// The rules of a vote, one by one.
func TestAFinalizerVotesForOneHistory(t *testing.T) {
	none := types.QCClaim{Block: 10}
	at := func(num uint32, branch byte) Voted {
		return Voted{ID: block(num, branch), Time: types.BlockTimestamp(100 + num)}
	}
	c11 := follow(GenesisCore(10, 110), 1, none)
	c12 := follow(c11, 1, none)
	c13 := follow(c12, 1, types.QCClaim{Block: 11, Strong: true})
	other12 := Core{links: c12.links, refs: []Ref{c12.refs[0], {ID: block(11, 2), Time: 111, Active: 1}}}
	locked := at(10, 1)
	for name, k := range map[string]struct {
		before Safety
		core   Core
		branch byte
		want   Decision
		lock   Voted
		other  types.BlockTimestamp
	}{
		"the first vote":                           {Safety{Lock: locked}, c11, 1, StrongVote, locked, 0},
		"without a lock":                           {Safety{}, c11, 1, NoVote, Voted{}, 0},
		"the same slot again":                      {Safety{Last: at(11, 1), Lock: locked}, c11, 2, NoVote, locked, 0},
		"an older slot":                            {Safety{Last: at(12, 1), Lock: locked}, c11, 1, NoVote, locked, 0},
		"the next on its branch":                   {Safety{Last: at(11, 1), Lock: locked}, c12, 1, StrongVote, locked, 0},
		"on another branch":                        {Safety{Last: at(11, 1), Lock: locked}, other12, 2, WeakVote, locked, 111},
		"after a vote for another branch":          {Safety{Last: at(11, 1), Lock: locked, OtherBranch: 111}, c12, 1, WeakVote, locked, 111},
		"once a certificate is newer than that":    {Safety{Last: at(12, 1), Lock: locked, OtherBranch: 111}, c13, 1, StrongVote, at(11, 1), 0},
		"not what contradicts the lock":            {Safety{Last: at(11, 1), Lock: at(11, 1)}, other12, 2, NoVote, at(11, 1), 0},
		"what contradicts it, with a newer quorum": {Safety{Last: at(11, 2), Lock: at(10, 2)}, c13, 1, StrongVote, at(11, 1), 0},
	} {
		d, after := k.before.Decide(stateOf(k.core, k.branch))
		if d != k.want || after.Lock.ID != k.lock.ID || after.OtherBranch != k.other {
			t.Errorf("%s: %d, %+v", name, d, after)
		}
		if d == NoVote && after != k.before || d != NoVote && after.Last.ID != block(k.core.Num(), k.branch) {
			t.Errorf("%s: it remembers %+v", name, after)
		}
	}
	after, news := Safety{Lock: locked}.Learn(stateOf(c13, 1))
	if !news || after.Lock.ID != block(11, 1) || after.Last.ID != block(13, 1) {
		t.Errorf("a vote of an earlier life: %t, %+v", news, after)
	}
	if _, news := after.Learn(stateOf(c13, 1)); news {
		t.Error("the same vote is news again")
	}
}

// The root of a tree that grows is that of its leaves.
func TestTreesHaveTheRootsOfTheirLeaves(t *testing.T) {
	var leaves []types.Checksum256
	var tree Tree
	for i := range 70 {
		if tree.Root() != Root(leaves) || tree.Count() != uint64(len(leaves)) {
			t.Fatalf("%d leaves: %s, want %s", i, tree.Root(), Root(leaves))
		}
		var again Tree
		if err := types.Decode(tree.Append(nil), &again); err != nil || again.Root() != tree.Root() {
			t.Fatalf("%d leaves: read as %s, %v", i, again.Root(), err)
		}
		leaf := types.Hash([]byte{byte(i)})
		leaves, tree = append(leaves, leaf), tree.With(leaf)
	}
}

// What strangers send is read or refused, without a panic, and comes out again as it was read.
func FuzzState(f *testing.F) {
	f.Add(stateOf(follow(GenesisCore(10, 110), 1, types.QCClaim{Block: 10}), 1).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s, again State
		if types.Decode(b, &s) != nil {
			return
		}
		s.Digest()
		s.PoliciesOf(s.Core.Claim().Block)
		if err := types.Decode(s.Append(nil), &again); err != nil || again.Digest() != s.Digest() {
			t.Fatalf("read again: %v", err)
		}
	})
}

func FuzzFinalityExtension(f *testing.F) {
	f.Add((&types.FinalityExtension{Finalizers: DiffFinalizers(numberedPolicy(), numberedPolicy(1, 2)),
		Proposers: &types.ProposerPolicyDiff{}}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e, again types.FinalityExtension
		if types.Decode(b, &e) != nil {
			return
		}
		if e.Finalizers != nil {
			ApplyFinalizers(numberedPolicy(1, 2, 3), e.Finalizers) //nolint:errcheck // it must not panic
		}
		if err := types.Decode(e.Append(nil), &again); err != nil || !reflect.DeepEqual(e, again) {
			t.Fatalf("read again: %v", err)
		}
	})
}

func FuzzCertificate(f *testing.F) {
	f.Add((&types.QuorumCertificate{Active: types.QCSignature{Strong: types.NewBitset(9, 1, 8)},
		Pending: &types.QCSignature{Weak: types.NewBitset(0)}}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var qc, again types.QuorumCertificate
		if types.Decode(b, &qc) != nil {
			return
		}
		p := Policies{Active: numberedPolicy(1, 2, 3, 4), Pending: numberedPolicy(4, 5)}
		p.Check(&qc) //nolint:errcheck // it must not panic
		if err := types.Decode(qc.Append(nil), &again); err != nil || !reflect.DeepEqual(qc, again) {
			t.Fatalf("read again: %v", err)
		}
	})
}
