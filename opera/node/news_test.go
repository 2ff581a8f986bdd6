package node

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tarn/opera/chain"
	"tarn/opera/inter"
)

// Blocks that come one by one are said one by one, and those that come fast together.
func TestBlocksAreSaid(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(100, 0)
	n := &news{log: slog.New(slog.NewTextHandler(&out, nil)), now: func() time.Time { return now }}
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
	n.mu.Lock()
	defer n.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 || !strings.Contains(lines[0], "index=1 ") || !strings.Contains(lines[0], "age=1s") ||
		strings.Contains(lines[3], "blocks=") ||
		!strings.Contains(lines[4], "index=54 ") || !strings.Contains(lines[4], "blocks=50") {
		t.Errorf("%d lines:\n%s", len(lines), out.String())
	}
}

// A node that caught up says where it is, though no block follows.
func TestTheLastBlockIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		n := &news{log: slog.New(slog.NewTextHandler(&out, nil)), now: time.Now}
		for number := range inter.BlockNumber(100) {
			n.block(&chain.Block{Number: number, Time: inter.Timestamp(time.Now().UnixNano())})
		}
		time.Sleep(newsEvery)
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[1], "index=99 ") || !strings.Contains(lines[1], "blocks=99") {
			t.Errorf("%d lines:\n%s", len(lines), out.String())
		}
		// So does one that ends, and nothing is said after that.
		n.block(&chain.Block{Number: 100})
		n.close()
		if text := out.String(); !strings.Contains(text, "index=100 ") {
			t.Errorf("%s", text)
		}
		before := out.String()
		time.Sleep(time.Minute)
		synctest.Wait()
		if out.String() != before {
			t.Errorf("said after the end: %s", out.String())
		}
	})
}

func TestAgesAreGoOperas(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		0: "0s", 1234567 * time.Microsecond: "1.235s", time.Minute + time.Second: "1m1s", 26*time.Hour + 3*time.Minute +
			time.Second: "1d2h3m",
		51969 * time.Hour: "6y5d9h", -90 * time.Second: "-1m30s", 31*day + 90*time.Second: "1mo1d1m",
	} {
		if got := blockAge(d).String(); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
