package invariants

import (
	"bytes"
	"testing"
)

func TestCheckPanicsOnlyInInvariantBuilds(t *testing.T) {
	defer func() {
		got := recover()
		if !Enabled {
			if got != nil {
				t.Fatalf("a plain build panicked: %v", got)
			}
			return
		}
		if got != "invariant broken: page 7 is free twice" {
			t.Fatalf("panic %v", got)
		}
	}()
	Check(true, "never")
	Check(false, "page %d is free twice", 7)
}

func TestPoisonOverwritesOnlyInInvariantBuilds(t *testing.T) {
	b := []byte("row")
	Poison(b)
	want := []byte("row")
	if Enabled {
		want = bytes.Repeat([]byte{poison}, 3)
	}
	if !bytes.Equal(b, want) {
		t.Fatalf("%x, want %x", b, want)
	}
}
