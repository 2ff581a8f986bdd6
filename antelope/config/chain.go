package config

import "tarn/store/engine"

const oc = "contracts are compiled ahead of use by the node's own compiler; there is no second one to configure"

const wasmGone = "removed in Leap 3.1; eos-vm-jit and eos-vm give the same results"

func chainFiles() []Option {
	return []Option{
		{Name: "blocks-dir", Kind: Path, Default: "blocks", Help: "Folder of the blocks, absolute or in data-dir"},
		{Name: "blocks-log-stride", Kind: Uint32,
			Help: "Begin a new block log whenever the head's number is a multiple of this. The old one becomes " +
				"blocks-<first>-<last>.log and .index in blocks-retained-dir,\nwhere it can still be read."},
		{Name: "max-retained-block-files", Kind: Uint32,
			Help: "How many of those older logs to keep where they can be read. The oldest beyond that moves to " +
				"blocks-archive-dir,\nor is deleted if that is empty."},
		{Name: "blocks-retained-dir", Kind: Path,
			Help: "Folder of older logs, absolute or in blocks-dir. The default is blocks-dir."},
		{Name: "blocks-archive-dir", Kind: Path,
			Help: "Folder for logs that are no longer read, absolute or in blocks-dir. If this is empty, old logs are deleted.\nThe " +
				"node never reads or deletes files in this folder."},
		{Name: "state-dir", Kind: Path, Default: "state", Help: "Folder of the chain's state, absolute or in data-dir"},
		{Name: "protocol-features-dir", Kind: Path, Default: "protocol_features",
			Help: "Folder of the specifications of protocol features, absolute or in config-dir"},
		{Name: "checkpoint", Kind: Texts, Composing: true,
			Help: "A pair [BLOCK_NUM,\"BLOCK_ID\"]: a block of that number must have that id."},
	}
}

func chainLimits() []Option {
	return []Option{
		{Name: "wasm-runtime", Kind: Choice, Choices: []string{"eos-vm-jit", "eos-vm", "eos-vm-oc"},
			Default: "eos-vm-jit",
			Help: "Which WebAssembly runtime of nodeos runs contracts: eos-vm-jit, eos-vm or eos-vm-oc. All give " +
				"the same results.",
			Instead: oc,
			Former:  map[string]string{"wabt": wasmGone, "wavm": wasmGone, "binaryen": wasmGone}},
		{Name: "profile-account", Kind: Texts, Composing: true, Help: "An account whose contract is to be profiled",
			Instead: "no contract is profiled"},
		{Name: "abi-serializer-max-time-ms", Kind: Uint32, Default: "15",
			Help: "How long decoding with an ABI may take, in ms"},
		{Name: "chain-state-db-size-mb", Kind: Uint64, Default: "1024",
			Help: "Page engine only: maximum size of the chain's state, in MiB"},
		{Name: "chain-state-db-guard-size-mb",
			Kind: Uint64, Default: "128",
			Help: "Page engine only: stop the node safely when the chain's state has less free space than this, in MiB."},
		{Name: "signature-cpu-billable-pct",
			Kind: Uint32, Default: "50",
			Help: "How much of the time that recovering keys takes is billed: whole percents, 50 for 50 %"},
		{Name: "chain-threads", Kind: Uint16, Default: "2",
			Help: "Threads that decode and check blocks and signatures ahead of the chain"},
		{Name: "contracts-console", Kind: Switch, Help: "Print what contracts print"},
		{Name: "deep-mind", Kind: Switch, Help: "Print all that the chain does, for indexers"},
	}
}

func chainRules() []Option {
	list := func(name, help string) Option {
		return Option{Name: name, Kind: Texts, Composing: true, Multitoken: true,
			Help: help + " (may be given many times)"}
	}
	return []Option{
		list("actor-whitelist", "Only these accounts may authorise actions"),
		list("actor-blacklist", "These accounts may not authorise actions"),
		list("contract-whitelist", "Only these contracts may be called"),
		list("contract-blacklist", "These contracts may not be called"),
		list("action-blacklist", "An action that may not be called, as code::action"),
		list("key-blacklist", "A public key that must not enter an authority"),
		list("sender-bypass-whiteblacklist", "Deferred transactions of these senders are not checked against the lists"),
		{Name: "read-mode", Kind: Choice, Choices: []string{"head", "irreversible", "speculative"}, Default: "head",
			Former: map[string]string{
				"read-only": "removed in Leap 4.0; use read-mode = head with p2p-accept-transactions = false and " +
					"api-accept-transactions = false"},
			Help: "What readers see.\nhead: the state after the newest block. Valid transactions are relayed.\n" +
				"irreversible: the state after the last irreversible block. The node relays no transactions from peers " +
				"and takes none from the API. But if the feature SAVANNA is active when the node starts, it does both, " +
				"as with head.\n" +
				"speculative: the state after the newest block and transactions that are in no block yet. Valid " +
				"transactions are relayed.\n"},
		{Name: "api-accept-transactions", Kind: Bool, Default: "true",
			Help: "Take transactions from the API, and relay valid ones."},
		{Name: "validation-mode", Kind: Choice, Choices: []string{"full", "light"}, Default: "full",
			Help: "full: every block is checked whole.\nlight: every header is checked; the transactions in signed " +
				"blocks are trusted\n"},
		{Name: "disable-ram-billing-notify-checks", Kind: Switch,
			Help: "Accept transactions in which a contract bills RAM to another account while it handles a " +
				"notification. Without this option the node refuses them."},
		{Name: "maximum-variable-signature-length", Kind: Uint32, Default: "16384",
			Help: "The most that the variable parts of a signature may take, in bytes"},
		{Name: "trusted-producer", Kind: Texts, Composing: true,
			Help: "A producer whose signed blocks are trusted as in light validation."},
		{Name: "database-map-mode", Kind: Choice, Choices: engine.ModeNames(), Default: "mapped_private",
			Help: "How the page engine keeps the state (" + engine.Choice(engine.ModeNames()) +
				"). nodeos' default is mapped.\n" +
				"The default is mapped where the state's folder is on a file system in memory (tmpfs).\n" +
				"mapped: a shared mapping, which the kernel writes back whenever it likes.\n" +
				"mapped_private: changes stay in memory until a checkpoint writes each changed page once.\n" +
				"heap: the state is read into memory at the start, in huge pages if there are any.\n" +
				"locked: the same, and it is never swapped out.\n"},
		{Name: "eos-vm-oc-cache-size-mb", Kind: Uint64, Default: "1024",
			Help: "Size of EOS VM OC's cache of compiled contracts (in MiB)", Instead: oc},
		{Name: "eos-vm-oc-compile-threads", Kind: Uint64, Default: "1", Help: "Threads of EOS VM OC", Instead: oc},
		{Name: "eos-vm-oc-enable", Kind: Choice, AnyCase: true,
			Default: "auto", Help: "Where EOS VM OC is used: auto, all or none.\n", Instead: oc,
			Choices: []string{"auto", "all", "none", "true", "on", "yes", "1", "false", "off", "no", "0"}},
		{Name: "eos-vm-oc-whitelist", Kind: Texts, Composing: true, Multitoken: true,
			Help: "Suffixes of accounts whose contracts EOS VM OC compiles (Spring)", Instead: oc},
	}
}

