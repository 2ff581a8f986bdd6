package trxstatus_test

import (
	"encoding/binary"
	"testing"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/rpc/trxstatus"
	"tarn/antelope/types"
)

type bench struct {
	t   *testing.T
	now time.Time
	*trxstatus.Tracker
}

func newBench(t *testing.T, bytes uint64) *bench {
	b := &bench{t: t, now: time.Unix(1000, 0)}
	b.Tracker = trxstatus.New(trxstatus.Options{MaxBytes: bytes, Success: 3 * time.Minute, Failure: time.Minute,
		Now: func() time.Time { return b.now }})
	return b
}

// blockID is the id of a block on one of several branches.
func blockID(num uint32, branch byte) (id types.Checksum256) {
	binary.BigEndian.PutUint32(id[:], num)
	id[31] = branch
	return id
}

func state(num uint32, branch byte) *consensus.BlockState {
	h := &consensus.HeaderState{ID: blockID(num, branch)}
	h.BlockNum = num
	h.Header.Timestamp = types.BlockTimestamp(num)
	return &consensus.BlockState{HeaderState: h}
}

func trx(n byte) types.Checksum256 { return types.Hash([]byte{n}) }

// apply is a transaction in a block, or with num 0 in none.
func (b *bench) apply(n byte, num uint32, branch byte) {
	t := &types.TransactionTrace{ID: trx(n), Receipt: &types.TransactionReceiptHeader{},
		BlockTime: types.BlockTimestamp(num)}
	if num != 0 {
		id := blockID(num, branch)
		t.ProducerBlockID = &id
	}
	b.Applied(t, types.TimePoint(b.now.Add(2*time.Minute).UnixMicro()))
}

func (b *bench) expect(n byte, want string) {
	b.t.Helper()
	if s, _ := b.Status(trx(n)); s.State != want {
		b.t.Errorf("transaction %d is %q, want %q", n, s.State, want)
	}
}

func TestATransactionGoesFromLocalToIrreversible(t *testing.T) {
	b := newBench(t, 1<<20)
	b.expect(1, "")
	b.apply(1, 0, 0)
	b.expect(1, "LOCALLY_APPLIED")
	b.Accepted(state(5, 1)) // made here
	b.expect(1, "IN_BLOCK")
	b.apply(2, 6, 1)
	b.Accepted(state(6, 1))
	b.expect(2, "IN_BLOCK")
	b.Irreversible(state(5, 1))
	b.expect(1, "IRREVERSIBLE")
	b.expect(2, "IN_BLOCK")
	s, c := b.Status(trx(2))
	if s.BlockID != blockID(6, 1) || c.HeadID != blockID(6, 1) || c.IrreversibleID != blockID(5, 1) {
		t.Errorf("%+v %+v", s, c)
	}
}

func TestABlockThatIsNotFinishedTakesNothingIn(t *testing.T) {
	b := newBench(t, 1<<20)
	b.apply(1, 0, 0)
	b.StartBlock()
	b.Accepted(state(5, 1))
	b.expect(1, "LOCALLY_APPLIED")
	b.now = b.now.Add(2 * time.Minute)
	b.expect(1, "FAILED")
}

func TestAForkTakesTransactionsOut(t *testing.T) {
	b := newBench(t, 1<<20)
	b.apply(1, 5, 1)
	b.apply(2, 6, 1)
	b.apply(3, 7, 1)
	b.apply(3, 6, 2) // on the other branch
	b.expect(1, "IN_BLOCK")
	b.expect(2, "FORKED_OUT")
	b.expect(3, "IN_BLOCK")
	b.Accepted(state(7, 2))
	b.Accepted(state(6, 3)) // a third, without transactions
	b.expect(3, "FORKED_OUT")
	b.now = b.now.Add(2 * time.Minute)
	b.expect(3, "FAILED")
}

func TestWhatIsOldIsForgotten(t *testing.T) {
	b := newBench(t, 1<<20)
	b.apply(1, 0, 0)
	b.StartBlock()
	b.apply(2, 5, 1)
	b.now = b.now.Add(61 * time.Second)
	b.Accepted(state(6, 1))
	b.expect(1, "") // failed ones go after a minute
	b.expect(2, "IN_BLOCK")
	b.apply(3, 7, 1)
	b.now = b.now.Add(2 * time.Minute)
	b.Accepted(state(8, 1))
	b.expect(2, "")
	b.expect(3, "IN_BLOCK")
	if _, c := b.Status(trx(3)); c.EarliestID != blockID(7, 1) {
		t.Errorf("earliest %s", c.EarliestID)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	b := newBench(t, 20*96)
	for i := range byte(100) {
		b.apply(i, uint32(i/2)+5, 1)
	}
	n := 0
	for i := range byte(100) {
		if s, _ := b.Status(trx(i)); s.State != "" {
			n++
		}
	}
	if n > 20 || n < 17 {
		t.Errorf("%d transactions are kept", n)
	}
	b.expect(99, "IN_BLOCK")
	b.expect(0, "")
}
