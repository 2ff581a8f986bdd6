package config

import "time"

// Fleet is what a node tells replicas, and where they hear it.
type Fleet struct {
	Servers  []string // addresses of NATS servers (nats://host:port)
	Name     string
	Embedded bool   // a NATS server in this process
	Listen   string // host:port of that server, "" is nowhere

	Credentials, NKey, User, Password string // of the NATS user
	CA, Cert, Key                     string // files of TLS

	Copies        int // servers that keep the stream
	KeepFor       time.Duration
	KeepMB        uint64
	MemoryMB      uint64
	SnapshotEvery time.Duration
	MaxLag        uint64 // blocks
	Verify        bool
	Folder        string // of snapshots; "" is on the servers
}

func defaultFleet() Fleet {
	return Fleet{Servers: []string{}, Name: "opera", Copies: 1, KeepFor: 6 * time.Hour, KeepMB: 8192, MemoryMB: 256,
		SnapshotEvery: time.Hour, MaxLag: 20}
}

func fleetFlags(c *Config) []Flag {
	f := &c.Tarn.Fleet
	return []Flag{
		{Name: "fleet.server",
			Help: "Addresses of NATS servers (nats://host:port), separated by commas, over which this node publishes " +
				"what each block changes, for replicas that answer the same API (`tarn replica opera`); a replica " +
				"reads there",
			value: list(&f.Servers)},
		{Name: "fleet.name",
			Help:  "Name of the fleet: nodes that can replace each other, and their replicas, must have the same name",
			value: text(&f.Name)},
		{Name: "fleet.embedded",
			Help: "Run a NATS server in this process, with its files in the data folder; it is used instead of " +
				"--fleet.server", value: toggle(&f.Embedded)},
		{Name: "fleet.listen", Help: "host:port at which the server of --fleet.embedded listens; empty: no " +
			"network address. " +
			"It has no login: use an address that only this machine reaches (127.0.0.1:4222)", value: text(&f.Listen)},
		{Name: "fleet.credentials", Help: "File of a NATS user's JWT and key (.creds)", value: text(&f.Credentials)},
		{Name: "fleet.nkey", Help: "File of the seed of a NATS user's nkey", value: text(&f.NKey)},
		{Name: "fleet.user", Help: "NATS user", value: text(&f.User)},
		{Name: "fleet.password", Help: "Password of the NATS user", value: text(&f.Password)},
		{Name: "fleet.ca", Help: "File of certificates (PEM) by which NATS servers are trusted; TLS is used then",
			value: text(&f.CA)},
		{Name: "fleet.cert", Help: "File of the certificate (PEM) that NATS servers demand of clients",
			value: text(&f.Cert)},
		{Name: "fleet.key", Help: "File of the key (PEM) of --fleet.cert", value: text(&f.Key)},
		{Name: "fleet.copies", Help: "Number of servers of the NATS cluster that keep the stream, 1 to 5",
			value: number(&f.Copies)},
		{Name: "fleet.keep", Help: "How long messages stay in the stream", value: period(&f.KeepFor)},
		{Name: "fleet.keepmb", Help: "Most that the stream takes on a NATS server, in MiB", value: number(&f.KeepMB)},
		{Name: "fleet.memory", Help: "Memory for blocks that are held for replicas, in MiB",
			value: number(&f.MemoryMB)},
		{Name: "fleet.snapshots", Help: "Time between two snapshots that replicas may begin with",
			value: period(&f.SnapshotEvery)},
		{Name: "fleet.maxlag",
			Help:  "Blocks that a replica may be behind the node before /readyz says that it is not ready",
			value: number(&f.MaxLag)},
		{Name: "fleet.folder",
			Help: "Folder for the snapshots that replicas begin with, instead of the NATS servers: an absolute " +
				"path that all nodes and replicas of the fleet see; a replica may also name a URL (http or https) at " +
				"which a web server shows it",
			value: text(&f.Folder)},
		{Name: "fleet.verify",
			Help: "A replica compares all rows of its state with the node's at each snapshot, and begins again if " +
				"they differ; this needs nodes that all began with the same genesis file", value: toggle(&f.Verify)},
	}
}