func chainQueries() []Option {
	return []Option{
		{Name: "enable-account-queries", Kind: Bool, Default: "false",
			Help: "Serve queries for accounts by their keys and authorizers."},
		{Name: "transaction-retry-max-storage-size-gb", Kind: Uint64,
			Help: "Memory (in GiB) for transactions that are sent again until they are in a block. More than 0 turns this on."},
		{Name: "transaction-retry-interval-sec", Kind: Uint32, Default: "20",
			Help: "Seconds after which a transaction that is in no block is sent again.\nAt least twice " +
				"p2p-dedup-cache-expire-time-sec."},
		{Name: "transaction-retry-max-expiration-sec", Kind: Uint32, Default: "120",
			Help: "How far ahead, in seconds, the expiration of such a transaction may be.\nMore than " +
				"transaction-retry-interval-sec."},
		{Name: "transaction-finality-status-max-storage-size-gb", Kind: Uint64,
			Help: "Memory (in GiB) for the status of transactions until they are final. More than 0 turns this on."},
		{Name: "transaction-finality-status-success-duration-sec", Kind: Uint64,
			Default: "180", Help: "Seconds for which the status of a transaction that succeeded is kept."},
		{Name: "transaction-finality-status-failure-duration-sec",
			Kind: Uint64, Default: "180", Help: "Seconds for which the status of a transaction that failed is kept."},
		{Name: "disable-replay-opts", Kind: Switch, Help: "Replay without the optimisations that make it faster"},
		{Name: "integrity-hash-on-start", Kind: Switch, Help: "Log the integrity hash of the state at the start"},
		{Name: "integrity-hash-on-stop", Kind: Switch, Help: "Log the integrity hash of the state at the end"},
		{Name: "block-log-retain-blocks",
			Kind: Uint32,
			Help: "Keep only this number of newest blocks in the block log. The disk space of older blocks becomes " +
				"free.\n0 keeps no block log at all."},
	}
}

func chainCommands() []Option {
	return []Option{
		{Name: "genesis-json", Kind: Path, CommandLine: true, Help: "File with the genesis of a new chain"},
		{Name: "genesis-timestamp", Kind: Text, CommandLine: true,
			Help: "Time of the genesis in place of that in the file; now for the present"},
		{Name: "print-genesis-json", Kind: Switch, CommandLine: true,
			Help: "Print the genesis in the block log as JSON and end"},
		{Name: "extract-genesis-json", Kind: Path, CommandLine: true,
			Help: "Write the genesis in the block log as JSON into a file and end"},
		{Name: "print-build-info", Kind: Switch, CommandLine: true,
			Help: "Print what the program was built for as JSON and end"},
		{Name: "extract-build-info", Kind: Path, CommandLine: true,
			Help: "Write what the program was built for as JSON into a file and end"},
		{Name: "force-all-checks", Kind: Switch, CommandLine: true,
			Help: "Check replayed blocks as if they were new, for blocks from a source that you do not trust"},
		{Name: "replay-blockchain", Kind: Switch, CommandLine: true, Help: "Delete the state and replay all blocks"},
		{Name: "hard-replay-blockchain", Kind: Switch, CommandLine: true,
			Help: "Delete the state, save what can be saved of the block log, and replay it"},
		{Name: "delete-all-blocks", Kind: Switch, CommandLine: true, Help: "Delete the state and all blocks"},
		{Name: "truncate-at-block", Kind: Uint32, Default: "0", CommandLine: true,
			Help: "With hard-replay-blockchain: the last block to keep; 0 for all"},
		{Name: "terminate-at-block", Kind: Uint32, Default: "0", CommandLine: true,
			Help: "End after this block; 0 for never"},
		{Name: "snapshot", Kind: Path, CommandLine: true, Help: "Snapshot to start from"},
	}
}
