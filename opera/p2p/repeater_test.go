package p2p

import (
	"bytes"
	"context"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// stock is what a peer can send of a chain's votes and records.
type stock struct {
	votes, blocks [][]byte // of blocks, by number
	packs         []inter.EpochPack
}

// inventRecords is a history that never was, for which the fakenet's only validator votes: epochs after
// the present one of a chain that has made no block, each of some blocks.
func inventRecords(t testing.TB, l *ledger, epochs, each int) (s stock) {
	t.Helper()
	v, err := l.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	r, err := v.EpochRecord(v.Epoch().Epoch)
	if err != nil {
		t.Fatal(err)
	}
	tx := types.NewTx(&types.LegacyTx{Gas: 21000, GasPrice: big.NewInt(1), Value: big.NewInt(2), V: big.NewInt(27),
		R: big.NewInt(3), S: big.NewInt(4)})
	n := l.First()
	for i := range epochs {
		e := r.Epoch + inter.Epoch(i)
		votes := inter.BlockVotes{Start: n, Epoch: e}
		for range each {
			b := &inter.BlockRecord{Number: n, Block: inter.BlockContent{
				Atropos: inter.NewEventID(e, inter.Lamport(n), [32]byte{byte(n)}), Root: [32]byte{1},
				Time: inter.Timestamp(n), GasUsed: 21000, Txs: types.Transactions{tx},
				Receipts: []*types.ReceiptForStorage{{Status: 1, CumulativeGasUsed: 21000}},
			}}
			s.blocks = append(s.blocks, encode(t, b))
			votes.Votes = append(votes.Votes, b.Block.Hash())
			n++
		}
		blocks := ballot(t, e, 1000, votes, inter.EpochVote{}).SignedBlockVotes()
		s.votes = append(s.votes, encode(t, &blocks))
		next := *r
		next.Epoch = e + 1
		next.State.EpochState.Epoch, next.State.BlockState.LastBlock.Number = e+1, n-1
		vote := ballot(t, e+1, 2000, inter.BlockVotes{},
			inter.EpochVote{Epoch: e + 1, Vote: next.State.Hash()}).SignedEpochVote()
		s.packs = append(s.packs, inter.EpochPack{Votes: []inter.SignedEpochVote{vote}, Record: next})
	}
	return s
}

// same checks that a chain has all blocks of the stock.
func (s *stock) same(t testing.TB, l *ledger) {
	t.Helper()
	v, err := l.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for i, want := range s.blocks {
		n := l.First() + inter.BlockNumber(i)
		if got, err := v.BlockRecord(n); err != nil || got == nil || !bytes.Equal(encode(t, got), want) {
			t.Fatalf("block %d is %+v, %v", n, got, err)
		}
	}
	for i := range s.packs {
		e := s.packs[i].Record.Epoch
		if got, err := v.EpochRecord(e); err != nil || got == nil ||
			got.State.Hash() != s.packs[i].Record.State.Hash() {
			t.Fatalf("epoch %d is %+v, %v", e, got, err)
		}
	}
}

// receiver is a chain that gets what peers send, without a connection.
type receiver struct {
	*repeater
	t      *testing.T
	l      *ledger
	limits *Limits
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, l: openLedger(t, t.TempDir(), 1), limits: defaults()}
	t.Cleanup(func() { r.l.close(t, false) })
	r.repeater = newRepeater(NewRecordLedger(r.l.Chain.Chain, r.l), r.limits)
	r.blamed = func(p *peer, err error) { p.leave(err) }
	return r
}

// give gives items of a chunk, and tells how many votes and records were taken, and why the peer
// was left.
func (r *receiver) give(code uint64, items ...[]byte) (took int, left error) {
	r.t.Helper()
	p := strangerPeer(r.limits)
	took, err := r.take(r.t.Context(), &load{code: code, from: p, items: items})
	if err != nil {
		r.t.Fatal(err)
	}
	return took, context.Cause(p.ctx)
}

func (r *receiver) packs(packs ...inter.EpochPack) (took int, left error) {
	r.t.Helper()
	var items [][]byte
	for i := range packs {
		items = append(items, encode(r.t, &packs[i]))
	}
	return r.give(codeEpochPacksChunk, items...)
}

// want checks what came of a chunk.
func (r *receiver) want(what string, took int, isLeft bool) func(int, error) {
	return func(got int, left error) {
		r.t.Helper()
		if got != took || (left != nil) != isLeft {
			r.t.Errorf("%s: %d are taken, left: %v; want %d, %v", what, got, left, took, isLeft)
		}
	}
}

