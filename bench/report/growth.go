package report

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"tarn/bench/record"
	"tarn/internal/figuretable"
	"tarn/store/vfs"
)

// Growth is how the values of suites grow with an option: runs that were saved, which differ in it.
type Growth struct {
	Option string        // its name on the command line
	Points []GrowthPoint // in the order of At
}

// GrowthPoint is a run, and what the option is in it.
type GrowthPoint struct {
	At  float64
	Run *record.Run
}

// growthCurve is a value of a suite over the option, for each subject.
type growthCurve struct {
	suite   record.Suite // of the run with the greatest value of the option
	metric  record.Metric
	scale   scale
	apart   bool                // its values are so far from each other that each is written in a unit of its own
	labels  []string            // of the subjects
	columns [][]record.Estimate // of each subject, for each point
}

// Tables are one for each value that grows: a row for each run, a column for each subject. With the
// name of a metric they have its values, of the suites that have it; else what the suites' charts show.
// What no run has measured has no table.
func (g Growth) Tables(metric string) (all []figuretable.Table) {
	for _, c := range g.curves(metric) {
		t := figuretable.Table{Title: c.title() + ", by " + g.Option, How: c.how(), Head: append([]string{g.Option}, c.labels...)}
		if unit := c.scale.unit; unit != "" && !c.apart {
			t.Title = c.title() + " (" + unit + "), by " + g.Option
		}
		for i, p := range g.Points {
			row := []string{number(p.At)}
			for _, column := range c.columns {
				row = append(row, c.cell(column[i].Median))
			}
			t.Add(row...)
		}
		all = append(all, t)
	}
	return all
}

// SavePictures draws each value that grows as SVG into a folder, which it makes:
// SUITE-by-OPTION-light.svg and -dark.svg, with the part's and the metric's name if there are any, each
// whole or not at all. It returns the files. Nothing to draw is an error.
func (g Growth) SavePictures(dir, metric string) (names []string, err error) {
	if err := vfs.MkdirAll(vfs.OS, dir); err != nil {
		return nil, fmt.Errorf("make the folder of pictures: %w", err)
	}
	for _, c := range g.curves(metric) {
		file := []string{c.suite.Name, "by", g.Option}
		for _, words := range []string{c.metric.Part, metric} {
			if words != "" {
				file = append(file, fileWords(words))
			}
		}
		saved, err := inSchemes(dir, strings.Join(file, "-"), func(s scheme) string { return g.picture(c, s) })
		if names = append(names, saved...); err != nil {
			return names, err
		}
	}
	if len(names) == 0 {
		return nil, errors.New("the runs have no suite with values of the same subjects")
	}
	return names, nil
}

// curves are the values that grow, of the suites that a run has. Subjects are those of the last run.
func (g Growth) curves(metric string) (all []growthCurve) {
	if len(g.Points) == 0 {
		return nil
	}
	last := g.Points[len(g.Points)-1].Run
	for _, s := range last.Suites {
		s, ok := showing(s, metric)
		if !ok {
			continue
		}
		for _, m := range chartMetrics(s) {
			if c, measured := g.curve(last, s, m); measured {
				all = append(all, c)
			}
		}
	}
	return all
}

// curve is a value of a suite, with the last run's subjects, and false if no run has measured it.
func (g Growth) curve(last *record.Run, s record.Suite, m record.Metric) (c growthCurve, measured bool) {
	c = growthCurve{suite: s, metric: m, labels: labels(last.Subjects)}
	least, greatest := math.Inf(1), 0.0
	for _, x := range last.Subjects {
		var column []record.Estimate
		for _, p := range g.Points {
			e := record.Estimated(p.Run.Values(s.Name, x.Name, m.Key()))
			if column = append(column, e); e.N == 0 {
				continue
			}
			if measured = true; e.Least > 0 {
				least = min(least, e.Least)
			}
			greatest = max(greatest, e.Most, -e.Least)
		}
		c.columns = append(c.columns, column)
	}
	c.scale = scaleOf(m.Unit, greatest)
	c.apart = least <= greatest && scaleOf(m.Unit, least) != c.scale
	return c, measured
}

// cell is a value in a table.
func (c growthCurve) cell(v float64) string {
	if !c.apart || math.IsNaN(v) {
		return c.scale.text(v)
	}
	return c.written(v)
}

// written is a value with its unit.
func (c growthCurve) written(v float64) string {
	if !c.apart || v == 0 {
		return c.scale.written(v)
	}
	return scaleOf(c.metric.Unit, math.Abs(v)).written(v)
}

// tick is a value at the side of a picture, where there is no room for a long unit: the title has its rest.
func (c growthCurve) tick(v float64) string { return strings.TrimSuffix(c.written(v), ofCore) }

// ofCore ends the unit of what the processor is used for.
const ofCore = " of a core"

// title is what the curve shows, with the suite's part.
func (c growthCurve) title() string {
	words := charts(c.suite)
	if c.metric.Part != "" {
		words += ", " + c.metric.Part
	}
	if strings.HasSuffix(c.metric.Unit, ofCore) {
		words += ", % of a core"
	}
	return words
}

// how says how the values are read.
func (c growthCurve) how() string {
	most := 0
	for _, column := range c.columns {
		for _, e := range column {
			most = max(most, e.N)
		}
	}
	words := "Medians of the rounds. "
	if most == 1 {
		words = "One round. "
	}
	return words + better(c.metric)
}

// number is what an option is, as a person writes it: 1 000, 2.50.
func number(v float64) string {
	if v == math.Trunc(v) {
		return figuretable.Count(v)
	}
	return figuretable.Significant(v)
}
