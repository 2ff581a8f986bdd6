package config

import "tarn/store/engine"

// Flag is one flag of the command line.
type Flag struct {
	Name, Help string
	Instead    string // what happens in its place, if it has no effect here
	value      value
}

// group is a part of --help.
type group struct {
	title string
	flags []Flag
}

// line is what flags say that is put together with other things before it means something.
type line struct {
	config                   string
	http, ws, rpc            bool
	httpAddr, wsAddr         string
	rpcAddr                  string
	rpcPort                  int
	rpcCors, rpcHosts, rpcAs []string
	ipcDisable               bool
	port                     int
	listen                   string
	bootnodes                []string
	nodiscover               bool
	fakenet, pubkey          string
	age                      value
	preset, migration        string
}

// groups returns all flags, in the order of --help. Their values go to c and l.
func groups(c *Config, l *line) []group {
	return []group{
		{"OPERA OPTIONS", operaFlags(c, l)},
		{"STORE OPTIONS", storeFlags(c, l)},
		{"TRANSACTION POOL OPTIONS", txpoolFlags(c)},
		{"ACCOUNT OPTIONS", accountFlags(c)},
		{"API OPTIONS", append(httpFlags(c, l), wsFlags(c, l)...)},
		{"CONSOLE OPTIONS", []Flag{
			{Name: "jspath", Help: "Folder that scripts of the console are loaded from", value: text(&c.Run.JSPath)},
			{Name: "exec", Help: "JavaScript that the console executes, instead of asking", value: text(&c.Run.Exec)},
			{Name: "preload", Help: "JavaScript files that the console loads first, separated by commas",
				value: text(&c.Run.Preload)},
		}},
		{"NETWORKING OPTIONS", peerFlags(c, l)},
		{"FLEET OPTIONS", fleetFlags(c)},
		{"METRICS AND STATS OPTIONS", metricsFlags(c)},
		{"TESTING OPTIONS", []Flag{
			{Name: "fakenet",
				Help:  "'n/N': a test network of N validators, with this node as the n-th of them, or as none if n is 0",
				value: text(&l.fakenet)},
		}},
		{"LOGGING AND DEBUGGING OPTIONS", debugFlags(c)},
		{"EXPORT OPTIONS", []Flag{
			{Name: "export.evm.mode",
				Help:  `Part of the state to export into a genesis: "mpt", "ext-mpt" (with preimages) or "full"`,
				value: choice(&c.Run.Export.Mode, "mpt", "ext-mpt", "full")},
			{Name: "export.evm.exclude", Help: "Database of keys to leave out of a genesis",
				Instead: "no key is left out", value: text(&c.Run.Export.Exclude)},
			{Name: "export.sections", Help: "Sections of an exported genesis, separated by commas",
				value: text(&c.Run.Export.Sections)},
		}},
		{"DATABASE COMMANDS' OPTIONS", maintenanceFlags()},
		{"ALIASED (deprecated) OPTIONS", legacyFlags(l)},
		{"MISC OPTIONS", []Flag{{Name: "help", Help: "Show help", value: toggle(&c.Run.Help)}, {Name: "h", value: toggle(&c.Run.Help)}}},
	}
}

