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
