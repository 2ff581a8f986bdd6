package p2p_test

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/types"
	"tarn/internal/racedetector"
)

// bomb is a transaction that inflates to 2 MiB.
func bomb(t *testing.T, number uint32) *types.PackedTransaction {
	t.Helper()
	trx := new(types.Transaction)
	trx.Expiration = types.TimePointSec(time.Now().Unix() + 60)
	trx.Actions = []types.Action{{Data: make([]byte, 1_000_000)}}
	binary.LittleEndian.PutUint32(trx.Actions[0].Data, number)
	p, err := types.Pack(trx, make([]types.Signature, 1), [][]byte{make([]byte, 1_000_000)}, types.CompressionZlib)
	must(t, err)
	return p
}

// Compressed transactions cost their sender what inflating them costs: those that are
// known are not inflated, those that come to nothing use up a budget.
func TestInflatingForNothingIsBounded(t *testing.T) {
	racedetector.SkipMeasure(t)
	for _, c := range []struct {
		name   string
		copies uint32
		differ bool   // in what they are
		forms  bool   // in what follows what is compressed, which nobody looks at
		most   uint64 // inflated at all
		rate   uint64 // and besides in each second that it takes
	}{
		{"the same one", 400, false, false, 4, 0},
		{"one in many forms", 400, false, true, 12, 2},
		{"many that fail", 60, true, false, 12, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			chain := p2p.NewRecentChain(10)
			if c.differ {
				chain.RefuseTransactions()
			}
			n := p2p.StartNode(t, chain, nil)
			p := greetedPeer(t, n)
			packed, all := bomb(t, 0), []byte(nil)
			for i := range c.copies {
				if c.differ {
					packed = bomb(t, i)
				}
				form := *packed
				if c.forms {
					form.PackedTrx = binary.LittleEndian.AppendUint32(form.PackedTrx, i)
				}
				var err error
				all, err = p2p.AppendFrame(all, form)
				must(t, err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			must(t, p.SendRaw(all))
			awaitAnswer(t, p)
			runtime.ReadMemStats(&after)
			// On a busy machine it takes long, and the peer earns more meanwhile.
			c.most += c.rate * uint64(time.Since(begin)/time.Second+1)
			const each = 3 << 20 // at least, of memory for inflating one
			if grown := after.TotalAlloc - before.TotalAlloc; grown > c.most*4*each {
				t.Errorf("%d MiB were allocated for %d transactions, together of %d bytes",
					grown>>20, c.copies, len(all))
			}
			m := n.Metrics()
			if m.DroppedTransactions+m.DuplicateTrx+c.most < uint64(c.copies) {
				t.Errorf("%d were dropped, %d known", m.DroppedTransactions, m.DuplicateTrx)
			}
			if m.TransactionBytes != 0 {
				t.Errorf("%d bytes are still counted", m.TransactionBytes)
			}
		})
	}
}
