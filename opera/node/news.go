package node

import (
	"fmt"
	"log/slog"
	"time"

	"tarn/opera/chain"
)

// news says in the log which blocks are made, in go-opera's words: each where they come one
// after the other, and how many where they come fast. It belongs to the writer.
type news struct {
	log    *slog.Logger
	now    func() time.Time
	said   time.Time
	unsaid int // blocks since
}

// newsEvery is the time between two lines at least.
const newsEvery = time.Second

// block is told of each block.
func (n *news) block(b *chain.Block) {
	n.unsaid++
	now := n.now()
	if now.Sub(n.said) < newsEvery {
		return
	}
	args := []any{"index", b.Number, "id", fmt.Sprintf("%d:%d:%x", b.ID.Epoch(), b.ID.Lamport(), b.ID[8:11]), "gas_used", b.GasUsed,
		"txs", fmt.Sprintf("%d/%d", len(b.Txs), len(b.Skipped)), "age", now.Sub(time.Unix(0, int64(b.Time))).Round(time.Millisecond)}
	if n.unsaid > 1 {
		args = append(args, "blocks", n.unsaid)
	}
	n.log.Info("New block", args...)
	n.said, n.unsaid = now, 0
}
