package procsampler

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Group is a control group with a limit of memory, the page cache of what its processes read
// and write included. Making one takes root and the kernel's controller for memory.
type Group struct{ dir string }

// NewGroup makes a group with so many bytes of memory, in version 1's hierarchy for memory or
// in the unified one.
func NewGroup(limit int64) (_ *Group, err error) {
	parent, file := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat(parent); err != nil {
		parent, file = "/sys/fs/cgroup", "memory.max"
		os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+memory"), 0) //nolint:errcheck // it shows below
	}
	dir, err := os.MkdirTemp(parent, fmt.Sprintf("tarn-bench-%d-", os.Getpid()))
	if err == nil {
		if err = os.WriteFile(filepath.Join(dir, file), fmt.Append(nil, limit), 0); err != nil {
			err = errors.Join(err, os.Remove(dir))
		}
	}
	if err != nil {
		return nil, fmt.Errorf(
			"make a control group with %d MB of memory, which takes root and the controller for it: %w", limit/1e6, err)
	}
	return &Group{dir}, nil
}

// Within is the command line of a program that runs in the group.
func (g *Group) Within(path string, args []string) (string, []string) {
	return "/bin/sh", append([]string{"-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, g.dir, path}, args...)
}

// Close removes the group, whose processes have ended.
func (g *Group) Close() error {
	if err := os.Remove(g.dir); err != nil {
		return fmt.Errorf("remove a control group: %w", err)
	}
	return nil
}
