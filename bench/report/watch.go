package report

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"tarn/bench/record"
	"tarn/internal/figuretable"
)

const secondsOfYear = 365 * 24 * 3600

// Year is what a year like the watched time would write, in 10^12 bytes: what checkpoints
// write, and the rest. Without word of checkpoints all is the rest.
type Year struct{ Rest, Checkpoints float64 }

// Whole is both.
func (y Year) Whole() float64 { return y.Rest + y.Checkpoints }

// YearOf projects a watch. Checkpoints are taken by the time between them, not by how many
// fell into the watch.
func YearOf(w *record.Watch) Year {
	last := w.Samples[len(w.Samples)-1]
	if last.Seconds <= 0 {
		return Year{}
	}
	outside, y := float64(last.Written), Year{}
	if c := w.Checkpoints; c != nil && c.Between > 0 {
		each := c.Bytes
		if c.Number > 0 {
			outside -= c.Bytes
			each /= c.Number
		}
		y.Checkpoints = each / c.Between * secondsOfYear / 1e12
	}
	y.Rest = max(0, outside) / last.Seconds * secondsOfYear / 1e12 // below 0 more was deleted than written
	return y
}

// yearRows adds the year, in its two terms where they are known.
func yearRows(t *figuretable.Table, w *record.Watch) {
	y := YearOf(w)
	if c := w.Checkpoints; c != nil && c.Between > 0 {
		each, most := c.Bytes/max(c.Number, 1), ""
		if c.Number == 0 {
			most = ", at most"
			t.Notes = append(t.Notes, "There was no checkpoint during the watch. The row for checkpoints assumes "+
				"one at the end of "+
				"the watch, as large as the last one before it. If the next checkpoint comes later, the row is "+
				"too high.")
		}
		t.Add("checkpoints during the watch", "", figuretable.Small(c.Number))
		t.Add("a checkpoint writes", "MB", figuretable.Megabytes(int64(each)))
		t.Add("from one to the next", "s", figuretable.Small(c.Between))
		t.Add("written in a year outside checkpoints", "TB", figuretable.Small(y.Rest))
		t.Add("written in a year by checkpoints"+most, "TB", figuretable.Small(y.Checkpoints))
	} else {
		t.Notes = append(t.Notes,
			"The figure for a year is the watched period, repeated. If the period has no checkpoint or "+
				"compaction, the figure is too low.")
	}
	t.Add("written in a year", "TB", figuretable.Small(y.Whole()))
	if w.Rating > 0 && y.Whole() > 0 {
		t.Add(fmt.Sprintf("a disk of %g TBW lasts", w.Rating), "years", figuretable.Small(w.Rating/y.Whole()))
	}
}

// aroundRows adds what the kernel counts for everybody.
func aroundRows(t *figuretable.Table, w *record.Watch) {
	last := w.Samples[len(w.Samples)-1]
	per := func(n int64) string { return figuretable.Small(float64(n) / max(last.Seconds, 1e-9) / 1000) }
	if w.Device != "" {
		t.Add("written to the disk by all programs", "KB/s", per(last.Device))
		t.Notes = append(t.Notes, "The disk is that of "+w.Device+".")
	} else {
		t.Notes = append(t.Notes, "The disk under the files is not one that the kernel counts.")
	}
	whose := map[string]string{record.NetworkOwn: "of the network that the process is in",
		record.NetworkShared: "of the whole machine"}[w.Network]
	if whose == "" {
		t.Notes = append(t.Notes, "The network could not be read.")
		return
	}
	t.Add("network in, "+whose, "KB/s", per(last.NetworkIn))
	t.Add("network out, "+whose, "KB/s", per(last.NetworkOut))
	t.Notes = append(t.Notes, "The kernel counts no network by process: the bytes are those of all programs in the "+
		"same network, without the loopback.")
}

// filesShown is the most files in the table; the record has all.
const filesShown = 12