func operaFlags(c *Config, l *line) []Flag {
	e := &c.Emitter
	l.age = value{set: l.setAge(c), show: "0s"}
	return []Flag{
		{Name: "genesis", Help: "Genesis file that a new chain begins with", value: text(&c.Run.Genesis)},
		{Name: "genesis.allowExperimental", Help: "Accept a genesis file that is not one of the known networks'",
			value: toggle(&c.Run.Trust)},
		{Name: "identity", Help: "Name of the node", value: text(&c.Node.UserIdent)},
		{Name: "datadir", Help: "Folder of the chain and the keystore", value: text(&c.Node.DataDir)},
		{Name: "datadir.minfreedisk",
			Help:  "Free space of the disk, in MB, below which the node stops; 0 turns this off",
			value: number(&c.Tarn.MinFreeDiskMB)},
		{Name: "keystore", Help: "Folder of the keystore, if not in the data folder", value: text(&c.Node.KeyStoreDir)},
		{Name: "usb", Help: "Hardware wallets", Instead: "hardware wallets are not supported", value: unusedToggle()},
		{Name: "pcscdpath", Help: "Socket of the smart card daemon", Instead: "smart cards are not supported",
			value: unusedOption(`"/run/pcscd/pcscd.comm"`)},
		{Name: "exitwhensynced.age", Help: "End when the last block is at most this old; off if not given", value: l.age},
		{Name: "exitwhensynced.epoch", Help: "End when this epoch, or a later one, is reached; off if not given", value: value{set: setEpoch(c), show: "0"}},
		{Name: "lightkdf", Help: "Protect new keys with less memory and time",
			value: toggle(&c.Node.UseLightweightKDF)},
		{Name: "config", Help: "TOML configuration file", value: text(&l.config)},
		{Name: "validator.id", Help: "Validator that the node speaks for; 0: the node is no validator", value: number(&e.Validator.ID)},
		{Name: "validator.pubkey", Help: "Public key of that validator", value: text(&l.pubkey)},
		{Name: "validator.password", Help: "File of the password that unlocks its key", value: text(&e.Password)},
		{Name: "syncmode", Help: `"full" or "snap"`, value: choice(&c.Run.SyncMode, "full", "snap")},
		{Name: "gcmode", Help: `States that are kept: "archive" keeps all, "full" and "light" those of the last blocks`,
			value: choice(&c.Run.GCMode, "light", "full", "archive")},
	}
}

func storeFlags(c *Config, l *line) []Flag {
	return []Flag{
		{Name: "db.engine", Help: "Engine that keeps the state: " + engine.Choice(engine.KindNames()) +
			"; an existing state keeps its engine",
			value: choice(&c.Tarn.Engine, append([]string{""}, engine.KindNames()...)...)},
		{Name: "db.mapmode", Help: "How the page engine maps its file: " + engine.Choice(engine.ModeNames()) +
			"; if not given: mapped_private, on tmpfs mapped",
			value: choice(&c.Tarn.MapMode, append([]string{""}, engine.ModeNames()...)...)},
		{Name: "db.seekcompaction",
			Help: "For leveldb: compact a file after many reads have searched it and found nothing, as go-opera " +
				"does; reads become faster, and more is written", value: toggle(&c.Tarn.SeekCompaction)},
		{Name: "db.limit", Help: "Maximum size of the page engine's file, in MB; 0 is 1 TiB", value: number(&c.Tarn.LimitMB)},
		{Name: "db.recovery",
			Help: "The most time that a start after a crash may need to make blocks again; with a longer time " +
				"less is written", value: period(&c.Tarn.Recovery)},
		{Name: "history.dir", Help: "Folder, perhaps on another disk, to which finished files of history are moved",
			value: text(&c.Tarn.HistoryDir)},
		{Name: "history.states", Help: "Number of recent blocks whose old states are kept; 0 keeps all",
			value: number(&c.Tarn.States)},
		{Name: "db.preset", Help: "Layout of go-opera's databases: pbl-1, ldb-1, legacy-ldb or legacy-pbl",
			Instead: "there is one layout; --db.engine chooses the engine",
			value:   choice(&l.preset, "pbl-1", "ldb-1", "legacy-ldb", "legacy-pbl")},
		{Name: "db.migration.mode", Help: "Migration of go-opera's databases: reformat or rebuild",
			Instead: "`tarn db convert` moves a state from one engine to another", value: text(&l.migration)},
		{Name: "cache", Help: "Memory of the store in MB, 3600 at least; half of it is for changed pages. If not given, half of the " +
			"machine's memory is for changed pages; the default that is shown is not used",
			value: number(&c.Tarn.CacheMB).withShownDefault("3600")},
	}
}

