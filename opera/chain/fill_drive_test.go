package chain

import (
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// pick returns mostly the first of two numbers.
func (c *contest) pick(mostly int, of, other uint64) uint64 {
	if c.r.IntN(100) < mostly {
		return of
	}
	return other
}

// word is a vote for one of the two records, or for nothing that there is.
func word[T any](c *contest, candidates []T, hash func(T) [32]byte) (vote [32]byte) {
	if n := c.r.IntN(100); n < 97 && len(candidates) > 0 {
		return hash(candidates[n/80])
	}
	c.bytes(vote[:])
	return vote
}

// voter is somebody who may vote about the epoch's records: a validator of it mostly.
func (c *contest) voter(e inter.Epoch) (by inter.ValidatorID, stranger bool) {
	r, err := c.c.EpochRecord(e)
	if err != nil {
		c.t.Fatal(err)
	}
	by = inter.ValidatorID(1 + c.r.IntN(int(c.people)+1))
	if r == nil {
		return by, false
	}
	set := r.State.EpochState.Validators
	if c.r.IntN(8) != 0 && set.Len() > 0 {
		by = set.At(c.r.IntN(set.Len())).ID
	}
	_, is := set.Index(by)
	return by, !is
}

// ballot is the event of a voter with votes. Some are signed by another, or changed.
func (c *contest) ballot(
	e, of inter.Epoch, by inter.ValidatorID, blocks inter.BlockVotes, epoch inter.EpochVote,
) *inter.Payload {
	c.seq++
	p := &inter.Payload{Event: inter.Event{Version: 1, Epoch: of, Seq: c.seq, Frame: 1, Lamport: inter.Lamport(c.seq),
		Creator: by}, BlockVotes: blocks, EpochVote: epoch}
	key := c.holder(e, by)
	if r, err := c.c.EpochRecord(e); err == nil && r != nil && r.Epoch == c.c.Epoch().Epoch {
		key = by // those of the genesis have their own
	}
	if c.r.IntN(30) == 0 {
		key++
	}
	sign(c.t, p, key)
	switch c.r.IntN(40) {
	case 0:
		if len(p.BlockVotes.Votes) > 0 {
			p.BlockVotes.Votes[0][5]++
		}
		p.EpochVote.Vote[3]++
	case 1:
		p.Creator++
	}
	return p
}

// encode returns the RLP of a value, which is damaged if that is asked for.
func (c *contest) encode(v any, damage bool) []byte {
	c.t.Helper()
	raw, err := rlp.EncodeToBytes(v)
	if err != nil {
		c.t.Fatal(err)
	}
	if damage {
		raw[c.r.IntN(len(raw))] ^= 1 << c.r.IntN(8)
	}
	return raw
}

// twice gives votes again that were counted.
func (c *contest) twice() bool {
	if len(c.sent) == 0 || c.r.IntN(12) != 0 {
		return false
	}
	v := c.sent[c.r.IntN(len(c.sent))]
	kind := "epoch vote twice"
	if len(v.kind) > 6 && v.kind[:5] == "block" {
		kind = "block votes twice"
	}
	c.giveVotes(kind, v.raw, kind == "block votes twice")
	return true
}

func (c *contest) voteEpoch() {
	c.t.Helper()
	if c.twice() {
		return
	}
	_, next, err := c.c.firstUnfilled()
	if err != nil {
		c.t.Fatal(err)
	}
	e := inter.Epoch(c.pick(75, uint64(next), c.r.Uint64N(uint64(c.lastE)+3)))
	kind := "epoch vote"
	switch {
	case e > next:
		kind = "epoch vote far ahead"
	case e < next:
		kind = "epoch vote of a known epoch"
	}
	by, stranger := c.voter(e - 1)
	if stranger {
		kind = "epoch vote of a stranger"
	}
	vote := inter.EpochVote{Epoch: e, Vote: word(c, c.epochs[e], func(r *inter.EpochRecord) [32]byte {
		return r.State.Hash()
	})}
	var blocks inter.BlockVotes
	if c.r.IntN(4) == 0 {
		blocks = inter.BlockVotes{Start: 1, Epoch: e, Votes: [][32]byte{{1}}}
	}
	of := inter.Epoch(c.pick(90, uint64(e)+c.r.Uint64N(3), c.r.Uint64N(uint64(c.lastE)+2)))
	v := c.ballot(e-1, of, by, blocks, vote).SignedEpochVote()
	c.giveVotes(kind, c.encode(&v, c.r.IntN(40) == 0), false)
}

// votedRecord is for which record votes are counted together.
type votedRecord struct {
	block inter.BlockNumber // 0 for an epoch's record
	epoch inter.Epoch
	vote  [32]byte
}

// backing is who is in a tally, by the index in whichever set, and the weight.
type backing struct {
	by     map[int]bool
	weight inter.Weight
}

// countVote counts a vote that was added, of somebody who is a validator of an epoch, and what
// becomes of it if nothing was decided before.
func (c *contest) countVote(of votedRecord, by inter.ValidatorID, group inter.Epoch, before bool) {
	c.t.Helper()
	r, err := c.c.EpochRecord(group)
	if err != nil || r == nil {
		c.t.Fatalf("epoch %d: %v, %v", group, r, err)
	}
	set := r.State.EpochState.Validators
	index, is := set.Index(by)
	if !is {
		c.t.Fatalf("validator %d is not of epoch %d", by, group)
	}
	if c.tallies[of] == nil {
		c.tallies[of] = &backing{by: map[int]bool{}}
	}
	n := c.tallies[of]
	if !n.by[index] {
		n.by[index] = true
		n.weight += set.At(index).Weight
	}
	if before {
		return
	}
	what := "an epoch"
	if of.block != 0 {
		what = "a block"
	}
	switch bound := set.Total()/3 + 1; {
	case n.weight == bound:
		c.kinds["exactly the weight that decides "+what]++
	case n.weight == bound-1:
		c.kinds["one less than the weight that decides "+what]++
	}
	if n.weight > set.Total()/3 {
		c.kinds["votes decide "+what]++
	} else {
		c.kinds["votes do not decide "+what]++
	}
}

func (c *contest) giveEpoch() {
	c.t.Helper()
	_, next, err := c.c.firstUnfilled()
	if err != nil {
		c.t.Fatal(err)
	}
	e := inter.Epoch(c.pick(75, uint64(next), c.r.Uint64N(uint64(c.lastE)+3)))
	kind, damage := "epoch record", false
	var r *inter.EpochRecord
	if list := c.epochs[e]; list != nil {
		r = again(c.t, list[c.pick(70, 0, 1)])
	} else if r, err = c.c.EpochRecord(c.c.Epoch().Epoch); err != nil {
		c.t.Fatal(err)
	} else {
		r = again(c.t, r)
		r.Epoch = e
	}
	switch c.r.IntN(8) {
	case 0:
		kind, r.Epoch = "epoch record of another number", inter.Epoch(c.r.Uint64N(uint64(c.lastE)+3))
	case 1:
		kind, damage = "epoch record damaged", true
	}
	raw, ours, into := c.encode(r, damage), "refused", new(inter.EpochRecord)
	if rlp.DecodeBytes(raw, into) == nil {
		ours = refusalText(addEpoch(c.c, into))
	}
	c.giveRaw(kind, "adder", raw, ours)
}

func (c *contest) voteBlocks() {
	c.t.Helper()
	if c.twice() {
		return
	}
	low, next, err := c.c.firstUnfilled()
	if err != nil {
		c.t.Fatal(err)
	}
	n := inter.BlockNumber(c.pick(60, uint64(low)+c.r.Uint64N(6), 1+c.r.Uint64N(uint64(c.lastB)+2)))
	e, kind := c.of[n], "block votes"
	switch {
	case c.r.IntN(20) == 0:
		e = inter.Epoch(1 + c.r.Uint64N(uint64(c.lastE)+2))
	case e == 0:
		e = c.lastE
	}
	if c.r.IntN(60) == 0 {
		n += 1 << 20
	}
	votes := inter.BlockVotes{Start: n, Epoch: e}
	for i := range 1 + c.r.IntN(4) {
		votes.Votes = append(votes.Votes,
			word(c, c.blocks[n+inter.BlockNumber(i)], func(r *inter.BlockRecord) [32]byte { return r.Block.Hash() }))
	}
	of := e
	if c.people == few {
		of = inter.Epoch(c.pick(80, uint64(e), uint64(e)+c.r.Uint64N(3)))
	}
	by, stranger := c.voter(of)
	switch {
	case of >= next:
		kind = "block votes far ahead"
	case stranger:
		kind = "block votes of a stranger"
	case votes.Last() < low:
		kind = "block votes of known blocks"
	}
	var epoch inter.EpochVote
	if c.r.IntN(4) == 0 {
		epoch = inter.EpochVote{Epoch: of, Vote: [32]byte{9}}
	}
	v := c.ballot(e, of, by, votes, epoch).SignedBlockVotes()
	c.giveVotes(kind, c.encode(&v, c.r.IntN(40) == 0), true)
}

func (c *contest) giveBlock() {
	c.t.Helper()
	low, _, err := c.c.firstUnfilled()
	if err != nil {
		c.t.Fatal(err)
	}
	n := inter.BlockNumber(c.pick(70, uint64(low)+c.r.Uint64N(6), c.r.Uint64N(uint64(c.lastB)+2)))
	kind, damage := "block record", false
	var r *inter.BlockRecord
	if list := c.blocks[n]; list != nil {
		r = again(c.t, list[c.pick(70, 0, 1)])
	} else {
		r = again(c.t, c.blocks[c.lastB][0])
		r.Number = n
	}
	switch c.r.IntN(8) {
	case 0:
		kind, r.Number = "block record of another number", inter.BlockNumber(c.r.Uint64N(uint64(c.lastB)+3))
	case 1:
		kind, damage = "block record damaged", true
	}
	raw, ours, into := c.encode(r, damage), "refused", new(inter.BlockRecord)
	if rlp.DecodeBytes(raw, into) == nil {
		ours = refusalText(c.c.AddBlockRecord(into))
	}
	c.giveRaw(kind, "addbr", raw, ours)
}
