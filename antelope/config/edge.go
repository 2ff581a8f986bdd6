package config

const goroutines = "work runs on as many threads as there are processors; there is no pool to size"

func http() []Option {
	return []Option{
		{Name: "unix-socket-path", Kind: Text,
			Help: "Unix socket, absolute or in data-dir, on which the API is served; empty for none."},
		{Name: "http-server-address", Kind: Text, Default: "127.0.0.1:8888",
			Help: "Address on which the API is served; empty for none, http-category-address for those of that option."},
		{Name: "http-category-address", Kind: Texts,
			Help: "An address for one category of the API, as category,address.\n" +
				"Categories: chain_ro, chain_rw, db_size, net_ro, net_rw, producer_ro, producer_rw, snapshot, " +
				"trace_api, prometheus, test_control.\n" +
				"The address is host:port, or a unix socket that begins with '/', './' or '../' (the last two in " +
				"data-dir).\nCategories may share an address. Two addresses with one port must name the same host.\n" +
				"Examples:\n    chain_ro,127.0.0.1:8080\n    net_rw,[::1]:8082\n    producer_rw,./producer.sock\n    " +
				"trace_api,:8086 for all interfaces"},
		{Name: "access-control-allow-origin", Kind: Text, Help: "Access-Control-Allow-Origin of every answer"},
		{Name: "access-control-allow-headers", Kind: Text, Help: "Access-Control-Allow-Headers of every answer"},
		{Name: "access-control-max-age", Kind: Text, Help: "Access-Control-Max-Age of every answer"},
		{Name: "access-control-allow-credentials", Kind: Switch,
			Help: "Answer with Access-Control-Allow-Credentials: true"},
		{Name: "max-body-size", Kind: Uint32, Default: "2097152",
			Help: "The most that the body of a request may take, in bytes"},
		{Name: "http-max-bytes-in-flight-mb",
			Kind: Int64, Default: "500",
			Help: "The most memory for all requests that are being answered, decoded bodies included, in MiB; -1 for " +
				"no limit. Above it the answer is 503."},
		{Name: "http-max-in-flight-requests",
			Kind: Int32, Default: "-1",
			Help: "The most requests that are answered at the same time; -1 for as many as there may be connections, " +
				"16,384. Above it the answer is 503."},
		{Name: "http-max-response-time-ms", Kind: Int64, Default: "15",
			Help: "How long a request may take, in ms; -1 for no bound"},
		{Name: "verbose-http-errors", Kind: Switch, Help: "Answer errors with all details"},
		{Name: "http-validate-host", Kind: Bool, Default: "true",
			Help: "Refuse requests whose Host header does not name this server"},
		{Name: "http-alias", Kind: Texts, Composing: true,
			Help: "Another Host header that names this server, besides http-server-address; may be given many times."},
		{Name: "http-threads", Kind: Uint16, Default: "2", Help: "Threads that serve the API", Instead: goroutines},
		{Name: "http-keep-alive", Kind: Bool, Default: "true", Help: "Keep connections open if clients ask for it"},
	}
}

func netPeers() []Option {
	return []Option{
		{Name: "p2p-listen-endpoint", Kind: Texts, Default: "0.0.0.0:9876:0",
			Help: "Address to listen on for peers, as host:port[:trx|:blk][:<rate>]; may be given many times.\n" +
				"trx asks those who connect to send transactions only, blk blocks only (Spring).\n" +
				"The rate limits how fast blocks are sent to a peer that syncs, in bytes a second or with a unit:\n" +
				"B/s, KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s. New blocks and transactions are never held " +
				"back.\nExamples:\n    192.168.0.100:9876:1MiB/s\n    node.example.com:9877:trx:0.5GB/s\n    " +
				"[2001:db8::7348]:9876:250KB/s"},
		{Name: "p2p-server-address", Kind: Texts,
			Help: "host:port at which other nodes can reach this one; by default the address that it listens on. May " +
				"be given once for each p2p-listen-endpoint."},
		{Name: "p2p-peer-address", Kind: Texts, Composing: true,
			Help: "A peer to connect to, as host:port[:<trx>|<blk>]; may be given many times.\n" +
				"trx sends it transactions only, blk blocks only.\n" +
				"Examples:\n    p2p.example.com:9876\n    p2p.trx.example.com:9876:trx\n    " +
				"p2p.blk.example.com:9876:blk\n"},
		{Name: "p2p-max-nodes-per-host", Kind: Int32, Default: "1", Help: "The most peers from one IP address"},
		{Name: "p2p-accept-transactions", Kind: Bool, Default: "true",
			Help: "Take transactions from peers, and relay valid ones."},
		{Name: "p2p-auto-bp-peer", Kind: Texts, Composing: true, Secret: true,
			Help: "A producer and its address, as account,host:port[:<trx>|<blk>]. The node connects to it while it " +
				"is near this node's producers in the schedule, with p2p-bp-gossip-endpoint while it is in the " +
				"schedule.\nExamples:\n    producer1,p2p.example.com:9876\n    " +
				"producer2,p2p.trx.example.com:9876:trx\n"},
		{Name: "p2p-bp-gossip-endpoint", Kind: Texts, Composing: true, Multitoken: true,
			Help: "A producer of this node, host:port at which other producers can connect to it, and the IP address that " +
				"it connects from, as account,host:port,ip; may be given many times. Producers pass this on to each " +
				"other, and connect while they are in the schedule. It is signed with the key that the producer has " +
				"registered on the chain (regpeerkey), which a signature-provider must have (Spring).\nExamples:\n   " +
				" producer1,p2p.example.com:9876,198.51.100.1\n    producer1,p2p.example.com:9877,2001:db8::7348\n"},
		{Name: "agent-name", Kind: Text, Default: "EOS Test Agent",
			Help: "The name by which peers know this node. Where the feature SAVANNA is active when the node starts, " +
				"the default is Spring's: Spring Agent"},
		{Name: "allowed-connection", Kind: Texts, Multitoken: true, Default: "any",
			Help: "Who may connect: any, producers, specified (those with a peer-key) or none. producers and " +
				"specified may both be given."},
		{Name: "peer-key", Kind: Texts, Composing: true, Multitoken: true,
			Help: "Public key of a peer that may connect; may be given many times"},
		{Name: "peer-private-key", Kind: Texts, Composing: true, Multitoken: true, Secret: true,
			Help: "A key of this node, as [\"public key\",\"private key\"]; may be given many times"},
	}
}