// In whatever order votes and records come, and however often, the chain has them in the end, and
// nobody is blamed.
func TestVotesAndRecordsComeInAnyOrder(t *testing.T) {
	for seed := range uint64(3) {
		r := newReceiver(t)
		s := inventRecords(t, r.l, 6, 5)
		random := rand.New(rand.NewPCG(seed, 1))
		end := r.l.First() + inter.BlockNumber(len(s.blocks))
		for round := 0; r.l.Frontier().Unfilled.Block < end; round++ {
			if round == 2000 {
				t.Fatalf("seed %d: records end at %+v", seed, r.l.Frontier())
			}
			var left error
			switch round % 3 {
			case 0:
				_, left = r.packs(s.packs[random.IntN(len(s.packs))], s.packs[random.IntN(len(s.packs))])
			case 1:
				_, left = r.give(codeBlockVotesChunk, s.votes[random.IntN(len(s.votes))],
					s.votes[random.IntN(len(s.votes))])
			case 2:
				pick := s.blocks[random.IntN(len(s.blocks))]
				_, left = r.give(codeBlockRecordsChunk, pick, s.blocks[random.IntN(len(s.blocks))], pick)
			}
			if left != nil {
				t.Fatalf("seed %d: an honest peer is left: %v", seed, left)
			}
		}
		r.packs(s.packs...)
		s.same(t, r.l)
		if at := r.l.Frontier(); at.Undecided.Block != end ||
			at.Unfilled.Epoch != s.packs[len(s.packs)-1].Record.Epoch+1 {
			t.Errorf("records end at %+v", at)
		}
	}
}

func TestWhoSendsWrongVotesOrRecordsIsLeft(t *testing.T) {
	r := newReceiver(t)
	s := inventRecords(t, r.l, 4, 5)
	wrong := func(i int, change func(*inter.EpochPack)) inter.EpochPack {
		p := s.packs[i]
		p.Votes = slices.Clone(p.Votes)
		change(&p)
		return p
	}
	// No vote: no record.
	r.want("records that nobody voted for", 0, false)(r.give(codeBlockRecordsChunk, s.blocks...))
	r.want("an epoch's record that nobody voted for",
		0, false)(r.packs(wrong(0, func(p *inter.EpochPack) { p.Votes = nil })))
	r.want("epochs that nobody asked for", 0, false)(r.packs(wrong(1, func(p *inter.EpochPack) {
		p.Votes[0].Signed.Locator.Epoch, p.Votes[0].Val.Epoch, p.Record.Epoch = 500, 500, 500
	})))
	r.want("a wrong signature", 0,
		true)(r.packs(wrong(0, func(p *inter.EpochPack) { p.Votes[0].Signed.Signature[7] ^= 1 })))
	r.want("another vote than was signed",
		0, true)(r.packs(wrong(0, func(p *inter.EpochPack) { p.Votes[0].Val.Vote[7] ^= 1 })))
	r.want("a vote for another epoch",
		0, true)(r.packs(wrong(0, func(p *inter.EpochPack) { p.Votes = append(p.Votes, s.packs[1].Votes[0]) })))
	r.want("another record than was voted for",
		1, true)(r.packs(wrong(0, func(p *inter.EpochPack) { p.Record.State.EpochState.EpochStart++ })))
	r.want("the right one", 1, false)(r.packs(s.packs[0]))
	r.want("the same once more", 0, false)(r.packs(s.packs[0]))
	r.want("the next one", 2, false)(r.packs(s.packs[1]))

	var votes inter.SignedBlockVotes
	if err := rlp.DecodeBytes(s.votes[1], &votes); err != nil {
		t.Fatal(err)
	}
	votes.Signed.Signature[7] ^= 1
	r.want("votes with a wrong signature", 0, true)(r.give(codeBlockVotesChunk, encode(t, &votes)))
	votes.Val.Votes = nil
	r.want("votes for nothing", 0, true)(r.give(codeBlockVotesChunk, encode(t, &votes)))
	r.want("votes that are none", 0, true)(r.give(codeBlockVotesChunk, s.votes[0], []byte{1}))
	// the epoch of the last ones is not known
	r.want("the right ones", 3, false)(r.give(codeBlockVotesChunk, s.votes...))
	r.packs(s.packs...)
	r.want("those of the last epoch", 1, false)(r.give(codeBlockVotesChunk, s.votes...))
	r.want("the same votes once more", 0, false)(r.give(codeBlockVotesChunk, s.votes...))

	var block inter.BlockRecord
	if err := rlp.DecodeBytes(s.blocks[0], &block); err != nil {
		t.Fatal(err)
	}
	block.Block.GasUsed++
	r.want("a block that was not voted for", 0, true)(r.give(codeBlockRecordsChunk, encode(t, &block)))
	r.want("a block that is none", 0, true)(r.give(codeBlockRecordsChunk, []byte{0xc0}))
	r.want("blocks from the end", len(s.blocks), false)(r.give(codeBlockRecordsChunk, backward(s.blocks)...))
	r.want("blocks once more", 0, false)(r.give(codeBlockRecordsChunk, s.blocks...))
	r.packs(s.packs...)
	s.same(t, r.l)
}

