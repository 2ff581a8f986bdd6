package producer

import (
	"context"
	"sync"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/execute"
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
