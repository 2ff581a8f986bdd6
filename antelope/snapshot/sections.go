package snapshot

// The sections, named for nodeos' classes, in the order in which they are written.
const (
	chainPrefix    = "eosio::chain::"
	resourcePrefix = chainPrefix + "resource_limits::"

	versionSection        = chainPrefix + "chain_snapshot_header"
	headerSection         = chainPrefix + "block_state"
	genesisSection        = chainPrefix + "genesis_state" // version 2 only
	accountSection        = chainPrefix + "account_object"
	metadataSection       = chainPrefix + "account_metadata_object"
	correctionSection     = chainPrefix + "account_ram_correction_object"
	globalSection         = chainPrefix + "global_property_object"
	protocolSection       = chainPrefix + "protocol_state_object"
	dynamicSection        = chainPrefix + "dynamic_global_property_object"
	summarySection        = chainPrefix + "block_summary_object"
	transactionSection    = chainPrefix + "transaction_object"
	deferredSection       = chainPrefix + "generated_transaction_object"
	codeSection           = chainPrefix + "code_object"
	contractSection       = "contract_tables"
	permissionSection     = chainPrefix + "permission_object"
	linkSection           = chainPrefix + "permission_link_object"
	limitsSection         = resourcePrefix + "resource_limits_object"
	usageSection          = resourcePrefix + "resource_usage_object"
	resourceStateSection  = resourcePrefix + "resource_limits_state_object"
	resourceConfigSection = resourcePrefix + "resource_limits_config_object"
)

// Versions of the rows (Leap: chain_snapshot.hpp).
const (
	MinVersion = 2 // the oldest that is read
	Version    = 6 // what is written
)

// summaries is how many block summaries there always are.
const summaries = 1 << 16

// Progress is how far writing or reading has come.
type Progress struct {
	Section string // the one being worked on
	Rows    uint64 // in all sections so far
	Bytes   int64  // of the snapshot so far
	Size    int64  // of the snapshot; 0 while that is not known
}

// progressRows is how many rows go by between two reports of progress.
const progressRows = 1 << 16
