package nodemetrics

import (
	"math"
	"os"
	"time"

	"tarn/livepage"
	"tarn/procusage"
)

// pagesEvery is how often the kernel is asked for private dirty memory: it walks the page
// table for it.
const pagesEvery = 10 * time.Second

// paceOver is over how many samples the present pace of writing is measured.
const paceOver = 300

// Watch shows a meter's numbers on a dashboard. It is for one goroutine.
type Watch struct {
	m       *Meter
	now     *reading
	pages   procusage.Pages // zero where they could not be read
	pagesAt time.Time

	written [paceOver]int64 // to disks, at the last samples
	taken   [paceOver]time.Time
	samples int
}

// Watch returns a new one. Read comes before each sample.
func (m *Meter) Watch() *Watch { return &Watch{m: m, now: &reading{}} }

// Read reads what the panels and figures show.
func (w *Watch) Read() {
	w.now = w.m.read()
	now := time.Now()
	if now.Sub(w.pagesAt) >= pagesEvery {
		w.pagesAt = now
		pages, err := procusage.ReadPages(os.Getpid())
		if err != nil {
			pages = procusage.Pages{}
		}
		w.pages = pages
	}
	i := w.samples % paceOver
	w.written[i], w.taken[i] = w.now.process.Disk.Net(), now
	w.samples++
}

// pace is what a year is at the pace of the last samples; nothing before there are as many as the
// title says, for a start writes as no year does.
func (w *Watch) pace() float64 {
	if w.samples < paceOver {
		return math.NaN()
	}
	last, first := (w.samples-1)%paceOver, w.samples%paceOver
	span := w.taken[last].Sub(w.taken[first])
	return float64(max(0, w.written[last]-w.written[first])) * year.Seconds() / span.Seconds()
}

// gauge is a series of a number, total one of a number that grows.
func (w *Watch) gauge(name string, v func(r *reading) int64) livepage.Series {
	return livepage.Series{Name: name, Value: func() float64 { return float64(v(w.now)) }}
}

func (w *Watch) total(name string, v func(r *reading) int64) livepage.Series {
	s := w.gauge(name, v)
	s.Rate = true
	return s
}

// busy is the share of a processor that a time which grows is.
func (w *Watch) busy(name string, v func(r *reading) time.Duration) livepage.Series {
	return livepage.Series{Name: name, Rate: true, Scale: 100, Value: func() float64 { return v(w.now).Seconds() }}
}

// Disk are the panels about the disk.
func (w *Watch) Disk() []livepage.Panel {
	causes := []livepage.Series{
		w.total("checkpoints", func(r *reading) int64 { return r.state.Written.Checkpoint + r.state.Written.Meta }),
		w.total("early pages", func(r *reading) int64 { return r.state.Written.Spill }),
		w.total("mapped pages", func(r *reading) int64 { return r.state.Written.Mapped }),
		w.total("engine's files", func(r *reading) int64 {
			return r.state.Written.Log + r.state.Written.Flush + r.state.Written.Compaction
		}),
	}
	for i, f := range w.m.o.Files {
		causes = append(causes, w.total(f.Name, func(r *reading) int64 { return r.files[i] }))
	}
	const group = "Disk"
	return []livepage.Panel{
		{Group: group, Title: "Written to files, by cause", Unit: livepage.BytesSecond, Stacked: true, Series: causes,
			Help: "As the node counts it. In mapped_private only checkpoints write the state: peaks with nothing in " +
				"between are normal."},
		{Group: group, Title: "To and from disks", Unit: livepage.BytesSecond, Series: []livepage.Series{
			w.total("written", func(r *reading) int64 { return r.process.Disk.Written }),
			w.total("deleted before it was written", func(r *reading) int64 { return r.process.Disk.Cancelled }),
			w.total("read", func(r *reading) int64 { return r.process.Disk.Read }),
		}, Help: "As the kernel counts it for the whole process. Reads stop once the state is in memory."},
		{Group: group, Title: "Changed since the last checkpoint", Unit: livepage.Bytes, Series: []livepage.Series{
			w.gauge("changed", func(r *reading) int64 { return r.state.DirtyBytes }),
		}, Help: "About what the next checkpoint will write. Drops to zero when a checkpoint starts."},
	}
}

