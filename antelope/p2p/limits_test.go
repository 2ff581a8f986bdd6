package p2p

import (
	"reflect"
	"strings"
	"testing"
)

// A bound of zero or below is refused, whichever it is, and all of them at once. A network that
// is made with none of them says so.
func TestEachLimitMustBeSaid(t *testing.T) {
	l := DefaultLimits()
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	fields := reflect.TypeFor[Limits]()
	for i := range fields.NumField() {
		l, name := DefaultLimits(), fields.Field(i).Name
		reflect.ValueOf(&l).Elem().Field(i).SetZero()
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "limit "+name+" ") {
			t.Errorf("no %s: %v", name, err)
		}
		if v := reflect.ValueOf(&l).Elem().Field(i); v.CanInt() {
			v.SetInt(-1)
			if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "limit "+name+" ") {
				t.Errorf("%s of -1: %v", name, err)
			}
		}
	}
	o := DefaultOptions()
	o.Limits = Limits{}
	err := o.Validate()
	for i := range fields.NumField() {
		if err == nil || !strings.Contains(err.Error(), "limit "+fields.Field(i).Name+" ") {
			t.Errorf("%s is missing in %v", fields.Field(i).Name, err)
		}
	}
}

func TestLimitsThatContradictEachOtherAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Limits){
		"SoftQueue":        func(l *Limits) { l.SoftQueue = l.HardQueue + 1 },
		"ReadBuffer":       func(l *Limits) { l.ReadBuffer = l.MaxReadBuffer + 1 },
		"ConnTransactions": func(l *Limits) { l.ConnTransactions = l.Transactions + 1 },
		"ConnVotes":        func(l *Limits) { l.ConnVotes = l.Votes + 1 },
		"GossipPlace":      func(l *Limits) { l.GossipPlace = l.GossipBytes + 1 },
		"GossipAnswer":     func(l *Limits) { l.GossipAnswer = int(l.GossipChecks.Burst) + 1 },
		"GossipBytes":      func(l *Limits) { l.GossipBytes = l.GossipWaiting + 1 },
		"Noticed":          func(l *Limits) { l.Noticed = l.Response + 1 },
		"LargeBytes":       func(l *Limits) { l.LargeBytes = maxMessage },
	} {
		l := DefaultLimits()
		change(&l)
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "limit "+name+" ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
