package producer

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/execute"
	"tarn/antelope/types"
)

// candidates are transactions of one empty action each, whose keys are known.
func candidates(b *testing.B, m *chaintest.Maker, n int) []*execute.Candidate {
	b.Helper()
	list := make([]*execute.Candidate, n)
	head := m.Chain.Head()
	for i := range list {
		trx := &types.Transaction{Actions: []types.Action{chaintest.Action(name("eosio"), name("nothing"),
			name("eosio"), fmt.Append(nil, i))}}
		trx.Expiration = types.TimePoint(time.Now().Add(50 * time.Minute).UnixMicro()).Sec()
		trx.SetRefBlock(head.ID)
		p, err := types.Pack(trx, nil, nil, types.CompressionNone)
		if err != nil {
			b.Fatal(err)
		}
		if list[i], err = execute.NewCandidate(p, execute.Input); err != nil {
			b.Fatal(err)
		}
		list[i].Keys = []types.PublicKey{m.Key.Public()}
	}
	return list
}

// BenchmarkSubmit executes transactions that other goroutines give to the writer
// while it produces; BenchmarkPush executes them without a writer. The difference
// is what the writer costs.
func BenchmarkSubmit(b *testing.B) {
	n := newNode(b, chain.Options{}, produces("eosio"))
	list := candidates(b, n.maker, b.N)
	n.run()
	time.Sleep(time.Second)
	b.ResetTimer()
	var done sync.WaitGroup
	done.Add(b.N)
	for _, x := range list {
		n.Submit(execute.TransactionOptions{API: true}, Submission{x, func(_ *types.TransactionTrace, err error) {
			if err != nil {
				b.Error(err)
			}
			done.Done()
		}})
	}
	done.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "transactions/s")
}

func BenchmarkPush(b *testing.B) {
	n := newNode(b, chain.Options{}, nil)
	list := candidates(b, n.maker, b.N)
	slot := types.NewBlockTimestamp(types.TimePoint(time.Now().UnixMicro()))
	start := func() {
		slot++
		if err := n.chain.StartBlock(execute.Start{Time: slot, Status: execute.Incomplete}); err != nil {
			b.Fatal(err)
		}
	}
	start()
	b.ResetTimer()
	for i, x := range list {
		if i%5000 == 4999 {
			if _, err := n.maker.EndBlock(); err != nil {
				b.Fatal(err)
			}
			start()
		}
		trace, err := n.chain.PushTransaction(x, execute.Billing{Deadline: time.Now().Add(time.Second)})
		if err != nil || trace.Except != nil {
			b.Fatal(err, trace)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "transactions/s")
}

// BenchmarkApply gives blocks without transactions to the writer, one after the
// other, as a node does that catches up.
func BenchmarkApply(b *testing.B) {
	m := newNode(b, chain.Options{}, nil)
	var blocks []*types.SignedBlock
	for range b.N {
		x, err := m.maker.Block()
		if err != nil {
			b.Fatal(err)
		}
		blocks = append(blocks, x)
	}
	n := newNode(b, chain.Options{}, nil)
	n.run()
	var list []*Block
	for _, x := range blocks {
		list = append(list, n.NewBlock(x, x.ID()))
	}
	ctx := context.Background()
	// Headers are checked ahead, as the network does.
	ahead := make(chan *Block, 64)
	b.ResetTimer()
	go func() {
		for _, x := range list {
			if err := n.CheckHeader(x); err != nil {
				b.Error(err)
			}
			ahead <- x
		}
		close(ahead)
	}()
	for x := range ahead {
		if err := n.Apply(ctx, x); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "blocks/s")
}
