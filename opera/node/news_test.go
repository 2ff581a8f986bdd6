package node

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tarn/opera/chain"
	"tarn/opera/inter"
)

// Blocks that come one by one are said one by one, and those that come fast together.
func TestBlocksAreSaid(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(100, 0)
	n := news{log: slog.New(slog.NewTextHandler(&out, nil)), now: func() time.Time { return now }}
	number := inter.BlockNumber(0)
	block := func() {
		number++
		n.block(&chain.Block{Number: number, Time: inter.Timestamp(99 * time.Second)})
	}
	for range 3 {
		block()
		now = now.Add(newsEvery)
	}
	for range 50 {
		block()
	}
	now = now.Add(newsEvery)
	block()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 || !strings.Contains(lines[0], "index=1 ") || !strings.Contains(lines[0], "age=1s") || strings.Contains(lines[3], "blocks=") ||
		!strings.Contains(lines[4], "index=54 ") || !strings.Contains(lines[4], "blocks=50") {
		t.Errorf("%d lines:\n%s", len(lines), out.String())
	}
}
