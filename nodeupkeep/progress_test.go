package nodeupkeep

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Of what takes long there is a line after two seconds, and then each so often; of what is done
// before, none.
func TestProgressSaysRateAndTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		p := NewProgress(slog.New(slog.NewTextHandler(&said, nil)), "Working", 10*time.Second)
		report := func(seconds int, done uint64) {
			for range seconds * (skipped + 1) {
				time.Sleep(time.Second / (skipped + 1))
				p.Items(done, 200, "block", 7)
			}
		}
		report(1, 5)
		if said.Len() != 0 {
			t.Errorf("within a second it says %q", said.String())
		}
		report(1, 10)
		if text := said.String(); strings.Count(text, "\n") != 1 ||
			!strings.Contains(text, "percent=5.0 left=38s rate=5/s") {
			t.Errorf("after two seconds it says %q", text)
		}
		said.Reset()
		report(10, 60)
		if text := said.String(); strings.Count(text, "\n") != 1 ||
			!strings.Contains(text, "msg=Working block=7 percent=30.0 left=28s rate=5/s") {
			t.Errorf("ten seconds later it says %q", text)
		}
	})
}

// On a terminal a line changes in its place, the log goes on above it, and nothing is left of
// it at the end.
func TestALineOnATerminalChangesInItsPlace(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	live := &Live{out: out} // a pipe has no width: 80 columns
	log := slog.New(live.Handler(slog.NewTextHandler(live, nil))).With("of", "a test")
	synctest.Test(t, func(t *testing.T) {
		p := NewProgress(log, "Importing", time.Hour)
		for range 30 * (skipped + 1) {
			time.Sleep(100 * time.Millisecond / (skipped + 1))
			p.Bytes(1e6, 4e6, "block", 7, "long", strings.Repeat("x", 100))
		}
		log.Info("Something else")
		p.Done("Imported")
	})
	out.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(string(text), erase)
	last := all[len(all)-1]
	if n := len(all); n < 5 || n > 10 ||
		!strings.HasPrefix(all[1], "Importing 25.0 % 6s left 0.5 MB/s  block=7 long=xxx") || len(all[1]) != 79 {
		t.Errorf("lines %q", all)
	}
	if !strings.Contains(last, "Imported") || strings.Contains(last, "Importing") {
		t.Errorf("at the end %q", last)
	}
	if said := all[len(all)-2]; !strings.Contains(said, "Something else") || !strings.Contains(said, "\nImporting ") {
		t.Errorf("beside the line %q", said)
	}
	if NewLive(out) != nil || NewLive(new(bytes.Buffer)) != nil {
		t.Error("what is no terminal has a line")
	}
}
