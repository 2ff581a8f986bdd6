package nodemetrics

import (
	"time"

	"tarn/httpserver/exposition"
	"tarn/procusage"
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

func (m *Meter) baseline() baseline {
	p, _ := procusage.Self() // what could not be read is 0
	return baseline{at: time.Now(), written: m.o.Stats().Written, disk: p.Disk.Written}
}

// yearly is what a year of writing for one cause is.
type yearly struct {
	cause string
	bytes float64
}

// project projects writes to a year. Checkpoints are few and large, so they are counted
// over whole intervals, up to the last one, and all the rest up to now. The total is that of
// the process; ok is false while it is not known.
func (m *Meter) project(s *store.Stats, disk int64) (state []yearly, total float64, ok bool) {
	between, ok := times(time.Since(m.begin.at))
	if !ok {
		return nil, 0, false
	}
	written := s.Written.Since(m.begin.written)
	for _, c := range causes(&written) {
		if !c.checkpoint {
			state = append(state, yearly{c.name, float64(c.bytes) * between})
		}
	}
	intervals, ok := times(s.LastCheckpoint.At.Sub(m.begin.at))
	if !ok {
		return state, 0, false
	}
	checkpoints := int64(0)
	for _, c := range causes(&written) {
		if c.checkpoint {
			checkpoints += c.bytes
			state = append(state, yearly{c.name, float64(c.bytes) * intervals})
		}
	}
	rest := max(0, disk-m.begin.disk-checkpoints)
	return state, float64(rest)*between + float64(checkpoints)*intervals, true
}

// perYear shows the projection, as far as there is one.
func (m *Meter) perYear(w *exposition.Writer, s *store.Stats, disk int64) {
	state, total, whole := m.project(s, disk)
	if len(state) > 0 {
		w.Metric("tarn_state_written_bytes_per_year", exposition.Gauge,
			"Bytes written to the state's files, by cause, since the node began to serve, as if for a year")
		for _, y := range state {
			w.Sample(y.bytes, "cause", y.cause)
		}
	}
	if whole {
		w.Gauge("tarn_process_disk_written_bytes_per_year",
			"What the process writes to disks, since it began to serve, as if for a year", total)
	}
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

// cause is why bytes go to the state's files, and whether only checkpoints write them.
type cause struct {
	name       string
	bytes      int64
	checkpoint bool
}

func causes(w *store.Written) []cause {
	return []cause{
		{"checkpoint", w.Checkpoint, true}, {"meta", w.Meta, true}, {"spill", w.Spill, false},
		{"mapped", w.Mapped, false},
		{"log", w.Log, true}, {"flush", w.Flush, true}, {"compaction", w.Compaction, false},
	}
}
