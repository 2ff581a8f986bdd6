package meter

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Read reads the process. With an error the rest is still good.
func Read() (Process, error) {
	var p Process
	var u unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &u)
	p.User, p.System = time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
	p.MajorFaults = u.Majflt
	status, serr := fields("/proc/self/status", map[string]*int64{
		"RssAnon": &p.Memory.Anonymous, "RssFile": &p.Memory.File, "RssShmem": &p.Memory.Shared, "VmSwap": &p.Memory.Swap,
		"VmSize": &p.Virtual, "VmHWM": &p.PeakSize, "Threads": &p.Threads,
	})
	disk, derr := fields("/proc/self/io", map[string]*int64{
		"read_bytes": &p.Disk.Read, "write_bytes": &p.Disk.Written, "cancelled_write_bytes": &p.Disk.Cancelled,
	})
	err = errors.Join(err, serr, derr)
	if err == nil && (status < 5 || disk < 3) {
		err = fmt.Errorf("measure the process: /proc/self has %d and %d of the numbers that are looked for", status, disk)
	}
	open, ferr := openFiles()
	start, terr := started()
	p.Files, p.Start = open, start
	return p, errors.Join(err, ferr, terr)
}

// fields reads numbers of a file of lines "name: value", those with kB in bytes, and
// returns how many were there.
func fields(name string, into map[string]*int64) (found int, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, fmt.Errorf("measure the process: %w", err)
	}
	for line := range bytes.Lines(text) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		to := into[string(key)]
		if !ok || to == nil {
			continue
		}
		number, kilo := bytes.CutSuffix(bytes.TrimSpace(value), []byte(" kB"))
		n, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil {
			return found, fmt.Errorf("measure the process: %s: %s: %w", name, key, err)
		}
		if kilo {
			n <<= 10
		}
		*to = n
		found++
	}
	return found, nil
}

// openFiles counts the open files, the one that counts them excluded.
func openFiles() (int64, error) {
	d, err := os.Open("/proc/self/fd")
	if err != nil {
		return 0, fmt.Errorf("count the open files: %w", err)
	}
	names, err := d.Readdirnames(-1)
	return int64(len(names)) - 1, errors.Join(err, d.Close())
}

// ticksPerSecond is the unit of times in /proc, the same on all that Go runs on.
const ticksPerSecond = 100

// started is when the process began.
func started() (time.Time, error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return time.Time{}, fmt.Errorf("measure the process: %w", err)
	}
	// The name, in brackets, may hold anything. The start is the 20th after it.
	rest := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(rest) < 20 {
		return time.Time{}, fmt.Errorf("measure the process: /proc/self/stat has %d fields", len(rest))
	}
	ticks, err := strconv.ParseInt(string(rest[19]), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("measure the process: /proc/self/stat: %w", err)
	}
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return time.Time{}, fmt.Errorf("measure the process: %w", err)
	}
	age := time.Duration(up.Nano()) - time.Duration(ticks)*time.Second/ticksPerSecond
	return time.Now().Add(-age), nil
}
