package ship

import (
	"errors"
	"fmt"
	"reflect"
	"time"
)

// What clients of a history may cost. What each bound keeps a hostile client from is in
// docs/testing/faults.md.

// Memory of a history for all its clients, in bytes.
const (
	recentBytes   = 32 << 20 // of Options.RecentBytes, if it is 0
	shelfEntry    = 8 << 20  // the largest entry that is kept
	shelvedMemory = 512      // what one takes beside its contents, about
)

// Ids of blocks that clients name, and that are read in files.
const (
	looksAtOnce = 2
	looksEach   = 1 // of one client
)

// What a replica's clients may cost a node, for what is older than the replica.
const (
	olderEach     = 2                      // of them, of one client
	olderWaiting  = 1000                   // sessions that wait for a turn
	olderTurns    = 4                      // requests of a replica at a time
	olderBlock    = shelfEntry             // bytes of a block with all that is asked for of it
	olderPiece    = 1 << 20                // bytes of an answer, and of what a session holds of it, from the shelf
	olderLittle   = 128 << 10              // the same where the shelf has no room
	olderBlocks   = 1000                   // of an answer
	olderHead     = 160                    // bytes that a block takes in an answer beside its data, at least
	olderIDs      = 256                    // of a request
	olderAge      = 5 * time.Second        // for which what nodes have, or that none answers, is taken to be the same
	olderWait     = 100 * time.Millisecond // until a node that is busy is asked again; then twice as long
	olderWaits    = 5 * time.Second        // the longest of these
	olderTries    = 16                     // nodes that are asked, one after the other, until one has it
	olderTryAfter = 5 * time.Millisecond   // until the next is asked
	olderAgain    = time.Second            // after which what nodes have is asked for anew if one refuses
	olderForget   = time.Minute            // after which what no node has had any more is forgotten, or after twice as long
)

// Limits bound what clients may cost. [DefaultLimits] returns values for each. They never change
// while a server runs.
type Limits struct {
	Sessions      int           // of all clients
	EachSessions  int           // of one address
	Statuses      int           // answers that a client has asked for and does not take
	RequestBytes  int64         // bytes of a request
	RequestsBytes int64         // bytes of memory for requests of all clients
	FreeRequest   int64         // bytes of memory that a request may have beside
	Patience      time.Duration // for a client to take a piece: it holds one message, and some 200 kB of its own
	SentAtOnce    int           // bytes of a piece that is in memory
	Piece         int           // bytes of a piece that is read while it is sent
	ReadBuffer    int           // bytes that a connection reads with
	WriteBuffer   int           // bytes that a connection writes with
}

// DefaultLimits returns the bounds of a server.
func DefaultLimits() Limits {
	return Limits{
		Sessions:      1000,
		EachSessions:  1000 / 8,
		Statuses:      64,
		RequestBytes:  16 << 20,
		RequestsBytes: 64 << 20,
		FreeRequest:   4 << 10,
		Patience:      5 * time.Minute,
		SentAtOnce:    1 << 20,
		Piece:         64 << 10,
		ReadBuffer:    4096,
		WriteBuffer:   16 << 10,
	}
}

// Validate checks all bounds at once: each must be above zero, and one that another builds on
// must not be above it. Its error joins one for each mistake.
func (l *Limits) Validate() error {
	var errs []error
	check := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	v := reflect.ValueOf(*l)
	for i := range v.NumField() {
		check(v.Field(i).Int() <= 0, "limit %s of clients must be greater than 0, not %v",
			v.Type().Field(i).Name, v.Field(i).Interface())
	}
	check(l.EachSessions > l.Sessions, "limit EachSessions of clients must not be above Sessions")
	check(l.RequestBytes > l.RequestsBytes, "limit RequestBytes of clients must not be above RequestsBytes")
	return errors.Join(errs...)
}
