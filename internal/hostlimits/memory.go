// Package hostlimits reads what the machine, or the container around the process, has
// for it. It owns the reading of control groups' limits; what a limit is shared out
// for is decided by who asks. It keeps nothing and changes nothing.
package hostlimits

import (
	"bufio"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Memory is what the process can use.
type Memory struct {
	Bytes int64 // the machine's, or the least limit of a control group around the process; 0 if unknown
	Swap  int64 // bytes beside it; 0 if there is none, or it is unknown
	// Available is what the machine could give now, in bytes, whatever the limits are.
	Available int64
	// Limit is the file with the limit that is below the machine's memory, "" if there
	// is none.
	Limit string
}

// ReadMemory reads it anew from the kernel: limits may be changed while the process
// runs. What cannot be read is taken for no limit.
func ReadMemory() Memory { return readMemory(os.DirFS("/")) }

func readMemory(root fs.FS) Memory {
	m := installedMemory(root)
	for _, g := range groups(root) {
		bytes, file := g.memory(root)
		if bytes > 0 && (bytes < m.Bytes || m.Bytes == 0) {
			m.Bytes, m.Limit = bytes, "/"+file
		}
		m.Swap = min(m.Swap, g.swap(root))
	}
	return m
}

// installedMemory is what the machine has.
func installedMemory(root fs.FS) (m Memory) {
	fields := map[string]*int64{"MemTotal:": &m.Bytes, "MemAvailable:": &m.Available, "SwapTotal:": &m.Swap}
	for line := range lines(root, "proc/meminfo") {
		if f := strings.Fields(line); len(f) > 1 && fields[f[0]] != nil {
			if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				*fields[f[0]] = kib << 10
			}
		}
	}
	return m
}

// group is the folder of a control group in a mounted hierarchy.
type group struct {
	mount   string // without the first slash
	below   string // the process's group, seen from the mount
	unified bool   // version 2
}

// groups are those that the process is in and that may limit memory: of the unified
// hierarchy, and of version 1's for memory.
func groups(root fs.FS) []group {
	paths := map[bool]string{} // by unified
	for line := range lines(root, "proc/self/cgroup") {
		// 4:cpu,memory:/a/b, and of version 2 0::/a/b
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 {
			continue
		}
		if unified := f[0] == "0" && f[1] == ""; unified || slices.Contains(strings.Split(f[1], ","), "memory") {
			paths[unified] = f[2]
		}
	}
	var list []group
	for line := range lines(root, "proc/self/mountinfo") {
		// 36 35 0:33 /root /mount/point options … - type source options
		before, after, _ := strings.Cut(line, " - ")
		f, kind := strings.Fields(before), strings.Fields(after)
		if len(f) < 5 || len(kind) < 3 {
			continue
		}
		unified := kind[0] == "cgroup2"
		if !unified && (kind[0] != "cgroup" || !slices.Contains(strings.Split(kind[2], ","), "memory")) {
			continue
		}
		if p, ok := paths[unified]; ok {
			list = append(list,
				group{mount: strings.TrimPrefix(f[4], "/"), below: mountPath(p, f[3]), unified: unified})
		}
	}
	return list
}

// mountPath is the path of a group below a mount of the hierarchy's folder top. A container
// may have the path of the machine and a mount of nothing but its own group.
func mountPath(p, top string) string {
	if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(top, "/")); ok && (rest == "" || rest[0] == '/') {
		return strings.TrimPrefix(rest, "/")
	}
	return ""
}

// memory is the least limit of the group and those around it, and the file that has
// it; 0 if there is none.
func (g group) memory(root fs.FS) (bytes int64, file string) {
	name := "memory.limit_in_bytes"
	if g.unified {
		name = "memory.max"
	}
	return g.least(root, name)
}

// swap is how much swap the group may use, in bytes.
func (g group) swap(root fs.FS) int64 {
	if g.unified {
		return effectiveLimit(g.least(root, "memory.swap.max"))
	}
	both, _ := g.least(root, "memory.memsw.limit_in_bytes")
	memory, _ := g.memory(root)
	if both == 0 || memory == 0 {
		return math.MaxInt64
	}
	return max(both-memory, 0)
}

// effectiveLimit turns the answer of least into a number that can be compared: a file that
// says 0 is a limit, none is none.
func effectiveLimit(bytes int64, file string) int64 {
	if file == "" {
		return math.MaxInt64
	}
	return bytes
}

// least is the smallest number that a file of this name has in the group's folder and
// those above it, up to the mount, and which file that is.
func (g group) least(root fs.FS, name string) (bytes int64, file string) {
	for below := g.below; ; below = path.Dir(below) {
		if below == "." {
			below = ""
		}
		at := path.Join(g.mount, below, name)
		if n, ok := number(root, at); ok && (file == "" || n < bytes) {
			bytes, file = n, at
		}
		if below == "" {
			return bytes, file
		}
	}
}

// number reads a file with one number. Version 1 writes the largest multiple of the
// page size for no limit, version 2 the word max.
func number(root fs.FS, file string) (int64, bool) {
	const none = math.MaxInt64 &^ (1<<20 - 1)
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil && n >= 0 && n < none
}

// lines are those of a file, none if it cannot be read.
func lines(root fs.FS, file string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		f, err := root.Open(file)
		if err != nil {
			return
		}
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if !yield(s.Text()) {
				return
			}
		}
	}
}
