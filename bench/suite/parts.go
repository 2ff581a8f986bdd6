package suite

import (
	"slices"
	"time"

	"tarn/bench/record"
)

// parts are the values of a suite's parts.
type parts map[string]map[string]float64

// of are those of one part, to be filled.
func (p parts) of(name string) map[string]float64 {
	if p[name] == nil {
		p[name] = map[string]float64{}
	}
	return p[name]
}

// The seconds of a node's life in which a part was measured. They are no metrics.
const (
	since = "since"
	until = "until"
)

// span are the values of a part that begins now, and says itself until when it was measured.
func (p parts) span(s *server, name string) map[string]float64 {
	values := p.of(name)
	values[since] = time.Since(s.began).Seconds()
	return values
}

// remember adds the memory of each part's time to its values.
func (p parts) remember(samples []record.Sample) {
	for _, values := range p {
		some := slices.DeleteFunc(slices.Clone(samples),
			func(x record.Sample) bool { return x.Seconds < values[since] || x.Seconds > values[until] })
		values[private] = mostPrivate(some)
		delete(values, since)
		delete(values, until)
	}
}

// all are the values under the names that a record has for them.
func (p parts) all() map[string]float64 {
	all := map[string]float64{}
	for part, values := range p {
		for name, v := range values {
			all[keyOf(part, name)] = v
		}
	}
	return all
}