func txpoolFlags(c *Config) []Flag {
	p := &c.TxPool
	return []Flag{
		{Name: "txpool.locals", Help: "Accounts whose transactions are treated as local, separated by commas",
			value: list(&p.Locals)},
		{Name: "txpool.nolocals", Help: "Treat local transactions as all others", value: toggle(&p.NoLocals)},
		{Name: "txpool.journal", Help: "File of local transactions", value: text(&p.Journal)},
		{Name: "txpool.rejournal", Help: "How often that file is written anew", value: period(&p.Rejournal)},
		{Name: "txpool.pricelimit", Help: "Minimum gas price for the pool; 0 if not given",
			value: number(&p.PriceLimit).withShownDefault("1")},
		{Name: "txpool.pricebump", Help: "Minimum price increase of a replacement, in percent",
			value: number(&p.PriceBump)},
		{Name: "txpool.accountslots", Help: "Executable transactions that each account may have",
			value: number(&p.AccountSlots)},
		{Name: "txpool.globalslots", Help: "Executable transactions of all accounts; 1280 if not given",
			value: number(&p.GlobalSlots).withShownDefault("5120")},
		{Name: "txpool.accountqueue", Help: "Transactions of an account that cannot be executed yet; 32 if not given",
			value: number(&p.AccountQueue).withShownDefault("64")},
		{Name: "txpool.globalqueue", Help: "Transactions of all accounts that cannot be executed yet; 256 if not given",
			value: number(&p.GlobalQueue).withShownDefault("1024")},
		{Name: "txpool.lifetime", Help: "How long a transaction that cannot be executed waits",
			value: period(&p.Lifetime)},
	}
}

func accountFlags(c *Config) []Flag {
	return []Flag{
		{Name: "unlock", Help: "Accounts to unlock, separated by commas", value: list(&c.Run.Unlock)},
		{Name: "password", Help: "File of passwords", value: text(&c.Run.Password)},
		{Name: "signer", Help: "External signer", Instead: "keys of the keystore sign", value: unusedOption("")},
		{Name: "allow-insecure-unlock", Help: "Allow to unlock accounts while HTTP or WebSocket is on: " +
			"whoever can send requests there can then use these accounts",
			value: toggle(&c.Node.InsecureUnlockAllowed)},
	}
}

func httpFlags(c *Config, l *line) []Flag {
	n, o := &c.Node, &c.Opera
	const graphql = "there is no GraphQL; go-opera answers 404 there"
	return []Flag{
		{Name: "http", Help: "Serve JSON-RPC over HTTP", value: toggle(&l.http)},
		{Name: "http.addr", Help: "Address of HTTP", value: text(&l.httpAddr).withShownDefault(`"localhost"`)},
		{Name: "http.port", Help: "Port of HTTP", value: number(&n.HTTPPort)},
		{Name: "http.corsdomain", Help: "Origins that browsers may ask from, separated by commas",
			value: list(&n.HTTPCors)},
		{Name: "http.vhosts", Help: "Names of hosts that requests may be for, separated by commas, or *",
			value: list(&n.HTTPVirtualHosts)},
		{Name: "http.trusted",
			Help: "Addresses and networks (10.0.0.0/8) of your reverse proxies, separated by commas. The limits per address " +
				"apply to the client in X-Forwarded-For and not to them; loopback is this machine, none: no " +
				"address is trusted",
			value: list(&c.Tarn.Trusted)},
		{Name: "http.api", Help: "Namespaces over HTTP, separated by commas; if not given: eth,ftm,dag,abft,web3",
			value: list(&n.HTTPModules).withShownDefault("")},
		{Name: "http.rpcprefix", Help: "Path of JSON-RPC over HTTP; / is all", value: text(&n.HTTPPathPrefix)},
		{Name: "graphql", Help: "GraphQL over HTTP", Instead: graphql, value: unusedToggle()},
		{Name: "graphql.corsdomain", Help: "Origins for GraphQL", Instead: graphql, value: unusedOption("")},
		{Name: "graphql.vhosts", Help: "Hosts for GraphQL", Instead: graphql, value: unusedOption(`"localhost"`)},
		{Name: "rpc.gascap", Help: "Gas that a call may use; 0 is any", value: number(&o.RPCGasCap)},
		{Name: "rpc.evmtimeout", Help: "Time that eth_call may take; 0 is any", value: period(&o.RPCEVMTimeout)},
		{Name: "rpc.txfeecap", Help: "Fee, in FTM, that a transaction sent here may cost; 0 is any",
			value: fraction(&o.RPCTxFeeCap)},
		{Name: "rpc.timeout", Help: "Time that a request may take", value: period(&o.RPCTimeout)},
		{Name: "rpc.filters", Help: "Maximum number of installed filters of all clients; 0 is 1,000. One address " +
			"may have an eighth, unless --http.trusted names it", value: number(&c.Tarn.Filters)},
		{Name: "rpc.subscriptions", Help: "Maximum number of subscriptions of all clients; 0 is 1,000. One address " +
			"may have an eighth, unless --http.trusted names it", value: number(&c.Tarn.Subscriptions)},
	}
}

