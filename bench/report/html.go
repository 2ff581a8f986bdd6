package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"tarn/bench/record"
	"tarn/internal/figuretable"
	"tarn/internal/uplot"
	"tarn/store/vfs"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// page is what the template shows.
type page struct {
	Title    string
	Lead     []string
	Findings []finding           // of a run
	Tables   []figuretable.Table // that are not folded
	Plots    []plot
	Notes    []string
	Subjects []record.Subject
	Settings []record.Setting
	Lives    []figuretable.Table
	Commands []string
	Style    template.CSS
	Library  template.JS
	Script   template.JS
}

// run is the page of a run.
func runPage(r *record.Run) page {
	failed := slices.DeleteFunc([]figuretable.Table{failuresTable(r)}, func(t figuretable.Table) bool { return len(t.Rows) == 0 })
	return page{
		Title: "What a node costs",
		Lead: []string{"Each subject got the same chain and the same work, in processes of its own, in rounds. Every " +
			"second round had the reverse order. Units are decimal: 1 KB is 1000 bytes, 1 MB is 1000 KB.", ending(r)},
		Findings: findings(r), Tables: failed, Plots: runPlots(r), Notes: Notes(r), Subjects: r.Subjects,
		Settings: r.Machine.Settings, Lives: lives(r), Commands: commands(r),
	}
}

// ending says whether all was measured, and in what time.
func ending(r *record.Run) string {
	if r.Ended == record.EndWhole {
		return fmt.Sprintf("The run is complete; it took %.0f s.", r.Seconds)
	}
	return fmt.Sprintf("The run is incomplete (%s); it took %.0f s.", r.Ended, r.Seconds)
}

// lives are the tables of all single values.
func lives(r *record.Run) (all []figuretable.Table) {
	for _, s := range r.Suites {
		for _, part := range s.Parts() {
			all = append(all, livesOf(r, s.Name, part))
		}
	}
	return all
}

func livesOf(r *record.Run, suite string, part record.Suite) figuretable.Table {
	t := figuretable.Table{Title: part.Name, Head: []string{"subject", "round"}}
	scales := make([]scale, len(part.Metrics))
	for i, m := range part.Metrics {
		scales[i] = scaleOf(m.Unit, greatestMedian(r, suite, m))
		t.Head = append(t.Head, strings.TrimSpace(m.Name+" "+scales[i].unit))
	}
	t.Head = append(t.Head, "test work ms", "other programs %", "for ratios")
	for _, l := range r.Lives {
		if l.Suite != suite {
			continue
		}
		row := []string{l.Subject, fmt.Sprint(l.Round)}
		for i, m := range part.Metrics {
			if v, ok := l.Values[m.Key()]; ok {
				row = append(row, scales[i].text(v))
			} else {
				row = append(row, figuretable.None)
			}
		}
		pair := "yes"
		if l.Unsteady {
			pair = "no, another speed"
		}
		if l.Failure != "" {
			pair = "no, failed"
		}
		t.Add(append(row, figuretable.Significant(1e3*l.CalibrationBefore)+", "+figuretable.Significant(1e3*l.CalibrationAfter),
			figuretable.Significant(100*l.Others), pair)...)
	}
	return t
}

// commands are the command line of the run, and those of the first life of each subject and suite.
func commands(r *record.Run) []string {
	all := []string{strings.Join(r.Command, " ")}
	seen := map[string]bool{}
	for _, l := range r.Lives {
		if key := l.Suite + " " + l.Subject; !seen[key] {
			seen[key] = true
			for _, c := range l.Commands {
				all = append(all, strings.Join(c, " "))
			}
		}
	}
	return all
}

// watchPage is a watch as one page.
func watchPage(w *record.Watch) page {
	return page{Title: fmt.Sprintf("What process %d costs", w.PID), Tables: watchTables(w), Plots: watchPlots(w)}
}

func write(w io.Writer, p page) error {
	t, err := template.New("page").Funcs(template.FuncMap{"number": isNumber}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("make the page: %w", err)
	}
	p.Style = template.CSS(uplot.Style() + variables() + pageStyle)
	p.Library, p.Script = template.JS(uplot.Script()), template.JS(pageScript)
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("make the page: %w", err)
	}
	return nil
}

// isNumber tells cells that stand to the right.
func isNumber(cell string) bool {
	return cell == figuretable.None || strings.Trim(cell, "0123456789 .,-–()e+") == ""
}

// SaveHTML writes a run's page as a file, whole or not at all.
func SaveHTML(name string, r *record.Run) error { return save(name, runPage(r)) }

// SaveWatchHTML writes a watch's page as a file, whole or not at all.
func SaveWatchHTML(name string, w *record.Watch) error { return save(name, watchPage(w)) }

func save(name string, p page) error {
	var b bytes.Buffer
	err := write(&b, p)
	if err == nil {
		err = vfs.WriteDurably(vfs.OS, name, b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("write the report %s: %w", name, err)
	}
	return nil
}
