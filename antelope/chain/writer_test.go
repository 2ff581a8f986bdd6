package chain_test

import (
	"bytes"
	"compress/zlib"
	"slices"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
	"tarn/internal/racedetector"
)

func TestAnObserverIsToldOfEachBlockInItsOrder(t *testing.T) {
	m := maker(t)
	c := follower(t, m)
	var events []string
	watch := func(c *chain.Chain) {
		c.Subscribe(chain.Hooks{
			StartBlock:     func(uint32) { events = append(events, "start") },
			AcceptedHeader: func(*consensus.BlockState) { events = append(events, "header") },
			AcceptedBlock:  func(*consensus.BlockState) { events = append(events, "block") },
			Irreversible:   func(*consensus.BlockState) { events = append(events, "irreversible") },
			Applied: func(trace *types.TransactionTrace, _ *execute.Candidate) {
				events = append(events, "applied")
			},
		})
	}
	watch(m.Chain)
	block(t, m)
	b := block(t, m)
	want := []string{"start", "applied", "header", "block", "start", "applied", "header", "block", "irreversible"}
	if !slices.Equal(events, want) {
		t.Errorf("producing: %q", events)
	}
	first := m.Chain.Fork().Root().Block
	events = nil
	watch(c)
	for _, b := range []*types.SignedBlock{first, b} {
		if err := push(t, c, b); err != nil {
			t.Fatal(err)
		}
	}
	want = []string{"header", "start", "applied", "block", "header", "start", "applied", "block", "irreversible"}
	if !slices.Equal(events, want) {
		t.Errorf("following: %q", events)
	}
}

func TestABlocksReportCountsWhatItsTransactionsUsed(t *testing.T) {
	m := maker(t)
	c := follower(t, m)
	b := block(t, m, m.CreateAccount(types.N("alice")), m.CreateAccount(types.N("bob")))
	if err := push(t, c, b); err != nil {
		t.Fatal(err)
	}
	var net uint64
	cpu := uint64(1) // onblock is billed the minimum
	for _, r := range b.Transactions {
		net += uint64(r.NetUsageWords) * 8
		cpu += uint64(r.CPUUsageUS)
	}
	for name, c := range map[string]*chain.Chain{"producer": m.Chain, "follower": c} {
		if r := c.Report(); r.Net != net || r.CPU != cpu || r.Elapsed <= 0 {
			t.Errorf("%s: %+v, want net %d and cpu %d", name, r, net, cpu)
		}
	}
}

func TestThePendingBlockIsDescribed(t *testing.T) {
	m := maker(t)
	if _, ok := m.Chain.Pending(); ok {
		t.Error("a block is pending")
	}
	if err := m.StartBlock(); err != nil {
		t.Fatal(err)
	}
	p, ok := m.Chain.Pending()
	if !ok || p.Num != 2 || p.Producer != types.N("eosio") || p.Status != execute.Incomplete ||
		p.Time != m.Chain.Head().Header.Timestamp+1 {
		t.Errorf("%+v, %v", p, ok)
	}
	if len(p.Authority.Keys) != 1 || p.Authority.Keys[0].Key != m.Key.Public() {
		t.Errorf("authority %+v", p.Authority)
	}
}

// What is executed in a block that no one will sign comes back when it is aborted,
// for one that somebody will.
func TestAbortingABlockReturnsItsTransactions(t *testing.T) {
	for _, status := range []execute.Status{execute.Incomplete, execute.Ephemeral} {
		m := maker(t)
		if err := m.Chain.StartBlock(execute.Start{Time: m.Chain.Head().Header.Timestamp + 1,
			Status: status}); err != nil {
			t.Fatal(err)
		}
		trace, err := m.Push(m.CreateAccount(types.N("alice")))
		if err != nil {
			t.Fatal(err)
		}
		list, err := m.Chain.AbortBlock()
		if err != nil || len(list) != 1 || list[0].ID != trace.ID {
			t.Errorf("status %d: %d candidates, %v", status, len(list), err)
		}
	}
}

