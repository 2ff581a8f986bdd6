// Package resourcemonitor watches how full the disks are that a node writes to, and says when
// the node must stop before one is full (Leap: resource_monitor_plugin).
//
// It only looks and tells; stopping is up to those whom it tells.
package resourcemonitor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tarn/procusage"
)

// Options are those of nodeos, by their names.
type Options struct {
	Interval     time.Duration // resource-monitor-interval-seconds
	Threshold    uint64        // resource-monitor-space-threshold, percent of a disk
	Absolute     uint64        // resource-monitor-space-absolute-gb; 0 for the threshold
	KeepRunning  bool          // resource-monitor-not-shutdown-on-threshold-exceeded
	WarningEvery uint64        // resource-monitor-warning-interval, looks
	Log          *slog.Logger  // required

	look func(path string) (procusage.Space, error) // nil asks the system
}

// warnBefore is how many percent before the threshold warnings begin.
const warnBefore = 5

// Monitor watches the disks of some folders.
type Monitor struct {
	o     Options
	disks []watched
	looks uint64
}

// watched is a disk with its limits.
type watched struct {
	path       string
	id         uint64
	warn, stop uint64 // available bytes
}

// New begins to watch the disks of folders, and of the folders in them, which may
// be mounts.
func New(o Options, folders ...string) (*Monitor, error) {
	if o.look == nil {
		o.look = procusage.ReadSpace
	}
	m := &Monitor{o: o}
	m.introduce()
	for _, dir := range folders {
		if err := m.add(dir); err != nil {
			return nil, err
		}
		list, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("watch the disk of %s: %w", dir, err)
		}
		for _, e := range list {
			path := filepath.Join(dir, e.Name())
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				if err := m.add(path); err != nil {
					return nil, err
				}
			}
		}
	}
	return m, nil
}

// introduce says how it watches, in the words of nodeos.
func (m *Monitor) introduce() {
	say := func(format string, args ...any) { m.o.Log.Info(fmt.Sprintf(format, args...)) }
	say("Monitoring interval set to %d", m.o.Interval/time.Second)
	if n := m.o.Absolute; n > 0 {
		say("Space usage absolute threshold set to %d GiB, warning set to %d GiB", n, warnGiB(n))
	} else {
		say("Space usage threshold set to %d%%", m.o.Threshold)
	}
	say("Shutdown flag when threshold exceeded set to %t", !m.o.KeepRunning)
	say("Warning interval set to %d", m.o.WarningEvery)
}

// warnGiB is the free space below which warnings begin before an absolute limit.
func warnGiB(limit uint64) uint64 { return limit + max(limit/10, 1) }

// Error says that the disk of a folder cannot be looked at.
type Error struct {
	Path string
	Err  error
}

// Error implements error.
func (e *Error) Error() string {
	return "Unable to get space info for " + e.Path + ": " + e.Err.Error()
}

// Unwrap returns why.
func (e *Error) Unwrap() error { return e.Err }

func (m *Monitor) add(path string) error {
	d, err := m.o.look(path)
	if err != nil {
		return &Error{path, err}
	}
	m.o.Log.Info(path + "'s file system to be monitored")
	if slices.ContainsFunc(m.disks, func(w watched) bool { return w.id == d.Device }) {
		return nil
	}
	w := watched{path: path, id: d.Device}
	if n := m.o.Absolute; n > 0 {
		w.stop, w.warn = n<<30, warnGiB(n)<<30
	} else {
		w.stop, w.warn = (100-m.o.Threshold)*(uint64(d.Size)/100), (100-m.o.Threshold+warnBefore)*(uint64(d.Size)/100)
	}
	m.disks = append(m.disks, w)
	m.o.Log.Info(fmt.Sprintf("%s's file system monitored. shutdown_available: %d GiB, capacity: %d GiB, threshold: %s",
		path, w.stop>>30, uint64(d.Size)>>30, m.threshold()))
	return nil
}

// threshold is the limit in words.
func (m *Monitor) threshold() string {
	if m.o.Absolute > 0 {
		return fmt.Sprintf("%d GiB", m.o.Absolute)
	}
	return fmt.Sprintf("%d%%", m.o.Threshold)
}

// Run looks at the disks until ctx ends, or until one is fuller than it may be and
// the node is to stop: then it returns why.
func (m *Monitor) Run(ctx context.Context) error {
	t := time.NewTicker(m.o.Interval)
	defer t.Stop()
	for {
		if path := m.check(); path != "" && !m.o.KeepRunning {
			m.o.Log.Error("Gracefully shutting down, exceeded file system configured threshold.")
			return fmt.Errorf("the disk of %s is fuller than resource-monitor-space-threshold or -absolute-gb allow "+
				"(%s); free space on it, or change the limit, and start again: nothing is lost", path, m.threshold())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// Full returns an error if a disk is too full. Anybody may hear it: it names no folder. It looks and
// logs nothing; any goroutine may call it.
func (m *Monitor) Full() error {
	for _, w := range m.disks {
		if d, err := m.o.look(w.path); err == nil && uint64(d.Free) < w.stop {
			return fmt.Errorf(
				"a disk of the node has %d MiB left of %d: it is fuller than resource-monitor-space-threshold or "+
					"-absolute-gb allow (%s)",
				uint64(d.Free)>>20, uint64(d.Size)>>20, m.threshold())
		}
	}
	return nil
}

// check looks once, and returns the folder of a disk that is too full, if one is.
func (m *Monitor) check() string {
	say := m.looks%m.o.WarningEvery == 0
	m.looks++
	for _, w := range m.disks {
		d, err := m.o.look(w.path)
		if err != nil {
			m.o.Log.Warn(fmt.Sprintf("Unable to get space info for %s: %v. Ignore this failure.", w.path, err))
			continue
		}
		switch {
		case uint64(d.Free) < w.stop:
			if say || !m.o.KeepRunning {
				m.o.Log.Error(fmt.Sprintf(
					"Space usage warning: %s's file system exceeded threshold %s, available: %d GiB, Capacity: %d "+
						"GiB, shutdown_available: %d GiB",
					w.path, m.threshold(), uint64(d.Free)>>30, uint64(d.Size)>>30, w.stop>>30))
			}
			return w.path
		case uint64(d.Free) < w.warn && say:
			m.o.Log.Warn(fmt.Sprintf(
				"Space usage warning: %s's file system approaching threshold. available: %d GiB, warning_available: %d GiB",
				w.path, uint64(d.Free)>>30, w.warn>>30))
			if !m.o.KeepRunning {
				m.o.Log.Warn(fmt.Sprintf("nodeos will shutdown when space usage exceeds threshold %s", m.threshold()))
			}
		}
	}
	return ""
}
