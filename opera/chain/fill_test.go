package chain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/eventcheck"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/opera/state"
	"tarn/store/engine"
)

// parcel is what a chain has for another that begins with the same genesis: votes and records as
// they travel, encoded.
type parcel struct {
	blockVotes []*inter.SignedBlockVotes
	epochVotes map[inter.Epoch][]*inter.SignedEpochVote
	blocks     []*inter.BlockRecord
	epochs     []*inter.EpochRecord
}

// again is a value that went over a wire.
func again[T any](t testing.TB, v *T) *T {
	t.Helper()
	raw, err := rlp.EncodeToBytes(v)
	into := new(T)
	if err == nil {
		err = rlp.DecodeBytes(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
	return into
}

// signVotes is an event with votes of the only validator, which nobody connects.
func signVotes(t testing.TB, of inter.Epoch, blocks inter.BlockVotes, epoch inter.EpochVote) *inter.Payload {
	t.Helper()
	p := &inter.Payload{Event: inter.Event{Version: 1, Epoch: of, Seq: 1, Frame: 1, Lamport: 1, Creator: 1},
		BlockVotes: blocks, EpochVote: epoch}
	sign(t, p, 1)
	return p
}

// addEpoch adds the record of an epoch and shows it: votes of its validators are checked by what is
// shown.
func addEpoch(c *Chain, r *inter.EpochRecord) error {
	if err := c.AddEpochRecord(r); err != nil {
		return err
	}
	return c.ShowRecords()
}

// sign makes an event one of whoever has a fakenet's key.
func sign(t testing.TB, p *inter.Payload, by inter.ValidatorID) {
	t.Helper()
	key, err := fakenet.Key(by)
	if err == nil {
		err = p.Seal()
	}
	if err != nil {
		t.Fatal(err)
	}
	hash := p.SigningHash()
	sig, err := crypto.Sign(hash[:], key)
	if err != nil {
		t.Fatal(err)
	}
	copy(p.Signature[:], sig)
}

// send collects the blocks and epochs of a chain after its genesis, and has its validator vouch
// for them.
func send(t testing.TB, c *Chain) (s parcel) {
	t.Helper()
	v, err := c.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	s.epochVotes = map[inter.Epoch][]*inter.SignedEpochVote{}
	for e := inter.Epoch(3); e <= v.Epoch().Epoch; e++ {
		r, err := v.EpochRecord(e)
		if err != nil || r == nil {
			t.Fatalf("epoch %d: %v", e, err)
		}
		s.epochs = append(s.epochs, again(t, r))
		vote := signVotes(t, e, inter.BlockVotes{}, inter.EpochVote{Epoch: e, Vote: r.State.Hash()}).SignedEpochVote()
		s.epochVotes[e] = append(s.epochVotes[e], again(t, &vote))
	}
	for n := c.First(); n <= v.Head().Number; n++ {
		r, err := v.BlockRecord(n)
		if err != nil || r == nil {
			t.Fatalf("block %d: %v", n, err)
		}
		s.blocks = append(s.blocks, again(t, r))
		e, err := v.EpochOf(n)
		if err != nil {
			t.Fatal(err)
		}
		if i := len(s.blockVotes) - 1; i >= 0 && s.blockVotes[i].Val.Epoch == e && len(s.blockVotes[i].Val.Votes) < 3 {
			was := s.blockVotes[i].Val
			was.Votes = append(was.Votes, r.Block.Hash())
			votes := signVotes(t, e, was, inter.EpochVote{}).SignedBlockVotes()
			s.blockVotes[i] = again(t, &votes)
			continue
		}
		votes := signVotes(t, e, inter.BlockVotes{Start: n, Epoch: e, Votes: [][32]byte{r.Block.Hash()}},
			inter.EpochVote{}).SignedBlockVotes()
		s.blockVotes = append(s.blockVotes, again(t, &votes))
	}
	return s
}

// take gives a chain what another sent. Between says what happens after each step.
func (s *parcel) take(t testing.TB, c func() *Chain, between func()) {
	t.Helper()
	try := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for _, r := range s.epochs {
		for _, vote := range s.epochVotes[r.Epoch] {
			try("check a vote", c().Verifier().EpochVote(vote))
			try("count a vote", c().AddEpochVote(vote))
		}
		try("a record of an epoch", addEpoch(c(), r))
		between()
	}
	for _, votes := range s.blockVotes {
		try("check votes", c().Verifier().BlockVotes(votes))
		try("count votes", c().AddBlockVotes(votes))
	}
	try("show", c().ShowRecords())
	between()
	for i, r := range s.blocks {
		try("a record of a block", c().AddBlockRecord(r))
		if i%7 == 0 {
			try("show", c().ShowRecords())
			between()
		}
	}
	try("show", c().ShowRecords())
}

// same compares what two chains show of the blocks that one sent to the other.
func (s *parcel) same(t testing.TB, c, original *Chain) {
	t.Helper()
	ours, err := c.View()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	theirs, err := original.View()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	for _, r := range s.blocks {
		s.sameBlock(t, ours, theirs, r.Number)
	}
	for _, r := range s.epochs {
		got, err := ours.EpochRecord(r.Epoch)
		if err != nil || got == nil || got.State.Hash() != r.State.Hash() {
			t.Fatalf("epoch %d: %v, %v", r.Epoch, got, err)
		}
	}
	from, to := s.blocks[0].Number, s.blocks[len(s.blocks)-1].Number
	var l *types.Log // the last one
	logs := func(v *View, q LogQuery) (lines []string) {
		q.From, q.To = from, to
		if err := v.Logs(context.Background(), q, func(found *types.Log) bool {
			l, lines = found, append(lines, fmt.Sprint(*found))
			return true
		}); err != nil {
			t.Fatal(err)
		}
		return lines
	}
	all := logs(theirs, LogQuery{})
	if len(all) == 0 || !slices.Equal(all, logs(ours, LogQuery{})) {
		t.Fatalf("%d logs are found, %d by the original", len(logs(ours, LogQuery{})), len(all))
	}
	q := LogQuery{Addresses: []common.Address{l.Address}}
	q.Topics = append(q.Topics, l.Topics[:1:1])
	if want := logs(theirs, q); len(want) == 0 || !slices.Equal(want, logs(ours, q)) {
		t.Fatalf("%d logs of %v are found, %d by the original", len(logs(ours, q)), l.Address, len(want))
	}
}

func (s *parcel) sameBlock(t testing.TB, ours, theirs *View, n inter.BlockNumber) {
	t.Helper()
	a, err := ours.Block(n)
	b, err2 := theirs.Block(n)
	if err = errors.Join(err, err2); err != nil || a == nil || b == nil {
		t.Fatalf("block %d: %v, %v, %v", n, a, b, err)
	}
	root, err := ours.Root(n)
	want, err2 := theirs.Root(n)
	if err = errors.Join(err, err2); err != nil || root != want {
		t.Fatalf("block %d has root %x, the original's %x: %v", n, root, want, err)
	}
	if a.ID != b.ID || a.Time != b.Time || a.GasUsed != b.GasUsed || fmt.Sprint(a.BaseFee) != fmt.Sprint(b.BaseFee) ||
		len(a.Txs) != len(b.Txs) || !slices.Equal(a.Senders, b.Senders) {
		t.Fatalf("block %d is\n%+v\nthe original's\n%+v", n, a, b)
	}
	for i, tx := range a.Txs {
		x, err := a.Receipts[i].MarshalJSON()
		y, err2 := b.Receipts[i].MarshalJSON()
		if err = errors.Join(err, err2); err != nil || tx.Hash() != b.Txs[i].Hash() || !bytes.Equal(x, y) {
			t.Fatalf("transaction %d of block %d: %s, %s, %v", i, n, x, y, err)
		}
		found := false
		if err := ours.Places(tx.Hash(), func(p TxPlace) bool {
			found = p == TxPlace{n, uint(i)}
			return !found
		}); err != nil || !found {
			t.Fatalf("transaction %d of block %d is not found: %v", i, n, err)
		}
	}
	if got, found, err := ours.NumberOf(a.ID); err != nil || !found || got != n {
		t.Fatalf("block %d is found as %d, %v, %v", n, got, found, err)
	}
	if _, err := ours.StateAt(n); n > ours.Head().Number && !errors.Is(err, state.ErrNoState) {
		t.Fatalf("the state of block %d, of which there is a record: %v", n, err)
	}
}

// A chain that has nothing but its genesis takes epochs and blocks that enough validators vouch
// for, and shows them like the original, on every engine and after a start. It makes the same
// blocks itself afterwards, and shows those.
func TestRecordsThatEnoughVouchForAreShown(t *testing.T) {
	r := record(t)
	original := filledChain(t, r)
	s := send(t, original)
	for _, kind := range []engine.Kind{engine.Page, engine.LevelDB, engine.Pebble, engine.Badger} {
		t.Run(string(kind), func(t *testing.T) {
			dir := t.TempDir()
			at := openStore(t, dir, engine.Options{Kind: kind})
			c := newChain(t, at)
			// restart ends the chain after a checkpoint and begins it again.
			restart := func() {
				t.Helper()
				done, err := c.Checkpoint()
				if err = errors.Join(err, done.Wait(), c.Close(), at.Close()); err != nil {
					t.Fatal(err)
				}
				at = openStore(t, dir, engine.Options{Kind: kind})
				if c, err = Open(Options{Store: at, History: at.history}); err != nil {
					t.Fatal(err)
				}
			}
			times := 0
			s.take(t, func() *Chain { return c }, func() {
				if times++; times%5 == 1 {
					restart()
				}
			})
			s.same(t, c, original)
			last := s.blocks[len(s.blocks)-1].Number
			if block, epoch, err := c.firstUnfilled(); err != nil || block != last+1 ||
				epoch != s.epochs[len(s.epochs)-1].Epoch+1 {
				t.Errorf("block %d and epoch %d are the first that lack: %v", block, epoch, err)
			}
			restart()
			s.same(t, c, original)
			if err := at.history.Verify(func(err error) { t.Error(err) }, nil); err != nil {
				t.Error(err)
			}
			feed(t, c, r.events)
			compare(t, c, r)
			s.same(t, c, original)
			if raw, err := c.votes.DecidedBlock(last); err != nil || raw != nil {
				t.Errorf("what is decided about block %d, which the chain has made, is kept: %x, %v", last, raw, err)
			}
			restart()
			compare(t, c, r)
			if err := errors.Join(c.Close(), at.Close()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Votes and records that are not right, or come too early or twice, are refused, each with
// go-opera's error, and change nothing.
func TestRecordsNobodyVouchesForAreRefused(t *testing.T) {
	original := filledChain(t, record(t))
	s := send(t, original)
	at := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
	defer at.Close()
	c := newChain(t, at)
	defer closeChain(t, c)
	refused := func(what string, got, want error) {
		t.Helper()
		if !errors.Is(got, want) {
			t.Errorf("%s: %v instead of: %v", what, got, want)
		}
	}
	epoch, block, votes := s.epochs[0], s.blocks[0], s.blockVotes[len(s.blockVotes)-1]
	vote := s.epochVotes[epoch.Epoch][0]
	refused("an epoch without votes", c.AddEpochRecord(epoch), eventcheck.ErrUndecidedER)
	refused("a block without votes", c.AddBlockRecord(block), eventcheck.ErrUndecidedBR)
	if votes.Val.Epoch <= c.Epoch().Epoch {
		t.Fatalf("the last votes are of epoch %d", votes.Val.Epoch)
	}
	refused("the votes of an epoch that is not known", c.Verifier().BlockVotes(votes), eventcheck.ErrUnknownEpochBVs)
	refused("the same, unchecked", c.AddBlockVotes(votes), eventcheck.ErrUnknownEpochBVs)
	forged := *vote
	forged.Val.Vote[0]++
	refused("a vote that was not signed", c.Verifier().EpochVote(&forged), eventcheck.ErrWrongPayloadHash)
	stranger := *vote
	stranger.Signed.Locator.Creator = 77
	refused("a stranger's vote", c.Verifier().EpochVote(&stranger), eventcheck.ErrAuth)
	refused("the same, unchecked", c.AddEpochVote(&stranger), ErrNoValidator)
	if err := c.AddEpochVote(vote); err != nil {
		t.Fatal(err)
	}
	refused("a vote twice", c.AddEpochVote(vote), eventcheck.ErrAlreadyProcessedEV)
	other := again(t, epoch)
	other.State.BlockState.EpochGas++
	refused("another epoch", c.AddEpochRecord(other), ErrOtherRecord)
	if err := addEpoch(c, epoch); err != nil {
		t.Fatal(err)
	}
	refused("an epoch twice", c.AddEpochRecord(epoch), eventcheck.ErrAlreadyProcessedER)
	for _, v := range s.blockVotes {
		if err := c.AddBlockVotes(v); err != nil && !errors.Is(err, eventcheck.ErrUnknownEpochBVs) {
			t.Fatal(err)
		}
	}
	refused("votes twice", c.AddBlockVotes(s.blockVotes[0]), eventcheck.ErrAlreadyProcessedBVs)
	wrong := again(t, block)
	wrong.Block.GasUsed++
	refused("another block", c.AddBlockRecord(wrong), ErrOtherRecord)
	if b, err := c.own().Block(block.Number); b != nil || err != nil {
		t.Errorf("a block that was refused is shown: %v, %v", b, err)
	}
	if err := c.AddBlockRecord(block); err != nil {
		t.Fatal(err)
	}
	refused("a block twice", c.AddBlockRecord(block), eventcheck.ErrAlreadyProcessedBR)
}
