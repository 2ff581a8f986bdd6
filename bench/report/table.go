// Package report shows what `tarn bench` found to people: tables for a terminal, and one
// HTML file that needs no network and is readable without scripts.
//
// It owns words, tables and the page. Everything in them comes from a record.
package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tarn/bench/record"
	"tarn/internal/figuretable"
)

// Tables are those of a run: one for each suite, then what was lost.
func Tables(r *record.Run) []figuretable.Table {
	var all []figuretable.Table
	for _, s := range r.Suites {
		all = append(all, suiteTables(r, s)...)
	}
	if t := failuresTable(r); len(t.Rows) > 0 {
		all = append(all, t)
	}
	return all
}

// suiteTables are those of a suite.
func suiteTables(r *record.Run, s record.Suite) (all []figuretable.Table) {
	for i, part := range s.Parts() {
		all = append(all, ofPart(r, s, part, i == 0)...)
	}
	return all
}

// ofPart are the tables of a suite's part. With the first stands what the nodes themselves
// say, which is of all parts.
func ofPart(r *record.Run, s, part record.Suite, first bool) []figuretable.Table {
	all := []figuretable.Table{medians(r, s.Name, part)}
	if t := writesTable(r, s); first && len(t.Rows) > 0 {
		all = append(all, t)
	}
	if len(r.Subjects) < 2 {
		return all
	}
	if t, pairs := ratios(r, s.Name, part); pairs > 0 {
		return append(all, t)
	}
	all[0].Notes = append(all[0].Notes,
		"There are no ratios: in no round were both subjects measured while the machine had the same speed.")
	return all
}

// medians is the table of the values of a suite's part.
func medians(r *record.Run, suite string, part record.Suite) figuretable.Table {
	t := figuretable.Table{Title: part.Name, How: strings.TrimSpace(part.How + " " + averaged(r, suite)),
		Head: []string{"subject", "rounds"}}
	scales := make([]scale, len(part.Metrics))
	for i, m := range part.Metrics {
		scales[i] = scaleOf(m.Unit, greatestMedian(r, suite, m))
		t.Head = append(t.Head, strings.TrimSpace(m.Name+" "+scales[i].unit))
	}
	for _, x := range r.Subjects {
		row := []string{x.Name, rounds(r, suite, x.Name)}
		for i, m := range part.Metrics {
			row = append(row, scales[i].text(record.Estimated(r.Values(suite, x.Name, m.Key())).Median))
		}
		t.Add(row...)
	}
	return t
}

// averaged says what the values of a table are.
func averaged(r *record.Run, suite string) string {
	if r.Rounds(suite) == 1 {
		return "Values of one round."
	}
	return "Values are medians of the rounds."
}

// greatestMedian is the one that decides in which unit a metric is written, wherever it is.
func greatestMedian(r *record.Run, suite string, m record.Metric) (greatest float64) {
	for _, x := range r.Subjects {
		if e := record.Estimated(r.Values(suite, x.Name, m.Key())); e.N > 0 {
			greatest = max(greatest, math.Abs(e.Median))
		}
	}
	return greatest
}

// writesTable is the table of what nodes say they wrote, of those that say it.
func writesTable(r *record.Run, s record.Suite) figuretable.Table {
	type line struct {
		subject, what string
		bytes         float64
	}
	var lines []line
	greatest := 0.0
	for _, x := range r.Subjects {
		found := map[string][]float64{}
		for _, l := range r.Lives {
			if l.Suite != s.Name || l.Subject != x.Name {
				continue
			}
			for name, v := range l.ByCause {
				found["state, "+name] = append(found["state, "+name], v)
			}
			for name, v := range l.ByFiles {
				found[name] = append(found[name], v)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(found)) {
			if m := record.Estimated(found[name]).Median; m > 0 {
				lines, greatest = append(lines, line{x.Name, name, m}), max(greatest, m)
			}
		}
	}
	scale := scaleOf("B/s", greatest)
	t := figuretable.Table{Title: s.Name + ", as the nodes count", Head: []string{"subject", "what", scale.unit},
		How: "The bytes that a node counted as written while it served: those of its state by cause, those of its " +
			"other files by their content. Causes without bytes are left out. " + averaged(r, s.Name)}
	for _, l := range lines {
		t.Add(l.subject, l.what, scale.text(l.bytes))
	}
	return t
}

// rounds is how many of a subject's rounds there are, and how many were lost.
func rounds(r *record.Run, suite, name string) string {
	good, bad := 0, 0
	for _, l := range r.Lives {
		if l.Suite != suite || l.Subject != name {
			continue
		}
		if l.Failure == "" {
			good++
		} else {
			bad++
		}
	}
	if bad > 0 {
		return fmt.Sprintf("%d, %d lost", good, bad)
	}
	return fmt.Sprint(good)
}

// howOfRatios says how a table of ratios is read; few of one that has ratios from too few pairs.
func howOfRatios(first string, few bool) string {
	how := "Each value is divided by the value of " + first + " in the same round; a ratio of 2 means twice as much. The " +
		"column `pairs` says how many ratios there are. First comes the median of the ratios, then its 95 % confidence " +
		"interval."
	if few {
		how += " If there are too few ratios to conclude anything, brackets show the lowest and the highest ratio instead. " +
			"If there is only one ratio, it stands in brackets."
	}
	return how
}

// ratios is the table of the ratios to the first subject in a suite's part, and the most
// pairs that one of them comes from.
func ratios(r *record.Run, suite string, part record.Suite) (t figuretable.Table, most int) {
	first := r.Subjects[0].Name
	t = figuretable.Table{Title: part.Name + ", compared with " + first, Head: []string{"subject", "pairs"}}
	estimates := make([][]record.Estimate, 0, len(r.Subjects))
	told, few := make([]bool, len(part.Metrics)), false // of which there is a ratio; from too few pairs
	for _, x := range r.Subjects[1:] {
		var row []record.Estimate
		for i, m := range part.Metrics {
			e := record.Estimated(r.Ratios(suite, x.Name, first, m.Key()))
			told[i] = told[i] || ratio(e) != figuretable.None
			few = few || !e.Sure && ratio(e) != figuretable.None
			row = append(row, e)
		}
		estimates = append(estimates, row)
	}
	if part.How != "" { // of further parts it is the same
		t.How = howOfRatios(first, few)
	}
	for i, m := range part.Metrics {
		if told[i] {
			t.Head = append(t.Head, m.Name)
		}
	}
	var none []string
	for n, x := range r.Subjects[1:] {
		pairs := 0
		var cells []string
		for i, e := range estimates[n] {
			if told[i] {
				cells = append(cells, ratio(e))
			}
			if ratio(e) != figuretable.None {
				pairs = max(pairs, e.N)
			}
		}
		if pairs == 0 {
			none = append(none, x.Name)
			continue
		}
		most = max(most, pairs)
		t.Add(append([]string{x.Name, fmt.Sprint(pairs)}, cells...)...)
	}
	if most > 0 && len(none) > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("There are no ratios of %s: in no round were it and the first subject "+
			"measured while the machine had the same speed.", strings.Join(none, ", ")))
	}
	return t, most
}

