package suite

import (
	"tarn/bench/procsampler"
	"tarn/bench/record"
)

// Names of the collectors' values.
const (
	private  = "maximum private memory"
	resident = "maximum resident memory"
	swap     = "maximum swap"
	threads  = "maximum threads"
)

// collector is a figure that any process has, from all that was read of it. The process has ended.
type collector struct {
	record.Metric
	of func(*procsampler.Child) float64
}

// sampling makes a collector that looks at the readings.
func sampling(unit, name string, of func([]record.Sample) float64) collector {
	return collector{record.Metric{Name: name, Unit: unit}, func(c *procsampler.Child) float64 { return of(c.Samples()) }}
}

// The collectors.
func privateMemory() collector { return sampling(bytesUnit, private, mostPrivate) }
func swapped() collector       { return sampling(bytesUnit, swap, mostSwapped) }
func threadsOf() collector     { return sampling(number, threads, mostThreads) }
func residentMemory() collector {
	return collector{record.Metric{Name: resident, Unit: bytesUnit},
		func(c *procsampler.Child) float64 { return float64(c.Peak()) }}
}

// mostOf is the greatest of what readings have.
func mostOf(samples []record.Sample, of func(record.Sample) int64) (most float64) {
	for _, s := range samples {
		most = max(most, float64(of(s)))
	}
	return most
}

// mostPrivate is the most memory that was the process's alone: dirty, or with no file
// behind it.
func mostPrivate(samples []record.Sample) float64 {
	return mostOf(samples, func(s record.Sample) int64 { return max(s.PrivateDirty, s.Anonymous) })
}

// mostSwapped is the most memory that was out on swap.
func mostSwapped(samples []record.Sample) float64 {
	return mostOf(samples, func(s record.Sample) int64 { return s.Swap })
}

// mostThreads is the most threads that ran at once.
func mostThreads(samples []record.Sample) float64 {
	return mostOf(samples, func(s record.Sample) int64 { return s.Threads })
}

// findings are what a life found of the suites that it measures. What was put into them before a
// failure counts.
type findings struct {
	suites []Suite
	found  map[string]*record.Life
}

// put keeps the values of a suite, and the readings for its curves. What it returns takes the rest.
func (f *findings) put(suite string, values map[string]float64, samples []record.Sample) *record.Life {
	f.found[suite] = &record.Life{Values: values, Samples: samples}
	return f.found[suite]
}

// keep is put of a process that has ended, with the values of the suite's collectors.
func (f *findings) keep(suite string, process *procsampler.Child, values map[string]float64) *record.Life {
	for _, s := range f.suites {
		if s.Name != suite {
			continue
		}
		for _, c := range s.collect {
			values[c.Name] = c.of(process)
		}
	}
	return f.put(suite, values, process.Samples())
}

// of is what was found of a suite; nothing but for a failure before.
func (f *findings) of(suite string) record.Life {
	if l := f.found[suite]; l != nil {
		return *l
	}
	return record.Life{}
}
