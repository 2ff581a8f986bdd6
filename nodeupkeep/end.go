package nodeupkeep

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"tarn/internal/sdnotify"
	"tarn/store"
)

// Watch is who hears how a node is doing while it starts, runs and ends: its log, and the
// service manager. The zero value of Manager is nobody.
type Watch struct {
	Log     *slog.Logger
	Manager sdnotify.Manager
}

// Tell logs that the service manager did not hear something, as which it is no more than
// worth a look.
func (w Watch) Tell(err error) {
	if err != nil {
		w.Log.Debug(err.Error())
	}
}

// Stopping says that the end of the node has begun.
func (w Watch) Stopping() { w.Tell(w.Manager.Stopping()) }

// Again says of a signal to stop that the node is stopping already.
func (w Watch) Again(s os.Signal) {
	w.Log.Warn(fmt.Sprintf("Received %v again: the node is stopping already; it ends as soon as its state is safe", s))
}

// Serving says that the start is over.
func (w Watch) Serving() {
	w.Tell(w.Manager.Ready())
	w.Tell(w.Manager.Status("serving"))
}

// endStep is how often the end of a node tells how far it is.
const endStep = 2 * time.Second

// Save calls save, which makes the state in s durable at the end of a node. Each two seconds
// it says how far that is, and asks the service manager for more time.
func (w Watch) Save(s store.Store, save func() error) error {
	before, start := s.Stats(), time.Now()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		t := time.NewTicker(endStep)
		defer t.Stop()
		for {
			select {
			case <-stop:
				return
			case <-t.C:
				w.Tell(w.Manager.Extend(10 * endStep))
				w.saving(s.Stats(), before, time.Since(start))
			}
		}
	}()
	err := save()
	close(stop)
	<-stopped
	if err == nil {
		w.Log.Info("The state is saved", "block", s.Durable().Head,
			"mb", (s.Stats().Written.Total()-before.Written.Total())>>20,
			"seconds", fmt.Sprintf("%.1f", time.Since(start).Seconds()))
	}
	return err
}

// saving says how far a save is, and how long the rest will take at its rate.
func (w Watch) saving(now, before store.Stats, taken time.Duration) {
	written := now.Written.Total() - before.Written.Total()
	args := []any{"written_mb", written >> 20, "of_mb", before.DirtyBytes >> 20, "seconds", int(taken.Seconds())}
	if left := before.DirtyBytes - written; written > 0 && left > 0 {
		args = append(args, "seconds_left", int(taken.Seconds()*float64(left)/float64(written)))
	}
	w.Log.Info("Saving the state", args...)
}