func wsFlags(c *Config, l *line) []Flag {
	n := &c.Node
	return []Flag{
		{Name: "ws", Help: "Serve JSON-RPC over WebSocket", value: toggle(&l.ws)},
		{Name: "ws.addr", Help: "Address of WebSocket", value: text(&l.wsAddr).withShownDefault(`"localhost"`)},
		{Name: "ws.port", Help: "Port of WebSocket", value: number(&n.WSPort)},
		{Name: "ws.api", Help: "Namespaces over WebSocket, separated by commas; if not given: eth,ftm,dag,abft,web3",
			value: list(&n.WSModules).withShownDefault("")},
		{Name: "ws.origins", Help: "Origins that WebSockets are accepted from", value: list(&n.WSOrigins)},
		{Name: "ws.rpcprefix", Help: "Path of JSON-RPC over WebSocket; / is all", value: text(&n.WSPathPrefix)},
		{Name: "ipcdisable", Help: "Do not serve on a socket in the data folder", value: toggle(&l.ipcDisable)},
		{Name: "ipcpath", Help: "Name of that socket, or a path of its own",
			value: text(&n.IPCPath).withShownDefault("")},
	}
}

func peerFlags(c *Config, l *line) []Flag {
	p := &c.Node.P2P
	return []Flag{
		{Name: "bootnodes", Help: "Nodes to ask for peers at first (enode URLs), separated by commas",
			value: list(&l.bootnodes)},
		{Name: "port", Help: "Port that peers reach", value: number(&l.port).withShownDefault("5050")},
		{Name: "p2p.listen", Help: "Address to listen on for peers, host:port; use it instead of --port, which listens on all addresses",
			value: text(&l.listen)},
		{Name: "maxpeers", Help: "Maximum number of peers; 0 runs without a network", value: number(&p.MaxPeers)},
		{Name: "maxpendpeers", Help: "Maximum number of connections that are being set up; 0 is 50",
			value: number(&p.MaxPendingPeers)},
		{Name: "nat", Help: "How ports are mapped at the router (any|none|upnp|pmp|extip:<IP>)", value: text(&p.NAT)},
		{Name: "nodiscover", Help: "Do not look for peers", value: toggle(&l.nodiscover)},
		{Name: "v5disc", Help: "Discovery v5", value: toggle(&p.DiscoveryV5)},
		{Name: "netrestrict", Help: "Networks that peers must be in (CIDR masks), separated by commas",
			value: list(&p.NetRestrict)},
		{Name: "iprestrict", Help: "Addresses that peers must have, separated by commas", value: list(&p.IPRestrict)},
		{Name: "privatenodes", Help: "Peers to keep connected and to trust (enode URLs), separated by commas; discovery may announce them, " +
			"unless --nodiscover is set here or on them",
			value: list(&p.PrivateNodes)},
		{Name: "nodekey", Help: "File of the node's key", value: text(&p.NodeKey)},
		{Name: "nodekeyhex", Help: "The node's key in hexadecimal, for tests", value: text(&p.NodeKeyHex)},
	}
}

func metricsFlags(c *Config) []Flag {
	const push = "metrics are read from --metrics.addr, not pushed"
	r := &c.Run
	flags := []Flag{
		{Name: "metrics", Help: "Serve metrics and health", value: toggle(&r.Metrics)},
		{Name: "metrics.expensive", Help: "Metrics that cost much",
			Instead: "all metrics are cheap, and served with --metrics", value: unusedToggle()},
		{Name: "metrics.addr", Help: "Address of the metrics", value: text(&r.MetricsAddr)},
		{Name: "metrics.port", Help: "Port of the metrics", value: number(&r.MetricsPort)},
		{Name: "dashboard.addr",
			Help: "host:port of a page that shows what the node does; empty for none. The page has no login: " +
				"127.0.0.1:8887 can be reached from this machine only", value: text(&r.Dashboard)},
		{Name: "health.age", Help: "/readyz says that the node is not ready if no event came for longer than this, or if the last block " +
			"is older and peers have newer ones",
			value: period(&c.Tarn.HealthAge)},
		{Name: "metrics.influxdb", Help: "Push metrics to InfluxDB", Instead: push, value: unusedToggle()},
		{Name: "metrics.influxdbv2", Help: "Push metrics to InfluxDB v2", Instead: push, value: unusedToggle()},
		{Name: "tracing", Help: "Collect traces of goroutines", Instead: "nothing is collected", value: unusedToggle()},
	}
	for _, f := range [][3]string{
		{"endpoint", "http://localhost:8086", "Address of InfluxDB"}, {"database", "geth", "Its database"},
		{"username", "test", "Its user"},
		{"password", "test", "That user's password"}, {"tags", "host=localhost", "Tags of all metrics"},
		{"token", "test", "Token of version 2"},
		{"bucket", "geth", "Bucket of version 2"}, {"organization", "geth", "Organization of version 2"},
	} {
		flags = append(flags,
			Flag{Name: "metrics.influxdb." + f[0], Help: f[2], Instead: push, value: unusedOption(quoteString(f[1]))})
	}
	return flags
}

