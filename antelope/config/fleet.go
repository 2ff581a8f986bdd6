package config

// fleetOptions are of a node whose blocks replicas follow, and of such a replica.
func fleetOptions() []Option {
	return []Option{
		{Name: "fleet-server", Kind: Texts, Composing: true,
			Help: "Address of a NATS server (nats://host:port) over which this node publishes what each block changes, for " +
				"replicas that answer the same API (`tarn replica nodeos`); may be given many times for the servers " +
				"of a cluster. A replica reads from these servers."},
		{Name: "fleet-name", Kind: Text, Default: "nodeos",
			Help: "Name of the fleet: letters, digits and dashes. Nodes that can replace each other and their " +
				"replicas have the same name; other chains on the same servers have others."},
		{Name: "fleet-embedded", Kind: Switch,
			Help: "Run a NATS server in this process, with its files in the folder fleet in data-dir. It is used " +
				"instead of fleet-server."},
		{Name: "fleet-listen", Kind: Text,
			Help: "host:port at which the NATS server of fleet-embedded listens, for replicas in other processes; " +
				"empty: no network address. It has no login: use an address that only this machine reaches " +
				"(127.0.0.1:4222)."},
		{Name: "fleet-credentials", Kind: Path, Help: "File of a NATS user's JWT and key (.creds)"},
		{Name: "fleet-nkey", Kind: Path, Help: "File of the seed of a NATS user's nkey"},
		{Name: "fleet-user", Kind: Text, Help: "NATS user"},
		{Name: "fleet-password", Kind: Text, Secret: true, Help: "Password of the NATS user"},
		{Name: "fleet-ca", Kind: Path,
			Help: "File of certificates (PEM) by which NATS servers are trusted; TLS is used then"},
		{Name: "fleet-cert", Kind: Path, Help: "File of the certificate (PEM) that NATS servers demand of clients"},
		{Name: "fleet-key", Kind: Path, Help: "File of the key (PEM) of fleet-cert"},
		{Name: "fleet-copies", Kind: Uint32, Default: "1",
			Help: "Number of servers of the NATS cluster that keep the stream: 1 to 5, 3 for one that survives the " +
				"loss of a server"},
		{Name: "fleet-keep-hours", Kind: Uint32, Default: "6", Help: "Hours that messages stay in the stream"},
		{Name: "fleet-keep-mb", Kind: Uint64, Default: "8192",
			Help: "Most that the stream takes on a NATS server, in MiB"},
		{Name: "fleet-memory-mb", Kind: Uint64, Default: "256",
			Help: "Memory for blocks that are not published yet, and for those that this node could publish again in the " +
				"place of another one, in MiB. If it does not suffice while no server can be reached, replicas begin " +
				"again with a snapshot."},
		{Name: "fleet-snapshot-minutes", Kind: Uint32, Default: "60",
			Help: "Minutes between two snapshots that replicas may begin with"},
		{Name: "fleet-folder", Kind: Text,
			Help: "Folder for the snapshots that replicas begin with, instead of the NATS servers: an absolute " +
				"path that all nodes and replicas of the fleet see. A replica may also name a URL (http or https) at " +
				"which a web server shows it."},
		{Name: "fleet-verify", Kind: Switch,
			Help: "A replica reads all of its state when the node takes a snapshot, and compares a hash. A " +
				"replica that differs logs this, deletes its state, and loads a new snapshot."},
		{Name: "fleet-max-lag", Kind: Uint32, Default: "20",
			Help: "Blocks that a replica may be behind the node before /readyz says that it is not ready"},
	}
}
