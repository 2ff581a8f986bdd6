package node

import (
	"strings"
	"time"

	"tarn/probe"
	"tarn/serve/exposition"
	"tarn/store"
)

// year is what disk writes are projected to: disks are rated in bytes written over
// their life.
const year = 365 * 24 * time.Hour

// baseline is where the node stood when it began to serve: projections leave out what
// a replay or the loading of a snapshot wrote.
type baseline struct {
	at      time.Time
	written store.Written
	disk    int64
}

func (m *metrics) baseline() baseline {
	p, _ := probe.Self() // what could not be read is 0
	return baseline{at: time.Now(), written: m.store().Written, disk: p.Disk.Written}
}

// own is what the node says of itself and its store.
func (m *metrics) own(w sheet) {
	s := m.store()
	w.Metric("tarn_state_info", exposition.Gauge, "How the state is kept; always 1")
	// Simple readers of the format split its lines at spaces.
	w.Sample(1, "engine", s.Engine, "mode", s.Mode, "memory", strings.ReplaceAll(s.Memory, " ", "_"))
	w.state(&s)
	w.writes(s.Written)
	m.checkpoints(w, &s)
	p, err := probe.Self()
	w.process(&p)
	w.gauge("tarn_meter_failed", "1 if some of the numbers of the process could not be read", float64(bit(err != nil)))
	w.runtime(probe.ReadRuntime())
	m.perYear(w, &s, p.Disk.Written)
}

// perYear projects writes to a year. Checkpoints are few and large, so they are counted
// over whole intervals, up to the last one, and all the rest up to now.
func (m *metrics) perYear(w sheet, s *store.Stats, disk int64) {
	between, ok := times(time.Since(m.begin.at))
	if !ok {
		return
	}
	written := s.Written.Since(m.begin.written)
	w.Metric("tarn_state_written_bytes_per_year", exposition.Gauge, "Bytes written to the state's files, by cause, since the node began to serve, as if for a year")
	for _, c := range causes(&written) {
		if !c.checkpoint {
			w.Sample(float64(c.bytes)*between, "cause", c.name)
		}
	}
	intervals, ok := times(s.LastCheckpoint.At.Sub(m.begin.at))
	if !ok {
		return
	}
	checkpoints := int64(0)
	for _, c := range causes(&written) {
		if c.checkpoint {
			checkpoints += c.bytes
			w.Sample(float64(c.bytes)*intervals, "cause", c.name)
		}
	}
	rest := max(0, disk-m.begin.disk-checkpoints)
	w.gauge("tarn_process_disk_written_bytes_per_year", "What the process writes to disks, since it began to serve, as if for a year",
		float64(rest)*between+float64(checkpoints)*intervals)
}

// enough is how long a time must be to be projected to a year.
const enough = 15 * time.Minute

// times is how often a time fits into a year, if it is long enough to tell anything.
func times(span time.Duration) (n float64, ok bool) {
	if span < enough {
		return 0, false
	}
	return year.Seconds() / span.Seconds(), true
}

func (w sheet) state(s *store.Stats) {
	bytes := func(name, help string, v int64) { w.gauge("tarn_state_"+name+"_bytes", help, float64(v)) }
	bytes("size", "Size of the state's files", s.Size)
	bytes("limit", "Limit of the state's size; 0 for none", s.Limit)
	bytes("used", "What the newest state takes", s.Used)
	bytes("free", "What the state can still grow by", s.Free)
	bytes("dirty", "What has changed since the last checkpoint", s.DirtyBytes)
	bytes("private", "Memory of the state that the kernel cannot take back", s.PrivateBytes)
	w.gauge("tarn_state_open_views", "Views that readers hold", float64(s.OpenViews))
	count := func(name, help string, v int64) { w.counter("tarn_state_"+name+"_total", help, float64(v)) }
	count("cache_hits", "Reads that a cache answered", s.CacheHits)
	count("cache_misses", "Reads that no cache answered", s.CacheMisses)
	count("gets", "Rows read", s.Gets)
	count("puts", "Rows written", s.Puts)
	count("deletes", "Rows deleted", s.Deletes)
}

// writes is what goes to the state's files, by cause.
func (w sheet) writes(now store.Written) {
	w.Metric("tarn_state_written_bytes_total", exposition.Counter, "Bytes written to the state's files, by cause")
	for _, c := range causes(&now) {
		w.Sample(float64(c.bytes), "cause", c.name)
	}
}

