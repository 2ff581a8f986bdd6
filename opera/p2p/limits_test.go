package p2p

import (
	"reflect"
	"strings"
	"testing"
)

// A bound of zero or below is refused, whichever it is, and all of them at once. A node that is
// made with none of them says so.
func TestEachLimitMustBeSaid(t *testing.T) {
	l := DefaultLimits()
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	fields := reflect.TypeFor[Limits]()
	for i := range fields.NumField() {
		l, name := DefaultLimits(), fields.Field(i).Name
		reflect.ValueOf(&l).Elem().Field(i).SetZero()
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "limit "+name) {
			t.Errorf("no %s: %v", name, err)
		}
		if v := reflect.ValueOf(&l).Elem().Field(i); v.CanInt() {
			v.SetInt(-1)
			if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "limit "+name) {
				t.Errorf("%s of -1: %v", name, err)
			}
		}
	}
	_, err := New(Options{Ledger: &graph{}, Server: Server{Key: newKey(t)}})
	for i := range fields.NumField() {
		if err == nil || !strings.Contains(err.Error(), "limit "+fields.Field(i).Name) {
			t.Errorf("%s is missing in %v", fields.Field(i).Name, err)
		}
	}
}

func TestLimitsThatContradictEachOtherAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Limits){
		"OrderEvents":   func(l *Limits) { l.OrderEvents = l.IntakeEvents + 1 },
		"OrderBytes":    func(l *Limits) { l.OrderBytes = l.IntakeBytes + 1 },
		"StreamItems":   func(l *Limits) { l.StreamItems = hardItems },
		"StreamBytes":   func(l *Limits) { l.StreamBytes = maxAsked + 1 },
		"State.Bytes":   func(l *Limits) { l.State.Bytes = -1 },
		"State.Lookups": func(l *Limits) { l.State.Lookups = 0 },
		"State.Time":    func(l *Limits) { l.State.Time = 0 },
	} {
		l := DefaultLimits()
		change(&l)
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "limit "+name+" ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
