package llr

import (
	"bytes"
	"encoding/binary"
	"slices"

	"tarn/opera/inter"
)

// blockKey and epochKey name a record that is voted for: the keys of its rows begin with it.
func blockKey(n inter.BlockNumber) []byte {
	return binary.BigEndian.AppendUint64([]byte{ofBlock}, uint64(n))
}

func epochKey(e inter.Epoch) []byte {
	return binary.BigEndian.AppendUint32([]byte{ofEpoch}, uint32(e))
}

// recordOf is what names the record of a tally, by the tally's key.
func recordOf(key []byte) []byte {
	if key[0] == ofBlock {
		return key[:1+8]
	}
	return key[:1+4]
}

// recordNumber returns which block or epoch such a key names; the other is 0.
func recordNumber(record []byte) (inter.BlockNumber, inter.Epoch) {
	if record[0] == ofBlock {
		return inter.BlockNumber(binary.BigEndian.Uint64(record[1:])), 0
	}
	return 0, inter.Epoch(binary.BigEndian.Uint32(record[1:]))
}

// blockBallot names what a validator votes on once: the record of a block, as one of that epoch. The
// keys of its tallies begin with it. For the record of an epoch it is the record's own key.
func blockBallot(n inter.BlockNumber, of inter.Epoch) []byte {
	return binary.BigEndian.AppendUint32(blockKey(n), uint32(of))
}

// blockVotesKey is with what the key of votes for blocks begins.
func blockVotesKey(v *inter.BlockVotes) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32([]byte{ofBlock}, uint32(v.Epoch)),
		uint64(v.Last()))
}

// Event is what votes: by whom, and what names its votes where they are exchanged, which is
// not its id.
type Event struct {
	ID, Locator inter.EventID
	Creator     inter.ValidatorID
}

// AddBlocks counts the votes of a connected event for blocks. The group is the validators of
// the event's epoch, whatever the blocks' is (go-opera, gossip: processBlockVotes).
func (l *Ledger) AddBlocks(e *Event, v *inter.BlockVotes, group *inter.Validators) error {
	l.put(l.tables.votes, append(blockVotesKey(v), e.Locator[:]...), e.ID[:])
	return l.addBlocks(e.Creator, v, group)
}

// AddSignedBlocks counts votes for blocks that came without their event. They must not have been
// counted before.
func (l *Ledger) AddSignedBlocks(v *inter.SignedBlockVotes, group *inter.Validators) error {
	if err := l.TakeBlockVotes(inter.EventID{}, v); err != nil {
		return err
	}
	return l.addBlocks(v.Signed.Locator.Creator, &v.Val, group)
}

func (l *Ledger) addBlocks(by inter.ValidatorID, v *inter.BlockVotes, group *inter.Validators) error {
	for i, vote := range v.Votes {
		n := v.Start + inter.BlockNumber(i)
		key := blockKey(n)
		if over, err := l.over(key, n < l.state.Block); err != nil {
			return err
		} else if over {
			continue
		}
		decided, err := l.count(blockBallot(n, v.Epoch), vote, by, group)
		if err != nil {
			return err
		}
		if decided && n == l.state.Block {
			if err := l.advance(ofBlock); err != nil {
				return err
			}
		}
	}
	was := l.lasts[by]
	l.setLast(by, last{max(was.block, v.Last()), was.epoch})
	return nil
}

// AddEpoch counts the vote of a connected event for an epoch. The group is the validators of
// the epoch before that one.
func (l *Ledger) AddEpoch(e *Event, v *inter.EpochVote, group *inter.Validators) error {
	l.put(l.tables.votes, append(epochKey(v.Epoch), e.Locator[:]...), e.ID[:])
	return l.addEpoch(e.Creator, v, group)
}

// AddSignedEpoch counts a vote for an epoch that came without its event. It must not have been
// counted before.
func (l *Ledger) AddSignedEpoch(v *inter.SignedEpochVote, group *inter.Validators) error {
	if err := l.TakeEpochVote(inter.EventID{}, v); err != nil {
		return err
	}
	return l.addEpoch(v.Signed.Locator.Creator, &v.Val, group)
}

func (l *Ledger) addEpoch(by inter.ValidatorID, v *inter.EpochVote, group *inter.Validators) error {
	key := epochKey(v.Epoch)
	over, err := l.over(key, v.Epoch < l.state.Epoch)
	if err != nil {
		return err
	}
	if !over {
		decided, err := l.count(key, v.Vote, by, group)
		if err != nil {
			return err
		}
		if decided && v.Epoch == l.state.Epoch {
			if err := l.advance(ofEpoch); err != nil {
				return err
			}
		}
	}
	was := l.lasts[by]
	l.setLast(by, last{was.block, max(was.epoch, v.Epoch)})
	return nil
}

