package producer

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/execute"
	"tarn/antelope/types"
)

// While the state is read from the disk, transactions and blocks are rehearsed, and the chain is the same. Nothing of a
// block is executed before its header was checked.
func TestWhatComesIsRehearsedWhileTheDiskIsWaitedFor(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var asked [2]atomic.Int64
		waiting := func(i int) func(*Options) {
			return func(o *Options) { o.Waits = func() bool { asked[i].Add(1); return true } }
		}
		n := newNode(t, chain.Options{}, func(o *Options) { produces("eosio")(o); waiting(0)(o) })
		n.run()
		time.Sleep(time.Second)
		for i := range 3 {
			p, err := n.maker.Sign(n.maker.CreateAccount(name("alice" + string(rune('a'+i)))))
			if err != nil {
				t.Fatal(err)
			}
			trace, err := n.Transaction(t.Context(), p, execute.TransactionOptions{Kind: execute.Input, API: true})
			if err != nil || trace.Except != nil {
				t.Fatal(trace, err)
			}
		}
		if asked[0].Load() != 3 {
			t.Errorf("three transactions are rehearsed %d times", asked[0].Load())
		}
		time.Sleep(2 * time.Second)
		n.stop(t)

		f := newNode(t, chain.Options{}, waiting(1))
		f.run()
		rehearsed := 0
		for _, b := range n.chainBlocks() {
			x := f.NewBlock(b, b.ID())
			before := asked[1].Load()
			if err := f.Prepare(x); err != nil || asked[1].Load() != before {
				t.Errorf("a block whose header nobody checked is rehearsed: %v", err)
			}
			bad := *b
			bad.ProducerSignature = types.Signature{}
			if y := f.NewBlock(&bad, b.ID()); f.CheckHeader(y) == nil || f.Prepare(y) != nil || asked[1].Load() != before {
				t.Error("a block with a wrong signature is rehearsed")
			}
			if err := f.Apply(context.Background(), x); err != nil {
				t.Fatal(err)
			}
			rehearsed += int(asked[1].Load() - before)
		}
		if blocks := len(n.chainBlocks()); rehearsed != blocks {
			t.Errorf("%d blocks are rehearsed %d times", blocks, rehearsed)
		}
		if a, b := n.maker.Chain.Head().ID, f.maker.Chain.Head().ID; a != b {
			t.Errorf("the heads are %v and %v", a, b)
		}
		f.stop(t)
	})
}
