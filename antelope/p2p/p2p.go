// Package p2p speaks the peer-to-peer protocol of Leap 5 and of Spring 1.2.2 (net_plugin): it
// finds and keeps peers, brings the chain up to theirs, and passes on blocks,
// transactions, the votes of finalizers, and where block producers can be reached.
//
// It owns the connections, their handshakes and queues, what is known of which
// peer, and the order in which blocks are asked for. It never decides whether a
// block, a transaction or a vote is good: that is the [Chain]'s business, which it reaches
// through one interface and whose state it never sees.
//
// # Goroutines
//
// Each connection has a goroutine that reads and one that writes; one goroutine
// applies blocks in order, one passes on what the chain accepted, some have votes
// counted, one looks at what producers say of each other, and one looks after time. All end with the context of
// [Network.Run], which returns when they have. Nothing that is done for every message or every peer takes a lock that
// all connections share, but those of the few blocks on their way and of one
// sixteenth of the recent transactions.
package p2p

import "tarn/antelope/types"

// Versions of the protocol (Leap: net_version_base and what follows it).
const (
	versionBase  = 0x04b5
	versionRange = 106

	protocolExplicitSync    = 1
	protocolPrunedTypes     = 3
	protocolDuplicateByName = 5
	protocolDuplicateByID   = 6
	protocolLeap            = 7
	protocolBlockRange      = 8
	protocolVotes           = 9
	protocolNack            = 10
	protocolGossip          = 11 // what this node speaks
)

// NetworkVersion is what this node says in its handshake, as one of Spring 1.2.2 does. Older peers only
// log that it is not theirs.
const NetworkVersion = versionBase + protocolGossip

// protocolOf is the version in a handshake; what is out of range is the oldest.
func protocolOf(networkVersion uint16) uint16 {
	if networkVersion < versionBase || networkVersion-versionBase > versionRange {
		return 0
	}
	return networkVersion - versionBase
}

// shortID is how a block's id stands in the log.
func shortID(id types.Checksum256) string { return id.String()[8:24] }