func debugFlags(c *Config) []Flag {
	g, p := &c.Run.Log, &c.Run.Profile
	const rates = "the process keeps Go's rates"
	return []Flag{
		{Name: "verbosity", Help: "0 is silent, 1 errors, 2 warnings, 3 what happens, 4 details, 5 everything",
			value: number(&g.Verbosity)},
		{Name: "vmodule", Help: "Verbosity of packages: <pattern>=<level>, separated by commas",
			value: text(&g.Modules)},
		{Name: "log.json", Help: "A JSON object for each line of the log", value: toggle(&g.JSON)},
		{Name: "log.backtrace", Help: "Stack at a line of the log", Instead: "no stack is written",
			value: unusedOption("")},
		{Name: "log.debug", Help: "Place in the code of each line of the log", Instead: "the log does not say it",
			value: unusedToggle()},
		{Name: "pprof", Help: "Serve profiles of the process over HTTP", value: toggle(&p.Serve)},
		{Name: "pprof.addr", Help: "Address of the profiles", value: text(&p.Address)},
		{Name: "pprof.port", Help: "Port of the profiles", value: number(&p.Port)},
		{Name: "pprof.memprofilerate", Help: "Rate of the memory profile", Instead: rates,
			value: unusedOption("524288")},
		{Name: "pprof.blockprofilerate", Help: "Rate of the profile of waiting", Instead: rates,
			value: unusedOption("0")},
		{Name: "pprof.cpuprofile", Help: "File of a CPU profile of the whole run", value: text(&p.CPU)},
		{Name: "trace", Help: "File of a trace of the whole run", value: text(&p.Trace)},
	}
}

// maintenanceFlags are those of go-opera's commands db and snapshot.
func maintenanceFlags() []Flag {
	const nothing = "nothing is pruned offline"
	return []Flag{
		{Name: "experimental", Help: "Let db heal work", Instead: "each start recovers, and db heal does no more",
			value: unusedToggle()},
		{Name: "prune.exact", Help: "Prune without a filter", Instead: nothing, value: unusedToggle()},
		{Name: "prune.genesis", Help: "Prune the genesis' state", Instead: nothing,
			value: unusedToggle().withShownDefault("true")},
		{Name: "bloomfilter.size", Help: "Memory of the filter for pruning, in MB", Instead: nothing,
			value: unusedOption("2048")},
		{Name: "cache.trie.journal", Help: "Folder of the tries' cache", Instead: "tries have no cache on the disk",
			value: unusedOption("")},
		{Name: "datadir.ancient", Help: "Folder of old blocks",
			Instead: "--history.dir moves finished files of history", value: unusedOption("")},
	}
}

func legacyFlags(l *line) []Flag {
	return []Flag{
		{Name: "nousb", Help: "No hardware wallets", Instead: "hardware wallets are not supported",
			value: unusedToggle()},
		{Name: "rpc", Help: "Now http", value: toggle(&l.rpc)},
		{Name: "rpcaddr", Help: "Now http.addr", value: text(&l.rpcAddr).withShownDefault(`"localhost"`)},
		{Name: "rpcport", Help: "Now http.port", value: number(&l.rpcPort).withShownDefault("18545")},
		{Name: "rpccorsdomain", Help: "Now http.corsdomain", value: list(&l.rpcCors)},
		{Name: "rpcvhosts", Help: "Now http.vhosts", value: list(&l.rpcHosts).withShownDefault(`"localhost"`)},
		{Name: "rpcapi", Help: "Now http.api", value: list(&l.rpcAs)},
	}
}
