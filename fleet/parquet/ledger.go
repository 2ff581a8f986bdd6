package parquet

import (
	"io"

	"tarn/fleet"
)

// Row is a row of a table: a struct whose fields have the tags of package parquet. A field may share memory with the
// block that the row is of. Fields whose values may be missing are pointers, with the tag optional.
type Row interface {
	// Size is about how many bytes the row takes before it is compressed.
	Size() int64
}

// Ledger turns a fleet's blocks into rows. The zero value is none.
type Ledger struct {
	name   string
	needs  func(log uint8) bool
	tables func() tables
}

// tables are a ledger's, and what fills them.
type tables struct {
	blocks, transactions table
	decode               func(b *fleet.Block) error
}

// NewLedger makes a ledger of a name whose tables blocks and transactions have rows of these types. needs tells which
// logs' records decode looks at. decode calls block for each block of a revision and transaction for each transaction,
// in their order, and ends with their first error; what it passes need not stay as it is. An error that wraps
// [fleet.ErrDamaged] says that the records are none of the ledger's. One goroutine at a time calls it. It holds no more
// memory than a few rows and what the records take.
func NewLedger[B, T Row](name string, needs func(log uint8) bool,
	decode func(b *fleet.Block, block func(B) error, transaction func(T) error) error) Ledger {
	return Ledger{name: name, needs: needs, tables: func() tables {
		blocks, transactions := &tableOf[B]{}, &tableOf[T]{}
		return tables{blocks, transactions, func(b *fleet.Block) error {
			return decode(b, blocks.add, transactions.add)
		}}
	}}
}

// Name is the ledger's, as snapshots have it.
func (l Ledger) Name() string { return l.name }

// table writes rows to files, one file after another.
type table interface {
	// begin begins a file whose row groups have about so many bytes.
	begin(w io.Writer, rowGroup int64)
	// drain lets go of the rows that were added: what they share memory with may change.
	drain() error
	// end ends the file.
	end() error
}
