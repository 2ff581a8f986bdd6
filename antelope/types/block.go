package types

// BlockHeader is what a block's id is the hash of.
type BlockHeader struct {
	Timestamp        BlockTimestamp
	Producer         Name
	Confirmed        uint16
	Previous         Checksum256
	TransactionMRoot Checksum256
	ActionMRoot      Checksum256
	ScheduleVersion  uint32
	NewProducers     *LegacySchedule // before WTMSIG_BLOCK_SIGNATURES
	Extensions       Extensions
}

// SignedBlockHeader adds the producer's first signature.
type SignedBlockHeader struct {
	BlockHeader
	ProducerSignature Signature
}

// SignedBlock is a block as it travels and is logged.
type SignedBlock struct {
	SignedBlockHeader
	Transactions []TransactionReceipt
	Extensions   Extensions // the block's; the header has its own
}

// Types of header extensions and block extensions.
const (
	HeaderProtocolFeatures = 0 // ids of activated protocol features
	HeaderScheduleChange   = 1 // ProducerAuthoritySchedule
	BlockMoreSignatures    = 2 // signatures after the first
)

// LegacyProducerKey is a producer with its one key.
type LegacyProducerKey struct {
	Producer Name
	Key      PublicKey
}

// LegacySchedule is a schedule as it was before WTMSIG_BLOCK_SIGNATURES.
type LegacySchedule struct {
	Version   uint32
	Producers []LegacyProducerKey
}

// BlockSigningAuthority is the authority of version 0, the only one there is; its
// variant index 0 is part of the encoding.
type BlockSigningAuthority struct {
	Threshold uint32
	Keys      []KeyWeight
}

// ProducerAuthority is a producer with what its signature takes.
type ProducerAuthority struct {
	Producer  Name
	Authority BlockSigningAuthority
}

// ProducerSchedule is the list of producers in their order, with its version.
type ProducerSchedule struct {
	Version   uint32
	Producers []ProducerAuthority
}
