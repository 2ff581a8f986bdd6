package report

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"tarn/bench/record"
	"tarn/internal/figuretable"
)

// The measures of a chart, in pixels; lengths of bars are in hundredths of its width, so that a
// chart is as wide as its place while its letters keep their size.
const (
	labelHigh   = 19 // a line of words
	barHigh     = 18
	thinHigh    = 13 // a bar of several in a group
	thinGap     = 4
	barGap      = 10
	letterAbove = 5  // from a line's lower edge to where letters stand
	barMost     = 66 // hundredths, of the longest: the rest is for its value
)

// bar is one of a chart.
type bar struct {
	label  string
	colour int     // which of the subjects; that of an article is [ofArticle]
	length float64 // median, in the chart's own measure
	least  float64 // of the rounds
	most   float64
	value  string // as it is written at its end
	none   bool   // there is no value
}

// ofArticle is the colour of a bar that was not measured here.
const ofArticle = -1

// group is bars that stand together: those of a suite's part.
type group struct {
	label string
	bars  []bar
}

// chart is bars beside each other, in groups if there are several.
type chart struct {
	title  string
	groups []group
}

// longest is what the longest bar, or its line of rounds, comes to.
func (c chart) longest() (most float64) {
	for _, g := range c.groups {
		for _, b := range g.bars {
			most = max(most, b.length, b.most)
		}
	}
	return most
}

// drawing is a chart while it is written.
type drawing struct {
	text  strings.Builder
	below int // where the next thing begins
	full  float64
}

// body is the chart's shapes, and how high they are.
func (c chart) body() (shapes string, high int) {
	d := &drawing{full: c.longest()}
	several := len(c.groups) > 1
	if several {
		d.key(c)
	}
	for _, g := range c.groups {
		if several {
			d.line("part", g.label)
		}
		for _, b := range g.bars {
			if several {
				d.bar(b, thinHigh, thinGap)
				continue
			}
			d.line("label", b.label)
			d.bar(b, barHigh, barGap)
		}
		if several {
			d.below += barGap
		}
	}
	return d.text.String(), d.below
}

// key says whose the colours are, a line each.
func (d *drawing) key(c chart) {
	told := map[string]bool{}
	for _, g := range c.groups {
		for _, b := range g.bars {
			if told[b.label] {
				continue
			}
			told[b.label] = true
			fmt.Fprintf(&d.text, `<rect class="%s" x="1" y="%d" width="12" height="12" rx="2"/>`,
				colourClass(b.colour), d.below+4)
			d.below += labelHigh
			d.words("label", `x="20"`, d.below-letterAbove, b.label)
		}
	}
	d.below += barGap
}

// line is a line of words.
func (d *drawing) line(class, words string) {
	d.below += labelHigh
	d.words(class, `x="0"`, d.below-letterAbove, words)
}

// words are words that stand on a height.
func (d *drawing) words(class, where string, y int, words string) {
	fmt.Fprintf(&d.text, `<text class="%s" %s y="%d">%s</text>`+"\n", class, where, y, html.EscapeString(words))
}

// bar is a bar with the line of its rounds, and its value beyond both.
func (d *drawing) bar(b bar, high, gap int) {
	at := func(x float64) float64 {
		if d.full <= 0 {
			return 0
		}
		return max(0, barMost*x/d.full)
	}
	middle := d.below + high/2
	if !b.none {
		fmt.Fprintf(&d.text, `<rect class="%s" x="0" y="%d" width="%.2f%%" height="%d" rx="2"/>`,
			colourClass(b.colour), d.below, at(b.length), high)
		if b.most > b.least {
			fmt.Fprintf(&d.text, `<line class="range" x1="%.2f%%" x2="%.2f%%" y1="%d" y2="%d"/>`,
				at(b.least), at(b.most), middle, middle)
		}
	}
	d.words("value", fmt.Sprintf(`x="%.2f%%" dx="6"`, at(max(b.length, b.most))), middle+letterAbove, b.value)
	d.below += high + gap
}

// colours is how many subjects have one of their own; then they begin again.
const colours = 8

func colourClass(i int) string {
	if i == ofArticle {
		return "article"
	}
	return fmt.Sprintf("c%d", i%colours)
}

// inline is the chart as a part of a page, as wide as its place, in the page's colours.
func (c chart) inline() string {
	shapes, high := c.body()
	return fmt.Sprintf(`<svg class="chart" role="img" aria-label="%s" width="100%%" height="%d">`+"\n%s</svg>",
		html.EscapeString(c.title), high, shapes)
}

// chartMetrics are the metrics that a suite's chart shows: one of each part that has it.
func chartMetrics(s record.Suite) []record.Metric {
	i := max(0, slices.IndexFunc(s.Metrics, func(m record.Metric) bool { return m.Name == s.Chart.Metric }))
	first := s.Metrics[i]
	return figuretable.Only(s.Metrics, func(m record.Metric) bool { return m.Name == first.Name && m.Unit == first.Unit })
}

// chartScale is one for all values of a chart.
func chartScale(r *record.Run, s record.Suite) scale {
	greatest := 0.0
	for _, m := range chartMetrics(s) {
		greatest = max(greatest, greatestMedian(r, s.Name, m))
	}
	return scaleOf(chartMetrics(s)[0].Unit, greatest)
}

// chartOf is the chart of a suite: a bar for each subject, in a group for each part.
func chartOf(r *record.Run, s record.Suite) chart {
	c, metrics, scale := chart{title: charts(s)}, chartMetrics(s), chartScale(r, s)
	names := labels(r.Subjects)
	for _, m := range metrics {
		g := group{label: m.Part}
		for i, x := range r.Subjects {
			e := record.Estimated(r.Values(s.Name, x.Name, m.Key()))
			b := bar{label: names[i], colour: i, none: e.N == 0, value: "no value"}
			if !b.none {
				b.length, b.least, b.most, b.value = e.Median, e.Least, e.Most, scale.written(e.Median)
			}
			g.bars = append(g.bars, b)
		}
		c.groups = append(c.groups, g)
	}
	if len(metrics) == 1 {
		for _, a := range s.Chart.Articles {
			b := bar{label: a.Name, colour: ofArticle, length: a.Value, value: scale.written(a.Value)}
			c.groups[0].bars = append(c.groups[0].bars, b)
		}
	}
	return c
}

// better says which values of a metric are.
func better(m record.Metric) string {
	if m.More {
		return "More is better."
	}
	return "Less is better."
}

// caption says how a chart is read, and what its bars of the articles are, if it has any.
func caption(r *record.Run, s record.Suite) []string {
	rounds := "Medians; a thin line goes from the lowest round to the highest. "
	if r.Rounds(s.Name) == 1 {
		rounds = "One round. "
	}
	all := []string{rounds + better(chartMetrics(s)[0])}
	if len(s.Chart.Articles) > 0 && len(chartMetrics(s)) == 1 {
		all = append(all, "Dashed: the articles' own machine and live network; compare ratios, not values.")
	}
	return all
}
