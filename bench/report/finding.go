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
	"tarn/internal/figuretable"
)

// finding is what a suite found: a sentence and a chart, and the tables that they come from.
type finding struct {
	Suite   string
	Told    string
	Chart   template.HTML
	Caption string
	Tables  []figuretable.Table
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

// charts is what the chart shows, in words that begin a sentence.
func charts(s record.Suite) string {
	words := cmp.Or(s.Chart.Title, chartMetrics(s)[0].Name)
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:]
}

// sentence says what a suite found.
func sentence(r *record.Run, s record.Suite) string {
	metrics := chartMetrics(s)
	if len(metrics) > 1 {
		return sentenceOfParts(r, s, metrics)
	}
	best, worst, n := extremes(r, s.Name, metrics[0])
	names, scale := labels(r.Subjects), chartScale(r, s)
	value := func(i int) float64 { return median(r, s.Name, r.Subjects[i], metrics[0]) }
	with := func(i int) string { return names[i] + " with " + scale.written(value(i)) }
	switch {
	case n == 0:
		return charts(s) + ": nothing could be measured."
	case n == 1:
		return fmt.Sprintf("%s: %s.", charts(s), with(best))
	case value(best) == value(worst):
		return fmt.Sprintf("%s: %s for all.", charts(s), scale.written(value(best)))
	}
	told := fmt.Sprintf("%s: best is %s; worst is %s", charts(s), with(best), with(worst))
	pairs := pairsOf(r, s.Name, metrics[0], worst, best)
	if pairs.Sure {
		told += ". In each round the value of the worst is divided by that of the best; the median of these ratios is " +
			figuretable.Ratio(pairs.Median)
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
		return " (the difference is not significant)"
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
		return fmt.Sprintf("%s: %s was measured in %d parts.", charts(s), names[0], measured)
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
	return fmt.Sprintf("%s: best of %d parts: %s%s.", charts(s), measured, strings.Join(told, ", "), doubt)
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
		short = append(short, figuretable.OneLine(string(name)))
	}
	return short
}
