package report

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"tarn/bench/record"
	"tarn/internal/figures"
)

const secondsOfYear = 365 * 24 * 3600

// TerabytesOfYear is what a year like the watched time would write, in 10^12 bytes.
func TerabytesOfYear(w *record.Watch) float64 {
	last := w.Samples[len(w.Samples)-1]
	if last.Seconds <= 0 || last.Written < 0 { // more was deleted than written
		return 0
	}
	return float64(last.Written) / last.Seconds * secondsOfYear / 1e12
}

// watchTable is what the readings come to.
func watchTable(w *record.Watch) figures.Table {
	last := w.Samples[len(w.Samples)-1]
	t := figures.Table{
		Title: fmt.Sprintf("Process %d", w.PID),
		How: fmt.Sprintf("%.0f s from %s, %d readings (%s). Private dirty memory and threads are read more rarely: the slowest page walk took %s ms.",
			last.Seconds, w.Began.UTC().Format("2006-01-02 15:04:05Z"), len(w.Samples), w.Ended, figures.Significant(1000*w.Walk)),
		Head: []string{"what", "unit", "value"},
	}
	per := func(x float64) string { return figures.Small(x / max(last.Seconds, 1e-9)) }
	t.Add("processor, user", "% of a core", per(100*last.User))
	t.Add("processor, system", "% of a core", per(100*last.System))
	most := func(of func(record.Sample) int64) string {
		var m int64
		for _, s := range w.Samples {
			m = max(m, of(s))
		}
		return figures.Megabytes(m)
	}
	t.Add("private dirty, most", "MB", most(func(s record.Sample) int64 { return s.PrivateDirty }))
	t.Add("anonymous, most", "MB", most(func(s record.Sample) int64 { return s.Anonymous }))
	t.Add("of files, most", "MB", most(func(s record.Sample) int64 { return s.File }))
	t.Add("shared, most", "MB", most(func(s record.Sample) int64 { return s.Shared }))
	t.Add("swap, most", "MB", most(func(s record.Sample) int64 { return s.Swap }))
	t.Add("read", "KB/s", per(float64(last.Read)/1000))
	t.Add("written, less cancelled", "KB/s", per(float64(last.Written)/1000))
	for _, cause := range slices.Sorted(maps.Keys(w.ByCause)) {
		t.Add("the state's, as the node says: "+cause, "KB/s", per(w.ByCause[cause]/1000))
	}
	for _, files := range slices.Sorted(maps.Keys(w.ByFiles)) {
		t.Add("other files, as the node says: "+files, "KB/s", per(w.ByFiles[files]/1000))
	}
	t.Add("written in a year", "TB", figures.Small(TerabytesOfYear(w)))
	if year := TerabytesOfYear(w); w.Rating > 0 && year > 0 {
		t.Add(fmt.Sprintf("a disk of %g TBW lasts", w.Rating), "years", figures.Small(w.Rating/year))
	}
	t.Add("waits for a page", "1/s", per(float64(last.MajorFaults)))
	for _, name := range slices.Sorted(maps.Keys(w.ByName)) {
		t.Add("processor, thread "+name, "s", figures.Small(w.ByName[name]))
	}
	t.Notes = append(t.Notes,
		"A year is the watched time over and over: a time without a checkpoint or a compaction tells too little.",
		"What the disk itself writes more (amplification) is not in it.")
	if w.Unasked != "" {
		t.Notes = append(t.Notes, "What the node writes for is not known: "+w.Unasked+".")
	}
	return t
}

// WriteWatch writes what the readings of a watch come to, as Markdown.
func WriteWatch(out io.Writer, w *record.Watch) error { return watchTable(w).Write(out) }
