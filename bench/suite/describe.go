package suite

import (
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
	Sync     = "sync"
	Window   = "window"
	P2P      = "p2p"
	Peer     = "peer"
	Serve    = "serve-blocks"
)

// Description says what a suite is, for people who choose.
type Description struct {
	record.Suite
	Article string // what it is in the articles
	Time    string // of one life
	Disk    string // that a subject takes, besides its state

	needs func(Network) bool // what the network must be able to; nil for anything
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
func gossips(n Network) bool { _, ok := n.(Gossiping); return ok && serves(n) }
func crowds(n Network) bool  { _, ok := n.(Crowded); return ok && serves(n) && follows(n) }

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

// All describes every suite, in the order in which they run.
func All() []Description { return append(ownLife(), others()...) }

// ownLife are the suites that need nothing but the node.
func ownLife() []Description {
	memory := of(bytesUnit, private, resident)
	return []Description{
		{record.Suite{Name: Import, How: "A new process makes the state of the chain's blocks, makes it durable, and ends; each subject did so once before, unmeasured. " +
			"Written is what the kernel counts for the process, less what was deleted before it got to the disk.",
			Metrics: list(of(seconds, took, processor), of(bytesUnit, written, onDisk), memory)},
			"sync from genesis, without the network (F6)", "seconds", "the chain", nil},
		{record.Suite{Name: Start, How: "From the start of the process on a state that exists until it answers. Its files were put out of the page cache.",
			Metrics: list(of(seconds, took, processor), of(bytesUnit, read), of(number, faults), memory[:1])},
			"processor and memory of the second start (E3, E4, W3, W4)", "seconds", "the chain", serves},
		{record.Suite{Name: Push, How: "Transfers signed beforehand, one a transaction, all signed with one key, sent over HTTP, each connection the next as soon as its last is answered. " +
			"The client shares the processors with the node.",
			Metrics: list(more(perSecond, rate), of(seconds, half, nearAll, each, client), memory[:1])},
			"–", "seconds", "the chain", serves},
		{record.Suite{Name: Stop, How: "From SIGTERM until the process is gone, after the transfers of `push`, with what it writes meanwhile.",
			Metrics: list(of(seconds, took), of(bytesUnit, written))},
			"exit: dirty pages are written (E7)", "seconds", "the chain", serves},
		{record.Suite{Name: Disk, How: "Transfers at a steady rate over HTTP, then the end of the process. A year is the bytes per second while it serves, and what is written at the end " +
			"(a checkpoint) once in the time that lies between checkpoints. The device's bytes are those of the whole disk, whoever wrote them, its end included.",
			Metrics: list(of(byteRate, running), of(bytesUnit, atEnd), of(yearly, year), more(years, lasts), of(bytesUnit, device, blocksGrew, stateGrew), of(percent, share), of(seconds, nearAll), memory[:1])},
			"writes to the drive at 10-15 and 15-40 transactions per second, and the years that it lasts (E5, E6, E8, W5, W6)", "--for", "the chain, and what is written", serves},
		{record.Suite{Name: Snapshot, How: "A snapshot of the state while the node serves: from the question to the answer. Then a new node starts from the snapshot, until it answers, and ends well. " +
			"Processor, waits, memory and the curves are the new node's.",
			Metrics: list(of(seconds, took), of(bytesUnit, size, written), of(seconds, loading, processor), of(bytesUnit, loadWritten, atEnd), of(number, faults), of(bytesUnit, swap), memory)},
			"first start, from a snapshot (E2)", "seconds", "the state, twice", saves},
	}
}

// others are the suites in which a node has clients or peers.
func others() []Description {
	memory := of(bytesUnit, private, resident)
	return []Description{
		{record.Suite{Name: RPC, How: "Questions over HTTP that change nothing, of accounts that are chosen at random, first over connections, each the next as soon as its last is answered; " +
			"then at a rate, where a question's time counts from when it was due. The longest of each 10 s are averaged. The client shares the processors with the node.",
			Metrics: list(more(perSecond, rate), of(seconds, half, nearAll, longest, each, client), of(percent, openShare), of(seconds, openHalf, openNearAll, openLongest), of(bytesUnit, read, written), of(number, threads), memory[:1])},
			"requests answered over 30 connections, the longest of each interval, the processor at 50 per second, disk meanwhile (F1-F5, F8-F10)", "twice --ask-for", "the chain", asks},
		{record.Suite{Name: Sync, How: "A new node gets all blocks from a node of this program that makes none, with all checks; from the first block that a question finds until the last; then it ends. " +
			"The source shares the processors with the node.",
			Metrics: list(of(seconds, took), more(perSecond, blockRate), of(seconds, processor, source), of(bytesUnit, written), memory)},
			"sync from genesis (F6)", "seconds; of a recorded chain hours", "the chain, twice", follows},
		{record.Suite{Name: Window, How: "As `sync`, on a chain that is longer than the time: blocks that the node has after it, and what it wrote until its end.",
			Metrics: list(more(number, blocks), more(perSecond, blockRate), of(seconds, processor, source), of(bytesUnit, written), memory)},
			"blocks in 60 minutes (F7)", "--window", "the chain, twice", follows},
		{record.Suite{Name: P2P, How: "Transfers signed beforehand, one a transaction, from one peer, until they are in blocks: the last may wait for half a second for its block.",
			Metrics: list(more(perSecond, rate), of(number, lost), of(seconds, each, client), memory[:1])},
			"–", "seconds", "the chain", gossips},
		{record.Suite{Name: Peer, How: "Light peers follow the node, which gets its blocks from another node of this program; that one takes transfers at the rate. " +
			"A block's time counts from when anybody has it. Peers and the other node share the processors with the node.",
			Metrics: list(of(percent, share), of(seconds, delay, nearAllTold), of(bitRate, sent), of(number, peersLost, threads), memory[:1])},
			"processor with 180-200 peers (E1, W1)", "--peer-for", "the chain, twice", crowds},
		{record.Suite{Name: Serve, How: "Light peers are connected, and some of them fetch the whole chain again and again. Sent is what the peers received.",
			Metrics: list(more(bitRate, sent, perCore), of(percent, share), of(number, chains, peersLost), memory[:1])},
			"outbound network (W2)", "--peer-for", "the chain", crowds},
	}
}