// cause is why bytes go to the state's files, and whether only checkpoints write them.
type cause struct {
	name       string
	bytes      int64
	checkpoint bool
}

func causes(w *store.Written) []cause {
	return []cause{
		{"checkpoint", w.Checkpoint, true}, {"meta", w.Meta, true}, {"spill", w.Spill, false}, {"mapped", w.Mapped, false},
		{"log", w.Log, true}, {"flush", w.Flush, true}, {"compaction", w.Compaction, false},
	}
}

func (m *metrics) checkpoints(w sheet, s *store.Stats) {
	w.counter("tarn_checkpoints_total", "Checkpoints finished", float64(s.Checkpoints))
	w.counter("tarn_checkpoints_failed_total", "Checkpoints that failed", float64(s.CheckpointsFailed))
	if c := &s.LastCheckpoint; !c.At.IsZero() {
		w.gauge("tarn_checkpoint_age_seconds", "Time since the last checkpoint became durable", time.Since(c.At).Seconds())
		w.gauge("tarn_checkpoint_duration_seconds", "How long the last checkpoint took", c.Duration.Seconds())
		w.gauge("tarn_checkpoint_pause_seconds", "How long the chain stood still for it", c.Pause.Seconds())
		w.gauge("tarn_checkpoint_bytes", "What the last checkpoint wrote", float64(c.Bytes))
		w.gauge("tarn_checkpoint_pages", "Pages, or rows, that the last checkpoint wrote", float64(c.Pages))
		w.gauge("tarn_checkpoint_returned_bytes", "Memory that was given back after it", float64(c.Returned))
	}
	d := m.durable()
	w.gauge("tarn_durable_block_num", "Block that a start after a crash begins with", float64(d.Head))
	w.gauge("tarn_durable_irreversible_block_num", "Block that such a start can step back to", float64(d.Irreversible))
}

// process has the conventional names where there are some.
func (w sheet) process(p *probe.Process) {
	w.counter("process_cpu_seconds_total", "CPU time", (p.User + p.System).Seconds())
	w.Metric("tarn_process_cpu_seconds_total", exposition.Counter, "CPU time, in the program and in the kernel for it")
	w.Sample(p.User.Seconds(), "mode", "user")
	w.Sample(p.System.Seconds(), "mode", "system")
	w.gauge("process_start_time_seconds", "When the process began, in s since 1970", float64(p.Start.UnixMilli())/1000)
	w.gauge("process_resident_memory_bytes", "Memory in RAM", float64(p.Memory.Resident()))
	w.gauge("process_virtual_memory_bytes", "Address space", float64(p.Virtual))
	w.gauge("process_open_fds", "Open files", float64(p.Files))
	w.gauge("tarn_process_threads", "Threads", float64(p.Threads))
	w.counter("tarn_process_major_faults_total", "Page faults that waited for a disk", float64(p.MajorFaults))
	w.Metric("tarn_process_memory_bytes", exposition.Gauge, "Memory by what stands behind it; the kernel can take back what is of files")
	w.Sample(float64(p.Memory.Anonymous), "kind", "anonymous")
	w.Sample(float64(p.Memory.File), "kind", "file")
	w.Sample(float64(p.Memory.Shared), "kind", "shared")
	w.Sample(float64(p.Memory.Swap), "kind", "swap")
	w.counter("tarn_process_disk_read_bytes_total", "Bytes read from disks", float64(p.Disk.Read))
	w.counter("tarn_process_disk_written_bytes_total", "Bytes written to disks, the block log included", float64(p.Disk.Written))
	w.counter("tarn_process_disk_cancelled_bytes_total", "Bytes of those that were deleted before they got to a disk", float64(p.Disk.Cancelled))
}

func (w sheet) runtime(r probe.Runtime) {
	w.gauge("go_goroutines", "Goroutines", float64(r.Goroutines))
	w.Metric("tarn_go_memory_bytes", exposition.Gauge, "Memory of Go's runtime; all of it is anonymous")
	w.Sample(float64(r.HeapLive), "class", "heap")
	w.Sample(float64(r.HeapIdle), "class", "heap_idle")
	w.Sample(float64(r.Stacks), "class", "stacks")
	w.Sample(float64(r.Other), "class", "other")
	w.counter("tarn_go_gc_cycles_total", "Collections of garbage", float64(r.GCCycles))
	w.counter("tarn_go_gc_cpu_seconds_total", "CPU time of the garbage collector, an estimate", r.GCCPU.Seconds())
}
