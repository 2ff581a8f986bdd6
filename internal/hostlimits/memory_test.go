package hostlimits

import (
	"maps"
	"testing"
	"testing/fstest"
)

// TestTheLeastLimitAroundTheProcessCounts reads systems of both versions of control
// groups, as the kernel shows them inside and outside of containers.
func TestTheLeastLimitAroundTheProcessCounts(t *testing.T) {
	const (
		meminfo = "MemTotal:       16384 kB\nMemFree:  1 kB\nSwapTotal:        8192 kB\n"
		none    = "9223372036854771712\n"
		v1      = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
		v2      = "30 23 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	)
	machine := Memory{Bytes: 16 << 20, Swap: 8 << 20}
	for name, c := range map[string]struct {
		files map[string]string
		want  Memory
	}{
		"none": {want: machine},
		"version 2, no limit": {
			files: map[string]string{"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2},
			want:  machine,
		},
		"version 2, a container": {
			files: map[string]string{
				"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2,
				"sys/fs/cgroup/memory.max": "4194304\n", "sys/fs/cgroup/memory.swap.max": "0\n",
			},
			want: Memory{Bytes: 4 << 20, Limit: "/sys/fs/cgroup/memory.max"},
		},
		"version 2, the slice around the service": {
			files: map[string]string{
				"proc/self/cgroup": "0::/a.slice/b.service\n", "proc/self/mountinfo": v2,
				"sys/fs/cgroup/a.slice/memory.max":                "2097152\n",
				"sys/fs/cgroup/a.slice/b.service/memory.max":      "3145728\n",
				"sys/fs/cgroup/a.slice/memory.swap.max":           "max\n",
				"sys/fs/cgroup/a.slice/b.service/memory.swap.max": "1048576\n",
			},
			want: Memory{Bytes: 2 << 20, Swap: 1 << 20, Limit: "/sys/fs/cgroup/a.slice/memory.max"},
		},
		"version 2, max and more than there is": {
			files: map[string]string{
				"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2,
				"sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1099511627776\n",
			},
			want: machine,
		},
		"version 1": {
			files: map[string]string{
				"proc/self/cgroup": "9:name=systemd:/x\n4:cpu,memory:/a/b\n", "proc/self/mountinfo": v1,
				"sys/fs/cgroup/memory/memory.limit_in_bytes":           none,
				"sys/fs/cgroup/memory/a/memory.limit_in_bytes":         "3145728\n",
				"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes":       none,
				"sys/fs/cgroup/memory/a/b/memory.memsw.limit_in_bytes": "4194304\n",
			},
			want: Memory{Bytes: 3 << 20, Swap: 1 << 20, Limit: "/sys/fs/cgroup/memory/a/memory.limit_in_bytes"},
		},
		"version 1, a container with the machine's path": {
			files: map[string]string{
				"proc/self/cgroup":                           "4:memory:/docker/abc\n0::/docker/abc\n",
				"proc/self/mountinfo":                        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n",
			},
			want: Memory{Bytes: 1 << 20, Swap: 8 << 20, Limit: "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		},
		"version 2, a mount that does not show the group": {
			files: map[string]string{
				"proc/self/cgroup":         "0::/other\n",
				"proc/self/mountinfo":      "30 23 0:27 /mine /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
				"sys/fs/cgroup/memory.max": "1048576\n",
			},
			want: Memory{Bytes: 1 << 20, Swap: 8 << 20, Limit: "/sys/fs/cgroup/memory.max"},
		},
		"nonsense": {
			files: map[string]string{
				"proc/self/cgroup": "0::/a\n:\nx\n4:memory", "proc/self/mountinfo": v2 + "a b\n - \n" + v1,
				"sys/fs/cgroup/a/memory.max": "many\n", "sys/fs/cgroup/memory.max": "-1\n",
			},
			want: machine,
		},
	} {
		files := fstest.MapFS{}
		all := maps.Clone(c.files)
		if all == nil {
			all = map[string]string{}
		}
		all["proc/meminfo"] = meminfo
		for name, text := range all {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := readMemory(files); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestThisMachineHasMemory(t *testing.T) {
	if m := ReadMemory(); m.Bytes < 1<<20 {
		t.Errorf("%+v", m)
	}
}
