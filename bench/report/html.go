package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"tarn/bench/record"
	"tarn/internal/figures"
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
	Tables   []figures.Table
	Plots    []plot
	Notes    []string
	Subjects []record.Subject
	Settings []record.Setting
	Lives    []figures.Table
	Commands []string
	Style    template.CSS
	Library  template.JS
	Script   template.JS
}

// run is the page of a run.
func runPage(r *record.Run) page {
	return page{
		Title: "What a node costs",
		Lead: []string{fmt.Sprintf("%s: %s, in %.0f s.", strings.Join(r.Command, " "), r.Ended, r.Seconds),
			"The same chain and the same work for each, in processes of their own, in rounds whose order turns."},
		Tables: Tables(r), Plots: runPlots(r), Notes: Notes(r), Subjects: r.Subjects, Settings: r.Machine.Settings, Lives: lives(r), Commands: commands(r),
	}
}

// lives are the tables of all single values.
func lives(r *record.Run) (all []figures.Table) {
	for _, s := range r.Suites {
		for _, part := range s.Parts() {
			all = append(all, livesOf(r, s.Name, part))
		}
	}
	return all
}

func livesOf(r *record.Run, suite string, part record.Suite) figures.Table {
	t := figures.Table{Title: part.Name, Head: []string{"subject", "round"}}
	scales := make([]scale, len(part.Metrics))
	for i, m := range part.Metrics {
		greatest := 0.0
		for _, x := range r.Subjects {
			for _, v := range r.Values(suite, x.Name, m.Key()) {
				greatest = max(greatest, v)
			}
		}
		scales[i] = scaleOf(m.Unit, greatest)
		t.Head = append(t.Head, strings.TrimSpace(m.Name+" "+scales[i].unit))
	}
	t.Head = append(t.Head, "calibration ms", "others %", "pair")
	for _, l := range r.Lives {
		if l.Suite != suite {
			continue
		}
		row := []string{l.Subject, fmt.Sprint(l.Round)}
		for i, m := range part.Metrics {
			if v, ok := l.Values[m.Key()]; ok {
				row = append(row, scales[i].text(v))
			} else {
				row = append(row, figures.None)
			}
		}
		pair := "counts"
		if l.Unsteady {
			pair = "another speed"
		}
		if l.Failure != "" {
			pair = "lost"
		}
		t.Add(append(row, figures.Significant(1e3*l.CalibrationBefore)+", "+figures.Significant(1e3*l.CalibrationAfter),
			figures.Significant(100*l.Others), pair)...)
	}
	return t
}

// commands are the command lines of the first life of each subject and suite.
func commands(r *record.Run) (all []string) {
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
	p.Style = template.CSS(uplot.Style() + pageStyle)
	p.Library, p.Script = template.JS(uplot.Script()), template.JS(pageScript)
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("make the page: %w", err)
	}
	return nil
}

// isNumber tells cells that stand to the right.
func isNumber(cell string) bool {
	return cell == figures.None || strings.Trim(cell, "0123456789 .,-–()e+") == ""
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
