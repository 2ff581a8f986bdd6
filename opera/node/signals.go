package node

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"tarn/nodeupkeep"
)

// absorbSignals says of each signal after the one that ended ctx that the node is stopping already,
// until the function that it returns is called. Without it a second signal would end the
// process in the middle of saving: nothing would be lost, but the next start would have to
// make the last blocks again.
func (l *invocation) absorbSignals(ctx context.Context) func() {
	// Nobody reads held. While it is registered the process outlives signals, also between
	// the end of ctx and the moment when later is registered.
	held, later := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(held, os.Interrupt, syscall.SIGTERM)
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		signal.Notify(later, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(later)
		for {
			select {
			case <-done:
				return
			case s := <-later:
				nodeupkeep.Watch{Log: l.log}.Again(s)
			}
		}
	}()
	return func() {
		close(done)
		<-gone
		signal.Stop(held)
	}
}
