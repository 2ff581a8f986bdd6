package report

import (
	"fmt"
	"strings"
	"testing"

	"tarn/bench/record"
)

// measured is a run of a suite with values of subjects a, b and so on, in rounds.
func measured(more bool, parts []string, values ...[]float64) *record.Run {
	r := &record.Run{Ended: record.EndWhole,
		Suites: []record.Suite{{Name: "push", Chart: record.Chart{Metric: "answers", Title: "transfers answered"}}}}
	for _, part := range parts {
		r.Suites[0].Metrics = append(r.Suites[0].Metrics, record.Metric{Name: "other", Part: part, Unit: "B"},
			record.Metric{Name: "answers", Part: part, Unit: "1/s", More: more})
	}
	for i, rounds := range values {
		name := string(rune('a' + i))
		r.Subjects = append(r.Subjects, record.Subject{Name: name, Program: name})
		for n, v := range rounds {
			l := record.Life{Suite: "push", Round: n + 1, Subject: name, Values: map[string]float64{}}
			for k, part := range parts {
				// a is behind in later parts
				l.Values[record.Metric{Name: "answers", Part: part}.Key()] = v * float64(1+9*k*i)
			}
			r.Lives = append(r.Lives, l)
		}
	}
	return r
}

func TestASentenceSaysWhatWasFoundAndHowSure(t *testing.T) {
	six := func(v float64) (all []float64) {
		for i := range 6 {
			all = append(all, v+float64(i)/100)
		}
		return all
	}
	alone := []string{""}
	for want, r := range map[string]*record.Run{
		"Transfers answered: a with 100/s.":              measured(true, alone, []float64{100}),
		"Transfers answered: 100/s for all.":             measured(true, alone, []float64{100}, []float64{100}),
		"Transfers answered: nothing could be measured.": measured(true, alone, nil, nil),
		"Transfers answered: best is b with 200/s; worst is a with 100/s. In each round the value of the worst is divided by that of the best; the median of these ratios is 0.50.": measured(true, alone, six(100), six(200)),
		"Transfers answered: best is a with 100/s; worst is b with 200/s. In each round the value of the worst is divided by that of the best; the median of these ratios is 2.00.": measured(false, alone, six(100), six(200)),
		"Transfers answered: best is b with 200/s; worst is a with 100/s (too few pairs to conclude anything).": measured(true, alone,
			[]float64{100}, []float64{200}),
		"Transfers answered: best is b with 103/s; worst is a with 102/s. In each round the value of the worst is divided by that of the best; the median of these ratios is 1.00 (the difference is not significant).": measured(true, alone,
			[]float64{100, 101, 102, 103, 104, 105}, []float64{105, 104, 103, 102, 103, 100}),
		"Transfers answered: best of 2 parts: a in 1, b in 1.": measured(true, []string{"one", "two"}, six(200), six(100)),
		"Transfers answered: a was measured in 2 parts.":       measured(true, []string{"one", "two"}, six(200)),
	} {
		if got := sentence(r, r.Suites[0]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The longest bar is as long as any may be, and a thing of the articles is beside what was measured.
func TestBarsAreAsLongAsTheirValues(t *testing.T) {
	r := measured(true, []string{""}, []float64{100}, []float64{50}, nil)
	r.Suites[0].Chart.Articles = []record.Article{{Name: "an article's", Value: 25}}
	shapes, _ := chartOf(r, r.Suites[0]).body()
	for i, part := range []string{
		fmt.Sprintf(`class="c0" x="0" y="19" width="%.2f%%"`, float64(barMost)),
		fmt.Sprintf(`class="c1" x="0" y="66" width="%.2f%%"`, float64(barMost)/2),
		">no value<", fmt.Sprintf(`class="article" x="0" y="160" width="%.2f%%"`, float64(barMost)/4),
		">an article&#39;s<", ">25.0/s<"} {
		if !strings.Contains(shapes, part) {
			t.Errorf("part %d, %s, is not in\n%s", i, part, shapes)
		}
	}
	if strings.Contains(shapes, `class="c2"`) || strings.Contains(shapes, "range") {
		t.Errorf("there is a bar without a value, or a range of one round:\n%s", shapes)
	}
	grouped := measured(true, []string{"one", "two"}, []float64{1, 2}, []float64{3, 4})
	parts, _ := chartOf(grouped, grouped.Suites[0]).body()
	if strings.Count(parts, ">a<") != 1 || strings.Count(parts, `class="part"`) != 2 ||
		strings.Count(parts, `class="range"`) != 4 {
		t.Errorf("two groups of two bars are\n%s", parts)
	}
}

// A record that names a metric which it does not have is drawn all the same.
func TestAChartOfAnUnknownMetricIsTheFirst(t *testing.T) {
	r := fixed()
	r.Suites[0].Chart = record.Chart{Metric: "nonsense"}
	if got := chartMetrics(r.Suites[0]); len(got) != 1 || got[0].Name != "time" {
		t.Errorf("%+v", got)
	}
}