// A stranger's records of nearly ten megabytes, and packs of many votes, cost what they weigh: what
// would decode to hundreds of megabytes is not decoded.
func TestLargeRecordsCostWhatTheyWeigh(t *testing.T) {
	r := newReceiver(t)
	s := inventRecords(t, r.l, 4, 5)
	r.packs(s.packs...)
	r.give(codeBlockVotesChunk, s.votes...)
	const size = 9 << 20
	receipts := rlp.RawValue(slices.Concat([]byte{0xfa, size >> 16, 0, 0},
		bytes.Repeat([]byte{0xc3, 0x80, 0x80, 0xc0}, size/4)))
	bomb := func(number inter.BlockNumber) []byte {
		return encode(t, []any{[]any{[32]byte{1}, [32]byte{2}, rlp.RawValue{0xc0}, receipts, uint(3), uint(4)}, number})
	}
	record := encode(t, []any{[]any{receipts, receipts[:1]}, uint(4)})
	first := r.l.First()
	undecided, decided := bomb(1<<40), bomb(first)
	many := encode(t, []any{
		rlp.RawValue(slices.Concat([]byte{0xfa, size >> 16, 0, 0}, bytes.Repeat([]byte{0x80}, size))), record[:1]})
	runtime.GC()
	var before, later runtime.MemStats
	runtime.ReadMemStats(&before)
	r.want("a block that nobody voted for", 0, false)(r.give(codeBlockRecordsChunk, undecided))
	r.want("a block that is another one", 0, true)(r.give(codeBlockRecordsChunk, decided))
	r.want("an epoch's record that is larger than any",
		0, true)(r.give(codeEpochPacksChunk, encode(t, []any{rlp.RawValue{0xc0}, rlp.RawValue(record)})))
	r.want("millions of votes", 0, true)(r.give(codeEpochPacksChunk, many))
	runtime.ReadMemStats(&later)
	if took := later.TotalAlloc - before.TotalAlloc; took > 8*size {
		t.Errorf("%d bytes were taken for four chunks of %d", took, size)
	}
}

// Chunks that wait have a bound, and peers take turns.
func TestChunksOnTheirWayHaveABound(t *testing.T) {
	r := newRepeater(nil, &Limits{FillChunks: 4, FillBytes: 1000})
	p := strangerPeer(defaults())
	for range 4 {
		if err := r.submit(t.Context(), &load{from: p, weight: 100}); err != nil {
			t.Fatal(err)
		}
	}
	if !r.busy() {
		t.Error("more would be asked for")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := r.submit(ctx, &load{from: p, weight: 1}); err == nil {
		t.Error("there is room for a fifth chunk of four")
	}
	r.budget.release((<-r.queue).weight)
	if err := r.submit(t.Context(), &load{from: p, weight: 1}); err != nil {
		t.Error(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	r.budget.release((<-r.queue).weight)
	if err := r.submit(ctx, &load{from: p, weight: 999}); err == nil {
		t.Error("there is room for more bytes than are allowed")
	}
}

// What waits of a peer that was left is not worked through.
func TestChunksOfAPeerThatIsLeftAreDropped(t *testing.T) {
	r := newReceiver(t)
	p := strangerPeer(r.limits)
	p.leave(errClosed)
	l := &load{code: codeBlockVotesChunk, from: p, items: [][]byte{{1}}}
	r.blamed = func(*peer, error) { t.Error("its chunk was looked at") }
	if took, err := r.take(t.Context(), l); took != 0 || err != nil {
		t.Error(took, err)
	}
}

func FuzzRecordsChunk(f *testing.F) {
	f.Add(encode(f, []any{uint(5), true, []any{[]byte{1}, []any{[]any{}, []any{[]any{}, uint(7)}}}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		session, done, items, err := decodeRecordsChunk(raw)
		if err != nil {
			return
		}
		list := []rlp.RawValue{}
		for _, item := range items {
			list = append(list, item)
			if number, votes, record, err := splitPack(item); err == nil {
				if again, err := epochOfRecord(record); err != nil || again != number || len(votes) > packVotes {
					t.Error(again, number, err)
				}
			}
			var sealed inter.SealedBlockRecord
			if decode(item, &sealed) != nil {
				continue
			}
			var open inter.BlockRecord
			hash, err := sealed.Hash()
			if failed := decode(item, &open); failed == nil && err == nil && bytes.Equal(encode(t, &open), item) &&
				open.Block.Hash() != hash {
				t.Error("the hash changes when the record is opened")
			}
		}
		if !bytes.Equal(encode(t, []any{session, done, list}), raw) {
			t.Error("it is another one")
		}
	})
}

func backward(list [][]byte) [][]byte {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}
