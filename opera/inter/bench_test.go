package inter

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkDecodePayload decodes events as most of a network's are, with and without
// transactions.
func BenchmarkDecodePayload(b *testing.B) {
	for _, txs := range []int{0, 3} {
		random := rand.New(rand.NewPCG(1, 1))
		p := randomEvent(random, 1)
		p.Parents = nil
		for i := range 4 {
			p.Parents = append(p.Parents, NewEventID(p.Epoch, p.Lamport-1, [32]byte{byte(i)}))
		}
		p.Txs, p.Proofs, p.EpochVote, p.BlockVotes = nil, nil, EpochVote{}, BlockVotes{}
		for _, tx := range samples() {
			if len(p.Txs) < txs {
				p.Txs = append(p.Txs, tx)
			}
		}
		if err := p.Seal(); err != nil {
			b.Fatal(err)
		}
		raw, err := p.Encode()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("txs=%d", txs), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for range b.N {
				if _, err := DecodePayload(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
