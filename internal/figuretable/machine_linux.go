package figuretable

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// FlushDisk makes the kernel write back everything on dir's file system.
func FlushDisk(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		err = fmt.Errorf("sync the file system of %s: %w", dir, err)
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// DeviceWrites is what the disk under dir has been written in all, in bytes,
// whoever did it; -1 where the kernel does not tell.
func DeviceWrites(dir string) int64 {
	text, err := os.ReadFile("/proc/diskstats")
	if err != nil {
		return -1
	}
	id := deviceOf(dir)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) > 9 && f[0]+":"+f[1] == id {
			if sectors, err := strconv.ParseInt(f[9], 10, 64); err == nil {
				return sectors * 512
			}
		}
	}
	return -1
}

// deviceOf is the device number of dir's file system, as major:minor.
func deviceOf(dir string) string {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
}

// processorTime is what all processors were busy so far, and the part of it that
// was this process and its children, in seconds.
func processorTime() (busy, own float64) {
	f := strings.Fields(firstLine("/proc/stat"))
	for i, v := range f {
		// cpu user nice system idle iowait irq softirq steal
		if n, err := strconv.ParseFloat(v, 64); err == nil && i != 4 && i != 5 && i <= 8 {
			busy += n / 100
		}
	}
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			own += float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
		}
	}
	return busy, own
}

// Machine is where the figures come from.
type Machine struct {
	CPU        string
	CPUs       int
	RAM        int64 // bytes
	Kernel     string
	HugePages  string // the setting for transparent ones
	Disk       string // device and file system of the stores
	Load       string // averages of 1, 5 and 15 minutes at the start
	ClockNanos float64
}

// Describe describes the machine, with the disk under dir.
func Describe(dir string) Machine {
	m := Machine{CPU: "unknown", Disk: "unknown"}
	m.CPU, m.CPUs = processors()
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.RAM = int64(info.Totalram) * int64(info.Unit)
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = string(bytes.TrimRight(name.Release[:], "\x00"))
	}
	m.HugePages = firstLine("/sys/kernel/mm/transparent_hugepage/enabled")
	if f := strings.Fields(firstLine("/proc/loadavg")); len(f) > 2 {
		m.Load = strings.Join(f[:3], " ")
	}
	m.Disk = mountOf(dir)
	const calls = 100_000
	start := time.Now()
	last := start
	for range calls {
		last = time.Now()
	}
	m.ClockNanos = float64(last.Sub(start)) / calls
	return m
}

func processors() (model string, n int) {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown", 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "model name"); ok {
			model = strings.TrimSpace(strings.TrimLeft(value, "\t :"))
			n++
		}
	}
	return model, n
}

func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// mountOf names the device and the file system that dir lies on.
func mountOf(dir string) string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "unknown"
	}
	id := deviceOf(dir)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		_, after, ok := strings.Cut(line, " - ")
		if g := strings.Fields(after); ok && len(f) > 2 && len(g) > 1 && f[2] == id {
			return fmt.Sprintf("%s, %s", g[1], g[0])
		}
	}
	return "unknown"
}
