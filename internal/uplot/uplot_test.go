package uplot

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

func TestTheFilesAreThoseOfTheRelease(t *testing.T) {
	for _, f := range []struct{ name, text, sum string }{
		{"uPlot.iife.min.js", script, "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f"},
		{"uPlot.min.css", style, "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04"},
		{"LICENSE", licence, "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd"},
	} {
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(f.text))); got != f.sum {
			t.Errorf("%s of uPlot %s has the sum %s, not %s", f.name, Version, got, f.sum)
		}
	}
	if !strings.Contains(script, "(v"+Version+")") {
		t.Errorf("the script does not say that it is version %s", Version)
	}
}

func TestEachCopyHasItsLicenceAndMayStandInAPage(t *testing.T) {
	for _, text := range []string{Script(), Style()} {
		if !strings.Contains(text, "Permission is hereby granted") || !strings.Contains(text, "Leon Sorokin") {
			t.Errorf("no licence in %.60q", text)
		}
		if strings.Contains(strings.ToLower(text), "</s") {
			t.Errorf("a page would end in %.60q", text)
		}
		// The licence must not end its comment early.
		if before, _, _ := strings.Cut(text, "\n*/\n"); strings.Contains(before[2:], "*/") {
			t.Errorf("the licence ends its own comment in %.60q", text)
		}
	}
}
