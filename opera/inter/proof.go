package inter

// MisbehaviourProof proves that validators broke a rule. Exactly one member is there
// (go-opera, inter/inter_mps.go).
type MisbehaviourProof struct {
	EventsDoublesign    *EventsDoublesign    `rlp:"nil"`
	BlockVoteDoublesign *BlockVoteDoublesign `rlp:"nil"`
	WrongBlockVote      *WrongBlockVote      `rlp:"nil"`
	EpochVoteDoublesign *EpochVoteDoublesign `rlp:"nil"`
	WrongEpochVote      *WrongEpochVote      `rlp:"nil"`
}

// Accomplices is how many validators must have signed the same wrong vote: a single one
// may have been struck by a failure of its machine.
const Accomplices = 2

// EventsDoublesign are two events of one validator with one number.
type EventsDoublesign struct {
	Pair [2]SignedLocator
}

// BlockVoteDoublesign are two votes of one validator for one block that differ.
type BlockVoteDoublesign struct {
	Block BlockNumber
	Pair  [2]SignedBlockVotes
}

// WrongBlockVote are the same votes of several validators for a block, which has another
// record, or was made in another epoch.
type WrongBlockVote struct {
	Block      BlockNumber
	Pals       [Accomplices]SignedBlockVotes
	WrongEpoch bool
}

// EpochVoteDoublesign are two votes of one validator for one epoch that differ.
type EpochVoteDoublesign struct {
	Pair [2]SignedEpochVote
}

// WrongEpochVote are the same votes of several validators for an epoch that has another
// record.
type WrongEpochVote struct {
	Pals [Accomplices]SignedEpochVote
}
