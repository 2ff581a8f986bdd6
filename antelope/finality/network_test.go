package finality

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/antelope/types"
)

var (
	networkSeed  = flag.Uint64("network.seed", 1, "first seed of the networks of finalizers")
	networkCount = flag.Int("network.count", 40, "how many networks of finalizers")
)

// network is some nodes, each of which produces and finalizes. Blocks and votes are delayed, lost
// and cut off; nodes are killed, and come back with what their disk has.
type network struct {
	*testing.T
	random  *rand.Rand
	nodes   []*peerNode
	cut     []int // nodes of one group hear each other
	loss    int   // of a hundred messages
	slot    types.BlockTimestamp
	waiting []delivery

	genesis *State
	states  map[types.Checksum256]*State
	final   map[uint32]types.Checksum256                         // the block that is final, by its number
	voted   map[types.BLSPublicKey]map[types.BlockTimestamp]Vote // what left, by slot
	highest uint32                                               // number of the newest final block
}

// peerNode is one of them.
type peerNode struct {
	key    types.BLSPublicKey
	disk   Safety // what is durable
	down   bool
	blocks map[types.Checksum256]*Aggregate
	early  map[types.Checksum256][]packet // blocks whose parent is missing
}

// packet is a block or a vote on its way.
type packet struct {
	header *types.BlockHeader
	ext    types.FinalityExtension
	qc     *types.QuorumCertificate
	vote   *Vote
}

type delivery struct {
	at types.BlockTimestamp
	to int
	packet
}

// policyOf makes a policy of some of the nodes' keys, with random weights.
func (n *network) policyOf(generation uint32) *types.FinalizerPolicy {
	p := &types.FinalizerPolicy{Generation: generation}
	var sum uint64
	for _, i := range n.random.Perm(len(n.nodes)) {
		if len(p.Finalizers) >= 3 && n.random.IntN(4) == 0 {
			continue
		}
		w := 1 + n.random.Uint64N(3)
		p.Finalizers = append(p.Finalizers, types.Finalizer{Description: fmt.Sprint(i), Weight: w, Key: n.nodes[i].key})
		sum += w
	}
	p.Threshold = sum*2/3 + 1
	return p
}

func newNetwork(t *testing.T, seed uint64) *network {
	n := &network{
		T: t, random: rand.New(rand.NewPCG(seed, 7)), states: map[types.Checksum256]*State{},
		final: map[uint32]types.Checksum256{}, voted: map[types.BLSPublicKey]map[types.BlockTimestamp]Vote{},
		slot: 1000,
	}
	for i := range 4 + n.random.IntN(4) {
		n.nodes = append(n.nodes, &peerNode{key: types.BLSPublicKey{byte(i + 1)}})
		n.cut = append(n.cut, 0)
	}
	policy := n.policyOf(1)
	h := &types.BlockHeader{Timestamp: n.slot, Previous: types.Checksum256{0, 0, 0, 9}}
	e := &types.FinalityExtension{Claim: types.QCClaim{Block: 10},
		Finalizers: DiffFinalizers(new(types.FinalizerPolicy), policy)}
	schedule := types.ProducerSchedule{Producers: make([]types.ProducerAuthority, 1)}
	s, err := Genesis(h, &schedule, e, State{})
	if err != nil {
		t.Fatal(err)
	}
	n.genesis, n.states[s.ID], n.highest = s, s, s.Num()
	for _, p := range n.nodes {
		p.disk = Safety{Last: Remember(s.Ref()), Lock: Remember(s.Ref())}
		p.restart(n)
	}
	return n
}

// restart forgets all but the disk, and the blocks, which are logged before anything else.
func (p *peerNode) restart(n *network) {
	known := p.blocks
	p.blocks, p.early, p.down = map[types.Checksum256]*Aggregate{
		n.genesis.ID: NewAggregate(n.genesis)}, map[types.Checksum256][]packet{}, false
	for id := range known {
		p.blocks[id] = NewAggregate(n.states[id])
	}
}

// better is Savanna's order of heads.
func better(a, b *State) bool {
	if x, y := a.Core.ClaimTime(), b.Core.ClaimTime(); x != y {
		return x > y
	}
	if a.Time() != b.Time() {
		return a.Time() > b.Time()
	}
	return bytes.Compare(a.ID[:], b.ID[:]) > 0
}

