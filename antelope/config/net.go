package config

const goroutines = "work runs on as many threads as there are processors; there is no pool to size"

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
			Help: "A producer and its address, as account,host:port[:<trx>|<blk>]. The node stays connected to this " +
				"producer while it is at most two places before or after one of this node's producers in the " +
				"schedule; with p2p-bp-gossip-endpoint, while it is anywhere in the schedule.\nExamples:\n    producer1,p2p.example.com:9876\n    " +
				"producer2,p2p.trx.example.com:9876:trx\n"},
		{Name: "p2p-bp-gossip-endpoint", Kind: Texts, Composing: true, Multitoken: true,
			Help: "account,host:port,ip: a producer of this node, the address for incoming connections from other " +
				"producers, and the IP address of its outgoing connections; may be given many times. Producers pass " +
				"this on to each other, and connect while they are in the schedule. The node signs it with the peer " +
				"key of the producer (regpeerkey on the chain); a signature-provider must have that key (Spring).\nExamples:\n   " +
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
