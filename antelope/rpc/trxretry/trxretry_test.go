package trxretry_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/trxretry"
	"tarn/antelope/types"
)

// start is a time after which blocks can be.
const start = 1_600_000_000

type bench struct {
	*trxretry.Database
	t    *testing.T
	now  time.Time
	sent int
}

func newBench(t *testing.T, bytes uint64) *bench {
	b := &bench{t: t, now: time.Unix(start, 0)}
	b.Database = trxretry.New(trxretry.Options{MaxBytes: bytes, Interval: 20 * time.Second, MaxExpiration: 2 * time.Minute,
		Send:   func(*types.PackedTransaction) { b.sent++ },
		Render: func(t *types.TransactionTrace) ([]byte, error) { return []byte(t.ID.String()), nil },
		Now:    func() time.Time { return b.now }})
	return b
}

func packed(t *testing.T, n uint32) (*types.PackedTransaction, types.Checksum256) {
	trx := &types.Transaction{}
	trx.Expiration, trx.MaxNetUsageWords = start+100, n
	p, err := types.Pack(trx, nil, nil, types.CompressionNone)
	if err != nil {
		t.Fatal(err)
	}
	return p, trx.ID()
}

func (b *bench) track(n uint32, blocks *uint16) (rpc.Tracked, types.Checksum256) {
	b.t.Helper()
	p, id := packed(b.t, n)
	w, err := b.Track(p, blocks)
	if err != nil {
		b.t.Fatal(err)
	}
	return w, id
}

func (b *bench) applied(id types.Checksum256, num uint32) {
	t := &types.TransactionTrace{ID: id, Receipt: &types.TransactionReceiptHeader{}, BlockNum: num}
	if num != 0 {
		t.ProducerBlockID = &types.Checksum256{1}
	}
	b.Applied(t)
}

func state(num uint32) *consensus.BlockState {
	h := &consensus.HeaderState{}
	h.BlockNum = num
	h.Header.Timestamp = types.NewBlockTimestamp(types.TimePointSec(start + num).TimePoint())
	return &consensus.BlockState{HeaderState: h, Block: new(types.SignedBlock)}
}

// expect waits for what becomes of a transaction, which is known.
func (b *bench) expect(w rpc.Tracked, want string, kind *exception.Kind) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	got, err := w.Wait(ctx)
	if string(got) != want || kind != nil && !exception.Is(err, kind) || kind == nil && err != nil && want != "" {
		b.t.Errorf("got %q %v, want %q %v", got, err, want, kind)
	}
}

func TestAnAnswerComesAtTheDepthThatWasAskedFor(t *testing.T) {
	b := newBench(t, 1<<20)
	two := uint16(2)
	w, id := b.track(1, &two)
	final, other := b.track(2, nil)
	b.applied(id, 5)
	b.applied(other, 5)
	b.Accepted(state(5))
	b.Accepted(state(6))
	b.Accepted(state(7))
	b.expect(w, id.String(), nil)
	b.Irreversible(state(4))
	b.Irreversible(state(5))
	b.expect(final, other.String(), nil)
	if b.sent != 0 {
		t.Errorf("sent %d times", b.sent)
	}
}

func TestATransactionThatIsOnlyTriedIsInNoBlock(t *testing.T) {
	b := newBench(t, 1<<20)
	none := uint16(0)
	w, id := b.track(1, &none)
	b.applied(id, 0)
	b.Accepted(state(5))
	b.applied(id, 6)
	b.StartBlock(6) // which is taken back
	b.Accepted(state(6))
	b.applied(id, 7)
	b.Accepted(state(7))
	b.expect(w, id.String(), nil)
}

func TestWhatIsInNoBlockIsSentAgainUntilItExpires(t *testing.T) {
	b := newBench(t, 1<<20)
	w, id := b.track(1, nil)
	b.applied(id, 5)
	b.now = b.now.Add(21 * time.Second)
	b.StartBlock(5) // forked out: not sent before the switch can have ended
	b.Accepted(state(5))
	if b.sent != 0 {
		t.Errorf("sent %d times", b.sent)
	}
	b.now = b.now.Add(10 * time.Second)
	b.Accepted(state(6))
	b.Accepted(state(7))
	if b.sent != 1 {
		t.Errorf("sent %d times", b.sent)
	}
	b.Irreversible(state(99))
	b.Irreversible(state(100))
	b.expect(w, "", exception.ExpiredTx)
}

func TestMemoryIsBounded(t *testing.T) {
	b := newBench(t, 300)
	w, _ := b.track(1, nil)
	b.track(2, nil)
	p, _ := packed(t, 3)
	if _, err := b.Track(p, nil); !exception.Is(err, exception.TxResourceExhaustion) ||
		!strings.Contains(err.Error(), "limit") {
		t.Errorf("%v", err)
	}
	w.Drop()
	b.track(4, nil)
	if max := b.MaxExpiration(); max != start+120 {
		t.Errorf("expiration %d", max)
	}
	b.now = b.now.Add(time.Millisecond)
	if max := b.MaxExpiration(); max != start+121 {
		t.Errorf("expiration %d", max)
	}
}

func TestNobodyWaitsForANodeThatStops(t *testing.T) {
	b := newBench(t, 1<<20)
	first, _ := b.track(1, nil)
	second, _ := b.track(1, nil)
	stopped := errors.New("stopped")
	b.Stop(stopped)
	for _, w := range []rpc.Tracked{first, second} {
		if _, err := w.Wait(t.Context()); !errors.Is(err, stopped) {
			t.Error(err)
		}
	}
}
