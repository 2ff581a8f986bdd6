package suite

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"tarn/bench/record"
)

// Option is a setting on the command line.
type Option struct {
	Name, Help string
	// Value is where the record's options have it, with the value that it has unless it is given: an
	// *int, *uint64, *float64, *string or *bool, or a [Seconds].
	Value any
	// wrong says what is wrong with the value that is there now.
	wrong error
}

// Seconds is a time on the command line, such as 1m30s, and a number in the record's options. It is
// the value of a flag.
type Seconds struct{ number *float64 }

// Set reads a time.
func (s Seconds) Set(text string) error {
	length, err := time.ParseDuration(text)
	if err == nil {
		*s.number = length.Seconds()
	}
	return err
}

// String is the time as it is written on a command line.
func (s Seconds) String() string { return lengthOf(*s.number).String() }

// Type is what the help calls such a value.
func (s Seconds) Type() string { return "duration" }

// text is the value as it is written on a command line.
func (x Option) text() string {
	if s, ok := x.Value.(Seconds); ok {
		return s.String()
	}
	return fmt.Sprint(reflect.ValueOf(x.Value).Elem())
}

// lengthOf is a number of seconds of the options as a time.
func lengthOf(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// Options are those of every run, and then those of the suites, each once. They point into o.
func Options(o *record.Options) []Option {
	all := append(runOptions(o), chainOptions(o)...)
	for _, s := range All() {
		if s.options == nil {
			continue
		}
		for _, x := range s.options(o) {
			if !slices.ContainsFunc(all, func(y Option) bool { return y.Name == x.Name }) {
				all = append(all, x)
			}
		}
	}
	return all
}

// Number is the value of the option with a name. A name that no option has, and an option that is no
// number, are errors. A length of time is in seconds.
func Number(o record.Options, name string) (float64, error) {
	for _, x := range Options(&o) {
		if x.Name != name {
			continue
		}
		switch v := x.Value.(type) {
		case *int:
			return float64(*v), nil
		case *uint64:
			return float64(*v), nil
		case *float64:
			return *v, nil
		case Seconds:
			return *v.number, nil
		}
		return 0, errors.New("it is no number")
	}
	return 0, errors.New("no suite has such an option")
}

// Differing are the names of the options that two runs have different values of.
func Differing(a, b record.Options) (names []string) {
	others := Options(&b)
	for i, x := range Options(&a) {
		if !reflect.DeepEqual(x.Value, others[i].Value) {
			names = append(names, x.Name)
		}
	}
	return names
}

// wrongIf is an error if something is so.
func wrongIf(is bool, format string, args ...any) error {
	if !is {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// runOptions are those of every run.
func runOptions(o *record.Options) []Option {
	return []Option{
		{"rounds", "rounds; fewer than six give no confidence interval", &o.Rounds,
			wrongIf(o.Rounds < 1 || o.Rounds > roundsMost, "%d rounds: from 1 to %d", o.Rounds, roundsMost)},
		{"seed", "seed of the chain and the transfers", &o.Seed, nil},
		{"chain", "chain of the subjects, antelope or opera; needed for an Opera chain if all subjects are tarn",
			&o.Protocol, nil},
	}
}

// chainOptions are those of the chain that all suites are measured on.
func chainOptions(o *record.Options) []Option {
	return []Option{
		{"accounts", "accounts of the chain", &o.Accounts,
			wrongIf(o.Accounts < 2 || o.Accounts > accountsMost, "%d accounts: from 2 to %d",
				o.Accounts, accountsMost)},
		{"transfers", "transfers of the chain", &o.Work,
			wrongIf(o.Work < 1 || o.Work > workMost, "%d transfers in the chain: from 1 to %d", o.Work, workMost)},
		{"block-transfers",
			"transfers in each block of the chain (Opera: in each event); 0: the usual number",
			&o.PerBlock,
			wrongIf(o.PerBlock < 0 || o.PerBlock > blockMost,
				"%d transfers in a block of the chain: from 1 to %d, or 0 for the usual number",
				o.PerBlock, blockMost)},
		{"transaction-transfers", "transfers in each transaction of the chain, of Antelope; 0: one", &o.PerTransaction,
			wrongIf(o.PerTransaction < 0 || o.PerTransaction > transactionMost,
				"%d transfers in a transaction of the chain: from 1 to %d, or 0 for one",
				o.PerTransaction, transactionMost)},
		{"keys", "keys that the chain's accounts have, of Antelope; 0: one", &o.Keys,
			wrongIf(o.Keys < 0 || o.Keys > o.Accounts, "%d keys: from 1 to the number of accounts, or 0 for one",
				o.Keys)},
		{"empty-blocks", "blocks without transfers at the end of the chain, of Antelope", &o.Empty,
			wrongIf(o.Empty < 0 || o.Empty > emptyMost, "%d empty blocks: from 0 to %d", o.Empty, emptyMost)},
		{"slot-transactions", "transactions at the end of the chain, of Opera, that fill 300 fresh slots each",
			&o.Slots,
			wrongIf(o.Slots < 0 || o.Slots > slotsMost, "%d transactions that fill slots: from 0 to %d",
				o.Slots, slotsMost)},
		{"rows", "megabytes of rows in a table of the chain's state, of Antelope, to make the state large", &o.Rows,
			wrongIf(o.Rows < 0 || o.Rows > rowsMost, "%d MB of rows: from 0 to %d", o.Rows, rowsMost)},
		{"finalizers",
			"finalizers of the chain, of Antelope: it changes to Savanna's rules before its transfers; 0: " +
				"Leap's rules",
			&o.Finalizers, wrongIf(o.Finalizers < 0 || o.Finalizers > finalizersMost,
				"%d finalizers: from 1 to %d, or 0 for a chain of Leap's rules", o.Finalizers, finalizersMost)},
		{"validators", "validators of the chain, of Opera; 0: one", &o.Validators,
			wrongIf(o.Validators < 0 || o.Validators > validatorsMost, "%d validators: from 1 to %d, or 0 for one",
				o.Validators, validatorsMost)},
		{"blocks", "folder with the blocks of a recorded chain, which is used instead of a new one: " +
			"import, sync, window, traces and histories can be measured on it", &o.Blocks, nil},
	}
}

// The options that several suites have.

func pushOption(o *record.Options) Option {
	return Option{"push", "transfers that push, p2p, kill and memory send", &o.Push,
		wrongIf(o.Push < 1 || o.Push > pushMost, "%d transfers to push: from 1 to %d", o.Push, pushMost)}
}

func connectionsOption(o *record.Options) Option {
	return Option{"connections", "connections of push, rpc, calls, traces, memory and replicas", &o.Connect,
		wrongIf(o.Connect < 1 || o.Connect > connectionsMost, "%d connections: from 1 to %d",
			o.Connect, connectionsMost)}
}

// rateOption is that of transfers. Without any a node is idle, which some suites measure.
func rateOption(o *record.Options) Option {
	return Option{"rate",
		"transfers per second in disk, disk-follow, peer and finality; 0: disk and disk-follow measure an idle node",
		&o.Rate, wrongRate(*o, o.Rate == 0)}
}

// neverIdle refuses a rate of no transfers.
func neverIdle(o record.Options) error { return wrongIf(o.Rate == 0, "%w", wrongRate(o, false)) }

// wrongRate says what is wrong with the transfers per second, and the time that they take.
func wrongRate(o record.Options, idle bool) error {
	return wrongIf(!(o.Rate >= rateLeast || idle) || !(o.For > 0) || o.Rate*o.For > openMost,
		"a rate of %g per second for %g s: at least %g, above 0, and at most %d transfers",
		o.Rate, o.For, rateLeast, openMost)
}

func askForOption(o *record.Options) Option {
	return Option{"ask-for", "how long each loop of rpc, calls, traces and replicas takes, and the requests of memory",
		Seconds{&o.AskFor},
		wrongIf(!(o.AskFor > 0) || !(o.AskRate >= rateLeast) || o.AskFor*o.AskRate > openMost,
			"%g requests per second for %g s: at least %g, above 0, and at most %d in all",
			o.AskRate, o.AskFor, rateLeast, openMost)}
}

// askRateOption is held against the time that questions take with [askForOption].
func askRateOption(o *record.Options) Option {
	return Option{"ask-rate", "requests per second of rpc's second loop, of syncing, and of replicas", &o.AskRate, nil}
}

func questionsOption(o *record.Options) Option {
	return Option{"questions", "different requests in rpc, calls, syncing, memory and replicas; 0: 4096", &o.Questions,
		wrongIf(o.Questions < 0 || o.Questions > questionsMost, "%d requests: from 0 to %d", o.Questions, questionsMost)}
}

func peersOption(o *record.Options) Option {
	return Option{"peers", "light peers in peer and serve-blocks", &o.Peers,
		wrongIf(o.Peers < 1 || o.Peers > peersMost, "%d peers: from 1 to %d", o.Peers, peersMost)}
}

func peerForOption(o *record.Options) Option {
	return Option{"peer-for", "how long peer, serve-blocks and finality measure", Seconds{&o.PeerFor},
		wrongIf(!(o.PeerFor > 0), "%g s of peers: above 0", o.PeerFor)}
}

func loadOption(o *record.Options) Option {
	return Option{"load-rate", "transfers per second in recording, streams, setcode and replicas", &o.Load,
		wrongIf(!(o.Load > 0) || o.Load > loadMost || !(o.LoadFor > 0) || o.LoadFor > loadForMost,
			"a load of %g per second for %g s: both above 0, and at most %d per second and %d s",
			o.Load, o.LoadFor, loadMost, loadForMost)}
}

// loadForOption is held against the rate with [loadOption].
func loadForOption(o *record.Options) Option {
	return Option{"load-for", "how long the load of each part of recording, streams and replicas takes",
		Seconds{&o.LoadFor}, nil}
}

func sourceOption(o *record.Options) Option {
	return Option{"source",
		"subject that the blocks come from in sync, window, syncing, kill-sync, peer, disk-follow and fleet; default " +
			"this program",
		&o.Source, nil}
}

func sourceDirOption(o *record.Options) Option {
	return Option{"source-dir", "folder for the data of the source in disk-follow and peer, on another disk than " +
		"--dir: on the same disk, a sync of the source makes the kernel write pages of the measured node too, and " +
		"these count again when the node adds more to them",
		&o.SourceDir, nil}
}

func memoryOption(o *record.Options) Option {
	return Option{"memory", "megabytes of memory that a node gets in the suites memory and memory-snapshot, which " +
		"need root", &o.Memory,
		wrongIf(o.Memory < memoryLeast, "%d MB of memory: at least %d", o.Memory, memoryLeast)}
}
