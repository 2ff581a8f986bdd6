package procusage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Pages is how the memory of a process is shared, in bytes.
type Pages struct {
	Proportional int64 // resident, a page of n processes counted as an nth (Pss)
	PrivateDirty int64 // nobody else's, and different from any file: what it alone costs
}

// ReadPages asks the kernel to walk the process's page table, under its lock of
// mappings: dear for a large process, so it is not for every second.
func ReadPages(pid int) (Pages, error) {
	var p Pages
	name := fmt.Sprintf("/proc/%d/smaps_rollup", pid)
	n, err := fields(name, map[string]*int64{"Pss": &p.Proportional, "Private_Dirty": &p.PrivateDirty})
	if err == nil && n < 2 {
		err = fmt.Errorf("read a process: %s has %d of the numbers that are looked for", name, n)
	}
	return p, err
}

// ReadThreads is the CPU time of a process's running threads, by their names: threads
// of one name are added up. It is exact to 10 ms a thread, and what ended is gone.
func ReadThreads(pid int) (map[string]time.Duration, error) {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the threads of a process: %w", err)
	}
	all := map[string]time.Duration{}
	for _, task := range tasks {
		name, nerr := os.ReadFile(filepath.Join(dir, task.Name(), "comm"))
		var p Process
		if err := errors.Join(nerr, p.times(filepath.Join(dir, task.Name(), "stat"))); isGone(err) {
			continue
		} else if err != nil {
			return nil, err
		}
		all[string(name[:max(len(name)-1, 0)])] += p.CPU()
	}
	return all, nil
}

// isGone says that a thread ended while it was read.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) }
