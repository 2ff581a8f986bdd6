package p2p

import (
	"encoding/binary"
	"errors"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/chain"
	"tarn/opera/inter"
)

// NewRecords returns the records of a chain.
func NewRecords(c *chain.Chain) Records { return archive{c} }

type archive struct{ chain *chain.Chain }

// view shows a chain to some work.
func view(c *chain.Chain, work func(*chain.View) error) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	return errors.Join(work(v), v.Close())
}

func (a archive) BlockVotes(from []byte, each func(key, item []byte) bool) error {
	return view(a.chain, func(v *chain.View) error {
		var failed error
		err := v.BlockVotes(from, func(key []byte, votes *inter.SignedBlockVotes) bool {
			var item []byte
			item, failed = rlp.EncodeToBytes(votes)
			return failed == nil && each(key, item)
		})
		return errors.Join(err, failed)
	})
}

func (a archive) BlockRecords(from []byte, each func(key, item []byte) bool) error {
	// Blocks that came as records follow the chain's own. Those beyond a gap are told when it is
	// filled: nobody has it walked through.
	end := a.chain.Frontier().Unfilled.Block
	return view(a.chain, func(v *chain.View) error {
		for n := max(inter.BlockNumber(binary.BigEndian.Uint64(from)), a.chain.Lowest()); n < max(end,
			v.Head().Number+1); n++ {
			record, err := v.BlockRecord(n)
			if err != nil || record == nil {
				return err
			}
			item, err := rlp.EncodeToBytes(record)
			if err != nil || !each(binary.BigEndian.AppendUint64(nil, uint64(n)), item) {
				return err
			}
		}
		return nil
	})
}

func (a archive) EpochPacks(from []byte, each func(key, item []byte) bool) error {
	return view(a.chain, func(v *chain.View) error {
		var pack inter.EpochPack
		var failed error
		// send sends what was packed, and tells whether there may be more.
		send := func() bool {
			if len(pack.Votes) == 0 {
				return true
			}
			e := pack.Votes[0].Val.Epoch
			record, err := v.EpochRecord(e)
			if failed = err; err != nil || record == nil {
				return false
			}
			pack.Record = *record
			item, err := rlp.EncodeToBytes(&pack)
			pack.Votes = nil
			failed = err
			return err == nil && each(binary.BigEndian.AppendUint32(nil, uint32(e)), item)
		}
		more := true
		err := v.EpochVotes(inter.Epoch(binary.BigEndian.Uint32(from)), func(vote *inter.SignedEpochVote) bool {
			if len(pack.Votes) > 0 && pack.Votes[0].Val.Epoch != vote.Val.Epoch {
				more = send()
			}
			if more && len(pack.Votes) < packVotes {
				pack.Votes = append(pack.Votes, *vote)
			}
			return more
		})
		if err == nil && more {
			send()
		}
		return errors.Join(err, failed)
	})
}
