package state

import "tarn/antelope/types"

// Account is account_object without its ABI, which [State.ABI] has.
type Account struct {
	ID      uint64
	Name    types.Name
	Created types.BlockTimestamp
}

// AccountMetadata is account_metadata_object.
type AccountMetadata struct {
	ID             uint64
	Name           types.Name
	RecvSequence   uint64
	AuthSequence   uint64
	CodeSequence   uint64
	ABISequence    uint64
	CodeHash       types.Checksum256 // zero if the account has no code
	LastCodeUpdate types.TimePoint
	Flags          uint32
	VMType         uint8
	VMVersion      uint8
}

// FlagPrivileged is the one flag of AccountMetadata.Flags.
const FlagPrivileged = 1

// Privileged tells whether the account may call privileged host functions.
func (a *AccountMetadata) Privileged() bool { return a.Flags&FlagPrivileged != 0 }

// RAMCorrection is account_ram_correction_object, in bytes.
type RAMCorrection struct {
	ID         uint64
	Name       types.Name
	Correction uint64
}

// Code is code_object without the code itself, which [State.CodeBytes] has.
type Code struct {
	ID             uint64
	Key            CodeKey
	RefCount       uint64
	FirstBlockUsed uint32
}

// CodeKey identifies a contract's code.
type CodeKey struct {
	Hash      types.Checksum256
	VMType    uint8
	VMVersion uint8
}

// TableKey names a contract's table.
type TableKey struct{ Code, Scope, Table types.Name }

// ContractTable is table_id_object: rows of all kinds are counted.
type ContractTable struct {
	ID    uint64
	Key   TableKey
	Payer types.Name
	Count uint32
}

// PermissionKey names an account's permission.
type PermissionKey struct{ Owner, Name types.Name }

// Permission is permission_object and its permission_usage_object. Its parent is a
// permission of the same owner, or none (empty). The first permission, with an
// empty key, is reserved.
type Permission struct {
	ID          uint64
	Key         PermissionKey
	Parent      types.Name
	LastUpdated types.TimePoint
	LastUsed    types.TimePoint
	Authority   types.Authority
}

// LinkKey names what a permission is linked to; an empty Action is every action.
type LinkKey struct{ Account, Code, Action types.Name }

// PermissionLink is permission_link_object.
type PermissionLink struct {
	ID       uint64
	Key      LinkKey
	Required types.Name
}

// ResourceLimits is resource_limits_object. A limit below zero is none.
type ResourceLimits struct {
	ID        uint64
	Owner     types.Name
	NetWeight int64
	CPUWeight int64
	RAMBytes  int64
}

// Usage is usage_accumulator: consumption averaged over a window.
type Usage struct {
	LastOrdinal uint32
	ValueEx     uint64 // average, times 10^6
	Consumed    uint64
}

// ResourceUsage is resource_usage_object.
type ResourceUsage struct {
	ID    uint64
	Owner types.Name
	Net   Usage
	CPU   Usage
	RAM   uint64 // bytes
}

// Ratio is a fraction.
type Ratio struct{ Numerator, Denominator uint64 }

// ElasticLimit is elastic_limit_parameters.
type ElasticLimit struct {
	Target        uint64
	Max           uint64
	Periods       uint32
	MaxMultiplier uint32
	Contract      Ratio
	Expand        Ratio
}

// ResourceConfig is resource_limits_config_object.
type ResourceConfig struct {
	CPU              ElasticLimit
	Net              ElasticLimit
	AccountCPUWindow uint32 // slots
	AccountNetWindow uint32
}

// ResourceState is resource_limits_state_object.
type ResourceState struct {
	AverageBlockNet Usage
	AverageBlockCPU Usage
	PendingNet      uint64
	PendingCPU      uint64
	TotalNetWeight  uint64
	TotalCPUWeight  uint64
	TotalRAM        uint64
	VirtualNet      uint64
	VirtualCPU      uint64
}

// GlobalProperty is global_property_object.
type GlobalProperty struct {
	ProposedScheduleBlock *uint32 // the block that proposed ProposedSchedule
	ProposedSchedule      types.ProducerSchedule
	Configuration         types.ChainConfig
	ChainID               types.Checksum256
	KV                    KVConfig
	Wasm                  types.WasmConfig
}

// KVConfig is kv_database_config: nothing uses it, snapshots carry it.
type KVConfig struct{ MaxKeySize, MaxValueSize, MaxIterators uint32 }

// ActivatedFeature is a protocol feature and the block that activated it.
type ActivatedFeature struct {
	Digest types.Checksum256
	Block  uint32
}

// ProtocolState is protocol_state_object.
type ProtocolState struct {
	Activated    []ActivatedFeature
	Preactivated []types.Checksum256
	Intrinsics   []string // that contracts may import, ascending
	KeyTypes     uint32   // how many kinds of keys and signatures are activated
}

// DynamicGlobal is dynamic_global_property_object.
type DynamicGlobal struct {
	ActionSequence uint64
}

// Deferred is generated_transaction_object.
type Deferred struct {
	ID         uint64
	TrxID      types.Checksum256
	Sender     types.Name
	SenderID   types.Uint128
	Payer      types.Name
	DelayUntil types.TimePoint
	Expiration types.TimePoint
	Published  types.TimePoint
	Packed     []byte // transaction
}

// DeferredKey is how a sender names its deferred transaction.
type DeferredKey struct {
	Sender   types.Name
	SenderID types.Uint128
}

// Transaction is transaction_object: one that must not come again before it
// expires.
type Transaction struct {
	ID         uint64
	Expiration types.TimePointSec
	TrxID      types.Checksum256
}

// SetPrivileged changes whether it may.
func (a *AccountMetadata) SetPrivileged(privileged bool) {
	a.Flags &^= FlagPrivileged
	if privileged {
		a.Flags |= FlagPrivileged
	}
}
