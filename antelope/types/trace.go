package types

import "tarn/antelope/exception"

// ActionReceipt is what the action merkle root is made of.
type ActionReceipt struct {
	Receiver       Name
	ActDigest      Checksum256
	GlobalSequence uint64
	RecvSequence   uint64
	AuthSequence   []AuthSequence // ascending by account
	CodeSequence   uint32         // varuint
	ABISequence    uint32         // varuint
}

// AuthSequence counts what an account has authorised.
type AuthSequence struct {
	Account  Name
	Sequence uint64
}

// AccountDelta is a change of an account's RAM, in bytes.
type AccountDelta struct {
	Account Name
	Delta   int64
}

// ActionTrace is what the execution of one action did. Times are microseconds.
type ActionTrace struct {
	Ordinal                          uint32 // varuint, from 1
	CreatorOrdinal                   uint32 // varuint
	ClosestUnnotifiedAncestorOrdinal uint32 // varuint
	Receipt                          *ActionReceipt
	Receiver                         Name
	Action                           Action
	ContextFree                      bool
	Elapsed                          int64
	Console                          string
	TransactionID                    Checksum256
	BlockNum                         uint32
	BlockTime                        BlockTimestamp
	ProducerBlockID                  *Checksum256
	AccountRAMDeltas                 []AccountDelta // ascending by account
	Except                           *exception.Error
	ErrorCode                        *uint64
	ReturnValue                      []byte
}

// TransactionTrace is what the execution of a transaction did.
type TransactionTrace struct {
	ID              Checksum256
	BlockNum        uint32
	BlockTime       BlockTimestamp
	ProducerBlockID *Checksum256
	Receipt         *TransactionReceiptHeader
	Elapsed         int64
	NetUsage        uint64 // bytes
	Scheduled       bool
	ActionTraces    []ActionTrace
	AccountRAMDelta *AccountDelta
	FailedDeferred  *TransactionTrace // the trace of the deferred one that onerror handles
	Except          *exception.Error
	ErrorCode       *uint64
}
