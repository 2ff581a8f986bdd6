package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tarn/bench/record"
	"tarn/internal/figures"
)

// finding is what a suite found: a sentence and a chart, and the tables that they come from.
type finding struct {
	Suite   string
	Told    string
	Chart   template.HTML
	Caption string
	Tables  []figures.Table
}

// findings are those of a run's suites.
func findings(r *record.Run) (all []finding) {
	for _, s := range r.Suites {
		if len(s.Metrics) == 0 {
			continue
		}
		f := finding{Suite: s.Name, Told: sentence(r, s), Tables: suiteTables(r, s)}
		if c := chartOf(r, s); c.longest() > 0 {
			f.Chart = template.HTML(c.inline()) // its words are escaped where it is drawn
			f.Caption = strings.Join(caption(r, s), " ")
		}
		all = append(all, f)
	}
	return all
}

// charted are the metrics that a suite's chart shows: one of each part that has it.
func charted(s record.Suite) []record.Metric {
	i := max(0, slices.IndexFunc(s.Metrics, func(m record.Metric) bool { return m.Name == s.Chart.Metric }))
	first := s.Metrics[i]
	return figures.Only(s.Metrics, func(m record.Metric) bool { return m.Name == first.Name && m.Unit == first.Unit })
}

// charts is what the chart shows, in words that begin a sentence.
func charts(s record.Suite) string {
	words := cmp.Or(s.Chart.Title, charted(s)[0].Name)
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:]
}

// chartScale is one for all values of a chart.
func chartScale(r *record.Run, s record.Suite) scale {
	greatest := 0.0
	for _, m := range charted(s) {
		greatest = max(greatest, greatestMedian(r, s.Name, m))
	}
	return scaleOf(charted(s)[0].Unit, greatest)
}

// chartOf is the chart of a suite: a bar for each subject, in a group for each part.
func chartOf(r *record.Run, s record.Suite) chart {
	c, metrics, scale := chart{title: charts(s)}, charted(s), chartScale(r, s)
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

// caption says how a chart is read, and what its bars of the articles are, if it has any.
func caption(r *record.Run, s record.Suite) []string {
	better := "Less is better."
	if charted(s)[0].More {
		better = "More is better."
	}
	rounds := "Medians; a thin line goes from the lowest round to the highest. "
	if r.Rounds(s.Name) == 1 {
		rounds = "One round. "
	}
	all := []string{rounds + better}
	if len(s.Chart.Articles) > 0 && len(charted(s)) == 1 {
		all = append(all, "Dashed: the articles' own machine and live network; compare ratios, not values.")
	}
	return all
}

// sentence says what a suite found.
func sentence(r *record.Run, s record.Suite) string {
	metrics := charted(s)
	if len(metrics) > 1 {
		return sentenceOfParts(r, s, metrics)
	}
	best, worst, n := extremes(r, s.Name, metrics[0])
	names, scale := labels(r.Subjects), chartScale(r, s)
	value := func(i int) float64 { return median(r, s.Name, r.Subjects[i], metrics[0]) }
	of := func(i int) string { return names[i] + " with " + scale.written(value(i)) }
	switch {
	case n == 0:
		return charts(s) + ": nothing could be measured."
	case n == 1:
		return fmt.Sprintf("%s: %s, of %s.", charts(s), scale.written(value(best)), names[best])
	case value(best) == value(worst):
		return fmt.Sprintf("%s: %s, of all.", charts(s), scale.written(value(best)))
	}
	told := fmt.Sprintf("%s: best is %s; last is %s", charts(s), of(best), of(worst))
	pairs := pairsOf(r, s.Name, metrics[0], worst, best)
	if pairs.Sure {
		told += fmt.Sprintf(", %s times as much", figures.Ratio(pairs.Median))
	}
	return told + doubts(pairs) + "."
}

// pairsOf is what the ratios of one subject's values to another's come to.
func pairsOf(r *record.Run, suite string, m record.Metric, one, other int) record.Estimate {
	return record.Estimated(r.Ratios(suite, r.Subjects[one].Name, r.Subjects[other].Name, m.Key()))
}

// doubts says how sure a difference is.
func doubts(e record.Estimate) string {
	switch {
	case !e.Sure:
		return " (too few pairs to conclude anything)"
	case e.Low <= 1 && e.High >= 1:
		return " (the difference may be an accident)"
	}
	return ""
}

// sentenceOfParts says which subject is the best in how many parts.
func sentenceOfParts(r *record.Run, s record.Suite, metrics []record.Metric) string {
	names, wins, sure, measured := labels(r.Subjects), make([]int, len(r.Subjects)), true, 0
	for _, m := range metrics {
		best, worst, n := extremes(r, s.Name, m)
		if n == 0 {
			continue
		}
		measured++
		wins[best]++
		sure = sure && (n == 1 || pairsOf(r, s.Name, m, worst, best).Sure)
	}
	if measured == 0 {
		return charts(s) + ": nothing could be measured."
	}
	if len(r.Subjects) == 1 {
		return fmt.Sprintf("%s: of %s, in %d parts.", charts(s), names[0], measured)
	}
	var told []string
	for i, n := range wins {
		if n > 0 {
			told = append(told, fmt.Sprintf("%s in %d", names[i], n))
		}
	}
	doubt := ""
	if !sure {
		doubt = " (too few pairs to conclude anything)"
	}
	return fmt.Sprintf("%s: of %d parts, best is %s%s.", charts(s), measured, strings.Join(told, ", "), doubt)
}

// extremes are the subjects with the best and the worst median, and how many have one.
func extremes(r *record.Run, suite string, m record.Metric) (best, worst, n int) {
	better := func(a, b float64) bool { return a < b != m.More && a != b }
	for i, x := range r.Subjects {
		v := median(r, suite, x, m)
		if math.IsNaN(v) {
			continue
		}
		if n++; n == 1 {
			best, worst = i, i
		}
		if better(v, median(r, suite, r.Subjects[best], m)) {
			best = i
		}
		if better(median(r, suite, r.Subjects[worst], m), v) {
			worst = i
		}
	}
	return best, worst, n
}

// median is that of a subject's values, NaN without any.
func median(r *record.Run, suite string, x record.Subject, m record.Metric) float64 {
	return record.Estimated(r.Values(suite, x.Name, m.Key())).Median
}

// labelMost is the most letters that a subject's label has.
const labelMost = 44

// labels are short names of subjects: program and mode, if that tells them apart.
func labels(all []record.Subject) (short []string) {
	seen := map[string]int{}
	for _, x := range all {
		seen[x.Program+":"+x.Mode]++
	}
	for _, x := range all {
		name := []rune(x.Program + ":" + x.Mode)
		if seen[string(name)] > 1 || x.Mode == "" {
			name = []rune(x.Name)
		}
		if len(name) > labelMost { // a path's end says more than its middle
			name = slices.Concat(name[:labelMost/4], []rune("…"), name[len(name)-3*labelMost/4:])
		}
		short = append(short, figures.OneLine(string(name)))
	}
	return short
}
