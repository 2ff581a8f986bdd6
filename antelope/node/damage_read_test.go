package node

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"tarn/antelope/logging"
	"tarn/store"
)

func TestDamageThatAReaderMeetsIsLoggedOnceWithTheRemedy(t *testing.T) {
	var log bytes.Buffer
	n := &Node{o: Options{Log: logging.New(logging.Options{Err: &log}).Logger(""), StateDir: "/srv/state"}}
	if n.damaged(nil) || n.damaged(store.ErrNotFound) || n.damage.err() != nil || log.Len() > 0 {
		t.Fatalf("nothing is damaged: %s", log.String())
	}
	for _, err := range []error{&store.CorruptError{Path: "/srv/state/state.tarn", Page: 7}, &store.FaultError{Path: "/srv/state/state.tarn"}} {
		if !n.damaged(fmt.Errorf("read: %w", err)) {
			t.Errorf("%v is no damage", err)
		}
	}
	if err := n.damage.err(); err == nil || strings.Contains(err.Error(), "/srv") {
		t.Errorf("ready says %v", err)
	}
	said := log.String()
	if strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "error") || !strings.Contains(said, "--replay-blockchain") || !strings.Contains(said, "state.tarn") {
		t.Errorf("the log says %s", said)
	}
	if err := remedy(fmt.Errorf("apply: %w", &store.CorruptError{Path: "x"})); !strings.Contains(err.Error(), "--replay-blockchain") {
		t.Errorf("the end says %v", err)
	}
}
