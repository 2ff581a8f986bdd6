package difftest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ethereum/go-ethereum/rlp"
	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"

	"tarn/opera/chain"
	"tarn/opera/inter"
)

// What go-opera's main database has of votes, by the first byte of keys (gossip/store.go).
const (
	llrState      = "S"
	blockResults  = "R"
	epochResults  = "Q"
	blockVotes    = "T"
	epochVotes    = "E"
	lastBlockVote = "G"
	lastEpochVote = "F"
)

// sameVotes compares what is decided and voted for with the database of a go-opera that has
// ended and had the same events.
func sameVotes(c *chain.Chain, config *Config) error {
	db, err := leveldb.OpenFile(filepath.Join(config.data(), "chaindata", "leveldb-fsh", "main"),
		&opt.Options{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("open go-opera's database: %w", err)
	}
	defer db.Close()
	refused, err := sameKeys(c, db)
	if err != nil || refused > 0 {
		return err
	}
	return errors.Join(sameState(c, db), sameLasts(c, db), sameResults(c, db))
}

func sameState(c *chain.Chain, db *leveldb.DB) error {
	raw, err := db.Get([]byte(llrState), nil)
	if err != nil {
		return fmt.Errorf("go-opera's state of votes: %w", err)
	}
	var state struct {
		Epoch, EpochToFill inter.Epoch
		Block, BlockToFill inter.BlockNumber
	}
	if err := rlp.DecodeBytes(raw, &state); err != nil {
		return fmt.Errorf("go-opera's state of votes: %w", err)
	}
	if block, epoch := c.Votes().Undecided(); block != state.Block || epoch != state.Epoch {
		return fmt.Errorf("block %d and epoch %d are undecided, go-opera says %+v", block, epoch, state)
	}
	return nil
}

func sameLasts(c *chain.Chain, db *leveldb.DB) error {
	blocks, err := db.Get([]byte(lastBlockVote), nil)
	if err != nil && !errors.Is(err, leveldb.ErrNotFound) {
		return err
	}
	for ; len(blocks) >= 12; blocks = blocks[12:] {
		id, want := inter.ValidatorID(binary.BigEndian.Uint32(blocks)),
			inter.BlockNumber(binary.BigEndian.Uint64(blocks[4:]))
		if got, _ := c.Votes().LastVotes(id); got != want {
			return fmt.Errorf("validator %d has voted last for block %d, go-opera says %d", id, got, want)
		}
	}
	epochs, err := db.Get([]byte(lastEpochVote), nil)
	if err != nil && !errors.Is(err, leveldb.ErrNotFound) {
		return err
	}
	for ; len(epochs) >= 8; epochs = epochs[8:] {
		id, want := inter.ValidatorID(binary.BigEndian.Uint32(epochs)), inter.Epoch(binary.BigEndian.Uint32(epochs[4:]))
		if _, got := c.Votes().LastVotes(id); got != want {
			return fmt.Errorf("validator %d has voted last for epoch %d, go-opera says %d", id, got, want)
		}
	}
	return nil
}

// sameResults compares the decisions above the first undecided one: the ledger keeps no
// others.
func sameResults(c *chain.Chain, db *leveldb.DB) error {
	block, epoch := c.Votes().Undecided()
	for it := db.NewIterator(util.BytesPrefix([]byte(blockResults)), nil); ; {
		if !it.Next() {
			it.Release()
			break
		}
		if n := inter.BlockNumber(binary.BigEndian.Uint64(it.Key()[1:])); n >= block {
			if got, err := c.Votes().DecidedBlock(n); err != nil || !bytes.Equal(got, it.Value()) {
				return fmt.Errorf("block %d is decided as %x (%v), go-opera says %x", n, got, err, it.Value())
			}
		}
	}
	for it := db.NewIterator(util.BytesPrefix([]byte(epochResults)), nil); ; {
		if !it.Next() {
			it.Release()
			return nil
		}
		if e := inter.Epoch(binary.BigEndian.Uint32(it.Key()[1:])); e >= epoch {
			if got, err := c.Votes().DecidedEpoch(e); err != nil || !bytes.Equal(got, it.Value()) {
				return fmt.Errorf("epoch %d is decided as %x (%v), go-opera says %x", e, got, err, it.Value())
			}
		}
	}
}

// sameKeys compares which votes there are, of those that blocks have shown, and their
// encoding. It returns how many go-opera has counted of events that it then refused, which
// may have changed what it decided.
func sameKeys(c *chain.Chain, db *leveldb.DB) (refused int, err error) {
	v, err := c.View()
	if err != nil {
		return 0, err
	}
	defer v.Close()
	// Of the present epoch there may be votes that no block has come after.
	over := func(key []byte) bool { return inter.EventID(key[len(key)-32:]).Epoch() < v.Epoch().Epoch }
	ours := 0
	var failed error
	check := func(table string, key []byte, votes any) bool {
		if over(key) {
			ours++
		}
		item, err := rlp.EncodeToBytes(votes)
		want, dbErr := db.Get(append([]byte(table), key...), nil)
		if err = errors.Join(err, dbErr); err != nil || !bytes.Equal(item, want) {
			failed = fmt.Errorf("votes %x are %x, go-opera's %x: %v", key, item, want, err)
		}
		return failed == nil
	}
	err = v.BlockVotes(nil, func(key []byte, votes *inter.SignedBlockVotes) bool {
		return check(blockVotes, key, votes)
	})
	err = errors.Join(err, v.EpochVotes(0, func(vote *inter.SignedEpochVote) bool {
		id := vote.Signed.Locator.ID()
		return check(epochVotes, append(binary.BigEndian.AppendUint32(nil, uint32(vote.Val.Epoch)), id[:]...), vote)
	}))
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	theirs := 0
	for _, table := range []string{blockVotes, epochVotes} {
		for it := db.NewIterator(util.BytesPrefix([]byte(table)), nil); ; {
			if !it.Next() {
				it.Release()
				break
			}
			var signed struct {
				Signed inter.SignedLocator
				Rest   []rlp.RawValue `rlp:"tail"`
			}
			if err := rlp.DecodeBytes(it.Value(), &signed); err != nil {
				return 0, err
			}
			l := &signed.Signed.Locator
			has, err := c.HasEvent(inter.NewEventID(l.Epoch, l.Lamport, l.Hash()))
			switch {
			case err != nil:
				return 0, err
			case !has:
				refused++
			case over(it.Key()):
				theirs++
			}
		}
	}
	if ours != theirs {
		return 0, fmt.Errorf("there are %d votes for records, go-opera has %d", ours, theirs)
	}
	return refused, nil
}
