package chain

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/state"
	"tarn/store/engine"
	"tarn/store/vfs/memfs"
)

func viewOf(t testing.TB, c *Chain) *View {
	t.Helper()
	v, err := c.View()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

// whole returns the blocks of a view.
func whole(t *testing.T, v *View) (blocks []*Block) {
	t.Helper()
	for n := inter.BlockNumber(1); n <= v.Head().Number; n++ {
		b, err := v.Block(n)
		if err != nil || b == nil {
			t.Fatalf("block %d: %v, %v", n, b, err)
		}
		blocks = append(blocks, b)
	}
	return blocks
}

func TestAViewFindsWhatBlocksHave(t *testing.T) {
	r := record(t)
	c := filledChain(t, r)
	v := viewOf(t, c)
	var logs []*types.Log
	for _, b := range whole(t, v) {
		if n, ok, err := v.NumberOf(b.ID); n != b.Number || !ok || err != nil {
			t.Errorf("block %d is found by its id as %d, %v, %v", b.Number, n, ok, err)
		}
		e, err := c.logs.blocks.Block(b.Number)
		if err != nil {
			t.Fatal(err)
		}
		if own := b.Number >= c.counted.First; own != (len(e.Senders) == len(b.Txs)) && len(b.Txs) > 0 {
			t.Errorf("block %d of %d transactions is kept with %d senders", b.Number, len(b.Txs), len(e.Senders))
		}
		for i, tx := range b.Txs {
			if from, err := evm.Sender(c.Signer(), tx); err != nil || from != b.Senders[i] {
				t.Errorf("transaction %d of block %d is from %v, recovered %v, %v",
					i, b.Number, b.Senders[i], from, err)
			}
			place, ok, err := placeOf(v, tx.Hash())
			if want := (TxPlace{b.Number, uint(i)}); place != want || !ok || err != nil {
				t.Errorf("transaction %d of block %d is found at %v, %v, %v", i, b.Number, place, ok, err)
			}
		}
		for _, receipt := range b.Receipts {
			logs = append(logs, receipt.Logs...)
		}
	}
	if len(logs) == 0 {
		t.Fatal("no block has a log")
	}
	if _, ok, err := placeOf(v, common.Hash{1}); ok || err != nil {
		t.Errorf("a transaction that is not there: %v, %v", ok, err)
	}
	if _, ok, err := v.NumberOf(inter.EventID{1}); ok || err != nil {
		t.Errorf("a block that is not there: %v, %v", ok, err)
	}
	findLogs(t, v, logs)
}

// placeOf finds where a transaction was executed.
func placeOf(v *View, hash common.Hash) (at TxPlace, found bool, err error) {
	err = v.Places(hash, func(p TxPlace) bool {
		b, err := v.Block(p.Block)
		if found = err == nil && p.Index < uint(len(b.Txs)) && b.Txs[p.Index].Hash() == hash; found {
			at = p
		}
		return !found
	})
	return at, found, err
}

// findLogs asks for logs in all ways and compares with a list of all.
func findLogs(t *testing.T, v *View, all []*types.Log) {
	t.Helper()
	queries := []LogQuery{{To: v.Head().Number + 10}, {From: 2, To: 1}, {To: 1}}
	for _, l := range all {
		n := inter.BlockNumber(l.BlockNumber)
		queries = append(queries, LogQuery{From: n, To: n},
			LogQuery{To: v.Head().Number, Addresses: []common.Address{l.Address}})
		for i, topic := range l.Topics {
			q := LogQuery{To: v.Head().Number, Topics: make([][]common.Hash, i+1)}
			q.Topics[i] = []common.Hash{{7}, topic}
			queries = append(queries, q)
		}
	}
	queries = append(queries, LogQuery{To: v.Head().Number, Topics: make([][]common.Hash, 5)})
	for _, q := range queries {
		var got, want []*types.Log
		for _, l := range all {
			if n := inter.BlockNumber(l.BlockNumber); n >= q.From && n <= q.To && q.Wants(l) {
				want = append(want, l)
			}
		}
		err := v.Logs(context.Background(), q, func(l *types.Log) bool { got = append(got, l); return true })
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v: %d logs, %v, want %d", q, len(got), err, len(want))
		}
	}
}

