package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tarn/bench/record"
	"tarn/internal/figuretable"
)

// pointsMost is the most points of a line in the page: what a screen can show.
const pointsMost = 1000

// point is one of a line: seconds, value.
type point struct{ x, y float64 }

// line is one of a plot.
type line struct {
	name   string
	points []point
}

// plot is what the page's script draws: times, and for each line a value or nothing.
type plot struct {
	Title string       `json:"title"`
	Unit  string       `json:"unit"`
	Names []string     `json:"names"`
	Data  [][]*float64 `json:"data"` // times first
}

// newPlot puts lines over one row of times, as the library wants them.
func newPlot(title, unit string, lines []line) plot {
	p := plot{Title: title, Unit: unit}
	var times []float64
	for i, l := range lines {
		lines[i].points = thin(l.points, pointsMost)
		for _, at := range lines[i].points {
			times = append(times, at.x)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	column := make([]*float64, len(times))
	for i := range times {
		column[i] = &times[i]
	}
	p.Data = append(p.Data, column)
	for _, l := range lines {
		column := make([]*float64, len(times))
		for i := range l.points {
			at, _ := slices.BinarySearch(times, l.points[i].x)
			column[at] = &l.points[i].y
		}
		p.Names, p.Data = append(p.Names, l.name), append(p.Data, column)
	}
	return p
}

// thin leaves at most so many points, the least and the greatest of each part among them.
func thin(points []point, most int) []point {
	if len(points) <= most {
		return points
	}
	size := (2*len(points) + most - 1) / most
	var some []point
	for part := range slices.Chunk(points, size) {
		by := func(a, b point) int { return cmp.Compare(a.y, b.y) }
		low, high := slices.MinFunc(part, by), slices.MaxFunc(part, by)
		if low.x > high.x {
			low, high = high, low
		}
		some = append(some, low)
		if high != low {
			some = append(some, high)
		}
	}
	return some
}

// leastSpan is the shortest time, in seconds, over which a use of the processor is drawn: the
// kernel counts it in ticks of 10 ms, and a tick in a moment would be many processors.
const leastSpan = 0.1

// spans are pairs of readings between which a use is drawn: each as short as it may be, the
// last one as long as it must be.
func spans(samples []record.Sample) (all [][2]int) {
	from := 0
	for i := 1; i < len(samples); i++ {
		if samples[i].Seconds-samples[from].Seconds >= leastSpan*(1-1e-9) {
			all = append(all, [2]int{from, i})
			from = i
		}
	}
	if n := len(all); n > 0 {
		all[n-1][1] = len(samples) - 1 // with the rest, which is too short for itself
	}
	return all
}

// The lines that readings give.
func processorLine(samples []record.Sample) (all []point) {
	for _, span := range spans(samples) {
		a, b := samples[span[0]], samples[span[1]]
		all = append(all, point{b.Seconds, 100 * (b.User + b.System - a.User - a.System) / (b.Seconds - a.Seconds)})
	}
	return all
}

func writtenLine(samples []record.Sample) []point {
	return megabytes(samples, func(s record.Sample) int64 { return s.Written })
}

func megabytes(samples []record.Sample, of func(record.Sample) int64) (all []point) {
	for _, s := range samples {
		all = append(all, point{s.Seconds, float64(of(s)) / 1e6})
	}
	return all
}

// memoryLine is what is the process's alone. The last reading, of a process that has ended,
// has no memory and is left out.
func memoryLine(samples []record.Sample) (all []point) {
	for _, s := range samples {
		if s.Anonymous+s.File > 0 {
			all = append(all, point{s.Seconds, float64(s.Anonymous) / 1e6})
		}
	}
	return all
}

func residentLine(samples []record.Sample) (all []point) {
	for _, s := range samples {
		if s.Anonymous+s.File > 0 {
			all = append(all, point{s.Seconds, float64(s.Anonymous+s.File+s.Shared) / 1e6})
		}
	}
	return all
}

// fullestRound has the lives of one round of a suite that have what is to be drawn: of the first round in which
// the most subjects have it, in the order of subjects. Curves of different rounds would not compare.
func fullestRound(r *record.Run, suite string, drawn func(record.Life) bool) (lives []record.Life) {
	rounds := map[int][]record.Life{}
	for _, x := range r.Subjects {
		for _, l := range r.Lives {
			if l.Suite == suite && l.Subject == x.Name && l.Failure == "" && drawn(l) {
				rounds[l.Round] = append(rounds[l.Round], l)
			}
		}
	}
	for _, round := range slices.Sorted(maps.Keys(rounds)) {
		if len(rounds[round]) > len(lives) {
			lives = rounds[round]
		}
	}
	return lives
}

// runPlots are those of a run: of each suite with readings, one round.
func runPlots(r *record.Run) (all []plot) {
	for _, s := range r.Suites {
		lives := fullestRound(r, s.Name, func(l record.Life) bool { return len(l.Samples) > 1 })
		add := func(title, unit string, of func([]record.Sample) []point) {
			var lines []line
			for _, l := range lives {
				if points := of(l.Samples); len(points) > 0 {
					lines = append(lines, line{l.Subject, points})
				}
			}
			if len(lines) > 0 {
				all = append(all, newPlot(fmt.Sprintf("%s: %s, round %d", s.Name, title, lives[0].Round), unit, lines))
			}
		}
		add("written", "MB", writtenLine)
		add("private memory", "MB", memoryLine)
		add("resident memory", "MB", residentLine)
		add("processor", "% of a core", processorLine)
		if waits := waitLines(r, s.Name); len(waits) > 0 {
			all = append(all, newPlot(s.Name+": longest of each 10 s, seconds from the loop's begin", "ms", waits))
		}
	}
	return all
}

// waitLines are the longest answers of each part of the loops, in one round.
func waitLines(r *record.Run, suite string) (all []line) {
	for _, x := range fullestRound(r, suite, func(l record.Life) bool { return len(l.Waits) > 0 }) {
		at := map[string]int{}
		for _, w := range x.Waits {
			name := x.Subject + ", " + w.Loop
			if _, ok := at[name]; !ok {
				at[name] = len(all)
				all = append(all, line{name: name})
			}
			l := &all[at[name]]
			l.points = append(l.points, point{w.Seconds, 1e3 * w.Longest})
		}
	}
	return all
}

// watchPlots are those of a watch.
func watchPlots(w *record.Watch) []plot {
	var dirty []point
	for _, s := range w.Samples {
		if s.PrivateDirty > 0 {
			dirty = append(dirty, point{s.Seconds, float64(s.PrivateDirty) / 1e6})
		}
	}
	written := []line{{"the process", writtenLine(w.Samples)}}
	if w.Device != "" {
		written = append(written, line{"its disk", megabytes(w.Samples, func(s record.Sample) int64 {
			return s.Device
		})})
	}
	all := []plot{
		newPlot("Written", "MB", written),
		newPlot("Memory", "MB", []line{{"resident", residentLine(w.Samples)}, {"private", memoryLine(w.Samples)},
			{"private dirty", dirty}}),
		newPlot("Processor", "% of a core", []line{{"processor", processorLine(w.Samples)}}),
	}
	if threads := threadLines(w.Samples); len(threads) > 0 {
		all = append(all, newPlot("Threads", "% of a core", threads))
	}
	if w.Network != "" {
		all = append(all, newPlot("Network", "MB", []line{
			{"in", megabytes(w.Samples, func(s record.Sample) int64 { return s.NetworkIn })},
			{"out", megabytes(w.Samples, func(s record.Sample) int64 { return s.NetworkOut })},
		}))
	}
	return all
}

// threadsDrawn is the most names of threads that have a line; the others share one.
const threadsDrawn = 7

// threadLines are the threads' use of the processor by name, between the readings that have
// it. What used most comes first.
func threadLines(samples []record.Sample) (all []line) {
	detailed := slices.DeleteFunc(slices.Clone(samples), func(s record.Sample) bool { return s.ByThread == nil })
	parts := spans(detailed)
	if len(parts) == 0 {
		return nil
	}
	last := detailed[len(detailed)-1].ByThread
	names := slices.SortedFunc(maps.Keys(last), func(a, b string) int {
		return cmp.Or(cmp.Compare(last[b], last[a]), cmp.Compare(a, b))
	})
	const others = "others"
	at := map[string]int{}
	for i, name := range names {
		if i >= threadsDrawn {
			name = others
		}
		if _, ok := at[name]; !ok {
			at[name] = len(all)
			all = append(all, line{name: figuretable.OneLine(name), points: make([]point, len(parts))})
		}
		l := all[at[name]]
		for n, span := range parts {
			a, b := detailed[span[0]], detailed[span[1]]
			l.points[n].x = b.Seconds
			l.points[n].y += 100 * max(0, b.ByThread[names[i]]-a.ByThread[names[i]]) / (b.Seconds - a.Seconds)
		}
	}
	return all
}
