package exposition

import (
	"math"
	"strconv"
)

// Summary is a kind of its own: see [Writer.Summary].
const Summary Kind = "summary"

// Quantile is the value below which a share Of, from 0 to 1, of what was observed lies.
type Quantile struct{ Of, Value float64 }

// Summary is a metric with quantiles, and the number and sum of what was observed; a sum that
// is not a number is left out.
func (w *Writer) Summary(name, help string, quantiles []Quantile, count uint64, sum float64) {
	w.Metric(name, Summary, help)
	for _, q := range quantiles {
		w.Sample(q.Value, "quantile", strconv.FormatFloat(q.Of, 'f', -1, 64))
	}
	if !math.IsNaN(sum) {
		w.name = name + "_sum"
		w.Sample(sum)
	}
	w.name = name + "_count"
	w.Sample(float64(count))
	w.name = name
}
