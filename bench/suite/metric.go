package suite

import "tarn/bench/record"

// Names of values that several suites have.
const (
	took       = "time"
	processor  = "processor"
	written    = "written"
	read       = "read"
	faults     = "major page faults"
	onDisk     = "on disk"
	rate       = "answers"
	half       = "median time"
	nearAll    = "99 % of answers within"
	each       = "node's processor per answer"
	client     = "client's processor per answer"
	per        = "node's processor per transfer"
	clientPer  = "client's processor per transfer"
	share      = "processor"
	atEnd      = "written at the end"
	blocksGrew = "blocks grew"
	size       = "size"
	blocks     = "blocks"
	blockRate  = "blocks per second"
	source     = "source's processor"
	lost       = "not taken"
	sent       = "sent to peers"
	peersLost  = "peers lost"
	taken      = "transfers in blocks"
)

// Units of values, all without prefixes: seconds, bytes.
const (
	seconds   = "s"
	bytesUnit = "B"
	perSecond = "1/s"
	byteRate  = "B/s"
	bitRate   = "bit/s"
	percent   = "% of a core"
	yearly    = "B/year"
	years     = "years"
	number    = ""
)

// of makes metrics of one unit.
func of(unit string, names ...string) (all []record.Metric) {
	for _, name := range names {
		all = append(all, record.Metric{Name: name, Unit: unit})
	}
	return all
}

// more makes metrics of which more is better.
func more(unit string, names ...string) []record.Metric {
	all := of(unit, names...)
	for i := range all {
		all[i].More = true
	}
	return all
}

// inParts makes the metrics of parts, each of which has all of them.
func inParts(metrics []record.Metric, names ...string) (all []record.Metric) {
	for _, part := range names {
		for _, m := range metrics {
			m.Part = part
			all = append(all, m)
		}
	}
	return all
}

// keyOf is the name among a life's values of a part's value.
func keyOf(part, name string) string { return record.Metric{Part: part, Name: name}.Key() }

func list(parts ...[]record.Metric) (all []record.Metric) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// counts are the metrics of a suite that has the same on all networks.
func counts(parts ...[]record.Metric) func(Network) []record.Metric {
	return func(Network) []record.Metric { return list(parts...) }
}
