package node

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// heard gives a log's lines to who waits for them.
type heard chan string

func (l heard) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// Signals after the one that stops a node do not end it while it saves its state.
func TestANodeThatStopsOutlivesFurtherSignals(t *testing.T) {
	said := make(heard, 1000)
	l := &invocation{services: services{log: slog.New(slog.NewTextHandler(said, nil))}}
	ctx, cancel := context.WithCancel(context.Background())
	stop := l.absorbSignals(ctx)
	defer func() {
		// A signal that was sent twice may still be on its way, and would end the tests.
		late := make(chan os.Signal, 1)
		signal.Notify(late, syscall.SIGINT, syscall.SIGTERM)
		stop()
		time.Sleep(300 * time.Millisecond)
		signal.Stop(late)
	}()
	cancel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGINT} {
		for answered := false; !answered; {
			// The listener may still be on its way: then nobody hears the signal.
			if err := syscall.Kill(os.Getpid(), s); err != nil {
				t.Fatal(err)
			}
			select {
			case line := <-said:
				answered = strings.Contains(line, "Received "+s.String()+" again")
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}
