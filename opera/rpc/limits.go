package rpc

import (
	"runtime"
	"time"

	"tarn/opera/inter"
)

// What clients may cost. What each bound keeps a hostile client from is in docs/testing/faults.md.
// What is the same for all nodes is a constant, all else a field of [Limits].

// Requests that are asked most, which are answered without go-ethereum's server, and light ones, which
// are answered without a turn.
const (
	quickBytes = 16 << 10         // of the longest body that is looked at
	quickTime  = 20 * time.Second // of the longest call or search: it ends before the server would end it

	// lightBytes is the longest body that is read without a turn: reading is work too, which the client
	// sizes, and with more of it at once than there are processors the chain's own work waits for them.
	lightBytes = quickBytes

	uncounted = 64 << 10 // bytes of the longest answer that does not count: some have room in the kernel
)

// What another node is asked for, because it is older than the chain.
const (
	olderAtOnce = 16      // requests
	olderEach   = 4       // of one client
	mostOlder   = 4 << 20 // bytes of an answer, or of that to a batch for which another node is asked
)

// One request.
const (
	feeBlocks         = 1024    // blocks of a history of fees, go-opera's; who asks for more gets so many
	rememberedLogging = 64      // blocks of a search that are remembered: a wide one leaves what others ask for
	longestProfile    = 1 << 20 // seconds of a profile, so that its time does not overflow
)

// Traces.
const (
	traceTime   = 4                    // times RequestTime: the longest time that a client may ask for
	maxCopies   = 16                   // tracers that may be one, which is more than there are
	mostHashed  = 1 << 30              // bytes of one hash that a tracer is shown, so that no count overflows
	growthEvery = 5 * time.Millisecond // between looks at how much memory has grown
)

// Filters and subscriptions.
const (
	shareOfPlaces = 8                      // the part of them that a client may have is one of so many
	newsHashes    = 128                    // hashes of transactions that are one item of news
	eachAtOnce    = 256                    // logs that a subscriber looks through before others have a turn
	watchEvery    = 250 * time.Millisecond // between looks at whether the node is syncing, if somebody hears of it
	expireEvery   = time.Minute            // between looks for filters to forget: what they hold is others' too
)

// A connection of WebSocket.
const (
	socketBuffer   = 4 << 10          // bytes that it reads with, and writes with
	socketRequests = 16               // under way; more are not read meanwhile
	socketWrite    = 10 * time.Second // for the client to take a message
	socketFarewell = time.Second      // for the client to hear why its connection ends
	socketPing     = 30 * time.Second // between questions for a sign of the client
	socketIdle     = 90 * time.Second // without any sign of the client
	frameGrace     = 5 * time.Second  // for a message that has begun, and then
	slowestFrame   = 16 << 10         // bytes a second
	firstFrame     = 4 << 10          // bytes that do not count: there are so many connections at most
	longestFrame   = 30 * time.Second // for a whole message, as for a body over HTTP
	librarySize    = 256 << 10        // bytes of a message about subscriptions
)