// ratio writes one with how sure it is.
func ratio(e record.Estimate) string {
	switch {
	case e.N == 0 || figuretable.Ratio(e.Median) == figuretable.None:
		return figuretable.None
	case e.Sure:
		return fmt.Sprintf("%s, %s–%s", figuretable.Ratio(e.Median), figuretable.Ratio(e.Low), figuretable.Ratio(e.High))
	case e.N == 1:
		return fmt.Sprintf("(%s)", figuretable.Ratio(e.Median))
	}
	return fmt.Sprintf("%s (%s–%s)", figuretable.Ratio(e.Median), figuretable.Ratio(e.Least), figuretable.Ratio(e.Most))
}

// failuresTable is the table of measurements that failed.
func failuresTable(r *record.Run) figuretable.Table {
	t := figuretable.Table{Title: "Failed measurements", How: "What could not be measured, and why.",
		Head: []string{"suite", "round", "subject", "why"}}
	for _, l := range r.Lives {
		if l.Failure != "" {
			t.Add(l.Suite, fmt.Sprint(l.Round), l.Subject, strings.ReplaceAll(l.Failure, "\n", " "))
		}
	}
	return t
}

// Notes say how reliable the figures are.
func Notes(r *record.Run) []string {
	notes := []string{
		fmt.Sprintf("%s; %d processors (%s), %s MB of memory, Linux %s, disk %s; load averages at the start %s.",
			r.Began.UTC().Format(time.DateTime+" UTC"), r.Machine.CPUs, r.Machine.CPU, figuretable.Megabytes(r.Machine.RAM),
			r.Machine.Kernel, r.Machine.Disk, r.Machine.Load)}
	if r.Machine.InMemory {
		notes = append(notes,
			"The nodes' folder is in memory: nothing was written to a disk, and the bytes written mean nothing.")
	}
	if r.Ended != record.EndWhole {
		notes = append(notes, "The run is incomplete: "+r.Ended+".")
	}
	for _, l := range r.Left {
		notes = append(notes, "Left out: "+l+".")
	}
	slowest, fastest, others, unsteady, n := 0.0, math.Inf(1), 0.0, 0, 0
	for _, l := range r.Lives {
		slowest, fastest = max(slowest, l.CalibrationBefore, l.CalibrationAfter),
			min(fastest, l.CalibrationBefore, l.CalibrationAfter)
		if n++; l.Others > 0.10 {
			others++
		}
		if l.Unsteady {
			unsteady++
		}
	}
	if n > 0 && fastest > 0 {
		notes = append(notes,
			fmt.Sprintf("A fixed amount of processor work, timed before and after each measurement, took %s to "+
				"%s ms: the machine's speed varied by %s.",
				figuretable.Significant(1e3*fastest), figuretable.Significant(1e3*slowest), figuretable.Percent(slowest/fastest-1)))
	}
	if others > 0 {
		notes = append(notes, fmt.Sprintf("During %.0f of %d measurements other programs used more than 10 %% of the "+
			"processors: these figures are less reliable.", others, n))
	}
	if unsteady > 0 {
		notes = append(notes, fmt.Sprintf("During %d of %d measurements the machine's speed differed by more than "+
			"10 %% from the other measurement of the same pair. These values are in the medians and in the "+
			"record, and in no ratio.", unsteady, n))
	}
	c := r.Chain
	return append(notes,
		fmt.Sprintf("The chain: %s, seed %d, %s accounts, %s transfers, %s blocks, %s MB; sha256 of its blocks %s.",
			c.Protocol, c.Seed, figuretable.Count(float64(c.Accounts)), figuretable.Count(float64(c.Transfers)),
			figuretable.Count(float64(c.Blocks)), figuretable.Megabytes(c.Bytes), c.SHA256),
		"Bytes written are those that the system sends to the disk. What the disk writes in addition, inside (its own "+
			"write amplification), is not included.")
}

// WriteText writes a run for a terminal, as Markdown.
func WriteText(w io.Writer, r *record.Run) error {
	for _, t := range Tables(r) {
		if err := t.Write(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "- %s\n", strings.Join(Notes(r), "\n- "))
	return err
}
