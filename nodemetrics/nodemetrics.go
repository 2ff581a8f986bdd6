// Package nodemetrics is what a node of any protocol tells of itself as metrics: how its state is
// kept, what goes to the disk and why, how old the last checkpoint is, and what the process
// and Go's runtime use. The same readings are panels of a dashboard.
//
// It owns the names of those metrics and the projection of writes to a year. It reads what
// the store and package procusage count, keeps only where the node stood when it began to
// serve, and starts nothing. What a chain, its peers and its requests are is told by
// their owners.
package nodemetrics

import (
	"strings"
	"sync"
	"time"

	"tarn/httpserver/exposition"
	"tarn/procusage"
	"tarn/store"
)

// Options are what a meter reads.
type Options struct {
	Stats   func() store.Stats
	Durable func() store.Durable
	// Files count the bytes written to what is not the state's, in files of one kind each.
	Files []Files
	// Folders are those whose disks' room is told, by what they are for.
	Folders []Folder
}

// Files are files of one kind. Written may be called by all goroutines.
type Files struct {
	Name    string
	Written func() int64 // bytes, ascending
}

// Folder is where something is kept.
type Folder struct{ Name, Path string }

// Meter tells of one store, and of this process. Its methods may be called by all
// goroutines.
type Meter struct {
	o     Options
	begin baseline

	duration, pause *exposition.Histogram // of checkpoints
	mu              sync.Mutex
	counted         time.Time // when the newest checkpoint ended that they have
}

// New returns a meter. What was written before is left out of projections, so it is made
// when the node begins to serve.
func New(o Options) *Meter {
	m := &Meter{o: o, duration: exposition.NewHistogram(exposition.Durations()...),
		pause: exposition.NewHistogram(exposition.Durations()...)}
	m.begin = m.baseline()
	m.counted = o.Stats().LastCheckpoint.At
	return m
}

// reading is what a meter reads at once: the metrics are made of one, and so is a sample of
// a dashboard.
type reading struct {
	state   store.Stats
	process procusage.Process
	failed  error // why some of the process could not be read
	runtime procusage.Runtime
	files   []int64           // of Options.Files
	spaces  []procusage.Space // of Options.Folders; zero for one that could not be read
}

func (m *Meter) read() *reading {
	r := &reading{state: m.o.Stats(), runtime: procusage.ReadRuntime(), files: make([]int64, len(m.o.Files)),
		spaces: make([]procusage.Space, len(m.o.Folders))}
	r.process, r.failed = procusage.Self()
	for i, f := range m.o.Files {
		r.files[i] = f.Written()
	}
	for i, f := range m.o.Folders {
		if space, err := procusage.ReadSpace(f.Path); err == nil { // it may not be there yet
			r.spaces[i] = space
		}
	}
	m.count(&r.state)
	return r
}

// count adds the last checkpoint to the histograms unless it is in them. One that nobody
// looks at before the next one ends is in none: it needs a reading between the two.
func (m *Meter) count(s *store.Stats) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := &s.LastCheckpoint; c.At.After(m.counted) {
		m.counted = c.At
		m.duration.Observe(c.Duration.Seconds())
		m.pause.Observe(c.Pause.Seconds())
	}
}

// Append appends all metrics.
func (m *Meter) Append(w *exposition.Writer) {
	r := m.read()
	s := &r.state
	w.Metric("tarn_state_info", exposition.Gauge, "How the state is kept; always 1")
	w.Sample(1, "engine", s.Engine, "mode", s.Mode, "memory", word(s.Memory))
	writeState(w, s)
	writeWrites(w, s.Written)
	m.files(w, r)
	m.checkpoints(w, s)
	writeProcess(w, &r.process)
	w.Whether("tarn_meter_failed", "1 if some numbers of the process could not be read", r.failed != nil)
	writeRuntime(w, r.runtime)
	m.perYear(w, s, r.process.Disk.Written)
}

// word is a label's value without spaces: simple readers of the format, Leap's tests among
// them, split its lines there.
func word(text string) string { return strings.ReplaceAll(text, " ", "_") }

// files is what goes to all files, and what room there is for them.
func (m *Meter) files(w *exposition.Writer, r *reading) {
	w.Metric("tarn_written_bytes_total", exposition.Counter,
		"Bytes written to files, by content; tarn_state_written_bytes_total has the bytes of the state by cause")
	w.Sample(float64(r.state.Written.Total()), "files", "state")
	for i, f := range m.o.Files {
		w.Sample(float64(r.files[i]), "files", word(f.Name))
	}
	each := func(name, help string, of func(procusage.Space) int64) {
		w.Metric(name, exposition.Gauge, help)
		for i, f := range m.o.Folders {
			if r.spaces[i].Size > 0 {
				w.Sample(float64(of(r.spaces[i])), "folder", word(f.Name))
			}
		}
	}
	each("tarn_disk_free_bytes", "Free space of the disk that a folder is on",
		func(s procusage.Space) int64 { return s.Free })
	each("tarn_disk_size_bytes", "Size of the disk that a folder is on", func(s procusage.Space) int64 { return s.Size })
}