// Limits bound what clients may cost. Zero is the default of each.
type Limits struct {
	// GasCap is how much gas a call may use; go-opera's --rpc.gascap, 50 million.
	GasCap uint64
	// FeeCap is how much a transaction that is sent may cost, in FTM; --rpc.txfeecap, 100.
	// Below zero there is no limit.
	FeeCap float64
	// CallTime ends the execution of a call; --rpc.evmtimeout, 5 s.
	CallTime time.Duration
	// RequestTime ends what needs many executions or blocks; --rpc.timeout, 5 s.
	RequestTime time.Duration
	// Body is the greatest request in bytes over HTTP; 5 MiB.
	Body int
	// Frame is the greatest request in bytes over WebSocket; 15 MiB.
	Frame int64
	// Batch is how many requests may come in one; 1000.
	Batch int
	// Answer is how many bytes the answers to a batch may have together, after which the
	// others fail; 25 MiB.
	Answer int
	// Logs is how many logs a request may get; 20,000.
	Logs int
	// LogBytes is how many bytes these may take in memory, with their texts; 64 MiB.
	LogBytes int64
	// UnindexedBlocks is how many blocks may be searched for logs with neither an address
	// nor a topic; 100.
	UnindexedBlocks inter.BlockNumber
	// IndexedBlocks is how many blocks may be searched for logs with an address or a topic;
	// go-opera's 999,999,999,999,999,999.
	IndexedBlocks inter.BlockNumber
	// TraceBlocks is how many blocks trace_filter may go through; 100.
	TraceBlocks inter.BlockNumber
	// Criteria is how many addresses and topics a search may name; 2,000.
	Criteria int
	// FeePercentiles is how many percentiles a history of fees may have; 100.
	FeePercentiles int
	// ProofSlots is how many slots a proof may be asked for; 1,024.
	ProofSlots int
	// Filters is how many filters may be installed; 1,000. Each address has an eighth.
	Filters int
	// FilterHeld is how many hashes or logs the client of a filter may get, which gets an
	// error that says so if there were more; 20,000.
	FilterHeld int
	// FilterTime is how long a filter stays that nobody asks for; 5 min.
	FilterTime time.Duration
	// Subscriptions is how many there may be, all clients together; 1,000. Each address has an
	// eighth.
	Subscriptions int
	// KeptNews is how many items of each kind of news are kept for subscribers that are slower than
	// it comes; 4,096. An item is a block, 128 transactions, or one piece of other news.
	KeptNews int
	// KeptBytes is how many bytes the blocks among them may take, and one block more; 64 MiB.
	KeptBytes int64
	// KeptTold is how many bytes the news of each other kind may take, and one item more; 8 MiB.
	KeptTold int64
	// Memory is how many bytes all that clients send, wait for and are told may take at a time,
	// requests, answers, filters and subscriptions together; 512 MiB. Each address has a quarter.
	Memory int64
	// Executions is how many requests are worked on at once that execute, search or trace; one
	// for each processor, two at least. Each address has half of them.
	Executions int
	// Tellings is how many requests are answered at once that tell something of a block, which each of them holds in
	// memory as a whole; four for each processor, eight at least: some of them wait for a disk. Each address has half.
	Tellings int
	// Waiting is how many requests wait for a turn of either kind; 4,096. Each address has a quarter, which is as
	// many as it may have connections.
	Waiting int
	// Trace is how many bytes of JSON a trace may have; 32 MiB.
	Trace int
	// ScriptBytes is how many bytes a tracer in JavaScript may have, 32 KiB, and ScriptMarks how many
	// brackets and colons, 2,048: its text is read by a parser that goes as deep as the text nests, is
	// slow where it does, and cannot be stopped.
	ScriptBytes, ScriptMarks int
	// ScriptGrowth is by how many bytes the memory of the process may grow while such a program runs;
	// 128 MiB. What it takes is not counted anywhere else.
	ScriptGrowth uint64
	// CachedBytes is how many bytes of memory the blocks take that are remembered, roughly; 128 MiB.
	CachedBytes int
	// CodeBytes is how many bytes of contracts' code are remembered; 32 MiB.
	CodeBytes int
	// AnalysisBytes is how many bytes of places to jump to in contracts' code are remembered; 16 MiB.
	AnalysisBytes int
}

func set[T int | int64 | uint64 | float64 | time.Duration | inter.BlockNumber](value *T, byDefault T) {
	if *value == 0 {
		*value = byDefault
	}
}

func (l Limits) withDefaults() Limits {
	set(&l.GasCap, 50_000_000)
	set(&l.FeeCap, 100)
	set(&l.CallTime, 5*time.Second)
	set(&l.RequestTime, 5*time.Second)
	set(&l.Body, 5<<20)
	set(&l.Frame, 15<<20)
	set(&l.Batch, 1000)
	set(&l.Answer, 25<<20)
	set(&l.Logs, 20_000)
	set(&l.UnindexedBlocks, 100)
	set(&l.IndexedBlocks, 999_999_999_999_999_999)
	set(&l.Criteria, 2_000)
	set(&l.FeePercentiles, 100)
	set(&l.ProofSlots, 1024)
	set(&l.Filters, 1_000)
	set(&l.FilterHeld, 20_000)
	set(&l.FilterTime, 5*time.Minute)
	set(&l.Subscriptions, 1_000)
	set(&l.KeptNews, 4096)
	set(&l.KeptBytes, 64<<20)
	set(&l.KeptTold, 8<<20)
	set(&l.Trace, 32<<20)
	set(&l.ScriptBytes, 32<<10)
	set(&l.ScriptMarks, 2048)
	set(&l.ScriptGrowth, 128<<20)
	set(&l.CachedBytes, 128<<20)
	set(&l.CodeBytes, 32<<20)
	set(&l.AnalysisBytes, 16<<20)
	set(&l.LogBytes, 64<<20)
	set(&l.Memory, 512<<20)
	set(&l.Executions, max(2, runtime.GOMAXPROCS(0)))
	set(&l.Waiting, 4096)
	set(&l.Tellings, max(8, 4*runtime.GOMAXPROCS(0)))
	set(&l.TraceBlocks, 100)
	return l
}
