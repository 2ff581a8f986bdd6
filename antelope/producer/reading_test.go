package producer

import (
	"context"
	"sync"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
	"tarn/contracts/wat"
)

func TestWhatLeavesNothingDoesNotWaitForTheWriter(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		n := newNode(t, chain.Options{}, func(o *Options) {
			produces("eosio")(o)
			o.Readers = 2
		})
		n.run()
		time.Sleep(5 * time.Second)
		p, err := n.sign(n.maker.CreateAccount(name("alice")))
		if err != nil {
			t.Fatal(err)
		}
		err = n.Do(ctx, func(*chain.Chain) error {
			// The writer is here, and nowhere else.
			var work sync.WaitGroup
			for range 5 {
				work.Go(func() {
					trace, err := n.Transaction(ctx, p, execute.TransactionOptions{Kind: execute.DryRun, API: true})
					if err != nil || trace.Receipt == nil {
						t.Errorf("%+v, %v", trace, err)
					}
				})
			}
			work.Wait()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// Who wants to dry-run what is in the pending block hears that it is there.
		if _, err := n.Transaction(ctx, p, execute.TransactionOptions{API: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Transaction(ctx, p, execute.TransactionOptions{Kind: execute.DryRun, API: true}); err == nil {
			t.Error("a transaction of the pending block was executed again")
		}
	})
}

// An action is asked on a view while the writer is busy. Without a contract there is no answer; a failure is told.
func TestAnActionIsAskedBesideTheWriter(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(5 * time.Second)
		ask := func() (answer []byte, failed error) {
			err := n.Do(ctx, func(*chain.Chain) error {
				answer, failed = n.Ask(ctx, name("eosio"), name("getpeerkeys"), 20*time.Millisecond)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return answer, failed
		}
		if answer, err := ask(); answer != nil || err != nil {
			t.Errorf("without a contract: %x, %v", answer, err)
		}
		code, err := wat.Assemble(`(module (import "env" "eosio_assert" (func $assert (param $test i32) (param $message i32)))
			(memory 1) (func (export "apply") (param $a i64) (param $b i64) (param $action i64)
			(call $assert (i64.eq (local.get $action) (i64.const 1)) (i32.const 16))))`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.push(chaintest.SetCode(name("eosio"), code)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if answer, err := ask(); !exception.Is(err, exception.EosioAssertMessage) {
			t.Errorf("of a contract that fails: %x, %v", answer, err)
		}
	})
}

// A read-only transaction takes no room in a block. So one that is too much for a whole block is answered, and does not
// wait for the next one, in which the writer would execute it for as long again, and so on until it expires.
func TestWhatIsReadIsAnsweredHoweverMuchItIs(t *testing.T) {
	n := newNode(t, chain.Options{}, nil)
	code, err := wat.Assemble(`(module (memory 1) (func (export "apply") (param $a i64) (param $b i64) (param $action i64)
		(if (i64.eqz (local.get $action)) (then (loop $again (br $again))))))`)
	if err != nil {
		t.Fatal(err)
	}
	looper := name("looper")
	if _, err := n.maker.Block(n.maker.CreateAccount(looper), chaintest.SetCode(looper, code)); err != nil {
		t.Fatal(err)
	}
	limitBlocks(t, n, 200_000, 1<<20)
	n.run()
	read := func(action types.Action) error {
		trx := &types.Transaction{Actions: []types.Action{action}}
		trx.Expiration = types.TimePointSec(time.Now().Add(time.Hour).Unix())
		p, err := types.Pack(trx, nil, nil, types.CompressionNone)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		trace, err := n.Transaction(ctx, p,
			execute.TransactionOptions{Kind: execute.ReadOnly, API: true, FailureTrace: true})
		if err == nil && trace.Except != nil {
			err = trace.Except
		}
		return err
	}
	endless := types.Action{Account: looper}
	if err := read(endless); !exception.Is(err, exception.TxCPUUsageExceeded) {
		t.Errorf("without an end: %v", err)
	}
	large := types.Action{Account: looper, Name: name("go"), Data: make([]byte, 1200<<10)}
	if err := read(large); !exception.Is(err, exception.BlockNetUsageExceeded) {
		t.Errorf("larger than a block: %v", err)
	}
	if err := n.writer.Call(context.Background(), func() error {
		if waiting := n.queue.len(); waiting != 0 {
			t.Errorf("%d wait for the writer", waiting)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// limitBlocks sets how much the blocks of a node that does not run yet may take.
func limitBlocks(t *testing.T, n *node, cpu uint32, net uint64) {
	t.Helper()
	if err := n.maker.StartBlock(); err != nil {
		t.Fatal(err)
	}
	g, err := n.chain.State().Global.Edit()
	if err != nil {
		t.Fatal(err)
	}
	g.Configuration.MaxBlockCPUUsage, g.Configuration.MaxBlockNetUsage = cpu, net
	if _, err = n.maker.EndBlock(); err != nil {
		t.Fatal(err)
	}
	if err := n.chain.Publish(); err != nil {
		t.Fatal(err)
	}
	n.updateHead()
}
