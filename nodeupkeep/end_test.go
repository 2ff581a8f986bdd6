package nodeupkeep

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tarn/internal/sdnotify"
	"tarn/store"
)

// slow is a store whose save takes its time.
type slow struct {
	store.Store
	written atomic.Int64
}

func (s *slow) Stats() store.Stats {
	return store.Stats{DirtyBytes: 100 << 20, Written: store.Written{Checkpoint: s.written.Load()}}
}

func (s *slow) Durable() store.Durable { return store.Durable{Head: 7} }

// The end of a node says how far it is and how long the rest takes, and that it is done.
func TestALongSaveIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := Watch{Log: slog.New(slog.NewTextHandler(&log, nil))}
		s := &slow{}
		err := w.Save(s, func() error {
			time.Sleep(endStep / 2)
			s.written.Store(50 << 20)
			time.Sleep(2 * endStep)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		for _, want := range []string{"written_mb=50 of_mb=100 seconds=2 seconds_left=2", "seconds=4",
			"The state is saved", "block=7 mb=50 seconds=5.0"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("nothing says %q:\n%s", want, &log)
			}
		}
		log.Reset()
		no := errors.New("no disk")
		if err := w.Save(s, func() error { return no }); !errors.Is(err, no) || log.Len() > 0 {
			t.Errorf("%v: %s", err, &log)
		}
	})
}

// The service manager hears when the node serves and when it ends.
func TestTheManagerHearsOfANodesLife(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := Watch{Log: slog.New(slog.DiscardHandler), Manager: sdnotify.Manager{Socket: path}}
	w.Serving()
	w.Stopping()
	for _, want := range []string{"READY=1", "STATUS=serving", "STOPPING=1"} {
		b := make([]byte, 100)
		n, err := c.Read(b)
		if err != nil || string(b[:n]) != want {
			t.Errorf("%q, want %s: %v", b[:n], want, err)
		}
	}
}