// Keys are those of the signatures that a block has, whatever else is known of a
// transaction with the same id.
func TestKnownKeysAreUsedForTheSameSignaturesOnly(t *testing.T) {
	m, err := chaintest.New(newStore(t), chain.Options{Threads: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Chain.Close() })
	if err := m.StartBlock(); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if _, err := m.Push(m.CreateAccount(types.N("account" + string(rune('a'+i%26)) +
			string(rune('a'+i/26))))); err != nil {
			t.Fatal(err)
		}
	}
	b, err := m.EndBlock()
	if err != nil {
		t.Fatal(err)
	}
	fake := types.PublicKey{Point: [33]byte{2}}
	for _, same := range []bool{true, false} {
		known := func(id types.Checksum256) *execute.Candidate {
			for i := range b.Transactions {
				x, err := execute.NewCandidate(b.Transactions[i].Packed, execute.Input)
				if err != nil || x.ID != id {
					continue
				}
				if !same {
					other := *x.Packed
					other.Signatures = slices.Clone(other.Signatures)
					other.Signatures[0].Compact[5] ^= 1
					x.Packed = &other
				}
				x.Keys = []types.PublicKey{fake}
				return x
			}
			return nil
		}
		list, err := m.Chain.UnpackBlock(b, known)
		if err != nil {
			t.Fatal(err)
		}
		want := m.Key.Public()
		if same {
			want = fake
		}
		for i, x := range list {
			if len(x.Keys) != 1 || x.Keys[0] != want || x.Packed != b.Transactions[i].Packed {
				t.Fatalf("transaction %d: keys %v", i, x.Keys)
			}
		}
	}
	bad := *b
	bad.Transactions = slices.Clone(b.Transactions)
	packed := *bad.Transactions[40].Packed
	packed.Signatures = []types.Signature{{}}
	bad.Transactions[40].Packed = &packed
	if _, err := m.Chain.UnpackBlock(&bad, nil); err == nil {
		t.Error("a signature that is none was accepted")
	}
}

