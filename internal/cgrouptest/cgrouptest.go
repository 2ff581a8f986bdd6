// Package cgrouptest bounds the memory of programs that tests start, as a container does, by a
// control group of the kernel's. It owns the group's folder. It never bounds the test's own process.
// It is for tests only.
package cgrouptest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// hierarchy is where a kernel shows groups that bound memory, and what it calls their files.
type hierarchy struct {
	folder     string
	bound      string // file with the bound in bytes
	most, kill string // files with the most that was used, and how often the kernel ended a process
}

// hierarchies are those of version 1 and version 2.
func hierarchies() []hierarchy {
	return []hierarchy{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control"},
		{"/sys/fs/cgroup", "memory.max", "memory.peak", "memory.events"},
	}
}

// Container is a bound on memory that the programs in it share.
type Container struct {
	at     hierarchy
	folder string
}

// ErrMissing is that this machine lets nobody here make one; the error says why.
var ErrMissing = errors.New("no memory can be bounded here")

// New makes one of so many bytes, which Close removes.
func New(bytes int64) (*Container, error) {
	why := error(os.ErrNotExist)
	for _, h := range hierarchies() {
		folder, err := os.MkdirTemp(h.folder, "tarn-test-")
		if err != nil {
			why = err
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, h.bound), []byte(strconv.FormatInt(bytes, 10)), 0); err != nil {
			why = errors.Join(err, os.Remove(folder))
			continue
		}
		return &Container{at: h, folder: folder}, nil
	}
	return nil, fmt.Errorf("%w: %w", ErrMissing, why)
}

// Program writes a program to path that runs another one in the container, with the same arguments.
func (c *Container) Program(path, program string) error {
	text := fmt.Sprintf("#!/bin/sh\necho $$ > '%s'\nexec '%s' \"$@\"\n",
		filepath.Join(c.folder, "cgroup.procs"), program)
	return os.WriteFile(path, []byte(text), 0o755)
}

// Most is how many bytes its programs used at most; 0 if the kernel does not tell. What files they
// read and wrote is counted too, as far as the kernel keeps it in memory.
func (c *Container) Most() int64 {
	text, err := os.ReadFile(filepath.Join(c.folder, c.at.most))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Killed tells how often the kernel ended a program for want of memory.
func (c *Container) Killed() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.folder, c.at.kill))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			return strconv.Atoi(strings.TrimSpace(count))
		}
	}
	return 0, fmt.Errorf("%s does not count programs that the kernel ended", filepath.Join(c.folder, c.at.kill))
}

// Close removes it, after its programs have ended.
func (c *Container) Close() error {
	var err error
	for range 50 {
		if err = os.Remove(c.folder); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond) // the kernel counts a process that has ended for a while yet
	}
	return err
}