func (l *Ledger) setLast(by inter.ValidatorID, v last) {
	if l.lasts[by] == v {
		return
	}
	l.lasts[by] = v
	l.put(l.tables.lasts, binary.BigEndian.AppendUint32(nil, uint32(by)),
		binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, uint64(v.block)), uint32(v.epoch)))
}

// count adds a validator's weight to a tally, once, and tells whether the record is decided.
// The first hash that more than a third of the weight has voted for is what is decided.
//
// Groups of several epochs vote on a block, and one index can be that of several validators: of
// these only the first counts in a tally (go-opera, gossip: addLlrVoteWeight). So a tally does not
// say who has voted.
func (l *Ledger) count(ballot []byte, vote [32]byte, by inter.ValidatorID, group *inter.Validators) (bool, error) {
	index, ok := group.Index(by)
	if !ok {
		return false, nil
	}
	record, key := recordOf(ballot), append(bytes.Clone(ballot), vote[:]...)
	tally, err := l.get(l.tables.tallies, key)
	if err == nil {
		err = l.noteVoter(ballot, by)
	}
	if err != nil {
		return false, err
	}
	// The weight, then a bit for each index of whose validator there is a vote.
	if tally == nil {
		tally = make([]byte, 4)
	}
	for len(tally) < 4+index/8+1 {
		tally = append(tally, 0)
	}
	weight := binary.BigEndian.Uint32(tally)
	if tally[4+index/8]>>(index%8)&1 == 0 {
		tally[4+index/8] |= 1 << (index % 8)
		weight += uint32(group.At(index).Weight)
		binary.BigEndian.PutUint32(tally, weight)
		l.put(l.tables.tallies, key, tally)
	}
	won, err := l.get(l.tables.decided, record)
	enough := weight >= uint32(group.Total())/3+1
	switch {
	case err != nil:
	case won == nil && enough:
		l.put(l.tables.decided, record, vote[:])
		l.decisions = append(l.decisions, decision(record, vote, nil))
	case won != nil && enough && !bytes.Equal(won, vote[:]):
		l.decisions = append(l.decisions, decision(record, vote, won))
	}
	return won != nil || enough, err
}

// Decision is that enough validators have voted for the record of a block, or of an epoch if
// that is not 0.
type Decision struct {
	Block inter.BlockNumber
	Epoch inter.Epoch
	Hash  [32]byte
	// Before is what was decided before, if that was another hash; nil otherwise.
	Before []byte
}

func decision(record []byte, vote [32]byte, before []byte) Decision {
	d := Decision{Hash: vote, Before: before}
	d.Block, d.Epoch = recordNumber(record)
	return d
}

// Decisions returns what was decided since the last call, in the order of the votes.
func (l *Ledger) Decisions() []Decision {
	all := l.decisions
	l.decisions = nil
	return all
}

// over tells whether no vote for a record counts any more: all before it are decided, and the
// chain has the record, or which one it is is decided.
func (l *Ledger) over(record []byte, below bool) (bool, error) {
	if !below {
		return false, nil
	}
	if over, err := l.has(record); over || err != nil {
		return over, err
	}
	won, err := l.get(l.tables.decided, record)
	return won != nil, err
}

// has tells whether the chain has a record.
func (l *Ledger) has(record []byte) (bool, error) {
	n, e := recordNumber(record)
	if record[0] == ofBlock {
		return l.filled.HasBlock(n)
	}
	return l.filled.HasEpoch(e)
}

// lowest names the lowest record of a kind that is undecided.
func (s *State) lowest(kind byte) []byte {
	if kind == ofBlock {
		return blockKey(s.Block)
	}
	return epochKey(s.Epoch)
}

// pass goes on to the next record of a kind.
func (s *State) pass(kind byte) {
	if kind == ofBlock {
		s.Block++
	} else {
		s.Epoch++
	}
}

// advance passes over the records of a kind that are decided without a gap, and forgets how; what is
// decided is forgotten too where the chain has the record.
func (l *Ledger) advance(kind byte) error {
	for {
		key := l.state.lowest(kind)
		won, err := l.get(l.tables.decided, key)
		if err != nil || won == nil {
			l.put(l.tables.state, stateKey,
				binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, uint64(l.state.Block)),
					uint32(l.state.Epoch)))
			return err
		}
		has, err := l.has(key)
		if err == nil {
			err = l.forget(key, has)
		}
		if err != nil {
			return err
		}
		l.state.pass(kind)
	}
}

