package types

// Action is a call of a contract, or of the system itself.
type Action struct {
	Account       Name
	Name          Name
	Authorization []PermissionLevel
	Data          []byte
}

// TransactionHeader is a transaction without its actions.
type TransactionHeader struct {
	Expiration       TimePointSec
	RefBlockNum      uint16
	RefBlockPrefix   uint32
	MaxNetUsageWords uint32 // varuint; words of eight bytes, 0 for no limit
	MaxCPUUsageMS    uint8  // 0 for no limit
	DelaySec         uint32 // varuint
}

// Transaction is what is signed.
type Transaction struct {
	TransactionHeader
	ContextFreeActions []Action
	Actions            []Action
	Extensions         Extensions
}

// Compression of a packed transaction.
type Compression uint8

// The compressions of nodeos.
const (
	CompressionNone Compression = iota
	CompressionZlib
)

// PackedTransaction is a transaction as it travels: signed, packed, maybe
// compressed. Its byte fields hold exactly what came or goes over the wire.
type PackedTransaction struct {
	Signatures            []Signature
	Compression           Compression
	PackedContextFreeData []byte
	PackedTrx             []byte
}

// TransactionStatus is the outcome of a transaction in a block.
type TransactionStatus uint8

// The outcomes, by their numbers on the wire.
const (
	StatusExecuted TransactionStatus = iota
	StatusSoftFail
	StatusHardFail
	StatusDelayed
	StatusExpired
)

// TransactionReceiptHeader is what a block says about a transaction's outcome.
type TransactionReceiptHeader struct {
	Status        TransactionStatus
	CPUUsageUS    uint32
	NetUsageWords uint32 // varuint
}

// TransactionReceipt is an entry of a block: a packed transaction, or the id of
// one that the state held (Packed is nil then).
type TransactionReceipt struct {
	TransactionReceiptHeader
	ID     Checksum256 // only when Packed is nil
	Packed *PackedTransaction
}
