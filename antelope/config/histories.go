package config

func stateHistory() []Option {
	return []Option{
		{Name: "state-history-dir", Kind: Path, Default: "state-history",
			Help: "Folder of the state history, absolute or in data-dir"},
		{Name: "state-history-retained-dir", Kind: Path,
			Help: "Folder of older logs, absolute or in state-history-dir"},
		{Name: "state-history-archive-dir",
			Kind: Path,
			Help: "Folder for logs that are no longer read, absolute or in state-history-dir. If this is " +
				"empty, old logs are deleted.\nThe node never reads or deletes files in this folder."},
		{Name: "state-history-stride", Kind: Uint32,
			Help: "Begin new logs whenever the block's number is a multiple of this.\nThe old ones become " +
				"*-history-<first>-<last>.log and .index."},
		{Name: "max-retained-history-files",
			Kind: Uint32,
			Help: "How many of those older logs to keep where they can be read.\nThe oldest beyond that moves to the " +
				"archive, or is deleted."},
		{Name: "trace-history", Kind: Switch, Help: "Keep the history of traces"},
		{Name: "chain-state-history", Kind: Switch, Help: "Keep the history of the state"},
		{Name: "finality-data-history", Kind: Switch,
			Help: "Keep the history of finality data, and speak to indexers as Spring does (Spring)"},
		{Name: "state-history-endpoint", Kind: Text, Default: "127.0.0.1:8080",
			Help: "Address on which the history is served. Do not open it to the internet."},
		{Name: "state-history-unix-socket-path", Kind: Text,
			Help: "Unix socket, in data-dir, on which the history is served"},
		{Name: "trace-history-debug-mode", Kind: Switch, Help: "Keep more details of traces, for debugging"},
		{Name: "state-history-log-retain-blocks", Kind: Uint32,
			Help: "Keep only so many of the newest blocks in the history"},
		{Name: "delete-state-history", Kind: Switch, CommandLine: true, Help: "Delete the state history"},
	}
}

func traceAPI() []Option {
	return []Option{
		{Name: "trace-dir", Kind: Path, Default: "traces", Help: "Folder of the traces, absolute or in data-dir"},
		{Name: "trace-slice-stride", Kind: Uint32, Default: "10000", Help: "Blocks in each file of traces"},
		{Name: "trace-minimum-irreversible-history-blocks", Kind: Int32,
			Default: "-1", Help: "Irreversible blocks to keep before files may be deleted; -1 to delete none"},
		{Name: "trace-minimum-uncompressed-irreversible-history-blocks", Kind: Int32,
			Default: "-1", Help: "Irreversible blocks to keep before files are compressed; -1 to compress none"},
		{Name: "trace-rpc-abi", Kind: Texts, Composing: true,
			Help: "ABI that decodes the actions of an account in traces, as account=file; the file is absolute or in " +
				"data-dir. May be given many times. Either this or trace-no-abis is needed."},
		{Name: "trace-no-abis", Kind: Flag, Help: "Serve traces without ABIs."},
	}
}