// Pass tells that the chain makes a block by rules with which nobody votes, and which epoch begins after it, 0 if
// none does. Such a block is undecided no more if it is the lowest that was, and so is the epoch (go-opera, gossip:
// consensusCallbackBeginBlockFn). One that is lower still waits for its votes.
func (l *Ledger) Pass(n inter.BlockNumber, begun inter.Epoch) error {
	if n == l.state.Block {
		l.state.Block++
		if err := l.advance(ofBlock); err != nil {
			return err
		}
	}
	if begun == 0 || begun != l.state.Epoch {
		return nil
	}
	l.state.Epoch++
	return l.advance(ofEpoch)
}

// FillBlock tells that the chain has a block from now on.
func (l *Ledger) FillBlock(n inter.BlockNumber) error {
	if n >= l.state.Block {
		return nil
	}
	return l.forget(blockKey(n), true)
}

// FillEpoch tells that the chain knows the beginning of an epoch from now on.
func (l *Ledger) FillEpoch(e inter.Epoch) error {
	if e >= l.state.Epoch {
		return nil
	}
	return l.forget(epochKey(e), true)
}

// forget deletes the tallies of a record and who voted, and what is decided if that is asked for.
func (l *Ledger) forget(record []byte, decided bool) error {
	if decided {
		l.put(l.tables.decided, record, nil)
	}
	return l.tallies(record, func(key []byte) { l.put(l.tables.tallies, key, nil) })
}

// tallies calls each for the keys of a record's rows among the tallies, as they will be after the next
// Write.
func (l *Ledger) tallies(record []byte, each func(key []byte)) error {
	for _, key := range slices.Clone(l.tallied[string(record)]) {
		if l.rows[row{l.tables.tallies, key}] != nil {
			each([]byte(key))
		}
	}
	return ascend(l.from, l.tables.tallies, record, func(key, _ []byte) error {
		if !bytes.HasPrefix(key, record) {
			return errStop
		}
		if _, changed := l.rows[row{l.tables.tallies, string(key)}]; !changed {
			each(key)
		}
		return nil
	})
}

// BlocksCount tells whether votes for blocks that came without their event say anything that is not
// known: of one of the blocks more votes are wanted, and its validator has not voted for it in that
// epoch, for whatever record. An honest validator votes for a block once.
func (l *Ledger) BlocksCount(v *inter.SignedBlockVotes) (bool, error) {
	for i := range v.Val.Votes {
		n := v.Val.Start + inter.BlockNumber(i)
		over, err := l.over(blockKey(n), n < l.state.Block)
		if err == nil && !over {
			var voted bool
			if voted, err = l.hasVoted(blockBallot(n, v.Val.Epoch), v.Signed.Locator.Creator); !voted && err == nil {
				return true, nil
			}
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// EpochCounts is BlocksCount for a vote for an epoch.
func (l *Ledger) EpochCounts(v *inter.SignedEpochVote) (bool, error) {
	key := epochKey(v.Val.Epoch)
	over, err := l.over(key, v.Val.Epoch < l.state.Epoch)
	if over || err != nil {
		return false, err
	}
	voted, err := l.hasVoted(key, v.Signed.Locator.Creator)
	return !voted, err
}

// noteVoter notes that a validator has voted on a ballot. The row is one of the tallies, and goes
// with them.
func (l *Ledger) noteVoter(ballot []byte, by inter.ValidatorID) error {
	voters, err := l.get(l.tables.tallies, ballot)
	if err == nil && !isVoter(voters, by) {
		l.put(l.tables.tallies, ballot, binary.BigEndian.AppendUint32(voters, uint32(by)))
	}
	return err
}

// hasVoted tells whether a validator has voted on a ballot. It does not know of votes that were counted by
// a program which notes no voters: of these, one more of each validator is taken.
func (l *Ledger) hasVoted(ballot []byte, by inter.ValidatorID) (bool, error) {
	voters, err := l.get(l.tables.tallies, ballot)
	return isVoter(voters, by), err
}

// isVoter tells whether ids, one after the other, have that of a validator.
func isVoter(ids []byte, by inter.ValidatorID) bool {
	for ; len(ids) >= 4; ids = ids[4:] {
		if binary.BigEndian.Uint32(ids) == uint32(by) {
			return true
		}
	}
	return false
}
