package procusage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Read reads a process. With an error the rest is still good: bytes to and from disks
// and open files are told of other people's processes only to root.
func Read(pid int) (Process, error) { return read(fmt.Sprintf("/proc/%d", pid)) }

// Self reads the process that it runs in, its CPU time exactly.
func Self() (Process, error) {
	p, err := read("/proc/self")
	var u unix.Rusage
	if uerr := unix.Getrusage(unix.RUSAGE_SELF, &u); uerr != nil {
		return p, errors.Join(err, fmt.Errorf("read the use of the processor: %w", uerr))
	}
	p.User, p.System = time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
	p.Files-- // the folder that lists them
	return p, err
}

// read reads the process of that folder.
func read(dir string) (Process, error) {
	var p Process
	status, serr := fields(filepath.Join(dir, "status"), map[string]*int64{
		"RssAnon": &p.Memory.Anonymous, "RssFile": &p.Memory.File, "RssShmem": &p.Memory.Shared,
		"VmSwap": &p.Memory.Swap,
		"VmSize": &p.Virtual, "VmHWM": &p.PeakSize, "Threads": &p.Threads,
	})
	disk, derr := fields(filepath.Join(dir, "io"), map[string]*int64{
		"read_bytes": &p.Disk.Read, "write_bytes": &p.Disk.Written, "cancelled_write_bytes": &p.Disk.Cancelled,
	})
	err := errors.Join(serr, derr)
	if err == nil && (status < 5 || disk < 3) {
		err = fmt.Errorf("read %s: status and io have %d and %d of the numbers that are looked for", dir, status, disk)
	}
	terr := p.times(filepath.Join(dir, "stat"))
	files, ferr := openFiles(filepath.Join(dir, "fd"))
	p.Files = files
	return p, errors.Join(err, terr, ferr)
}

// fields reads numbers of a file of lines "name: value", those with kB in bytes, and
// returns how many were there.
func fields(name string, into map[string]*int64) (found int, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, fmt.Errorf("read a process: %w", err)
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
			return found, fmt.Errorf("read a process: %s: %s: %w", name, key, err)
		}
		if kilo {
			n <<= 10
		}
		*to = n
		found++
	}
	return found, nil
}

// openFiles counts the open files.
func openFiles(dir string) (int64, error) {
	d, err := os.Open(dir)
	if err != nil {
		return 0, fmt.Errorf("count the open files: %w", err)
	}
	names, err := d.Readdirnames(-1)
	return int64(len(names)), errors.Join(err, d.Close())
}

// tick is the unit of times in /proc, the same on all that Go runs on.
const tick = time.Second / 100

// times reads what has no name in its file: when the process began, its CPU time, and
// how often it waited for a page.
func (p *Process) times(name string) error {
	stat, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read a process: %w", err)
	}
	// The program's name, in brackets, may hold anything. Numbers are counted from the
	// one after it, the state's letter, which is 0.
	text := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	var faults, user, system, start int64
	for _, n := range []struct {
		at int
		to *int64
	}{{9, &faults}, {11, &user}, {12, &system}, {19, &start}} {
		if n.at >= len(text) {
			return fmt.Errorf("read a process: %s has %d fields", name, len(text))
		}
		if *n.to, err = strconv.ParseInt(string(text[n.at]), 10, 64); err != nil {
			return fmt.Errorf("read a process: %s: %w", name, err)
		}
	}
	p.MajorFaults = faults
	p.User, p.System = time.Duration(user)*tick, time.Duration(system)*tick
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return fmt.Errorf("read a process: how long the machine runs: %w", err)
	}
	p.Start = time.Now().Add(time.Duration(start)*tick - time.Duration(up.Nano()))
	return nil
}

// ReadEnded reads what is left of a process that has ended and that its parent has not
// waited for: CPU time, major faults, bytes to and from disks, exactly and for good.
func ReadEnded(pid int) (Process, error) {
	var p Process
	dir := fmt.Sprintf("/proc/%d", pid)
	n, err := fields(filepath.Join(dir, "io"), map[string]*int64{
		"read_bytes": &p.Disk.Read, "write_bytes": &p.Disk.Written, "cancelled_write_bytes": &p.Disk.Cancelled,
	})
	if err == nil && n < 3 {
		err = fmt.Errorf("read an ended process: %s/io has %d of the numbers that are looked for", dir, n)
	}
	err = errors.Join(err, p.times(filepath.Join(dir, "stat")))
	return p, err
}
