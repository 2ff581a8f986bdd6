package snapshot

import (
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
)

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
	contractSection       = "contract_tables"               // to version 6
	tableSection          = chainPrefix + "table_id_object" // from version 8 on
	valueSection          = chainPrefix + "key_value_object"
	permissionSection     = chainPrefix + "permission_object"
	linkSection           = chainPrefix + "permission_link_object"
	limitsSection         = resourcePrefix + "resource_limits_object"
	usageSection          = resourcePrefix + "resource_usage_object"
	resourceStateSection  = resourcePrefix + "resource_limits_state_object"
	resourceConfigSection = resourcePrefix + "resource_limits_config_object"
)

// Versions of the rows (Leap and Spring: chain_snapshot.hpp). Version 7 was that of a Spring 1.0.0, and
// is refused by all later ones.
const (
	MinVersion     = 2 // the oldest that is read
	LeapVersion    = 6 // what Leap writes
	refusedVersion = 7
	SpringVersion  = 8 // what Spring writes
)

// VersionFor is the version that a snapshot is written in unless another is asked for: Leap's as long as a nodeos of
// Leap can follow the chain, and Spring's, which knows no other, where SAVANNA is active. The integrity hash depends
// on it.
func VersionFor(head consensus.Head) uint32 {
	if head.Activated.HasSavanna() {
		return SpringVersion
	}
	return LeapVersion
}

// Options are how a snapshot is written.
type Options struct {
	// Version is LeapVersion or SpringVersion; 0 is [VersionFor]'s.
	Version uint32
	// Report is called now and then, unless it is nil. An error that it returns ends the writing.
	Report func(Progress) error
}

// complete fills in what was left out.
func (o *Options) complete(head consensus.Head) error {
	if o.Version == 0 {
		o.Version = VersionFor(head)
	}
	if o.Report == nil {
		o.Report = func(Progress) error { return nil }
	}
	switch {
	case o.Version != LeapVersion && o.Version != SpringVersion:
		return exception.New(exception.Snapshot,
			"Snapshots of version ${version} are not written; ${leap} and ${spring} are",
			"version", o.Version, "leap", LeapVersion, "spring", SpringVersion)
	case o.Version == LeapVersion && head.Finality != nil:
		return exception.New(exception.Snapshot,
			"Block ${num} follows Savanna's rules, which snapshots of version ${leap} have no room for: use "+
				"version ${spring}", "num", head.BlockNum, "leap", LeapVersion, "spring", SpringVersion)
	}
	return nil
}

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