// filesTable is which files were written.
func filesTable(w *record.Watch) figuretable.Table {
	t := figuretable.Table{Title: "Files that were written",
		Head: []string{"file", "grew, MB", "occupies more, MB", "changed in place"},
		How: "Open files and mappings, checked every 10 s or less often. * in a name stands for a number. " +
			"Changed in place is the " +
			"number of checks that found a file changed and no larger. Writes through a mapping show only when " +
			"the kernel has written them back."}
	for i, f := range w.Files {
		if i == filesShown {
			t.Notes = append(t.Notes, fmt.Sprintf("%d more are in the record.", len(w.Files)-filesShown))
			break
		}
		t.Add(f.Name, figuretable.Megabytes(f.Grew), figuretable.Megabytes(f.Occupied), fmt.Sprint(f.InPlace))
	}
	return t
}

// watchTables are all tables of a watch.
func watchTables(w *record.Watch) []figuretable.Table {
	all := []figuretable.Table{watchTable(w)}
	if t := filesTable(w); len(t.Rows) > 0 {
		all = append(all, t)
	}
	return all
}

// watchTable is what the readings come to.
func watchTable(w *record.Watch) figuretable.Table {
	last := w.Samples[len(w.Samples)-1]
	t := figuretable.Table{
		Title: fmt.Sprintf("Process %d", w.PID),
		How: fmt.Sprintf("%.0f s from %s, %d readings (%s). Private dirty memory and threads are read more rarely: "+
			"the slowest page walk took %s ms.",
			last.Seconds, w.Began.UTC().Format("2006-01-02 15:04:05Z"), len(w.Samples), w.Ended,
			figuretable.Significant(1000*w.Walk)),
		Head: []string{"what", "unit", "value"},
	}
	per := func(x float64) string { return figuretable.Small(x / max(last.Seconds, 1e-9)) }
	t.Add("processor, user", "% of a core", per(100*last.User))
	t.Add("processor, system", "% of a core", per(100*last.System))
	most := func(of func(record.Sample) int64) string {
		var m int64
		for _, s := range w.Samples {
			m = max(m, of(s))
		}
		return figuretable.Megabytes(m)
	}
	t.Add("maximum private dirty memory", "MB", most(func(s record.Sample) int64 { return s.PrivateDirty }))
	t.Add("maximum anonymous memory", "MB", most(func(s record.Sample) int64 { return s.Anonymous }))
	t.Add("maximum memory of files", "MB", most(func(s record.Sample) int64 { return s.File }))
	t.Add("maximum shared memory", "MB", most(func(s record.Sample) int64 { return s.Shared }))
	t.Add("maximum swap", "MB", most(func(s record.Sample) int64 { return s.Swap }))
	t.Add("read", "KB/s", per(float64(last.Read)/1000))
	t.Add("written, minus cancelled", "KB/s", per(float64(last.Written)/1000))
	for _, cause := range slices.Sorted(maps.Keys(w.ByCause)) {
		t.Add("written to the state, as the node counts: "+cause, "KB/s", per(w.ByCause[cause]/1000))
	}
	for _, files := range slices.Sorted(maps.Keys(w.ByFiles)) {
		t.Add("written to other files, as the node counts: "+files, "KB/s", per(w.ByFiles[files]/1000))
	}
	yearRows(&t, w)
	aroundRows(&t, w)
	t.Add("major page faults", "1/s", per(float64(last.MajorFaults)))
	for _, name := range slices.Sorted(maps.Keys(w.ByName)) {
		t.Add("processor, thread "+name, "s", figuretable.Small(w.ByName[name]))
	}
	t.Notes = append(t.Notes,
		"Bytes written do not include what the disk writes inside in addition (write amplification).")
	if w.Unasked != "" {
		t.Notes = append(t.Notes, "What the node writes for is not known: "+w.Unasked+".")
	}
	return t
}

// WriteWatch writes what the readings of a watch come to, as Markdown.
func WriteWatch(out io.Writer, w *record.Watch) error {
	for _, t := range watchTables(w) {
		if err := t.Write(out); err != nil {
			return err
		}
	}
	return nil
}
