package bench

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tarn/bench/watcher"
)

// A node that ends soon after its first answers is told from one that goes on.
func TestANodeThatAnswersAndEndsIsToldFromOneThatGoesOn(t *testing.T) {
	start := func(script string) *watcher.Child {
		c, err := watcher.Start(watcher.Command{Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log"), Every: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Kill)
		return c
	}
	if err := fallen(t.Context(), start("sleep 0.1; echo Fatal: a doublesign; exit 1"), time.Minute); err == nil || !strings.Contains(err.Error(), "Fatal: a doublesign") {
		t.Errorf("one that ends: %v", err)
	}
	if err := fallen(t.Context(), start("exit 0"), time.Minute); err == nil {
		t.Error("one that ends well goes on")
	}
	if err := fallen(t.Context(), start("sleep 100"), 50*time.Millisecond); err != nil {
		t.Errorf("one that goes on: %v", err)
	}
}
