// Package config reads what an operator says to a node: the command line and the
// config.ini of nodeos (Leap 5.0.3), with the syntax, precedence, defaults and
// refusals that they have there, and the logging.json beside them is found for
// whoever reads it.
//
// It knows every option of nodeos by name and type. It opens no other file, starts
// nothing, and does not know what the parts of a node make of their options.
package config

import (
	"slices"

	"tarn/store/engine"
)

// Kind is the type of an option's value, which decides what is accepted.
type Kind uint8

// The kinds. A Flag and a Switch take no value on the command line and one in a
// file: a Switch is true or false there, a Flag is set by being there at all.
const (
	Flag     Kind = iota
	Switch        // a bool that is false unless named
	Bool          // on|off, yes|no, 1|0, true|false
	Text          // anything
	Texts         // may be given many times
	Path          // without spaces, or in double quotes
	Choice        // one of Choices
	Uint16        // a negative number wraps around, as in nodeos
	Uint32        // the same
	Uint64        // the same
	Int32         // decimal
	Int64         // decimal
	Duration      // seconds, or a number with a unit: 90s, 5m
)

// Option is one option of the command line, and of the file unless CommandLine.
type Option struct {
	Name    string
	Short   string // one letter, or empty
	Kind    Kind
	Choices []string // of a Choice
	AnyCase bool     // Choices may be written with capital letters

	// Former tells what takes the place of choices that nodeos had once.
	Former map[string]string

	Default     string // as nodeos prints it; empty for none
	CommandLine bool   // not in the file
	Composing   bool   // the file's values are added to those of the command line
	Multitoken  bool   // takes all following words
	Secret      bool   // never to be logged

	Help    string
	Instead string // what happens in its place, if it has no meaning here
}

// Group is the options of one plugin.
type Group struct {
	Plugin  string // full name, as in plugin =
	Options []Option
}

// Groups returns all options in the order of --help and --print-default-config:
// those of the plugins by their names, this node's own, and the program's.
func Groups() []Group {
	return []Group{
		{"eosio::chain_plugin", slices.Concat(chainFiles(), chainLimits(), chainRules(), chainQueries(), chainCommands())},
		{"eosio::http_plugin", http()},
		{"eosio::net_plugin", slices.Concat(netPeers(), netLimits())},
		{"eosio::producer_plugin", slices.Concat(production(), subjective(), windows())},
		{"eosio::resource_monitor_plugin", resourceMonitor()},
		{"eosio::signature_provider_plugin", signatureProvider()},
		{"eosio::state_history_plugin", stateHistory()},
		{"eosio::trace_api_plugin", traceAPI()},
		{own, ownOptions()},
		{application, applicationOptions()},
	}
}

// The groups that are no plugin's.
const (
	own         = "tarn"
	application = "Application"
)

func ownOptions() []Option {
	return []Option{
		{Name: "state-engine", Kind: Choice, Choices: engine.KindNames(),
			Help: "What keeps the chain's state: page (mapped files, see database-map-mode), " +
				engine.Choice(engine.FolderNames()) + ". " +
				"Not given, a state that exists keeps its engine and a new one is page. `tarn db convert` moves a " +
				"state from one to another."},
		{Name: "state-seek-compaction", Kind: Switch,
			Help: "Of leveldb: compact the files that many reads looked through in vain, as LevelDB does by itself " +
				"elsewhere. It costs writes for reads."},
		{Name: "recovery-time-target", Kind: Duration, Default: "60",
			Help: "How long a start after a crash or a power cut may take to apply blocks again, in seconds or with " +
				"a unit (90s, 5m): the state is saved when blocks took so long since the last time, or after an " +
				"hour. Longer writes less."},
		{Name: "state-private-mb", Kind: Uint64, Default: "0",
			Help: "Bound (in MiB) of the memory for changed pages of the state, which only a checkpoint gives back; " +
				"0 for half of what the machine or the container has. For mapped_private."},
		{Name: "dashboard-address", Kind: Text,
			Help: "host:port of a page that shows what the node does: disk, memory, processor, chain, peers, API; " +
				"empty for none. It asks nobody who they are: keep it on the machine (127.0.0.1:8887)."},
		{Name: "genesis-intrinsic", Kind: Texts, Composing: true,
			Help: "A host function that contracts of a new chain may import besides those of Leap, as the chain's " +
				"own node has it in its program (may be given many times).\n" +
				"WAX's networks need none of these. A state or a snapshot brings its own list."},
		{Name: "allow-missing-intrinsics", Kind: Switch,
			Help: "Start on a state or a snapshot that lists host functions which this program lacks. Blocks that " +
				"set or run contracts which import them cannot be applied."},
		{Name: "reported-version", Kind: Text,
			Help: "Version that get_info and the metrics report, and --version beside this option, for clients that " +
				"compare it. Not given, it is v5.0.3, and on WAX's networks v5.0.3wax01."},
		{Name: "trusted-address", Kind: Texts, Composing: true,
			Help: "An address or network (10.0.0.0/8) that may have more than one address' share of connections and " +
				"memory of the API, of sessions of state history and of the dashboard, and whose X-Forwarded-For " +
				"says for whom it asks; may be given many times. " +
				"loopback, which is the default, is this machine; none is nobody."},
		{Name: "log-format", Kind: Choice, Choices: []string{"text", "json"}, Default: "text",
			Help: "Form of the log: text (the columns of nodeos) or json (one object on each line)."},
	}
}

func applicationOptions() []Option {
	return []Option{
		{Name: "plugin", Kind: Texts, Composing: true, Help: "A plugin to enable; may be given many times"},
		{Name: "help", Short: "h", Kind: Flag, CommandLine: true, Help: "Print the options and end."},
		{Name: "version", Short: "v", Kind: Flag, CommandLine: true, Help: "Print the version and end."},
		{Name: "full-version", Kind: Flag, CommandLine: true, Help: "Print the version with what it was built from and end."},
		{Name: "print-default-config", Kind: Flag, CommandLine: true, Help: "Print a config.ini with all options and their defaults and end."},
		{Name: "data-dir", Short: "d", Kind: Text, CommandLine: true, Help: "Folder of what the node keeps"},
		{Name: "config-dir", Kind: Text, CommandLine: true, Help: "Folder of config.ini and the other configuration files"},
		{Name: "config", Short: "c", Kind: Text, CommandLine: true, Default: "config.ini", Help: "Configuration file, absolute or in config-dir"},
		{Name: "logconf", Short: "l", Kind: Text, CommandLine: true, Default: "logging.json", Help: "Configuration file of the log, absolute or in config-dir"},
	}
}
