package gooperadir

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// The tables' names, as go-opera requests them: the database's name, a slash and the letter
// of the table.
const (
	versionTable     = "gossip/_"
	presentTable     = "gossip/D" // one row: the states of blocks and epoch
	epochsTable      = "gossip/h" // by epoch: the states of blocks and epoch at its beginning
	eventsTable      = "gossip/e" // by id
	blocksTable      = "gossip/b" // by number
	genesisTable     = "gossip/g"
	upgradesTable    = "gossip/U" // one row
	llrTable         = "gossip/S" // one row
	blockVerdicts    = "gossip/R" // by block: which record is decided
	epochVerdicts    = "gossip/Q"
	blockVotesTable  = "gossip/T" // by epoch, last block, locator's id
	blockTallies     = "gossip/J" // by block, epoch, vote
	epochVotesTable  = "gossip/E" // by epoch, locator's id
	epochTallies     = "gossip/I" // by epoch, vote
	lastBlockVotes   = "gossip/G" // one row
	lastEpochVotes   = "gossip/F" // one row
	stateTable       = "evm/M"
	receiptsTable    = "evm/r" // by block
	transactionTable = "evm/X" // by hash: those that are in no event
	consensusTable   = "lachesis"
)

var tableNames = []string{
	versionTable, presentTable, epochsTable, eventsTable, blocksTable, genesisTable, upgradesTable, llrTable,
	blockVerdicts, epochVerdicts, blockVotesTable, blockTallies, epochVotesTable, epochTallies, lastBlockVotes,
	lastEpochVotes, stateTable, receiptsTable, transactionTable, consensusTable,
}

// demandTable is there where the network has demanded a version of its nodes; one row.
const demandTable = "gossip/V"

// Keys of tables that have one row, or few.
var (
	versionKey = []byte("id")
	presentKey = []byte("s")
	genesisKey = []byte("g")
	demandKey  = []byte("v")
	decidedKey = []byte("cd") // of consensus: the table of what is decided, and its row
)

// lastMigration names the version of the databases: the last step by which go-opera v1.1.3
// brings older ones up to date (gossip/store_migration.go).
const lastMigration = "calculate upgrade heights"

func (f *Folder) checkVersion() error {
	id, err := f.tables[versionTable].get(versionKey)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(lastMigration))
	if want := hex.EncodeToString(sum[:]); string(id) != want {
		return fmt.Errorf("%w: it is %q, not %s", ErrVersion, id, want)
	}
	return nil
}

// Head is where the chain of a folder stands.
type Head struct {
	GenesisID [32]byte
	Block     inter.BlockState // after the last frame, with the root
	Epoch     inter.EpochState
	Decided   inter.Frame // the last of the epoch
	Upgrades  []inter.UpgradeHeight
}

// Head reads where the chain stands.
func (f *Folder) Head() (*Head, error) {
	h := new(Head)
	id, err := f.tables[genesisTable].get(genesisKey)
	if err == nil && len(id) != len(h.GenesisID) {
		err = f.tables[genesisTable].malformedError(genesisKey, fmt.Errorf("it has %d bytes", len(id)))
	}
	if err != nil {
		return nil, err
	}
	copy(h.GenesisID[:], id)
	var present inter.EpochContent
	var decided struct{ Frame inter.Frame }
	for _, row := range []struct {
		table string
		key   []byte
		into  any
	}{{presentTable, presentKey, &present}, {consensusTable, decidedKey, &decided}, {upgradesTable, nil, &h.Upgrades}} {
		ok, err := f.tables[row.table].value(row.key, row.into)
		if err == nil && !ok {
			err = f.tables[row.table].malformedError(row.key, errMissing)
		}
		if err != nil {
			return nil, err
		}
	}
	h.Block, h.Epoch, h.Decided = present.BlockState, present.EpochState, decided.Frame
	return h, nil
}

// Demanded returns the version that the network demands of its nodes, 0 if it has demanded none (go-opera,
// gossip/blockproc/verwatcher).
func (f *Folder) Demanded() (uint64, error) {
	t, ok := f.tables[demandTable]
	if !ok {
		return 0, nil
	}
	raw, err := t.get(demandKey)
	if err == nil && raw != nil && len(raw) != 8 {
		err = t.malformedError(demandKey, fmt.Errorf("it has %d bytes", len(raw)))
	}
	if err != nil || raw == nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(raw), nil
}

// Epoch returns the record of an epoch's beginning, nil if there is none.
func (f *Folder) Epoch(number inter.Epoch) (*inter.EpochRecord, error) {
	r := &inter.EpochRecord{Epoch: number}
	ok, err := f.tables[epochsTable].value(epochKey(number), &r.State)
	if err == nil && ok && r.State.EpochState.Epoch != number {
		err = f.tables[epochsTable].malformedError(epochKey(number),
			fmt.Errorf("it is of epoch %d", r.State.EpochState.Epoch))
	}
	if err != nil || !ok {
		return nil, err
	}
	return r, nil
}

