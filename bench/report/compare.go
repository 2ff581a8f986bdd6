package report

import (
	"fmt"
	"math"

	"tarn/bench/record"
	"tarn/internal/figuretable"
)

// doubt is the chance of a difference by accident above which none is claimed.
const doubt = 0.05

// Compare is a table for each suite that both runs have, of what both measured: the
// medians, the difference, and the chance that it is an accident.
func Compare(a, b *record.Run) (all []figuretable.Table) {
	for _, s := range a.Suites {
		t := figuretable.Table{Title: s.Name,
			Head: []string{"subject", "value", "unit", "before", "after", "difference", "p", "n"},
			How: "Medians of two runs; a difference that is not significant (two-sided Mann-Whitney U test, p above " +
				"0.05) is ~."}
		for _, x := range a.Subjects {
			for _, m := range s.Metrics {
				before, after := a.Values(s.Name, x.Name, m.Key()), b.Values(s.Name, x.Name, m.Key())
				if len(before) == 0 || len(after) == 0 {
					continue
				}
				t.Add(append([]string{x.Name}, difference(m, before, after)...)...)
			}
		}
		if len(t.Rows) == 0 {
			continue
		}
		if a.Chain.SHA256 != b.Chain.SHA256 {
			t.Notes = append(t.Notes, "The two were given different chains: what differs may be the chains' work.")
		}
		if !a.Machine.Like(b.Machine) {
			t.Notes = append(t.Notes, "The two were made on different machines.")
		}
		all = append(all, t)
	}
	return all
}

func difference(m record.Metric, before, after []float64) []string {
	x, y := record.Estimated(before).Median, record.Estimated(after).Median
	scale := scaleOf(m.Unit, max(math.Abs(x), math.Abs(y)))
	p := record.MannWhitney(before, after)
	// The least chance that so few values can come to, if all of one are below all of the other.
	told := "~"
	switch least := 2 / choose(len(before)+len(after), len(before)); {
	case least > doubt:
		told = "too few"
	case p <= doubt && x != 0:
		told = fmt.Sprintf("%+.1f %%", 100*(y/x-1))
	case p <= doubt:
		told = "was 0"
	}
	return []string{m.Key(), scale.unit, scale.text(x), scale.text(y), told, fmt.Sprintf("%.3f", p),
		fmt.Sprintf("%d+%d", len(before), len(after))}
}

// choose is how many sets of k there are in n.
func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c *= float64(n-i) / float64(i+1)
	}
	return c
}
