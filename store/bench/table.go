package bench

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// Table is one table of a report.
type Table struct {
	Title string
	How   string // how the figures were made
	Head  []string
	Rows  [][]string
	Notes []string
}

func (t *Table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

// write renders t as Markdown: words to the left, numbers to the right.
func (t Table) write(w io.Writer) error {
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", t.Title, t.How)
	}
	width := make([]int, len(t.Head))
	number := make([]bool, len(t.Head))
	for i := range t.Head {
		width[i], number[i] = len([]rune(t.Head[i])), i > 0
		for _, r := range t.Rows {
			width[i] = max(width[i], len([]rune(r[i])), 3)
			number[i] = number[i] && !isWord(r[i])
		}
	}
	line := func(cells []string) {
		b.WriteString("|")
		for i, c := range cells {
			pad := strings.Repeat(" ", width[i]-len([]rune(c)))
			if number[i] {
				fmt.Fprintf(&b, " %s%s |", pad, c)
			} else {
				fmt.Fprintf(&b, " %s%s |", c, pad)
			}
		}
		b.WriteString("\n")
	}
	line(t.Head)
	b.WriteString("|")
	for i := range t.Head {
		dashes := strings.Repeat("-", width[i]+1)
		if number[i] {
			b.WriteString(dashes + ":|")
		} else {
			b.WriteString(" " + dashes[1:] + " |")
		}
	}
	b.WriteString("\n")
	for _, r := range t.Rows {
		line(r)
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// isWord tells whether a cell is text rather than a number or the lack of one.
func isWord(cell string) bool {
	return cell != "" && cell != none && !strings.ContainsAny(cell, "0123456789") && cell != notHere
}

const (
	none    = "–"
	notHere = "not here"
)

// How numbers are written.

func nanos(ns float64) string       { return fmt.Sprintf("%.0f", ns) }
func millis(d time.Duration) string { return significant(float64(d) / 1e6) }
func megabytes(bytes int64) string  { return significant(float64(bytes) / 1e6) }
func ratio(x float64) string        { return fmt.Sprintf("%.2f", x) }
func micros(d time.Duration) string { return significant(float64(d) / 1e3) }
func percent(x float64) string      { return fmt.Sprintf("%.0f %%", 100*x) }

// small writes a number of which only the first digits matter, and 0 for what is
// hardly more.
func small(x float64) string {
	if x < 0.005 {
		return "0"
	}
	return significant(x)
}

// significant writes three digits, and all before the point.
func significant(x float64) string {
	switch a := math.Abs(x); {
	case a >= 100:
		return count(x)
	case a >= 10:
		return fmt.Sprintf("%.1f", x)
	case a >= 1 || a == 0:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// count writes a whole number in groups of three digits.
func count(x float64) string {
	digits := fmt.Sprintf("%.0f", math.Abs(x))
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + " " + digits[at:]
	}
	if x < 0 {
		return "-" + digits
	}
	return digits
}

// median of a number of each of all, 0 if there is none.
func median[T any](all []T, of func(T) float64) float64 {
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

func medianTime[T any](all []T, of func(T) time.Duration) time.Duration {
	return time.Duration(median(all, func(t T) float64 { return float64(of(t)) }))
}

// spread is the distance from the least to the greatest, as a share of the
// median.
func spread[T any](all []T, of func(T) float64) float64 {
	by := func(a, b T) int { return cmp.Compare(of(a), of(b)) }
	m := median(all, of)
	if m == 0 {
		return 0
	}
	return (of(slices.MaxFunc(all, by)) - of(slices.MinFunc(all, by))) / m
}
