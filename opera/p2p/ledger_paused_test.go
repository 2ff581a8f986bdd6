package p2p

import (
	"errors"
	"testing"

	"tarn/opera/inter"
)

// An event can bring it about that no other may be connected: those that came with it are not.
func TestAPauseIsHeardBeforeTheNextEvent(t *testing.T) {
	made, l := openLedger(t, t.TempDir(), 1), openLedger(t, t.TempDir(), 1)
	defer made.close(t, false)
	defer l.close(t, false)
	fill(t, made)
	var events []*inter.Payload
	if err := made.Events(inter.EventID{}, func(_ inter.EventID, raw []byte) bool {
		p, err := inter.DecodePayload(raw)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, p)
		return len(events) < 5
	}); err != nil {
		t.Fatal(err)
	}
	paused, connected := errors.New("the network demands another version"), 0
	l.paused = func() error {
		if connected == 2 {
			return paused
		}
		return nil
	}
	_, err := NewLedger(l.Chain.Chain, l).Connect(t.Context(), events, func(int) {}, func(_ int, err error) {
		if err != nil {
			t.Error(err)
		}
		connected++
	})
	if !errors.Is(err, paused) || connected != 2 {
		t.Errorf("%d of %d events are connected, and then %v", connected, len(events), err)
	}
	if has, err := l.HasEvent(events[2].ID()); has || err != nil {
		t.Errorf("the event after the pause is connected: %v, %v", has, err)
	}
}
