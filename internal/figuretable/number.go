package figuretable

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Nanos writes nanoseconds.
func Nanos(ns float64) string { return fmt.Sprintf("%.0f", ns) }

// Millis writes a duration in milliseconds.
func Millis(d time.Duration) string { return Significant(float64(d) / 1e6) }

// Megabytes writes bytes in millions.
func Megabytes(bytes int64) string { return Significant(float64(bytes) / 1e6) }

// Ratio writes two digits after the point.
func Ratio(x float64) string { return fmt.Sprintf("%.2f", x) }

// Micros writes a duration in microseconds.
func Micros(d time.Duration) string { return Significant(float64(d) / 1e3) }

// Percent writes a share of 1.
func Percent(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

// Small writes a number of which only the first digits matter, and 0 for what is
// hardly more.
func Small(x float64) string {
	if x < 0.005 {
		return "0"
	}
	return Significant(x)
}

// Significant writes three digits, and all before the point.
func Significant(x float64) string {
	switch a := math.Abs(x); {
	case a >= 100:
		return Count(x)
	case a >= 10:
		return fmt.Sprintf("%.1f", x)
	case a >= 1 || a == 0:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// Count writes a whole number in groups of three digits.
func Count(x float64) string {
	digits := fmt.Sprintf("%.0f", math.Abs(x))
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + " " + digits[at:]
	}
	if x < 0 {
		return "-" + digits
	}
	return digits
}

// Only picks those of all that it is true for.
func Only[T any](all []T, is func(T) bool) (some []T) {
	for _, t := range all {
		if is(t) {
			some = append(some, t)
		}
	}
	return some
}

// Median of a number of each of all, 0 if there is none.
func Median[T any](all []T, of func(T) float64) float64 {
	if len(all) == 0 {
		return 0
	}
	xs := make([]float64, len(all))
	for i, t := range all {
		xs[i] = of(t)
	}
	slices.Sort(xs)
	n := len(xs)
	return (xs[(n-1)/2] + xs[n/2]) / 2
}

// MedianTime is [Median] of durations.
func MedianTime[T any](all []T, of func(T) time.Duration) time.Duration {
	return time.Duration(Median(all, func(t T) float64 { return float64(of(t)) }))
}

// Spread is the distance from the least to the greatest, as a share of the
// median.
func Spread[T any](all []T, of func(T) float64) float64 {
	by := func(a, b T) int { return cmp.Compare(of(a), of(b)) }
	m := Median(all, of)
	if m == 0 {
		return 0
	}
	return (of(slices.MaxFunc(all, by)) - of(slices.MinFunc(all, by))) / m
}
