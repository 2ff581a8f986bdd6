// Package meter measures the process that it runs in: CPU time, memory by kind,
// bytes to and from disks, and what Go's runtime holds.
//
// It only reads; it keeps nothing between two readings and starts nothing.
package meter

import (
	"runtime/metrics"
	"time"
)

// Process is a reading of the process as the kernel sees it. Counters grow from the
// process's start. Sizes are in bytes.
type Process struct {
	Start             time.Time
	User, System      time.Duration // CPU
	Memory            Memory
	Disk              Disk
	Threads, Files    int64 // running; open
	MajorFaults       int64 // that waited for a disk
	Virtual, PeakSize int64 // address space; largest resident size so far
}

// Memory is resident memory by what stands behind it.
type Memory struct {
	Anonymous int64 // nothing but swap: heap, stacks, private pages (RssAnon)
	File      int64 // files, which the kernel can take back (RssFile)
	Shared    int64 // shared memory (RssShmem)
	Swap      int64 // anonymous memory that is out on swap
}

// Resident is all memory that is in RAM.
func (m Memory) Resident() int64 { return m.Anonymous + m.File + m.Shared }

// Disk counts what the process had read and written (Linux: /proc/self/io). Writes
// through a shared mapping are counted when the page becomes dirty.
type Disk struct {
	Read, Written int64 // from and to disks
	Cancelled     int64 // of those written, what was deleted before it got there
}

// Runtime is a reading of Go's runtime. Sizes are in bytes.
type Runtime struct {
	Goroutines int64
	HeapLive   int64 // objects, those included that are not collected yet
	HeapIdle   int64 // kept for objects to come
	HeapGiven  int64 // given back to the system
	Stacks     int64
	Other      int64 // the runtime's own
	Total      int64 // mapped by the runtime, what was given back excluded
	GCCycles   int64
	GCCPU      time.Duration
}

// the runtime's names of what [ReadRuntime] reads
const (
	goroutines = "/sched/goroutines:goroutines"
	objects    = "/memory/classes/heap/objects:bytes"
	unused     = "/memory/classes/heap/unused:bytes"
	free       = "/memory/classes/heap/free:bytes"
	released   = "/memory/classes/heap/released:bytes"
	stacks     = "/memory/classes/heap/stacks:bytes"
	total      = "/memory/classes/total:bytes"
	cycles     = "/gc/cycles/total:gc-cycles"
	collecting = "/cpu/classes/gc/total:cpu-seconds"
)

// ReadRuntime reads what Go's runtime says of itself. It stops nothing.
func ReadRuntime() Runtime {
	names := [...]string{goroutines, objects, unused, free, released, stacks, total, cycles, collecting}
	samples := make([]metrics.Sample, len(names))
	for i := range samples {
		samples[i].Name = names[i]
	}
	metrics.Read(samples)
	value := map[string]int64{}
	var r Runtime
	for i := range samples {
		switch v := samples[i].Value; v.Kind() {
		case metrics.KindUint64:
			value[samples[i].Name] = int64(v.Uint64())
		case metrics.KindFloat64:
			r.GCCPU = time.Duration(v.Float64() * float64(time.Second))
		}
	}
	r.Goroutines, r.GCCycles = value[goroutines], value[cycles]
	r.HeapLive, r.HeapIdle, r.HeapGiven = value[objects], value[unused]+value[free], value[released]
	r.Stacks, r.Total = value[stacks], value[total]-value[released]
	r.Other = r.Total - r.HeapLive - r.HeapIdle - r.Stacks
	return r
}
