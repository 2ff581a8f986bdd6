package dbtool

import (
	"strings"
	"testing"
	"time"
)

func TestNumbersReadWell(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000",
		-999: "-999"} {
		if got := formatGrouped(n); got != want {
			t.Errorf("grouped(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{-1: "? bytes", 0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 KiB",
		3 << 29: "1.5 GiB", 1 << 60: "1024.0 PiB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestSizesAreReadAsPeopleWriteThem(t *testing.T) {
	for s, want := range map[string]int64{"0": 0, "4096": 4096, "64G": 64 << 30, "512m": 512 << 20, "1.5 GiB": 3 << 29,
		"2TB": 2 << 40, "7 bytes": 7} {
		if got, err := parseSize(s); err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "G", "-1", "1X", "1.2.3", "99999999T", "NaN", "Inf"} {
		if got, err := parseSize(s); err == nil {
			t.Errorf("parseSize(%q) = %d, want an error", s, got)
		}
	}
}

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestProgressIsSilentWhenWorkIsQuick(t *testing.T) {
	var out strings.Builder
	c := &clock{at: time.Unix(1000, 0)}
	p := &display{out: &out, now: c.now}
	p.begin("copying", 0, 1<<20)
	for range 1000 {
		c.at = c.at.Add(time.Millisecond)
		p.add(256)
	}
	p.end()
	if out.Len() > 0 {
		t.Fatalf("said %q", out.String())
	}
}

func TestProgressTellsRateAndTimeLeft(t *testing.T) {
	var out strings.Builder
	c := &clock{at: time.Unix(1000, 0)}
	p := &display{out: &out, now: c.now}
	p.begin("copying", 1024, 1024+4096)
	for range 4 {
		c.at = c.at.Add(time.Second)
		p.add(512)
	}
	p.end()
	if got, want := out.String(), "copying: 2,048 of 5,120 rows (40.0 %), 512 rows/s, 6s left\n"; got != want {
		t.Fatalf("said %q, want %q", got, want)
	}
}

func TestProgressOnATerminalStaysOnItsLine(t *testing.T) {
	var out strings.Builder
	c := &clock{at: time.Unix(1000, 0)}
	p := &display{out: &out, now: c.now, terminal: true}
	p.begin("verifying", 0, -1)
	for range 30 {
		c.at = c.at.Add(100 * time.Millisecond)
		p.tick()
	}
	p.end()
	if n := strings.Count(out.String(), "\n"); n != 1 || !strings.HasSuffix(out.String(), "verifying: 3s so far\n") {
		t.Fatalf("%d lines: %q", n, out.String())
	}
}