func (n *network) head(p *peerNode) *State {
	best := n.genesis
	for id := range p.blocks {
		if s := n.states[id]; better(s, best) {
			best = s
		}
	}
	return best
}

// send gives a packet to all who may hear it, sooner or later or never.
func (n *network) send(from int, x packet) {
	for to := range n.nodes {
		if to != from && n.cut[to] == n.cut[from] && n.random.IntN(100) >= n.loss {
			n.waiting = append(n.waiting, delivery{n.slot + types.BlockTimestamp(n.random.IntN(1+n.loss/10)), to, x})
		}
	}
}

// produce lets a node make a block on its head.
func (n *network) produce(i int) {
	p := n.nodes[i]
	parent := n.head(p)
	if parent.Time() >= n.slot {
		return
	}
	e := types.FinalityExtension{Claim: parent.Core.Claim()}
	x := packet{header: &types.BlockHeader{
		Timestamp: n.slot, Previous: parent.ID, ScheduleVersion: types.ProperSchedule, Producer: types.Name(i),
		TransactionMRoot: types.Checksum256{byte(n.random.Uint32())},
	}}
	for s := parent; s != nil && s.Num() > e.Claim.Block-1; s = n.states[s.Header.Previous] {
		qc := p.blocks[s.ID].Best()
		if qc == nil || s.ID == n.genesis.ID {
			continue
		}
		if e.Claim.Less(qc.Claim()) {
			e.Claim, x.qc = qc.Claim(), qc
		}
		break
	}
	if n.random.IntN(25) == 0 {
		e.Finalizers = DiffFinalizers(parent.LastProposed(), n.policyOf(parent.Generation+1))
	}
	x.ext = e
	x.header.Extensions = types.Extensions{{Type: types.HeaderFinality, Data: e.Append(nil)}}
	n.accept(i, x)
	n.send(i, x)
}

// accept checks a block, votes for it, and takes up what waited for it.
func (n *network) accept(i int, x packet) {
	p, id := n.nodes[i], x.header.ID()
	if p.blocks[id] != nil {
		return
	}
	if p.blocks[x.header.Previous] == nil {
		p.early[x.header.Previous] = append(p.early[x.header.Previous], x)
		return
	}
	parent := n.states[x.header.Previous]
	fresh, err := CheckClaim(x.header.BlockNum(), parent.Core.Claim(), x.ext.Claim, x.qc)
	if err != nil {
		n.Fatalf("block %d of an honest node: %v", x.header.BlockNum(), err)
	}
	if fresh {
		policies, ok := parent.PoliciesOf(x.qc.Block)
		if !ok {
			n.Fatalf("the finalizers of block %d are not known at block %d", x.qc.Block, parent.Num())
		}
		if err := policies.Check(x.qc); err != nil {
			n.Fatalf("the certificate of block %d of an honest node: %v", x.header.BlockNum(), err)
		}
	}
	s := n.states[id]
	if s == nil {
		if s, err = parent.Next(x.header, &x.ext, nil); err != nil {
			n.Fatal(err)
		}
		n.states[id] = s
		n.settle(s)
	}
	p.blocks[id] = NewAggregate(s)
	if fresh {
		claimed := s.Core.Ref(x.qc.Block)
		p.blocks[claimed.ID].Receive(x.qc)
	}
	n.vote(i, s)
	waiting := p.early[id]
	delete(p.early, id)
	for _, x := range waiting {
		n.accept(i, x)
	}
}

// settle notes what a block makes final: it must be what others say.
func (n *network) settle(s *State) {
	num := s.Core.LastFinal()
	r := s.Core.Ref(num)
	if known, ok := n.final[num]; ok && known != r.ID {
		n.Fatalf("two final blocks %d: %s and %s", num, known, r.ID)
	}
	n.final[num], n.highest = r.ID, max(n.highest, num)
	for b := n.states[r.ID]; b != nil; b = n.states[b.Header.Previous] { // all before it are final too
		if known, ok := n.final[b.Num()]; ok && known != b.ID {
			n.Fatalf("two final blocks %d: %s and %s", b.Num(), known, b.ID)
		} else if ok && b.ID != r.ID {
			break
		}
		n.final[b.Num()] = b.ID
	}
}

