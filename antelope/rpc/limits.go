package rpc

import "time"

// What clients may cost. What each bound keeps a hostile client from is in docs/testing/faults.md.
// What operators set is in [Config].

// One call.
const (
	maxPushed    = 1000             // transactions of push_transactions, nodeos'; no more of the list is read
	maxItems     = 1000             // rows of an answer, if the node limits its time (Leap: api_base::max_return_items)
	maxDetails   = 10               // details of an error with verbose-http-errors (Leap: error_info::details_limit)
	olderAtOnce  = 16               // requests that another node is asked for what is older than this one
	olderEach    = 4                // of one client
	olderTime    = 5 * time.Second  // for a turn among them
	olderWaiting = 256              // that wait for a turn
	wholeTime    = time.Second      // of an answer that has no part: far longer than honest ones take
	writerTime   = 30 * time.Second // for the writer to take a call: far longer than a block keeps it

	authorizedBytes = 256 // of memory for a permission that get_accounts_by_authorizers finds, with its text

	// What transactions of one call may inflate to: so much for each, with what has come of it, and
	// beyond that so much for all. A call with one transaction is bounded by what that may be. What data of
	// actions become that are objects is held to the same, but for the ratio.

	inflateEach  = 64 << 10 // bytes
	inflateRatio = 32       // times the bytes that have come: more than transactions usually inflate to
	inflateMore  = 32 << 20 // bytes

	encodeTime = time.Second // in which data of a call's actions have become bytes: far longer than honest ones take
)

// ABIs, and conversions by them.
const (
	abiTime  = 15 * time.Millisecond // of a conversion, if Config.ABITime is 0; nodeos' default
	abiAgain = time.Second           // until an ABI is read again that took too long
	// steps of a conversion between looks at the time: a look costs more than a step
	checksPerLook = 1024
	// bytes of ABIs that are kept, for all clients; above it half of them go. One that is ready to convert takes some
	// twenty-five times its bytes.
	maxCodecs = 8 << 20
	codecEach = 2 << 10 // bytes that each counts for beside its own
)
