package gooperadir

import (
	"bytes"
	"fmt"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// Votes is what was said about records: what is decided without a gap, and who voted last
// for what.
type Votes struct {
	// The lowest ones that are not decided.
	Epoch inter.Epoch
	Block inter.BlockNumber
	// Of each validator that voted.
	LastBlocks map[inter.ValidatorID]inter.BlockNumber
	LastEpochs map[inter.ValidatorID]inter.Epoch
}

// Votes reads what was said about records.
func (f *Folder) Votes() (*Votes, error) {
	var row struct {
		EpochToDecide, EpochToFill inter.Epoch
		BlockToDecide, BlockToFill inter.BlockNumber
	}
	ok, err := f.tables[llrTable].value(nil, &row)
	if err == nil && !ok {
		err = f.tables[llrTable].malformedError(nil, errMissing)
	}
	if err != nil {
		return nil, err
	}
	v := &Votes{
		Epoch: row.EpochToDecide, Block: row.BlockToDecide,
		LastBlocks: map[inter.ValidatorID]inter.BlockNumber{}, LastEpochs: map[inter.ValidatorID]inter.Epoch{},
	}
	err = f.lasts(lastBlockVotes, 8, func(id inter.ValidatorID, n uint64) { v.LastBlocks[id] = inter.BlockNumber(n) })
	if err == nil {
		err = f.lasts(lastEpochVotes, 4, func(id inter.ValidatorID, n uint64) { v.LastEpochs[id] = inter.Epoch(n) })
	}
	return v, err
}

// lasts reads the row of a table that has the last vote of each validator.
func (f *Folder) lasts(name string, size int, each func(inter.ValidatorID, uint64)) error {
	t := f.tables[name]
	row, err := t.get(nil)
	if err != nil {
		return err
	}
	if len(row)%(4+size) != 0 {
		return t.malformedError(nil, fmt.Errorf("it has %d bytes", len(row)))
	}
	for ; len(row) > 0; row = row[4+size:] {
		each(inter.ValidatorID(number(row[:4])), number(row[4:4+size]))
	}
	return nil
}

// DecidedBlock returns the hash of the record that is decided for a block, nil if none is.
func (f *Folder) DecidedBlock(n inter.BlockNumber) ([]byte, error) {
	return f.verdict(blockVerdicts, blockKey(n))
}

// DecidedEpoch returns the hash of the record that is decided for an epoch, nil if none is.
func (f *Folder) DecidedEpoch(e inter.Epoch) ([]byte, error) {
	return f.verdict(epochVerdicts, epochKey(e))
}

func (f *Folder) verdict(name string, key []byte) ([]byte, error) {
	t := f.tables[name]
	hash, err := t.get(key)
	if err == nil && hash != nil && len(hash) != 32 {
		err = t.malformedError(key, fmt.Errorf("it has %d bytes", len(hash)))
	}
	return hash, err
}

// Counted calls each for the rows of what is not decided without a gap: the decisions above
// it, by block or epoch, and the tallies, whose keys are a block and an epoch, or an epoch,
// and the vote, and whose values are the weight and a bit for each validator that voted. Slices are the
// callee's.
func (f *Folder) Counted(v *Votes, decision, tally func(block bool, key, value []byte) error) error {
	from := [2][]byte{blockKey(v.Block), epochKey(v.Epoch)}
	for i, tables := range [][2]string{{blockVerdicts, blockTallies}, {epochVerdicts, epochTallies}} {
		sizes := [2][2]int{{8, 8 + 4 + 32}, {4, 4 + 32}}[i]
		for j, each := range []func(bool, []byte, []byte) error{decision, tally} {
			t := f.tables[tables[j]]
			err := t.ascend(from[i], func(key, value []byte) (bool, error) {
				if len(key) != sizes[j] || j == 0 && len(value) != 32 || j == 1 && len(value) < 4 {
					return false, t.malformedError(key, fmt.Errorf("it has %d bytes", len(value)))
				}
				return true, each(i == 0, bytes.Clone(key), bytes.Clone(value))
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// BlockVotes calls each for the votes for blocks, by epoch, last block and locator's id,
// until it returns an error.
func (f *Folder) BlockVotes(each func(*inter.SignedBlockVotes) error) error {
	return eachVote(f.tables[blockVotesTable], each)
}

// EpochVotes calls each for the votes for epochs, by epoch and locator's id, until it returns
// an error.
func (f *Folder) EpochVotes(each func(*inter.SignedEpochVote) error) error {
	return eachVote(f.tables[epochVotesTable], each)
}

func eachVote[T any](t table, each func(*T) error) error {
	return t.ascend(nil, func(key, value []byte) (bool, error) {
		vote := new(T)
		if err := rlp.DecodeBytes(value, vote); err != nil {
			return false, t.malformedError(key, err)
		}
		return true, each(vote)
	})
}