// vote lets a node vote for a block, if it has a say: its disk first.
func (n *network) vote(i int, s *State) {
	p := n.nodes[i]
	a := p.blocks[s.ID]
	x := &Vote{Block: s.ID, Key: p.key}
	if a.Find(x) != Counted {
		return
	}
	d, next := p.disk.Decide(s)
	if d == NoVote {
		return
	}
	p.disk = next
	if n.random.IntN(60) == 0 { // killed before it left
		p.down = true
		return
	}
	x.Strong = d == StrongVote
	if n.voted[p.key] == nil {
		n.voted[p.key] = map[types.BlockTimestamp]Vote{}
	}
	if before, twice := n.voted[p.key][s.Time()]; twice {
		n.Fatalf("finalizer %d votes twice at slot %d: for %s and %s", i, s.Time(), before.Block, x.Block)
	}
	n.voted[p.key][s.Time()] = *x
	a.Add(x)
	n.send(i, packet{vote: x})
}

// step is a slot: somebody produces, what has arrived is taken up, and things go wrong.
func (n *network) step(calm bool) {
	n.slot++
	if !calm && n.random.IntN(12) == 0 {
		for i := range n.cut {
			n.cut[i] = n.random.IntN(1 + n.random.IntN(3))
		}
		n.loss = n.random.IntN(60)
	}
	for i, p := range n.nodes {
		if p.down && (calm || n.random.IntN(5) == 0) {
			p.restart(n)
		}
		if !calm && n.random.IntN(80) == 0 {
			p.down = true
		}
		if !p.down && (int(n.slot)%len(n.nodes) == i || !calm && n.random.IntN(6) == 0) {
			n.produce(i)
		}
	}
	for round := 0; len(n.waiting) > 0 && round < 100; round++ {
		due := n.waiting
		n.waiting = nil
		n.random.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
		rest := slices.DeleteFunc(slices.Clone(due), func(d delivery) bool { return d.at <= n.slot })
		for _, d := range due {
			if d.at <= n.slot && !n.nodes[d.to].down {
				n.deliver(d)
			}
		}
		if n.waiting = append(n.waiting, rest...); len(rest) == len(n.waiting) {
			break
		}
	}
}

func (n *network) deliver(d delivery) {
	switch a := n.nodes[d.to].blocks; {
	case d.header != nil:
		n.accept(d.to, d.packet)
	case a[d.vote.Block] != nil:
		a[d.vote.Block].Add(d.vote)
	}
}

// meet gives every node what any has.
func (n *network) meet() {
	n.loss = 0
	clear(n.cut)
	ids := make([]*State, 0, len(n.states))
	for _, s := range n.states {
		ids = append(ids, s)
	}
	slices.SortFunc(ids, func(a, b *State) int {
		if a.Num() != b.Num() {
			return int(a.Num()) - int(b.Num())
		}
		return bytes.Compare(a.ID[:], b.ID[:])
	})
	for _, p := range n.nodes {
		for _, s := range ids {
			if p.blocks[s.ID] == nil {
				p.blocks[s.ID] = NewAggregate(s)
			}
		}
	}
}

// Whatever is lost, late, cut off or killed, no two blocks of a number become final and nobody votes
// twice for a slot; and when all hear each other again, blocks become final again.
func TestNetworksOfFinalizersAreSafeAndLive(t *testing.T) {
	finals, weakVotes, policies := 0, 0, 0
	for i := range *networkCount {
		seed := *networkSeed + uint64(i)
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			n := newNetwork(t, seed)
			for range 150 {
				n.step(false)
			}
			n.meet()
			before := n.highest
			for range 40 {
				n.step(true)
			}
			if n.highest < before+10 {
				t.Errorf(
					"after all met again block %d is the last final one, and was %d; repeat with -network.seed=%d "+
						"-network.count=1", n.highest, before, seed)
			}
			finals += len(n.final)
			for _, votes := range n.voted {
				for _, v := range votes {
					if !v.Strong {
						weakVotes++
					}
				}
			}
			policies += int(n.head(n.nodes[0]).Finalizers.Generation) - 1
		})
	}
	t.Logf("%d final blocks, %d weak votes, %d changes of finalizers", finals, weakVotes, policies)
	if finals == 0 || weakVotes == 0 || policies == 0 {
		t.Error("nothing was put to the test")
	}
}
