package chain

import "time"

// Limits bound what blocks may cost that this node has not executed. A producer can sign any number of them, and a
// small header can make a large state. What each keeps a dishonest producer from is in docs/testing/faults.md. The
// zero value has the default of each.
type Limits struct {
	// WaitingBytes are of blocks in the fork database, with their states, that do not lead to the best one. What
	// leads there stays: it is what is applied next, or in irreversible mode when it is irreversible.
	WaitingBytes int64
	// CheckedHeaders are states of blocks whose headers were checked and that are not in the fork database yet;
	// CheckedBytes is what they may take. What is beyond is checked again when the block's turn comes.
	CheckedHeaders int
	CheckedBytes   int64
	// StartTime is how long the application of one reversible block may take at a start, under Savanna's rules.
	StartTime time.Duration
}

// withDefaults is l with the default of each bound that it does not have. Honest producers' blocks that lead
// nowhere are some megabytes, after a network was in two parts for minutes.
func (l Limits) withDefaults() Limits {
	if l.WaitingBytes == 0 {
		l.WaitingBytes = 256 << 20
	}
	if l.CheckedHeaders == 0 {
		l.CheckedHeaders = 4096
	}
	if l.CheckedBytes == 0 {
		l.CheckedBytes = 128 << 20
	}
	if l.StartTime == 0 {
		l.StartTime = 20 * time.Second
	}
	return l
}