// A block of a few kilobytes whose transactions inflate to a hundred megabytes is not unpacked before it is executed,
// but for its share. It is a good block even so. Contracts are unpacked.
func TestWhatABlockUnpacksToAheadIsBounded(t *testing.T) {
	racedetector.SkipMeasure(t)
	m, follower := maker(t), maker(t)
	const count, size = 200, 500 << 10
	sent := func(data []byte) *types.SignedBlock {
		t.Helper()
		if err := m.StartBlock(); err != nil {
			t.Fatal(err)
		}
		for range count {
			if _, err := m.PushCompressed(chaintest.Action(types.N("eosio"), types.N("anything"), types.N("eosio"),
				data)); err != nil {
				t.Fatal(err)
			}
		}
		b, err := m.EndBlock()
		if err != nil {
			t.Fatal(err)
		}
		p, err := follower.Chain.Prepare(b, b.ID())
		if err == nil {
			err = follower.Chain.PushBlock(p)
		}
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	unpacked := func(b *types.SignedBlock) (n, bytes int) {
		list, err := m.Chain.UnpackBlock(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list {
			if x != nil {
				n, bytes = n+1, bytes+len(x.Raw)
			}
		}
		return n, bytes
	}
	bomb := sent(make([]byte, size))
	if n, bytes := unpacked(bomb); n == 0 || bytes > 3*size {
		t.Errorf("%d of %d transactions are unpacked, to %d bytes", n, count, bytes)
	}
	if n, bytes := unpacked(sent(chaintest.SystemCode())); n != count {
		t.Errorf("%d of %d contracts are unpacked, to %d bytes", n, count, bytes)
	}
	if a, b := m.Chain.Head().ID, follower.Chain.Head().ID; a != b {
		t.Errorf("the head is %v, the follower's %v", a, b)
	}
}

// Pieces without content take room in memory, which a list of them has besides its bytes. So a block whose transactions
// have a million of them each, compressed or not, is not unpacked before it is executed, but for its share.
func TestEmptyPiecesTakeRoomAsABlockIsUnpackedAhead(t *testing.T) {
	m := maker(t)
	const count, pieces = 40, 1_000_000
	data := make([][]byte, pieces)
	extensions := make(types.Extensions, pieces/4)
	actions := make([]types.Action, pieces/20)
	for name, x := range map[string]struct {
		trx  types.Transaction
		data [][]byte
		with types.Compression
	}{
		"context-free data":             {types.Transaction{}, data, types.CompressionZlib},
		"context-free data as they are": {types.Transaction{}, data, types.CompressionNone},
		"extensions":                    {types.Transaction{Extensions: extensions}, nil, types.CompressionZlib},
		"actions":                       {types.Transaction{Actions: actions}, nil, types.CompressionZlib},
	} {
		packed, err := types.Pack(&x.trx, nil, x.data, x.with)
		if err != nil {
			t.Fatal(err)
		}
		b := &types.SignedBlock{Transactions: make([]types.TransactionReceipt, count)}
		for i := range b.Transactions {
			b.Transactions[i].Packed = packed
		}
		list, err := m.Chain.UnpackBlock(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, c := range list {
			if c != nil {
				n++
			}
		}
		if n == 0 || n > count/2 {
			t.Errorf("%s: %d of %d transactions are unpacked", name, n, count)
		}
	}
}

// A transaction that is left to its execution and does not decode makes the block bad. It says nothing of the node.
func TestABlockWhoseTransactionDoesNotDecodeIsRefusedWhenItIsApplied(t *testing.T) {
	m, follower := maker(t), maker(t)
	prev := m.Chain.Head().HeaderState
	if err := m.StartBlock(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a := chaintest.Action(types.N("eosio"), types.N("anything"), types.N("eosio"), make([]byte, 500<<10))
		if _, err := m.PushCompressed(a); err != nil {
			t.Fatal(err)
		}
	}
	good, err := m.EndBlock()
	if err != nil {
		t.Fatal(err)
	}
	bad := undecodable(t, m, prev, good)
	p, err := follower.Chain.Prepare(bad, bad.ID())
	if err != nil {
		t.Fatal("the transaction is not left to its execution: ", err)
	}
	if err := follower.Chain.PushBlock(p); !exception.Is(err, exception.BlockValidate) {
		t.Errorf("a bad block: %v", err)
	}
	if follower.Chain.Head().ID != prev.ID || follower.Chain.Fork().Block(bad.ID()) != nil {
		t.Error("it is kept")
	}
	if err := push(t, follower.Chain, good); err != nil {
		t.Errorf("the good block: %v", err)
	}
}

// undecodable is a block like another one that follows prev, signed, whose last transaction does not decode.
func undecodable(
	t *testing.T, m *chaintest.Maker, prev *consensus.HeaderState, good *types.SignedBlock,
) *types.SignedBlock {
	t.Helper()
	var garbage bytes.Buffer
	z := zlib.NewWriter(&garbage)
	if _, err := z.Write([]byte("no transaction")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	bad := *good
	bad.Transactions = slices.Clone(good.Transactions)
	last := &bad.Transactions[len(bad.Transactions)-1]
	packed := *last.Packed
	packed.PackedTrx = garbage.Bytes()
	last.Packed = &packed
	var digests []types.Checksum256
	for i := range bad.Transactions {
		digests = append(digests, bad.Transactions[i].Digest())
	}
	bad.TransactionMRoot = consensus.MerkleRoot(digests)
	next, err := prev.Follow(&bad.SignedBlockHeader, nil, chainFeatures(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if bad.ProducerSignature, err = m.Key.Sign(next.SigningDigest()); err != nil {
		t.Fatal(err)
	}
	return &bad
}

// A block whose transaction was left to its execution is among the reversible ones before it is found bad. At a start
// the transaction may be unpacked ahead, as goroutines share the room for that. The block is left out, and the node
// starts.
func TestAReversibleBlockWhoseTransactionDoesNotDecodeIsLeftOut(t *testing.T) {
	m := maker(t)
	prev := m.Chain.Head().HeaderState
	if err := m.StartBlock(); err != nil {
		t.Fatal(err)
	}
	a := chaintest.Action(types.N("eosio"), types.N("anything"), types.N("eosio"), []byte("data"))
	if _, err := m.PushCompressed(a); err != nil {
		t.Fatal(err)
	}
	good, err := m.EndBlock()
	if err != nil {
		t.Fatal(err)
	}
	bad := undecodable(t, m, prev, good)
	n := newLoggedChain(t, &m.Genesis, chain.Options{})
	if err := n.Resume(t.Context(), reversibleOf([]*types.SignedBlock{bad, good}), nil); err != nil {
		t.Fatal(err)
	}
	if n.Head().ID != good.ID() || n.Fork().Block(bad.ID()) != nil {
		t.Errorf("the head is %s", n.Head().ID)
	}
}
