// Package exposition writes metrics in Prometheus' text format (version 0.0.4).
//
// It knows the format only: which metrics there are, and what they are, is their
// owner's.
package exposition

import (
	"math"
	"strconv"
	"strings"
)

// Kind is what a metric is.
type Kind string

// The kinds.
const (
	Counter Kind = "counter"
	Gauge   Kind = "gauge"
	Buckets Kind = "histogram" // its samples are added with Distribution
)

// ContentType is that of the format.
const ContentType = "text/plain; version=0.0.4"

// Writer appends metrics to its bytes. The zero value is ready. It is for one
// goroutine.
type Writer struct {
	b    []byte
	name string // of the metric that samples are of
}

// To returns a writer that appends to b.
func To(b []byte) *Writer { return &Writer{b: b} }

// Bytes are what was written.
func (w *Writer) Bytes() []byte { return w.b }

var helpEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`)

// Metric begins a metric, whose samples follow. Its name must be new.
func (w *Writer) Metric(name string, kind Kind, help string) {
	w.name = name
	w.b = append(w.b, "# HELP "...)
	w.b = append(w.b, name...)
	w.b = append(w.b, ' ')
	w.b = append(w.b, helpEscapes.Replace(help)...)
	w.b = append(w.b, "\n# TYPE "...)
	w.b = append(w.b, name...)
	w.b = append(w.b, ' ')
	w.b = append(w.b, kind...)
	w.b = append(w.b, '\n')
}

// Sample adds a value of the metric, with labels as pairs of name and value. No two
// of a metric may have the same ones.
func (w *Writer) Sample(v float64, labels ...string) {
	w.b = append(w.b, w.name...)
	for i := 0; i+1 < len(labels); i += 2 {
		if i == 0 {
			w.b = append(w.b, '{')
		} else {
			w.b = append(w.b, ',')
		}
		w.b = append(w.b, labels[i]...)
		w.b = append(w.b, '=', '"')
		w.b = appendEscaped(w.b, labels[i+1])
		w.b = append(w.b, '"')
	}
	if len(labels) > 1 {
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ' ')
	w.b = appendValue(w.b, v)
	w.b = append(w.b, '\n')
}

// One is a metric with one sample.
func (w *Writer) One(name string, kind Kind, help string, v float64) {
	w.Metric(name, kind, help)
	w.Sample(v)
}

// Gauge is a metric that goes up and down, with one sample.
func (w *Writer) Gauge(name, help string, v float64) { w.One(name, Gauge, help, v) }

// Counter is a metric that only grows, with one sample.
func (w *Writer) Counter(name, help string, v float64) { w.One(name, Counter, help, v) }

// Count is Counter for a number of things.
func (w *Writer) Count(name, help string, n uint64) { w.Counter(name, help, float64(n)) }

// Whether is a gauge of 1 or 0.
func (w *Writer) Whether(name, help string, is bool) {
	v := 0.0
	if is {
		v = 1
	}
	w.Gauge(name, help, v)
}

func appendEscaped(b []byte, s string) []byte {
	for _, r := range s { // what is not UTF-8 becomes the replacement character
		switch r {
		case '\\', '"':
			b = append(b, '\\', byte(r))
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, string(r)...)
		}
	}
	return b
}

// exact is the limit below which every whole number is a float64.
const exact = 1 << 53

func appendValue(b []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(b, "+Inf"...)
	case v == math.Trunc(v) && math.Abs(v) < exact:
		return strconv.AppendInt(b, int64(v), 10)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}
