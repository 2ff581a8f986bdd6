package node

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	library "github.com/ethereum/go-ethereum/metrics"

	"tarn/httpserver/exposition"
)

// libraryParts are the parts of go-ethereum's library that are at work here, as their metrics
// are named. Others are linked, and do nothing.
var libraryParts = []string{"p2p/", "discover/", "rpc/", "system/"}

// collectLibrary has go-ethereum's library count. It does so once in a process, and until
// its end.
func collectLibrary() {
	if library.Enabled() {
		return
	}
	library.Enable()
	go library.CollectProcessMetrics(3 * time.Second)
}

// writeLibrary appends what go-ethereum's library counts, under go-opera's names.
func writeLibrary(w *exposition.Writer) {
	counted := map[string]any{}
	library.DefaultRegistry.Each(func(name string, m any) {
		if slices.ContainsFunc(libraryParts, func(part string) bool { return strings.HasPrefix(name, part) }) {
			counted[metricName(name)] = m
		}
	})
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		writeCounted(w, name, counted[name])
	}
}

// metricName is a name of the library in Prometheus' characters.
func metricName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}

const libraryHelp = "Counted by go-ethereum's library"

// writeCounted appends one of the library's metrics.
func writeCounted(w *exposition.Writer, name string, m any) {
	switch m := m.(type) {
	case *library.Counter:
		w.Counter(name, libraryHelp, float64(m.Snapshot().Count()))
	case *library.CounterFloat64:
		w.Counter(name, libraryHelp, m.Snapshot().Count())
	case *library.Gauge:
		w.Gauge(name, libraryHelp, float64(m.Snapshot().Value()))
	case *library.GaugeFloat64:
		w.Gauge(name, libraryHelp, m.Snapshot().Value())
	case *library.Meter:
		w.Counter(name, libraryHelp, float64(m.Snapshot().Count()))
	case *library.Timer:
		s := m.Snapshot()
		writeDistribution(w, name, s.Percentiles, s.Count(), s.Sum())
	case library.Histogram:
		s := m.Snapshot()
		writeDistribution(w, name, s.Percentiles, s.Count(), s.Sum())
	}
}

// writeDistribution appends the quantiles that go-opera has.
func writeDistribution(w *exposition.Writer, name string, percentiles func([]float64) []float64, count, sum int64) {
	of := []float64{0.5, 0.75, 0.95, 0.99, 0.999, 0.9999}
	quantiles := make([]exposition.Quantile, len(of))
	for i, v := range percentiles(of) {
		quantiles[i] = exposition.Quantile{Of: of[i], Value: v}
	}
	all := float64(sum)
	if sum < 0 { // the library's sum of what the runtime observed overflows
		all = math.NaN()
	}
	w.Summary(name, libraryHelp, quantiles, uint64(count), all)
}
