package node

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tarn/opera/p2p"
)

// Who connects and fails again and again gets a line a minute for each reason, and how many lines
// there were not; peers that the operator named have lines of their own, which warn.
func TestFailedHandshakesAreToldNowAndThen(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1e9, 0)
	r := &refusals{log: slog.New(slog.NewTextHandler(&out, nil)), now: func() time.Time { return now }}
	said := func() (lines []string) {
		lines = strings.Split(strings.TrimSpace(out.String()), "\n")
		out.Reset()
		return lines
	}
	stranger := p2p.Refusal{Reason: p2p.OtherGenesis, Peer: "12ab", Name: "go-opera/x", Address: "127.0.0.1:5050",
		Err: errors.New("Genesis object mismatch: 01, not 02")}
	for range 1000 {
		r.countRefusal(stranger)
	}
	other := stranger
	other.Reason = p2p.OtherNetwork
	r.countRefusal(other)
	named := stranger
	named.Kept = true
	r.countRefusal(named)
	lines := said()
	if len(lines) != 3 {
		t.Fatalf("lines are\n%s", strings.Join(lines, "\n"))
	}
	for i, want := range [][]string{
		{"level=INFO", `msg="Handshake failed"`, "reason=genesis", "peer=12ab", "addr=127.0.0.1:5050",
			`err="Genesis object mismatch: 01, not 02"`},
		{"level=INFO", "reason=network"}, {"level=WARN", "reason=genesis"},
	} {
		for _, part := range want {
			if !strings.Contains(lines[i], part) {
				t.Errorf("no %s in %s", part, lines[i])
			}
		}
	}
	now = now.Add(time.Minute)
	r.countRefusal(stranger)
	r.countRefusal(stranger)
	if lines := said(); len(lines) != 1 || !strings.Contains(lines[0], "unsaid=999") {
		t.Errorf("a minute later lines are\n%s", strings.Join(lines, "\n"))
	}
}
