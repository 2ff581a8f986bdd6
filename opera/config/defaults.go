package config

import (
	"path/filepath"
	"time"
)

// Version is the go-opera whose behaviour this is.
const Version = "1.1.3-rc.5"

// MinCache is the least that --cache may say, in megabytes, and its default.
const MinCache = 3600

// defaults are go-opera's, with a home folder.
func defaults(home string) *Config {
	c := &Config{
		Node: Node{
			DataDir: filepath.Join(home, ".opera"), IPCPath: "opera.ipc",
			HTTPPort: 18545, HTTPVirtualHosts: []string{"localhost"}, HTTPModules: modules(),
			WSPort: 18546, WSModules: modules(),
			P2P: P2P{
				MaxPeers: 50, DiscoveryV5: true, StaticNodes: []string{}, TrustedNodes: []string{},
				ListenAddr: ":5050", NAT: "any",
			},
			HTTPTimeouts: Timeouts{ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
				IdleTimeout: 2 * time.Minute},
		},
		Opera: Opera{
			TxIndex: true, RPCGasCap: 50_000_000, RPCEVMTimeout: 5 * time.Second, RPCTxFeeCap: 100,
			RPCTimeout:  5 * time.Second,
			RPCBlockExt: true,
			FilterAPI: FilterAPI{IndexedLogsBlockRangeLimit: 999_999_999_999_999_999,
				UnindexedLogsBlockRangeLimit: 100},
			GPO: GPO{MaxGasPrice: 10_000_000_000_000_000, DefaultCertainty: 500_000},
		},
		Emitter: Emitter{
			VersionToPublish: Version,
			EmitIntervals: EmitIntervals{
				Min: 150 * time.Millisecond, Max: 10 * time.Minute, Confirming: 170 * time.Millisecond,
				ParallelInstanceProtection: time.Minute, DoublesignProtection: 27 * time.Minute,
			},
			MaxTxsPerAddress: 32, LimitedTpsThreshold: 3_360_000, NoTxsThreshold: 840_000, EmergencyThreshold: 140_000,
			TxsCacheInvalidation: 200 * time.Millisecond,
		},
		TxPool: TxPool{
			Locals: []string{}, Journal: "transactions.rlp", Rejournal: time.Hour, PriceBump: 10, AccountSlots: 16,
			GlobalSlots: 1280, AccountQueue: 32, GlobalQueue: 256, Lifetime: 3 * time.Hour,
		},
		Tarn: Tarn{Recovery: time.Minute, MinFreeDiskMB: 8192, HealthAge: 2 * time.Minute,
			Trusted: []string{"loopback"},
			Fleet:   defaultFleet()},
		Run: Run{
			GCMode: "archive", SyncMode: "full", MetricsAddr: "127.0.0.1", MetricsPort: 6060, JSPath: ".",
			Log:     Log{Verbosity: 3},
			Profile: Profile{Address: "127.0.0.1", Port: 6060},
			Export:  Export{Mode: "mpt", Sections: "brs,ers,evm"},
		},
	}
	return c
}

func modules() []string { return []string{"eth", "ftm", "dag", "abft", "web3"} }

// fake makes the defaults those of a fakenet: nobody waits long, and a lone validator
// cannot have a double (go-opera, gossip/emitter).
func (c *Config) fake(n Fakenet) {
	c.Node.P2P.BootstrapNodes, c.Node.P2P.BootstrapNodesV5 = []string{}, []string{}
	e := &c.Emitter.EmitIntervals
	e.Max = 10 * time.Second
	e.DoublesignProtection = e.Max / 2
	if n.Validators <= 1 {
		e.DoublesignProtection = 0
	}
}
