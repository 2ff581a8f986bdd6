package node

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"tarn/antelope/logging"
	"tarn/antelope/ship/shiplog"
	"tarn/antelope/tracelog"
	"tarn/antelope/tracelog/slicefile"
	"tarn/store"
	"tarn/store/vfs/torntail"
)

func TestDamageThatAReaderMeetsIsLoggedOnceWithTheRemedy(t *testing.T) {
	for part, x := range map[string]struct {
		errs   []error
		remedy string
	}{
		"the state":         {[]error{&store.CorruptError{Path: "/srv/a/file", Page: 7}, &store.FaultError{Path: "/srv/a/file"}}, "--replay-blockchain"},
		"a log of blocks":   {[]error{&torntail.Damage{Path: "/srv/a/file", Offset: 7, Remedy: "Restore it"}}, "Restore it"},
		"the state history": {[]error{fmt.Errorf("/srv/a/file: offset 5: %w", shiplog.ErrCorrupt)}, "tarn history verify"},
		"the traces":        {[]error{fmt.Errorf("/srv/a/file: offset 5: %w", slicefile.ErrCorrupt)}, "tarn history verify"},
	} {
		var log bytes.Buffer
		n := &Node{o: Options{Log: logging.New(logging.Options{Err: &log}).Logger(""), StateDir: "/srv/a",
			BlocksDir: "/srv/a", History: &History{}, Traces: &tracelog.Options{}}}
		if n.noteDamage(nil) || n.noteDamage(store.ErrNotFound) || n.damage.err() != nil || log.Len() > 0 {
			t.Fatalf("nothing is damaged: %s", log.String())
		}
		for range 3 {
			for _, err := range x.errs {
				if !n.noteDamage(fmt.Errorf("read: %w", err)) {
					t.Errorf("%v is no damage", err)
				}
			}
		}
		if err := n.damage.err(); err == nil || strings.Contains(err.Error(), "/srv") ||
			!strings.HasPrefix(err.Error(), part) {
			t.Errorf("ready says %v", err)
		}
		said := log.String()
		if strings.Count(said, "\n") != len(x.errs) || !strings.HasPrefix(said, "error") ||
			!strings.Contains(said, x.remedy) || !strings.Contains(said, "/srv/a/file") {
			t.Errorf("%s: the log says %s", part, said)
		}
		if err := remedy(fmt.Errorf("apply: %w", x.errs[0])); !strings.Contains(err.Error(), x.remedy) {
			t.Errorf("%s: the end says %v", part, err)
		}
		for i := range 3 * mostSaid { // strangers read many places
			n.noteDamage(fmt.Errorf("%d: %w", i, x.errs[0]))
		}
		if lines := strings.Count(log.String(), "\n"); lines != mostSaid {
			t.Errorf("%s: the log has %d lines", part, lines)
		}
	}
}