func netLimits() []Option {
	return []Option{
		{Name: "max-clients", Kind: Uint32, Default: "25",
			Help: "The most peers that may connect to this node; 0 for no bound"},
		{Name: "connection-cleanup-period", Kind: Int32, Default: "30",
			Help: "Seconds between attempts to reach lost peers again"},
		{Name: "max-cleanup-time-msec", Kind: Uint32,
			Default: "10", Help: "How long one round of cleaning up connections may take, in ms",
			Instead: "cleaning up connections takes no time that could be bounded"},
		{Name: "p2p-dedup-cache-expire-time-sec", Kind: Uint32, Default: "10",
			Help: "Seconds for which the node remembers that it has seen a transaction"},
		{Name: "net-threads", Kind: Uint16, Default: "4", Help: "Threads that serve peers", Instead: goroutines},
		{Name: "sync-fetch-span", Kind: Uint32, Default: "1000",
			Help: "Blocks requested from one peer at a time while catching up"},
		{Name: "sync-peer-limit", Kind: Uint32, Default: "3",
			Help: "Peers from which blocks are requested while catching up"},
		{Name: "use-socket-read-watermark",
			Kind: Bool, Default: "false", Help: "Wait for more than one byte before reading a socket",
			Instead: "sockets are read when the kernel has something, as much as there is"},
		{Name: "peer-log-format", Kind: Text, Default: `["${_name}" - ${_cid} ${_ip}:${_port}] `,
			Help: "How a peer is named in the log. Where the feature SAVANNA is active when the node starts, the " +
				"default is Spring's, with _peer in place of _name. Variables:\n" +
				"   ${_name}  the name that it says\n   ${_cid}   number of the connection\n   ${_id}    its id, 64 " +
				"hexadecimal digits\n" +
				"   ${_sid}   the first 8 of them\n   ${_ip}    its address\n   ${_port}  its port\n   ${_lip}   our " +
				"address\n   ${_lport} our port\n" +
				"   ${_peer}  the address that was dialled, or the name\n" +
				"   ${_agent} 15 characters of what its program calls itself\n" +
				"   ${_nver}  the version of the protocol that it speaks\n"},
		{Name: "p2p-disable-block-nack", Kind: Bool,
			Default: "false",
			Help: "Send all blocks to all peers, also to those that have had the last ones already, and tell no " +
				"peer that its blocks came twice (Spring)"},
		{Name: "p2p-keepalive-interval-ms", Kind: Int32, Default: "10000",
			Help: "Time between messages that keep a connection alive, in ms"},
	}
}

func resourceMonitor() []Option {
	return []Option{
		{Name: "resource-monitor-interval-seconds", Kind: Uint32, Default: "2",
			Help: "Seconds between two checks of the disks' free space, 1 to 300"},
		{Name: "resource-monitor-space-threshold", Kind: Uint32, Default: "90",
			Help: "How full a disk may be, in percent, 6 to 99. Above it the node stops, unless " +
				"resource-monitor-not-shutdown-on-threshold-exceeded is set. It warns 5 % earlier."},
		{Name: "resource-monitor-space-absolute-gb", Kind: Uint64,
			Help: "Free space that each disk must have, in GiB, in place of the threshold."},
		{Name: "resource-monitor-not-shutdown-on-threshold-exceeded", Kind: Flag,
			Help: "Warn only, never stop for a full disk."},
		{Name: "resource-monitor-warning-interval", Kind: Uint32, Default: "30",
			Help: "Checks between two warnings, 1 to 450"},
	}
}

func signatureProvider() []Option {
	return []Option{
		{Name: "keosd-provider-timeout", Kind: Int32,
			Default: "5", Help: "How long keosd may take to sign, in ms; below 0 for ever"},
	}
}

func stateHistory() []Option {
	return []Option{
		{Name: "state-history-dir", Kind: Path, Default: "state-history",
			Help: "Folder of the state history, absolute or in data-dir"},
		{Name: "state-history-retained-dir", Kind: Path,
			Help: "Folder of older logs, absolute or in state-history-dir"},
		{Name: "state-history-archive-dir",
			Kind: Path,
			Help: "Folder for logs that are no longer read, absolute or in state-history-dir; empty, they are " +
				"deleted.\nIts files are the operator's."},
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
