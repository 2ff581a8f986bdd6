package types

// ChainConfig is chain_config of version 1; version 0 lacks the last field. See
// [ChainConfig.AppendV0], [ChainConfig.ReadV0].
type ChainConfig struct {
	MaxBlockNetUsage               uint64
	TargetBlockNetUsagePct         uint32 // 1 % is 100
	MaxTransactionNetUsage         uint32
	BasePerTransactionNetUsage     uint32
	NetUsageLeeway                 uint32
	ContextFreeDiscountNetUsageNum uint32
	ContextFreeDiscountNetUsageDen uint32
	MaxBlockCPUUsage               uint32 // microseconds, like all CPU usage
	TargetBlockCPUUsagePct         uint32
	MaxTransactionCPUUsage         uint32
	MinTransactionCPUUsage         uint32
	MaxTransactionLifetime         uint32 // seconds
	DeferredTrxExpirationWindow    uint32 // seconds
	MaxTransactionDelay            uint32 // seconds
	MaxInlineActionSize            uint32
	MaxInlineActionDepth           uint16
	MaxAuthorityDepth              uint16
	MaxActionReturnValueSize       uint32 // version 1
}

// WasmConfig is wasm_config of version 0.
type WasmConfig struct {
	MaxMutableGlobalBytes uint32
	MaxTableElements      uint32
	MaxSectionElements    uint32
	MaxLinearMemoryInit   uint32
	MaxFuncLocalBytes     uint32
	MaxNestedStructures   uint32
	MaxSymbolBytes        uint32
	MaxModuleBytes        uint32
	MaxCodeBytes          uint32
	MaxPages              uint32
	MaxCallDepth          uint32
}

// Genesis is genesis_state: what a chain's id is the hash of. The configuration is
// encoded as version 0.
type Genesis struct {
	InitialTimestamp     TimePoint
	InitialKey           PublicKey
	InitialConfiguration ChainConfig
}
