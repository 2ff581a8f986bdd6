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
		{own, slices.Concat(ownOptions(), fleetOptions())},
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
			Help: "Engine that keeps the chain's state: page (mapped files, see database-map-mode), " +
				engine.Choice(engine.FolderNames()) +
				". A state that exists keeps its engine. A new one is page unless this option names another. `tarn " +
				"db convert` moves a state from one engine to another."},
		{Name: "state-seek-compaction", Kind: Switch,
			Help: "For leveldb: compact a file after many reads have searched it and found nothing, as LevelDB does " +
				"by default. Reads become faster, and more is written."},
		{Name: "recovery-time-target", Kind: Duration, Default: "60",
			Help: "The most time that a start after a crash may need to apply blocks again, in seconds or with a " +
				"unit (90s, 5m). The state is saved when the blocks since the last time took this long, or after an " +
				"hour. With a longer time less is written."},
		{Name: "state-private-mb", Kind: Uint64, Default: "0",
			Help: "For mapped_private: the most private dirty memory, which is memory of changed pages of the state, " +
				"in MiB. Only a checkpoint frees it. 0 is half of the memory of the machine or the container."},
		{Name: "dashboard-address", Kind: Text,
			Help: "host:port of a page that shows what the node does: disk, memory, processor, chain, peers, API; " +
				"empty for none. The page has no login: use an address that only this machine reaches " +
				"(127.0.0.1:8887)."},
		{Name: "genesis-intrinsic", Kind: Texts, Composing: true,
			Help: "A host function that contracts of a new chain may import in addition to Leap's, for a private " +
				"chain of a fork of nodeos (may be given many times).\nWAX's networks need none. A state or a " +
				"snapshot has its own list."},
		{Name: "allow-missing-intrinsics", Kind: Switch,
			Help: "Start on a state or a snapshot that lists host functions which this program does not have. Blocks " +
				"that set or run contracts which import such a function cannot be applied."},
		{Name: "reported-version", Kind: Text,
			Help: "Version that get_info and the metrics report, for clients that compare it; --version reports it " +
				"too if it is given with this option. The default is v5.0.3, on WAX's networks v5.0.3wax01, and " +
				"v1.2.2 if SAVANNA is active at the start."},
		{Name: "trusted-address", Kind: Texts, Composing: true,
			Help: "Address or network (10.0.0.0/8) of a reverse proxy of yours; may be given many times. The limits " +
				"of one address do not apply to it: connections and memory of the API, sessions of state history, " +
				"viewers of the live page. Its header X-Forwarded-For names the client instead. The default, " +
				"loopback, is this machine; none: no address is trusted."},
		{Name: "log-format", Kind: Choice, Choices: []string{"text", "json"}, Default: "text",
			Help: "Form of the log: text (the columns of nodeos) or json (one object on each line)."},
	}
}

func applicationOptions() []Option {
	return []Option{
		{Name: "plugin", Kind: Texts, Composing: true, Help: "A plugin to enable; may be given many times"},
		{Name: "help", Short: "h", Kind: Flag, CommandLine: true, Help: "Print the options and end."},
		{Name: "version", Short: "v", Kind: Flag, CommandLine: true, Help: "Print the version and end."},
		{Name: "full-version", Kind: Flag, CommandLine: true,
			Help: "Print the version with what it was built from and end."},
		{Name: "print-default-config", Kind: Flag, CommandLine: true,
			Help: "Print a config.ini with all options and their defaults and end."},
		{Name: "data-dir", Short: "d", Kind: Text, CommandLine: true, Help: "Folder of what the node keeps"},
		{Name: "config-dir", Kind: Text, CommandLine: true,
			Help: "Folder of config.ini and the other configuration files"},
		{Name: "config", Short: "c", Kind: Text, CommandLine: true, Default: "config.ini",
			Help: "Configuration file, absolute or in config-dir"},
		{Name: "logconf", Short: "l", Kind: Text, CommandLine: true, Default: "logging.json",
			Help: "Configuration file of the log, absolute or in config-dir"},
	}
}
