package report

import (
	"math"
	"strings"

	"tarn/internal/figuretable"
)

// scale is how values of a unit are written: divided, and the unit's name then.
type scale struct {
	by   float64
	unit string
}

// scaleOf chooses what makes the greatest value of a column readable.
func scaleOf(unit string, greatest float64) scale {
	steps := map[string][]scale{
		"s":      {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}},
		"B":      {{1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}, {1, "B"}},
		"B/s":    {{1e6, "MB/s"}, {1e3, "KB/s"}, {1, "B/s"}},
		"bit/s":  {{1e6, "Mbit/s"}, {1e3, "Kbit/s"}},
		"B/year": {{1e12, "TB/year"}, {1e9, "GB/year"}},
	}[unit]
	for _, s := range steps {
		if math.Abs(greatest) >= s.by {
			return s
		}
	}
	if len(steps) > 0 {
		return steps[len(steps)-1]
	}
	return scale{1, unit}
}

// text writes a value; none is a dash.
func (s scale) text(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return figuretable.None
	}
	if v != 0 && math.Abs(v/s.by) < 0.005 {
		return "0"
	}
	return figuretable.Significant(v / s.by)
}

// written is a value with its unit, as short as it can be: 42/s, 17.0 KB/s.
func (s scale) written(v float64) string {
	if s.unit == "1/s" {
		return s.text(v) + "/s"
	}
	return strings.TrimSpace(s.text(v) + " " + s.unit)
}
