package node

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressSaysRateAndTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		p := NewProgress(slog.New(slog.NewTextHandler(&said, nil)), "Working", 10*time.Second)
		for range 5 * (skipped + 1) { // a line for the first look after ten seconds
			time.Sleep(2 * time.Second / (skipped + 1))
			p.Items(50, 200, "block", 7)
		}
		for _, part := range []string{"msg=Working", "block=7", "percent=25.0", "left=30s", "rate=5/s"} {
			if strings.Count(said.String(), part) != 1 {
				t.Errorf("%q in %q", part, said.String())
			}
		}
	})
}
