package dag

import (
	"errors"
	"testing"

	"tarn/opera/inter"
)

// set makes validators 1, 2, ... with those weights.
func set(t testing.TB, weights ...inter.Weight) *inter.Validators {
	t.Helper()
	var list []inter.Validator
	for i, w := range weights {
		list = append(list, inter.Validator{ID: inter.ValidatorID(i + 1), Weight: w})
	}
	v, err := inter.NewValidators(list)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func epoch(t testing.TB, o Options) *Epoch {
	t.Helper()
	return New(o)
}

// drain takes all decisions that wait.
func drain(t testing.TB, e *Epoch) []*Decision {
	t.Helper()
	var all []*Decision
	for {
		d, err := e.Next()
		if err != nil {
			t.Fatal(err)
		}
		if d == nil {
			return all
		}
		all = append(all, d)
	}
}

func TestASingleValidatorDecidesAFrameWithEachEvent(t *testing.T) {
	e := epoch(t, Options{Number: 7, Validators: set(t, 5), Start: 100})
	var parents []inter.EventID
	for seq := inter.Seq(1); seq <= 10; seq++ {
		ev := &Event{
			ID: inter.NewEventID(7, inter.Lamport(seq), [32]byte{byte(seq)}), Creator: 1, Seq: seq,
			Frame: inter.Frame(seq), MedianTime: inter.Timestamp(100 + seq), CreationTime: inter.Timestamp(100 + seq),
			Parents: parents,
		}
		frame, median, err := e.Build(ev)
		if err != nil || frame != ev.Frame || median != ev.MedianTime {
			t.Fatalf("event %d: built with frame %d, time %d: %v", seq, frame, median, err)
		}
		if err := e.Add(ev); err != nil {
			t.Fatal(err)
		}
		parents = []inter.EventID{ev.ID}
		decisions := drain(t, e)
		if seq < 3 {
			if len(decisions) != 0 {
				t.Fatalf("event %d decided %v", seq, decisions)
			}
			continue
		}
		want := inter.NewEventID(7, inter.Lamport(seq-2), [32]byte{byte(seq - 2)})
		if len(decisions) != 1 || decisions[0].Atropos != want || decisions[0].Frame != inter.Frame(seq-2) ||
			len(decisions[0].Confirmed) != 1 || decisions[0].Confirmed[0] != want {
			t.Fatalf("event %d decided %v", seq, decisions)
		}
	}
}

func TestARefusedEventLeavesNothing(t *testing.T) {
	e := epoch(t, Options{Number: 7, Validators: set(t, 1, 1), Start: 100})
	id := func(n byte) inter.EventID { return inter.NewEventID(7, 1, [32]byte{n}) }
	first := Event{ID: id(1), Creator: 1, Seq: 1, Frame: 1, MedianTime: 100, CreationTime: 200}
	for name, c := range map[string]struct {
		change func(*Event)
		want   error
	}{
		"time":    {func(ev *Event) { ev.MedianTime++ }, ErrWrongMedianTime},
		"frame":   {func(ev *Event) { ev.Frame++ }, ErrWrongFrame},
		"frame 0": {func(ev *Event) { ev.Frame = 0 }, ErrWrongFrame},
		"both":    {func(ev *Event) { ev.Frame++; ev.MedianTime++ }, ErrWrongMedianTime},
		"creator": {func(ev *Event) { ev.Creator = 9 }, nil},
		"epoch":   {func(ev *Event) { ev.ID = inter.NewEventID(8, 1, [32]byte{1}) }, nil},
		"parent":  {func(ev *Event) { ev.Parents = []inter.EventID{id(2)} }, nil},
		"self":    {func(ev *Event) { ev.Seq = 2 }, nil},
	} {
		ev := first
		c.change(&ev)
		err := e.Add(&ev)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if e.Len() != 0 || len(e.nodes) != 1 || e.Has(ev.ID) || len(drain(t, e)) != 0 {
			t.Errorf("%s: the refused event left something", name)
		}
	}
	if err := e.Add(&first); err != nil {
		t.Fatal(err)
	}
	if err := e.Add(&first); err == nil {
		t.Error("an event was added twice")
	}
}

func TestNothingIsDecidedAgainstAllRoots(t *testing.T) {
	e := epoch(t, Options{Number: 7, Validators: set(t, 5), Start: 100})
	// As parts of the network that do not see each other may leave it, if enough forked.
	e.election.decided[0] = true
	var parents []inter.EventID
	for seq := inter.Seq(1); seq <= 3; seq++ {
		id := inter.NewEventID(7, inter.Lamport(seq), [32]byte{})
		if err := e.Add(&Event{ID: id, Creator: 1, Seq: seq, Frame: inter.Frame(seq), MedianTime: 9, CreationTime: 9,
			Parents: parents}); err != nil {
			t.Fatal(err)
		}
		parents = []inter.EventID{id}
	}
	for range 2 {
		if d, err := e.Next(); d != nil || !errors.Is(err, ErrByzantine) {
			t.Errorf("decided %v: %v", d, err)
		}
	}
}

// An epoch may have no validators: then it has no event, and decides nothing.
func TestAnEpochWithoutValidatorsDecidesNothing(t *testing.T) {
	e := epoch(t, Options{Number: 7, Validators: set(t), Start: 100})
	err := e.Add(&Event{ID: inter.EventID{3: 7}, Creator: 1, Seq: 1, Frame: 1, MedianTime: 100, CreationTime: 100})
	if err == nil || e.Len() != 0 {
		t.Errorf("an event of nobody: %v, %d events", err, e.Len())
	}
	if all := drain(t, e); len(all) != 0 || e.Decided() != 0 {
		t.Errorf("decided are %d, up to frame %d", len(all), e.Decided())
	}
}