// A proof makes the root of its block again, from the trie of a later one and what was
// changed since; the state of that block says the same.
func TestOldStatesAndProofsAgreeWithRoots(t *testing.T) {
	r := record(t)
	c := filledChain(t, r)
	v := viewOf(t, c)
	driver := common.HexToAddress("0xd100a01e00000000000000000000000000000000")
	zero := common.Address{}
	for n := c.counted.First - 1; n <= v.Head().Number; n++ {
		for _, address := range []common.Address{driver, zero} {
			p, err := v.Proof(t.Context(), n, address, []common.Hash{{}, {31: 1}})
			if err != nil {
				t.Fatal(err)
			}
			old, err := v.StateAt(n)
			if err != nil {
				t.Fatal(err)
			}
			account, err := old.Account(crypto.Keccak256Hash(address[:]))
			if err != nil {
				t.Fatal(err)
			}
			if said, proved := fmt.Sprint(values(account)), fmt.Sprint(values(p.Account)); said != proved {
				t.Errorf("account %v at block %d is %s, proved is %s", address, n, said, proved)
			}
		}
	}
	for _, address := range []common.Address{driver, zero, {1, 2, 3}} {
		want, err := v.State().Account(crypto.Keccak256Hash(address[:]))
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = &state.Account{}
		}
		if got, err := v.Account(address); err != nil || fmt.Sprint(values(&got)) != fmt.Sprint(values(want)) {
			t.Errorf("the present account %v is %v, %v; want %v", address, got, err, want)
		}
	}
	if _, err := v.StateAt(c.counted.First - 2); !errors.Is(err, state.ErrNoState) {
		t.Errorf("the state before the genesis: %v", err)
	}
	if _, err := v.StateAt(v.Head().Number + 1); !errors.Is(err, state.ErrNoState) {
		t.Errorf("the state of a block to come: %v", err)
	}
}

func values(a *state.Account) any {
	if a == nil {
		return nil
	}
	return []any{a.Nonce, &a.Balance, a.Code}
}

// A view stays what it was while the writer goes on, and readers find every block whole.
func TestViewsBesideTheWriter(t *testing.T) {
	r := record(t)
	s := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
	defer s.Close()
	c := newChain(t, s)
	defer closeChain(t, c)
	feed(t, c, r.events[:len(r.events)/2])
	v := viewOf(t, c)
	head, before := v.Head(), fmt.Sprint(whole(t, v)[0].ID, v.Epoch().Epoch)
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() { readOn(t, c, stop) })
	}
	feed(t, c, r.events)
	close(stop)
	readers.Wait()
	if v.Head() != head || fmt.Sprint(whole(t, v)[0].ID, v.Epoch().Epoch) != before {
		t.Error("a view has changed")
	}
	if b, err := v.Block(head.Number + 1); b != nil || err != nil {
		t.Errorf("a view of block %d has the next one: %v, %v", head.Number, b, err)
	}
	if _, err := v.Root(head.Number + 1); err == nil {
		t.Error("a view has the root of a block to come")
	}
}

// readOn reads the newest block in all ways until it is told to stop.
func readOn(t *testing.T, c *Chain, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		v, err := c.View()
		if err != nil {
			t.Error(err)
			return
		}
		number := v.Head().Number
		b, err := v.Block(number)
		if err != nil || b == nil || b.ID != v.Head().Atropos || b.Time != v.Head().Time {
			t.Errorf("block %d: %+v, %v", number, b, err)
		}
		if _, err := v.Root(number); err != nil {
			t.Error(err)
		}
		for _, id := range c.Heads() {
			if has, err := c.HasEvent(id); !has || err != nil {
				t.Errorf("there is no event %v without a child: %v", id, err)
			}
		}
		if lasts := c.LastEvents(); len(lasts) > 1 {
			t.Errorf("last events of one validator: %v", lasts)
		}
		if record, err := v.EpochRecord(v.Epoch().Epoch); err != nil || record == nil ||
			record.State.EpochState.Hash() != v.Epoch().Hash() {
			t.Errorf("epoch %d: %+v, %v", v.Epoch().Epoch, record, err)
		}
		if of, err := v.EpochOf(number + 1); err != nil || of != v.Epoch().Epoch {
			t.Errorf("block %d, which is to come in epoch %d, is of %d: %v", number+1, v.Epoch().Epoch, of, err)
		}
		for _, id := range b.Events {
			if raw, err := c.Event(id); raw == nil || err != nil {
				t.Errorf("event %v: %x, %v", id, raw, err)
			}
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestEventsComeInTheOrderOfTheirIDs(t *testing.T) {
	r := record(t)
	c := filledChain(t, r)
	var last inter.EventID
	n := 0
	err := c.Events(inter.EventID{}, func(id inter.EventID, raw []byte) bool {
		p, err := inter.DecodePayload(raw)
		if err != nil || p.ID() != id || string(id[:]) <= string(last[:]) {
			t.Errorf("after %v comes %v: %v", last, id, err)
		}
		last = id
		n++
		return true
	})
	if err != nil || n != len(r.events) {
		t.Errorf("%d events of %d, %v", n, len(r.events), err)
	}
	if heads := c.Heads(); len(heads) == 0 {
		t.Error("no event is without a child")
	}
	if lasts := c.LastEvents(); len(lasts) != 1 {
		t.Errorf("last events of one validator: %v", lasts)
	}
}

// What a killed process gave to the kernel is enough for its last block.
func TestAKillLosesNoBlock(t *testing.T) {
	r := record(t)
	disk := memfs.New()
	s, err := diskOf(disk)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := newChain(t, s)
	defer closeChain(t, c)
	feed(t, c, r.events)
	left := disk.Clone()
	again, err := diskOf(left)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Head() == s.Head() {
		t.Fatal("the store's image has all: nothing is tried")
	}
	d := openChain(t, again)
	defer closeChain(t, d)
	compare(t, d, r)
}
