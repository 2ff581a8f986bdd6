package nodeupkeep

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// Damage is logged with what helps, once for each place and not for ever; whoever asks hears no path.
func TestDamageThatRequestsMeetIsTheOperators(t *testing.T) {
	var log bytes.Buffer
	damaged := errors.New("/srv/state: store is damaged")
	d := &Damage{
		Log: slog.New(slog.NewTextHandler(&log, nil)), Is: func(err error) bool { return errors.Is(err, damaged) },
		Remedy: func(err error) error { return fmt.Errorf("restore it: %w", err) },
	}
	if d.Met(nil) || d.Met(errors.New("no such row")) || d.Err() != nil || log.Len() > 0 {
		t.Errorf("%v, %s", d.Err(), log.String())
	}
	for place := range 100 {
		for range 3 {
			if !d.Met(fmt.Errorf("page %d: %w", place, damaged)) {
				t.Error("damage is none")
			}
		}
	}
	if n := strings.Count(log.String(), "restore it: page"); n != saidDamages {
		t.Errorf("it is said %d times", n)
	}
	if err := d.Err(); err == nil || strings.Contains(err.Error(), "/srv") {
		t.Error(err)
	}
}
