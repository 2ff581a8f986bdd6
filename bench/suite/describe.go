package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tarn/bench/record"
)

// Names of the suites.
const (
	Import   = "import"
	Start    = "start"
	Push     = "push"
	Stop     = "stop"
	Disk     = "disk"
	Snapshot = "snapshot"
	RPC      = "rpc"
	Calls    = "calls"
	Sync     = "sync"
	Window   = "window"
	P2P      = "p2p"
	Syncing  = "syncing"
	Kill     = "kill"
	KillSync = "kill-sync"
	Peer     = "peer"
	Serve    = "serve-blocks"

	Traces    = "traces"
	Histories = "histories"
	Recording = "recording"
	Streams   = "streams"
	Setcode   = "setcode"
	Memory    = "memory"

	DiskFollow     = "disk-follow"
	MemorySnapshot = "memory-snapshot"
)

// Description says what a suite is, for people who choose.
type Description struct {
	record.Suite
	Article string // what it is in the articles
	Time    string // of one life
	Disk    string // that a subject takes, besides its state

	needs func(Network) bool                 // what the network must be able to; nil for anything
	run   func(*life, context.Context) error // nil: that of the suite before measures this one too
}

// Names of values.
const (
	took        = "time"
	processor   = "processor"
	written     = "written"
	read        = "read"
	faults      = "waits for a page"
	private     = "private memory, most"
	resident    = "resident, most"
	onDisk      = "on disk"
	rate        = "answers"
	half        = "half within"
	nearAll     = "99 % within"
	each        = "processor each"
	client      = "client's each"
	share       = "processor"
	running     = "written while it serves"
	atEnd       = "written at the end"
	year        = "written in a year"
	lasts       = "a disk lasts"
	device      = "written to the device"
	blocksGrew  = "blocks grew"
	stateGrew   = "state grew"
	size        = "size"
	swap        = "swap, most"
	loading     = "start from it"
	loadWritten = "written by the start"
	longest     = "longest of 10 s, mean"
	blockWait   = "longest wait for a block"
	openShare   = "processor at the rate"
	openHalf    = "half within, at the rate"
	openNearAll = "99 % within, at the rate"
	openLongest = "longest of 10 s, mean, at the rate"
	blocks      = "blocks"
	blockRate   = "blocks per second"
	source      = "source's processor"
	lost        = "not taken"
	sent        = "sent to peers"
	perCore     = "sent per core"
	delay       = "half of blocks within"
	nearAllTold = "99 % of blocks within"
	peersLost   = "peers lost"
	chains      = "chains fetched"
	threads     = "threads, most"
	failed      = "questions without an answer"
	asLong      = "longest question"
	forgotten   = "transfers lost"
	blocksLost  = "blocks lost"
	actions     = "actions"
	rows        = "rows"
	traceBytes  = "traces"
	index       = "index of transactions"
	taken       = "transfers in blocks"
	logGrew     = "log of words grew"
	others      = "the rest"
	othersEach  = "the rest, each"
	gapHalf     = "half of gaps within"
	gapNearAll  = "99 % of gaps within"
	gapLongest  = "longest gap"
	latest      = "latest block"
	streamed    = "blocks per second to each"

	deployHalf    = "half of deployments within"
	deployLongest = "longest deployment"
	collections   = "collections"
	pauseNearAll  = "99 % of pauses within"
	pauseLongest  = "longest pause"
	heap          = "heap, most"
	garbage       = "garbage each"
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

// What suites need of a network.
func serves(n Network) bool  { _, ok := n.(Serving); return ok }
func asks(n Network) bool    { _, ok := n.(Asking); return ok && serves(n) }
func saves(n Network) bool   { _, ok := n.(Saving); return ok && serves(n) }
func follows(n Network) bool { _, ok := n.(Following); return ok }
func keepsUp(n Network) bool { return follows(n) && serves(n) }
func confirms(n Network) bool {
	_, ok := n.(Confirming)
	return ok && serves(n)
}
func gossips(n Network) bool { _, ok := n.(Gossiping); return ok && serves(n) }
func crowds(n Network) bool  { _, ok := n.(Crowded); return ok && keepsUp(n) }

func keeps(n Network) bool  { _, ok := n.(Keeping); return ok && follows(n) }
func traces(n Network) bool { _, ok := n.(Tracing); return ok && keeps(n) }
func loads(n Network) bool  { _, ok := n.(Loading); return ok && keeps(n) && serves(n) }
func streams(n Network) bool {
	_, ok := n.(Streaming)
	return ok && loads(n)
}
func deploys(n Network) bool {
	_, ok := n.(Deploying)
	return ok && loads(n)
}

// measuring is a description with the metrics that the network decides.
func (d Description) measuring(n Network) Description {
	if d.Name == Calls {
		d.Metrics = inParts(list(more(perSecond, rate), of(seconds, half, nearAll, each, client)), n.(Asking).Calls()...)
	}
	return d
}

// Able says which suites cannot be measured on a network.
func Able(n Network, suites []string) error {
	var errs []error
	for _, d := range All() {
		if slices.Contains(suites, d.Name) && d.needs != nil && !d.needs(n) {
			errs = append(errs, fmt.Errorf("%s cannot be measured on this chain: %w", d.Name, errors.ErrUnsupported))
		}
	}
	return errors.Join(errs...)
}
