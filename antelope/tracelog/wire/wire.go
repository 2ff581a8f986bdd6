// Package wire is the bytes of the entries in the files that trace_api_plugin of nodeos
// keeps: blocks with what their actions did, where each block's entry is, which blocks
// are irreversible, and which transactions a block has (Leap: plugins/trace_api_plugin).
// It writes the versions that Leap 5 writes, and reads all that it reads.
//
// It owns the encodings, and what of a block is recorded. It never opens a file, and does
// not know which of them an entry belongs to.
package wire

import (
	"tarn/antelope/types"
)

// Block is a block's entry in a file of traces.
type Block struct {
	ID        types.Checksum256
	Number    uint32
	Previous  types.Checksum256
	Timestamp types.BlockTimestamp
	Producer  types.Name
	// Roots is nil in entries of version 0.
	Roots        *Roots
	Transactions []Transaction
}

// Roots is what entries tell of a block's header since version 1.
type Roots struct {
	Transactions    types.Checksum256
	Actions         types.Checksum256
	ScheduleVersion uint32
}

// Transaction is one that was executed, or whose handler was after it failed.
type Transaction struct {
	// ID is that of the transaction that failed, not of its handler.
	ID      types.Checksum256
	Actions []Action
	Receipt *Receipt // nil in blocks of version 0
	Place   *Place   // nil before version 3 of transactions
}

// Receipt is what a block says of a transaction, and what came with it.
type Receipt struct {
	Status        types.TransactionStatus
	CPUUsageUS    uint32
	NetUsageWords uint32
	Signatures    []types.Signature
	Header        types.TransactionHeader
}

// Place is the block in which a transaction was executed.
type Place struct {
	Number   uint32
	Time     types.BlockTimestamp
	Producer *types.Checksum256 // id of the block; nil where it was produced by this node
}

// Action is one that was executed, in the order of execution. Data and ReturnValue of one
// that was read belong to the bytes that it was read from.
type Action struct {
	GlobalSequence uint64
	Receiver       types.Name
	Account        types.Name
	Name           types.Name
	Authorization  []types.PermissionLevel
	Data           []byte
	ReturnValue    []byte // nil in blocks before version 2, which do not tell it
}

// Entry is an entry of the other two files: one of its fields is set.
type Entry struct {
	Block        *Position     // in the index
	Irreversible *uint32       // in both: this block and all before it
	Transactions *Transactions // in the file of ids
}

// Position tells where a block's entry begins in the file of traces.
type Position struct {
	ID     types.Checksum256
	Number uint32
	Offset uint64
}

// Transactions are the ids of all that have a receipt in a block, in its order.
type Transactions struct {
	IDs    []types.Checksum256
	Number uint32
}
