package resourcemonitor

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tarn/procusage"
)

func options(b *bytes.Buffer, look func(string) (procusage.Space, error)) Options {
	return Options{Interval: time.Millisecond, Threshold: 90, WarningEvery: 3,
		Log: slog.New(slog.NewTextHandler(b, nil)), look: look}
}

// a disk of 1000 GiB
func withAvailable(available *uint64) func(string) (procusage.Space, error) {
	return func(string) (procusage.Space, error) {
		return procusage.Space{Device: 1, Size: 1000 << 30, Free: int64(*available) << 30}, nil
	}
}

func TestANodeStopsBeforeItsDiskIsFull(t *testing.T) {
	for _, c := range []struct {
		available, absolute uint64
		keep                bool
		stops, warns        bool
	}{
		{available: 151},
		{available: 140, warns: true},
		{available: 100, warns: true},
		{available: 99, stops: true},
		{available: 99, keep: true},
		{available: 99, absolute: 50},
		{available: 54, absolute: 50, warns: true},
		{available: 49, absolute: 50, stops: true},
		{available: 5, absolute: 5, warns: true}, // below 10 GiB the warning is 1 GiB before
	} {
		var b bytes.Buffer
		o := options(&b, withAvailable(&c.available))
		o.Absolute, o.KeepRunning = c.absolute, c.keep
		m, err := New(o, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if stops := m.check() != "" && !c.keep; stops != c.stops ||
			strings.Contains(b.String(), "approaching threshold") != c.warns {
			t.Errorf("%+v: %s", c, b.String())
		}
		if strings.Contains(b.String(), "exceeded threshold") != (c.stops || c.keep) {
			t.Errorf("%+v: %s", c, b.String())
		}
		if c.stops && m.Run(t.Context()) == nil {
			t.Errorf("%+v: it goes on", c)
		}
	}
}

func TestWarningsComeEverySoManyLooks(t *testing.T) {
	available := uint64(140)
	var b bytes.Buffer
	m, err := New(options(&b, withAvailable(&available)), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for range 7 {
		m.check()
	}
	if n := strings.Count(b.String(), "approaching"); n != 3 {
		t.Errorf("%d warnings in 7 looks: %s", n, b.String())
	}
}

func TestWhoAsksIsToldThatADiskIsFull(t *testing.T) {
	available := uint64(100)
	var b bytes.Buffer
	m, err := New(options(&b, withAvailable(&available)), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := m.Full(); err != nil {
		t.Error(err)
	}
	available = 99
	if err := m.Full(); err == nil || !strings.Contains(err.Error(), "101376 MiB left of 1024000") {
		t.Error(err)
	}
	if b.Len() > 0 {
		t.Errorf("a question is logged: %s", b.String())
	}
}

func TestEachDiskIsWatchedOnce(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"blocks", "state", "mounted"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fails := false
	var b bytes.Buffer
	m, err := New(options(&b, func(path string) (procusage.Space, error) {
		if fails {
			return procusage.Space{}, errors.New("gone")
		}
		d := procusage.Space{Device: 1, Size: 1000 << 30, Free: 500 << 30}
		if filepath.Base(path) == "mounted" {
			d.Device, d.Free = 2, 0
		}
		return d, nil
	}), dir, filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.disks) != 2 || m.check() != filepath.Join(dir, "mounted") {
		t.Errorf("%+v", m.disks)
	}
	// A disk that cannot be asked stops nobody.
	if fails = true; m.check() != "" || !strings.Contains(b.String(), "Ignore this failure") {
		t.Error(b.String())
	}
	if _, err := New(options(&b, func(string) (procusage.Space, error) { return procusage.Space{}, errors.New("gone") }),
		dir); err == nil {
		t.Error("a folder that cannot be asked about at the start is watched")
	}
}

func TestTheSystemKnowsItsDisks(t *testing.T) {
	d, err := procusage.ReadSpace(t.TempDir())
	if err != nil || d.Size == 0 || d.Free > d.Size {
		t.Error(d, err)
	}
}

func TestWhatIsWatchedIsSaidInTheWordsOfNodeos(t *testing.T) {
	available := uint64(900)
	dir := t.TempDir()
	for absolute, limit := range map[uint64]string{
		0: "Space usage threshold set to 90%", 5: "Space usage absolute threshold set to 5 GiB, warning set to 6 GiB",
	} {
		var b bytes.Buffer
		o := options(&b, withAvailable(&available))
		o.Interval, o.Absolute = 5*time.Second, absolute
		if _, err := New(o, dir); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"Monitoring interval set to 5",
			limit, "Shutdown flag when threshold exceeded set to true",
			"Warning interval set to 3", dir + "'s file system to be monitored"} {
			if !strings.Contains(b.String(), line) {
				t.Errorf("%q is not said: %s", line, b.String())
			}
		}
	}
}
