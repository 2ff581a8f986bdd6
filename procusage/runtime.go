package procusage

import (
	"runtime/metrics"
	"time"
)

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
