package node

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tarn/opera/chain"
	"tarn/opera/statesync"
)

// While the writer computes the root of a state, however long that takes, a node says that it is
// alive, that it is not ready, and how far it is.
func TestABusyWriterKeepsNoQuestionWaiting(t *testing.T) {
	n := open(t, options(t.TempDir(), io.Discard))
	busy, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- n.Do(t.Context(), func(*chain.Chain) error {
			close(busy)
			<-free
			return nil
		})
	}()
	<-busy
	ahead := &overtaking{n: n, states: statesync.New(statesync.Options{}), now: time.Now}
	ahead.at.Store(&stage{epoch: 7})
	var o observed
	hide := o.open(n)
	unserve := o.serves(n, &beside{pool: empty{}, ahead: ahead}, time.Hour)
	mux := http.NewServeMux()
	o.mount(mux)
	answered := make(chan map[string]string, 1)
	go func() {
		said := map[string]string{}
		for _, path := range []string{"/livez", "/readyz", "/metrics"} {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			said[path] = w.Body.String()
		}
		answered <- said
	}()
	select {
	case said := <-answered:
		for path, want := range map[string]string{"/livez": "alive", "/metrics": "tarn_opera_snap_epoch 7"} {
			if !strings.Contains(said[path], want) {
				t.Errorf("%s: %s", path, said[path])
			}
		}
	case <-time.After(time.Minute):
		t.Error("a question waits for the writer")
	}
	if pulled, known := ahead.States(); pulled != 0 || known != 0 {
		t.Errorf("%d of %d parts of a state came", pulled, known)
	}
	close(free)
	if err := <-done; err != nil {
		t.Error(err)
	}
	unserve()
	hide()
	shut(t, n)
}

// empty is a pool in which nothing waits.
type empty struct{}

func (empty) Stats() (pending, queued int) { return 0, 0 }