// Memory are the panels about memory.
func (w *Watch) Memory() []livepage.Panel {
	const group = "Memory"
	return []livepage.Panel{
		{Group: group, Title: "Memory by kind", Unit: livepage.Bytes, Stacked: true, Series: []livepage.Series{
			w.gauge("swap", func(r *reading) int64 { return r.process.Memory.Swap }),
			w.gauge("files", func(r *reading) int64 { return r.process.Memory.File }),
			w.gauge("shared", func(r *reading) int64 { return r.process.Memory.Shared }),
			w.gauge("anonymous", func(r *reading) int64 { return r.process.Memory.Anonymous }),
		}, Help: "The kernel can take back memory of files at any time. Anonymous memory can only go to swap."},
		{Group: group, Title: "Memory that the kernel cannot take back", Unit: livepage.Bytes,
			Series: []livepage.Series{
				w.gauge("private dirty", func(*reading) int64 { return w.pages.PrivateDirty }),
				w.gauge("of the state", func(r *reading) int64 { return r.state.PrivateBytes }),
				w.gauge("Go's heap", func(r *reading) int64 { return r.runtime.HeapLive }),
			}, Help: "Private dirty memory is read every 10 s. A checkpoint gives back the state's part."},
	}
}

// Processor are the panels about the processor; parts are of the second one, beside the
// garbage collector.
func (w *Watch) Processor(parts ...livepage.Series) []livepage.Panel {
	const group = "Processor"
	parts = append(parts, w.busy("collecting garbage", func(r *reading) time.Duration { return r.runtime.GCCPU }))
	return []livepage.Panel{
		{Group: group, Title: "Processor", Unit: livepage.Percent, Stacked: true, Series: []livepage.Series{
			w.busy("kernel", func(r *reading) time.Duration { return r.process.System }),
			w.busy("program", func(r *reading) time.Duration { return r.process.User }),
		}, Help: "100 % is one processor."},
		{Group: group, Title: "Where the time goes", Unit: livepage.Percent, Series: parts,
			Help: "100 % is one processor, always busy. A chain whose writer is near 100 % cannot go faster."},
	}
}

// Figures are the numbers about disk and memory.
func (w *Watch) Figures() []livepage.Figure {
	const disk, memory = "Disk", "Memory"
	list := []livepage.Figure{
		{Group: disk, Title: "Written a year", Unit: livepage.BytesYear,
			Help: "Average since the node started to serve, over whole checkpoint intervals. Known after 15 min and " +
				"one checkpoint", Value: func() float64 {
				if _, total, ok := w.m.project(&w.now.state, w.now.process.Disk.Written); ok {
					return total
				}
				return math.NaN()
			}},
		{Group: disk, Title: "Written a year at the rate of the last 5 minutes", Unit: livepage.BytesYear,
			Help: "Too high if a checkpoint fell into these 5 minutes, too low if none did", Value: w.pace},
		{Group: disk, Title: "Last checkpoint", Unit: livepage.Seconds, Help: "ago", Value: func() float64 {
			if at := w.now.state.LastCheckpoint.At; !at.IsZero() {
				return time.Since(at).Seconds()
			}
			return math.NaN()
		}},
		{Group: disk, Title: "Size of the last checkpoint", Unit: livepage.Bytes,
			Value: w.ofCheckpoint(func(r *reading) float64 { return float64(r.state.LastCheckpoint.Bytes) })},
		{Group: disk, Title: "Duration of the last checkpoint", Unit: livepage.Seconds, Value: w.ofCheckpoint(func(r *reading) float64 {
			return r.state.LastCheckpoint.Duration.Seconds()
		})},
		{Group: disk, Title: "Size of the state", Unit: livepage.Bytes, Value: func() float64 {
			return float64(w.now.state.Used)
		}},
		{Group: memory, Title: "State", Unit: livepage.Text, Help: "how it is kept", Words: func() string {
			s := &w.now.state
			if s.Mode == "" {
				return s.Engine
			}
			return s.Engine + ", " + s.Mode
		}},
	}
	for i, f := range w.m.o.Folders {
		list = append(list, livepage.Figure{Group: disk, Title: "Free for " + f.Name, Unit: livepage.Bytes,
			Value: func() float64 {
				if i >= len(w.now.spaces) || w.now.spaces[i].Size == 0 {
					return math.NaN()
				}
				return float64(w.now.spaces[i].Free)
			}})
	}
	return list
}

func (w *Watch) ofCheckpoint(v func(r *reading) float64) func() float64 {
	return func() float64 {
		if w.now.state.LastCheckpoint.At.IsZero() {
			return math.NaN()
		}
		return v(w.now)
	}
}
