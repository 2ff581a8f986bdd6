package config

const readers = "transactions are read-only on views of the state, at any time and beside the chain; there " +
	"are no windows"

// DevelopmentKey is the key pair that nodeos signs with if it is given none, which
// everybody knows: that of the private key sha256("nathan").
const DevelopmentKey = "EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV=KEY:5KQwrPbwdL6PhXujxW37FSSQZ1JiwsST4cqQzDeyXtP79zkvFD3"

func production() []Option {
	return []Option{
		{Name: "enable-stale-production", Short: "e", Kind: Switch, Help: "Make blocks even if the chain is old."},
		{Name: "pause-on-startup", Short: "x", Kind: Switch, Help: "Make no blocks until told to"},
		{Name: "max-transaction-time", Kind: Int32,
			Default: "499",
			Help: "How long a transaction may take, in ms, if the chain's own bound is not lower; below 0 for " +
				"that bound alone"},
		{Name: "max-irreversible-block-age",
			Kind: Int32, Default: "-1",
			Help: "Make no blocks while the last irreversible block is older than this, in seconds; below 0 for no limit"},
		{Name: "production-pause-vote-timeout-ms",
			Kind: Uint32, Default: "6000",
			Help: "Pause production if for this time, in ms, no vote of this node's own finalizers arrived, or none " +
				"of other finalizers; 0 turns this off (Spring)"},
		{Name: "max-reversible-blocks", Kind: Uint32,
			Default: "3600",
			Help: "On a chain with Savanna's rules, make no blocks while more than this many are reversible; 0 " +
				"turns this off (Spring)"},
		{Name: "producer-name", Short: "p", Kind: Texts, Composing: true, Multitoken: true,
			Help: "A producer of this node; may be given many times"},
		{Name: "finalizers-dir", Kind: Path, Default: "finalizers",
			Help: "Folder of the finalizers' safety file, absolute or in data-dir (Spring)"},
		{Name: "vote-threads", Kind: Uint16,
			Help: "How many votes of other nodes' finalizers are verified at the same time (Spring). The default is " +
				"4 on a node with a producer-name. A node without one ignores votes unless this is given"},
		{Name: "signature-provider", Kind: Texts, Composing: true, Multitoken: true, Secret: true,
			Default: DevelopmentKey,
			Help: "A key to sign blocks with, as <public key>=<type>:<data>; may be given many times.\n" +
				"   KEY:<private key>\n   KEOSD:<url>  of a keosd whose wallet is unlocked\n" +
				"A key of a finalizer, to vote with, is PUB_BLS_...=KEY:PVT_BLS_...; KEOSD cannot hold such keys.\n" +
				"A malformed entry is skipped and logged. If the feature SAVANNA is active, the node refuses to start " +
				"with a malformed entry, as Spring does.\n"},
		{Name: "greylist-account", Kind: Texts, Composing: true, Multitoken: true,
			Help: "An account that gets no more CPU and NET than its stake guarantees"},
		{Name: "greylist-limit", Kind: Uint32, Default: "1000",
			Help: "How many times its guaranteed share of CPU and NET an account may use while the chain is not " +
				"busy, 1 to 1000; subjective"},
		{Name: "produce-block-offset-ms",
			Kind: Uint32, Default: "450",
			Help: "How much earlier, in ms, the last block of a round is made, so that it reaches the next producer in time"},
		{Name: "max-block-cpu-usage-threshold-us", Kind: Uint32, Default: "5000",
			Help: "A block with less CPU left than this, in us, is full"},
		{Name: "max-block-net-usage-threshold-bytes", Kind: Uint32, Default: "1024",
			Help: "A block with less NET left than this, in bytes, is full"},
	}
}

func subjective() []Option {
	return []Option{
		{Name: "subjective-cpu-leeway-us", Kind: Int32, Default: "31000",
			Help: "How much longer a transaction may run than its account can pay for, in us"},
		{Name: "subjective-account-max-failures", Kind: Uint32, Default: "3",
			Help: "The most failures of one account in a window"},
		{Name: "subjective-account-max-failures-window-size", Kind: Uint32, Default: "1",
			Help: "Length of the window of subjective-account-max-failures, in blocks"},
		{Name: "subjective-account-decay-time-minutes", Kind: Uint32, Default: "1440",
			Help: "Minutes after which an account's subjective bill is gone"},
		{Name: "incoming-transaction-queue-size-mb", Kind: Uint16,
			Default: "1024", Help: "Memory (in MiB) for transactions that wait. Above it new ones are refused."},
		{Name: "disable-subjective-account-billing", Kind: Texts, Composing: true, Multitoken: true,
			Help: "An account that is not billed subjectively"},
		{Name: "disable-subjective-p2p-billing", Kind: Bool, Default: "true",
			Help: "No subjective bills for transactions of peers"},
		{Name: "disable-subjective-api-billing", Kind: Bool, Default: "true",
			Help: "No subjective bills for transactions of the API"},
	}
}

func windows() []Option {
	return []Option{
		{Name: "producer-threads", Kind: Uint16, Default: "2", Help: "Threads of the producer", Instead: goroutines},
		{Name: "snapshots-dir", Kind: Path, Default: "snapshots", Help: "Folder of snapshots, absolute or in data-dir"},
		{Name: "read-only-threads", Kind: Uint32, Help: "How many read-only transactions are executed at once"},
		{Name: "read-only-write-window-time-us", Kind: Uint32, Default: "200000",
			Help: "Time for changes between two windows for readers, in us", Instead: readers},
		{Name: "read-only-read-window-time-us", Kind: Uint32, Default: "60000",
			Help: "Time of a window for readers, in us", Instead: readers},
	}
}