func writeState(w *exposition.Writer, s *store.Stats) {
	bytes := func(name, help string, v int64) { w.Gauge("tarn_state_"+name+"_bytes", help, float64(v)) }
	bytes("size", "Size of the state's files", s.Size)
	bytes("limit", "Limit of the state's size; 0 for none", s.Limit)
	bytes("used", "Bytes that the newest state uses", s.Used)
	bytes("free", "Bytes by which the state can still grow", s.Free)
	bytes("dirty", "Bytes of the state that changed since the last checkpoint", s.DirtyBytes)
	bytes("private", "Private dirty memory of the state, which the kernel cannot take back", s.PrivateBytes)
	w.Gauge("tarn_state_open_views", "Views that readers hold", float64(s.OpenViews))
	count := func(name, help string, v int64) { w.Counter("tarn_state_"+name+"_total", help, float64(v)) }
	count("cache_hits", "Reads that a cache answered", s.CacheHits)
	count("cache_misses", "Reads that no cache answered", s.CacheMisses)
	count("gets", "Rows read", s.Gets)
	count("puts", "Rows written", s.Puts)
	count("deletes", "Rows deleted", s.Deletes)
}

// writeWrites is what goes to the state's files, by cause.
func writeWrites(w *exposition.Writer, now store.Written) {
	w.Metric("tarn_state_written_bytes_total", exposition.Counter, "Bytes written to the state's files, by cause")
	for _, c := range causes(&now) {
		w.Sample(float64(c.bytes), "cause", c.name)
	}
}

func (m *Meter) checkpoints(w *exposition.Writer, s *store.Stats) {
	w.Counter("tarn_checkpoints_total", "Checkpoints finished", float64(s.Checkpoints))
	w.Counter("tarn_checkpoints_failed_total", "Checkpoints that failed", float64(s.CheckpointsFailed))
	if c := &s.LastCheckpoint; !c.At.IsZero() {
		w.Gauge("tarn_checkpoint_age_seconds", "Time since the last checkpoint became durable",
			time.Since(c.At).Seconds())
		w.Gauge("tarn_checkpoint_duration_seconds", "How long the last checkpoint took", c.Duration.Seconds())
		w.Gauge("tarn_checkpoint_pause_seconds", "How long the last checkpoint stopped the chain", c.Pause.Seconds())
		w.Gauge("tarn_checkpoint_bytes", "Bytes that the last checkpoint wrote", float64(c.Bytes))
		w.Gauge("tarn_checkpoint_pages", "Pages, or rows, that the last checkpoint wrote", float64(c.Pages))
		w.Gauge("tarn_checkpoint_returned_bytes", "Memory that the last checkpoint gave back", float64(c.Returned))
	}
	w.Metric("tarn_checkpoint_time_seconds",
		exposition.Buckets, "Duration of checkpoints. If several end between two scrapes, only the last one counts")
	w.Distribution(m.duration.Read())
	w.Metric("tarn_checkpoint_stop_seconds", exposition.Buckets, "How long each of these checkpoints stopped the chain")
	w.Distribution(m.pause.Read())
	d := m.o.Durable()
	w.Gauge("tarn_durable_block_num", "Block that a start after a crash begins with", float64(d.Head))
	w.Gauge("tarn_durable_irreversible_block_num", "Oldest block that a start after a crash can step back to",
		float64(d.Irreversible))
}

// writeProcess has the conventional names where there are some.
func writeProcess(w *exposition.Writer, p *procusage.Process) {
	w.Counter("process_cpu_seconds_total", "CPU time", (p.User + p.System).Seconds())
	w.Metric("tarn_process_cpu_seconds_total", exposition.Counter, "CPU time, user and system")
	w.Sample(p.User.Seconds(), "mode", "user")
	w.Sample(p.System.Seconds(), "mode", "system")
	w.Gauge("process_start_time_seconds", "When the process began, in s since 1970", float64(p.Start.UnixMilli())/1000)
	w.Gauge("process_resident_memory_bytes", "Resident memory", float64(p.Memory.Resident()))
	w.Gauge("process_virtual_memory_bytes", "Address space", float64(p.Virtual))
	w.Gauge("process_open_fds", "Open files", float64(p.Files))
	w.Gauge("tarn_process_threads", "Threads", float64(p.Threads))
	w.Counter("tarn_process_major_faults_total", "Page faults that waited for a disk", float64(p.MajorFaults))
	w.Metric("tarn_process_memory_bytes", exposition.Gauge, "Memory by kind; the kernel can take back what is of files")
	w.Sample(float64(p.Memory.Anonymous), "kind", "anonymous")
	w.Sample(float64(p.Memory.File), "kind", "file")
	w.Sample(float64(p.Memory.Shared), "kind", "shared")
	w.Sample(float64(p.Memory.Swap), "kind", "swap")
	w.Counter("tarn_process_disk_read_bytes_total", "Bytes read from disks", float64(p.Disk.Read))
	w.Counter("tarn_process_disk_written_bytes_total", "Bytes written to disks, the block log included",
		float64(p.Disk.Written))
	w.Counter("tarn_process_disk_cancelled_bytes_total",
		"Bytes written to files that were deleted before the bytes reached a disk",
		float64(p.Disk.Cancelled))
}

func writeRuntime(w *exposition.Writer, r procusage.Runtime) {
	w.Gauge("go_goroutines", "Goroutines", float64(r.Goroutines))
	w.Metric("tarn_go_memory_bytes", exposition.Gauge, "Memory of Go's runtime; all of it is anonymous")
	w.Sample(float64(r.HeapLive), "class", "heap")
	w.Sample(float64(r.HeapIdle), "class", "heap_idle")
	w.Sample(float64(r.Stacks), "class", "stacks")
	w.Sample(float64(r.Other), "class", "other")
	w.Counter("tarn_go_gc_cycles_total", "Garbage collections", float64(r.GCCycles))
	w.Counter("tarn_go_gc_cpu_seconds_total", "CPU time of the garbage collector, an estimate", r.GCCPU.Seconds())
}
