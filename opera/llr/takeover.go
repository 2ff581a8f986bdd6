package llr

import (
	"encoding/binary"
	"fmt"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// Begin says what is undecided where the votes before are those of another node. Write
// writes it, and what the other methods of this file take.
func (l *Ledger) Begin(s State) {
	l.state = s
	l.put(l.tables.state, stateKey,
		binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, uint64(s.Block)), uint32(s.Epoch)))
}

// TakeLast takes what a validator has voted for last, 0 if for none.
func (l *Ledger) TakeLast(by inter.ValidatorID, block inter.BlockNumber, epoch inter.Epoch) {
	l.setLast(by, last{block, epoch})
}

// TakeDecided takes the hash of the record that is decided for a block, or an epoch, whose
// number in big-endian is the key.
func (l *Ledger) TakeDecided(block bool, key, hash []byte) {
	l.put(l.tables.decided, kindKey(block, key), hash)
}

// TakeTally takes a tally: its key is the number of block and epoch, or of an epoch, and the
// vote, the value the weight and a bit for each validator of whom there is a vote.
func (l *Ledger) TakeTally(block bool, key, value []byte) {
	l.put(l.tables.tallies, kindKey(block, key), value)
}

func kindKey(block bool, key []byte) []byte {
	kind := byte(ofEpoch)
	if block {
		kind = ofBlock
	}
	return append([]byte{kind}, key...)
}

// TakeBlockVotes takes votes for blocks without counting them. The event is zero if the chain
// does not have it.
func (l *Ledger) TakeBlockVotes(event inter.EventID, v *inter.SignedBlockVotes) error {
	return l.takeVotes(blockVotesKey(&v.Val), event, &v.Signed.Locator, v)
}

// TakeEpochVote takes a vote for an epoch without counting it. The event is zero if the chain
// does not have it.
func (l *Ledger) TakeEpochVote(event inter.EventID, v *inter.SignedEpochVote) error {
	return l.takeVotes(epochKey(v.Val.Epoch), event, &v.Signed.Locator, v)
}

func (l *Ledger) takeVotes(at []byte, event inter.EventID, locator *inter.Locator, signed any) error {
	id := locator.ID()
	row := event[:]
	if event.IsZero() {
		var err error
		if row, err = rlp.EncodeToBytes(signed); err != nil {
			return fmt.Errorf("encode votes: %w", err)
		}
	}
	l.put(l.tables.votes, append(at, id[:]...), row)
	return nil
}

// Waiting is how many rows wait to be written.
func (l *Ledger) Waiting() int { return len(l.rows) }