// LowestEpoch returns the first epoch of which there is a record, 0 if there is none.
func (f *Folder) LowestEpoch() (inter.Epoch, error) {
	key, err := f.lowest(epochsTable, 4)
	return inter.Epoch(number(key)), err
}

// LowestBlock returns the first block that there is, 0 if there is none.
func (f *Folder) LowestBlock() (inter.BlockNumber, error) {
	key, err := f.lowest(blocksTable, 8)
	return inter.BlockNumber(number(key)), err
}

// LowestEvent returns the epoch of the first event that there is, 0 if there is none.
func (f *Folder) LowestEvent() (inter.Epoch, error) {
	key, err := f.lowest(eventsTable, len(inter.EventID{}))
	return inter.Epoch(number(key[:min(4, len(key))])), err
}

// lowest returns the first key of a table, whose keys have that many bytes.
func (f *Folder) lowest(name string, size int) (first []byte, err error) {
	t := f.tables[name]
	err = t.ascend(nil, func(key, _ []byte) (bool, error) {
		if len(key) != size {
			return false, t.malformedError(key, fmt.Errorf("the key has %d bytes", len(key)))
		}
		first = bytes.Clone(key)
		return false, nil
	})
	return first, err
}

// number reads an integer.
func number(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

// Block is a block as go-opera keeps it.
type Block struct {
	Number  inter.BlockNumber
	ID      inter.EventID
	Time    inter.Timestamp
	GasUsed uint64
	Root    [32]byte // of the state after it
	// Txs are the transactions that stand in no event. In the block the transactions of Events
	// follow them. Skipped has indexes into both together: of those that were not executed.
	Txs      types.Transactions
	Events   []inter.EventID
	Skipped  []uint32
	Receipts []*types.ReceiptForStorage
}

// storedBlock is a block's row.
type storedBlock struct {
	Time     inter.Timestamp
	Atropos  inter.EventID
	Events   []inter.EventID
	Txs      []common.Hash
	Internal []common.Hash // before Txs; of older versions
	Skipped  []uint32
	GasUsed  uint64
	Root     [32]byte
}

func blockKey(n inter.BlockNumber) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func epochKey(e inter.Epoch) []byte { return binary.BigEndian.AppendUint32(nil, uint32(e)) }

// Root returns the root of the state after a block, and whether there is such a block.
func (f *Folder) Root(n inter.BlockNumber) ([32]byte, bool, error) {
	var s storedBlock
	ok, err := f.tables[blocksTable].value(blockKey(n), &s)
	return s.Root, ok, err
}

// Block returns a block with its receipts, nil if there is none.
func (f *Folder) Block(n inter.BlockNumber) (*Block, error) {
	var s storedBlock
	ok, err := f.tables[blocksTable].value(blockKey(n), &s)
	if err != nil || !ok {
		return nil, err
	}
	b := &Block{Number: n, ID: s.Atropos, Time: s.Time, GasUsed: s.GasUsed, Root: s.Root, Events: s.Events,
		Skipped: s.Skipped}
	for _, hash := range append(s.Internal, s.Txs...) {
		tx, err := f.transaction(hash)
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", n, err)
		}
		b.Txs = append(b.Txs, tx)
	}
	if _, err := f.tables[receiptsTable].value(blockKey(n), &b.Receipts); err != nil {
		return nil, fmt.Errorf("the receipts of block %d: %w", n, err)
	}
	return b, nil
}

// transaction returns one that is in no event.
func (f *Folder) transaction(hash common.Hash) (*types.Transaction, error) {
	tx, t := new(types.Transaction), f.tables[transactionTable]
	ok, err := t.value(hash[:], tx)
	switch {
	case err != nil:
	case !ok:
		err = t.malformedError(hash[:], errMissing)
	case !inter.Supported(tx):
		err = t.malformedError(hash[:], types.ErrTxTypeNotSupported)
	case tx.Hash() != hash:
		err = t.malformedError(hash[:], fmt.Errorf("the transaction there is %v", tx.Hash()))
	}
	if err != nil {
		return nil, fmt.Errorf("transaction %v: %w", hash, err)
	}
	return tx, nil
}

// Events calls each with every event, encoded as peers send it, in the order of ids: parents
// come before their children. An error of each ends Events and is returned. The callee may keep
// and change raw.
func (f *Folder) Events(each func(id inter.EventID, raw []byte) error) error {
	t := f.tables[eventsTable]
	return t.ascend(nil, func(key, value []byte) (bool, error) {
		if len(key) != len(inter.EventID{}) {
			return false, t.malformedError(key, errors.New("the key is no event's id"))
		}
		raw, rest, err := rlp.SplitString(value)
		if err == nil && len(rest) != 0 {
			err = errors.New("something follows the event")
		}
		if err != nil {
			return false, t.malformedError(key, err)
		}
		return true, each(inter.EventID(key), bytes.Clone(raw))
	})
}
