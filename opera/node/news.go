package node

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"tarn/opera/chain"
	"tarn/opera/inter"
)

// news says in the log which blocks are made, in go-opera's words: each where they come one
// after the other, and how many where they come fast. The last one is said in any case. It may
// be told by one goroutine, and closed by another.
type news struct {
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	said   time.Time
	unsaid int // blocks since
	last   saidBlock
	timer  *time.Timer // says the last one; nil while there is nothing unsaid
	closed bool
}

// saidBlock is what is said of a block, which is not kept for that.
type saidBlock struct {
	number       inter.BlockNumber
	id           inter.EventID
	gas          uint64
	txs, skipped int
	time         time.Time
}

// newsEvery is the time between two lines at least.
const newsEvery = time.Second

// block is told of each block.
func (n *news) block(b *chain.Block) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = saidBlock{b.Number, b.ID, b.GasUsed, len(b.Txs), len(b.Skipped), time.Unix(0, int64(b.Time))}
	n.unsaid++
	switch rest := newsEvery - n.now().Sub(n.said); {
	case rest <= 0:
		n.say()
	case n.timer == nil && !n.closed:
		n.timer = time.AfterFunc(rest, n.flush)
	}
}

// flush says the last block, if it was not said.
func (n *news) flush() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.say()
}

// close says what is unsaid.
func (n *news) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.say()
}

// say says the last block. The caller holds mu.
func (n *news) say() {
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
	if n.unsaid == 0 {
		return
	}
	b, now := &n.last, n.now()
	args := []any{"index", b.number, "id", fmt.Sprintf("%d:%d:%x", b.id.Epoch(), b.id.Lamport(), b.id[8:11]),
		"gas_used", b.gas,
		"txs", fmt.Sprintf("%d/%d", b.txs, b.skipped), "age", blockAge(now.Sub(b.time))}
	if n.unsaid > 1 {
		args = append(args, "blocks", n.unsaid)
	}
	n.log.Info("New block", args...)
	n.said, n.unsaid = now, 0
}

// blockAge is how old a block is, as go-opera's log has it: the three largest units, of which years
// have 360 days, and of a young one the seconds with three digits.
type blockAge time.Duration

// String implements fmt.Stringer.
func (a blockAge) String() string {
	const day = 24 * time.Hour
	var b strings.Builder
	rest := time.Duration(a)
	if rest < 0 {
		b.WriteByte('-')
		rest = -rest
	}
	shown := 0
	for _, unit := range []struct {
		size   time.Duration
		symbol string
	}{{360 * day, "y"}, {30 * day, "mo"}, {day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if rest <= unit.size {
			continue
		}
		fmt.Fprintf(&b, "%d%s", rest/unit.size, unit.symbol)
		rest %= unit.size
		if shown++; shown == 3 {
			return b.String()
		}
	}
	return b.String() + rest.Round(time.Millisecond).String()
}
