// Package p2p talks to other nodes of an Opera network: it follows them, and they follow
// it.
//
// It owns connections, the messages of the protocol opera/62 and /63, who is told what,
// what is asked of whom, the events that wait for their parents, and the streams of events,
// votes and records between nodes. It never decides what a right event is (opera/chain does, and
// opera/eventcheck), writes nothing to a store, and keeps no file but the database of
// nodes that go-ethereum's discovery has.
//
// # What there is
//
//   - peer: a connection. One goroutine reads and handles what comes, one writes what
//     is queued, one answers what was asked. None of them waits for another peer.
//   - intake: events from peers on their way to the ledger. They are decoded and verified
//     on all processors, put in order (order), and connected in runs.
//   - order: events whose parents are missing.
//   - fetcher: ids that peers announced, and who was asked for them.
//   - seeder: streams that a peer asks for; leecher: the one of events that this node asks
//     for; recordLeecher: those of votes and records.
//   - transactions: who is told of the pool's, and what the pool gets.
//   - answers: what peers ask for.
//   - filling: votes and records, as long as this node lacks any.
//   - exchange: states, given to peers and asked of them, in a protocol of their own; giver: a peer
//     that is asked.
//   - repeater: votes and records from peers on their way to the filler, who checks them and has
//     the chain's writer add them.
//
// # What a stranger costs
//
//  1. Everything that a peer makes grow has a bound in Options, and each peer has a share
//     of its own of what others need too: places in the order, announcements, answers.
//  2. Nothing of an event is computed before its epoch, size and novelty are looked at, and
//     no signature of a transaction before that of a validator.
//  3. No record is decoded before validators have voted for one of its number.
//  4. A peer that does not read loses what is gossiped to it, and its own answers; nobody
//     else waits.
package p2p
