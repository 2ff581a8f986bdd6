package record

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"tarn/internal/figuretable"
)

// Machine is where a run was made.
type Machine struct {
	CPU      string    `json:"cpu"`
	CPUs     int       `json:"cpus"`
	RAM      int64     `json:"ram"` // bytes
	Kernel   string    `json:"kernel"`
	Disk     string    `json:"disk"` // device and file system of the nodes' folders
	Load     string    `json:"load"` // averages at the start
	InMemory bool      `json:"in_memory,omitempty"`
	Settings []Setting `json:"settings"`
}

// Like tells whether figures of two machines may be compared: the processors, memory and disk are the same.
func (m Machine) Like(o Machine) bool {
	return m.CPU == o.CPU && m.CPUs == o.CPUs && m.RAM == o.RAM && m.Disk == o.Disk
}

// Setting is one of the kernel's that changes what is measured; what this machine does
// not say is "unknown".
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// settings and the files that say them.
func settings() [][2]string {
	return [][2]string{
		{"transparent huge pages", "/sys/kernel/mm/transparent_hugepage/enabled"},
		{"processor governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"},
		{"hypervisor", "/sys/hypervisor/type"},
		{"machine model", "/sys/class/dmi/id/product_name"},
		{"clock source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
		{"vm.swappiness", "/proc/sys/vm/swappiness"},
		{"vm.dirty_ratio", "/proc/sys/vm/dirty_ratio"},
		{"vm.dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio"},
		{"vm.dirty_expire_centisecs", "/proc/sys/vm/dirty_expire_centisecs"},
		{"vm.overcommit_memory", "/proc/sys/vm/overcommit_memory"},
		{"memory limit of the control group", "/sys/fs/cgroup/memory.max"},
		{"processor limit of the control group", "/sys/fs/cgroup/cpu.max"},
	}
}

// Describe describes the machine, with the disk under dir.
func Describe(dir string) Machine {
	d := figuretable.Describe(dir)
	m := Machine{CPU: d.CPU, CPUs: d.CPUs, RAM: d.RAM, Kernel: d.Kernel, Disk: d.Disk, Load: d.Load}
	for _, s := range settings() {
		m.Settings = append(m.Settings, Setting{s[0], readFirstLine(s[1])})
	}
	m.Settings = append(m.Settings,
		Setting{"swap", swap()}, Setting{"mitigations", mitigations()})
	return m
}

func readFirstLine(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return cmp.Or(strings.TrimSpace(line), "unknown")
}

func swap() string {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "SwapTotal:"); ok {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// mitigations names those against faults of processors that are on.
func mitigations() string {
	names, err := filepath.Glob("/sys/devices/system/cpu/vulnerabilities/*")
	if err != nil || len(names) == 0 {
		return "unknown"
	}
	var on []string
	for _, name := range names {
		if strings.HasPrefix(readFirstLine(name), "Mitigation") {
			on = append(on, filepath.Base(name))
		}
	}
	return cmp.Or(strings.Join(on, " "), "none")
}
