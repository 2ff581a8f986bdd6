package ship

import (
	"reflect"
	"strings"
	"testing"
)

// A bound of zero is refused, whichever it is, and all of them at once; a server that is made
// with none of them says so.
func TestEachLimitMustBeSaid(t *testing.T) {
	l := DefaultLimits()
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	fields := reflect.TypeFor[Limits]()
	_, none := new(History).Serve(ServerOptions{})
	for i := range fields.NumField() {
		l, name := DefaultLimits(), fields.Field(i).Name
		reflect.ValueOf(&l).Elem().Field(i).SetZero()
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "limit "+name+" ") {
			t.Errorf("no %s: %v", name, err)
		}
		if none == nil || !strings.Contains(none.Error(), "limit "+name+" ") {
			t.Errorf("%s is missing in %v", name, none)
		}
	}
}

func TestLimitsThatContradictEachOtherAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Limits){
		"EachSessions": func(l *Limits) { l.EachSessions = l.Sessions + 1 },
		"RequestBytes": func(l *Limits) { l.RequestBytes = l.RequestsBytes + 1 },
	} {
		l := DefaultLimits()
		change(&l)
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "limit "+name+" ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
