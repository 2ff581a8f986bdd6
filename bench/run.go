package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tarn/bench/antelope"
	"tarn/bench/opera"
	"tarn/bench/record"
	"tarn/bench/report"
	"tarn/bench/subject"
	"tarn/bench/suite"
	"tarn/store/vfs"
)

// runBytes must be free for `tarn bench run` with chains of the usual size: for each
// subject, and twice over.
const runBytes = 1_000_000_000

// rowBytes must be free besides for each megabyte of rows: a state, and a snapshot of it.
const rowBytes = 4_000_000

func runCommand() *cobra.Command {
	o := tourOptions()
	o.Limit, o.Suites = 0, nil
	var f files
	var dir, from string
	var on []string
	times := timesOf(&o)
	c := &cobra.Command{
		Use:   "run SUITE... --on SUBJECT,...",
		Short: "Measure suites on subjects, in pairs",
		Long: "Measure suites (`tarn bench list`) on subjects, one after the other, in rounds whose order\n" +
			"turns. The first subject is what the others are compared with. A subject is\n" +
			"tarn[=PATH][:MODE], nodeos=PATH[:MODE] or opera=PATH[:PRESET]; MODE is the map mode or, of\n" +
			"tarn, the engine.",
		RunE: func(c *cobra.Command, args []string) error {
			o.Suites = args
			for _, t := range times {
				*t.into = t.value.Seconds()
			}
			if from != "" {
				again, err := optionsOf(from)
				if err != nil {
					return err
				}
				if len(args) > 0 || len(on) > 0 {
					return usage(errors.New("--from says the suites and subjects: none may be named besides"))
				}
				o, on = again, again.Subjects
			}
			if err := f.check(); err != nil {
				return err
			}
			return measure(c, o, on, dir, int64(1+len(on))*(runBytes+int64(o.Rows)*rowBytes), f, nil)
		},
	}
	f.flags(c, "tarn-bench.json", "tarn-bench.html")
	c.Flags().StringSliceVar(&on, "on", nil, "subjects, separated by commas")
	c.Flags().StringVar(&dir, "dir", "", "folder for chains that are made and for the nodes; default one in the user's cache")
	c.Flags().StringVar(&from, "from", "", "a run's JSON: do the same again")
	runFlags(c, &o)
	for _, t := range times {
		c.Flags().DurationVar(&t.value, t.name, t.value, t.help)
	}
	return c
}

// timed is an option that is a time on the command line, and seconds in the record.
type timed struct {
	name, help string
	into       *float64
	value      time.Duration
}

func timesOf(o *record.Options) []*timed {
	all := []*timed{
		{name: "for", into: &o.For, help: "how long disk and disk-follow take in each round"},
		{name: "checkpoint-every", into: &o.Between, help: "time between checkpoints that the projection to a year assumes"},
		{name: "ask-for", into: &o.AskFor, help: "how long each loop of rpc, calls and traces takes, and the questions of memory"},
		{name: "load-for", into: &o.LoadFor, help: "how long the load of each part of recording and streams takes"},
		{name: "deploy-every", into: &o.DeployEvery, help: "time from one deployment in setcode to the next"},
		{name: "peer-for", into: &o.PeerFor, help: "how long peer and serve-blocks measure"},
		{name: "window", into: &o.Window, help: "time of window, in which the chain must not end"},
	}
	for _, t := range all {
		t.value = time.Duration(*t.into * float64(time.Second))
	}
	return all
}

func runFlags(c *cobra.Command, o *record.Options) {
	f := c.Flags()
	f.IntVar(&o.Rounds, "rounds", o.Rounds, "rounds; fewer than six give no interval")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "of the chain and the transfers")
	f.IntVar(&o.Accounts, "accounts", o.Accounts, "accounts of the chain")
	f.IntVar(&o.Work, "transfers", o.Work, "transfers of the chain")
	f.IntVar(&o.PerTransaction, "transaction-transfers", o.PerTransaction, "transfers in each transaction of the chain, of Antelope; 0: one")
	f.IntVar(&o.Keys, "keys", o.Keys, "keys that the chain's accounts have, of Antelope; 0: one")
	f.IntVar(&o.Empty, "empty-blocks", o.Empty, "blocks without transfers at the end of the chain, of Antelope")
	f.IntVar(&o.Rows, "rows", o.Rows, "megabytes of rows in a table of the chain's state, of Antelope, that it be large")
	f.StringVar(&o.Source, "source", o.Source, "subject that gives the blocks in sync, window, syncing, kill-sync, peer and disk-follow; default this program")
	f.StringVar(&o.SourceDir, "source-dir", o.SourceDir, "folder in which the source of disk-follow and peer has its own, on another disk: the source syncs its files, and what the kernel then writes of the node's on the same disk counts again when more is added to it")
	f.BoolVar(&o.AllChecks, "all-checks", o.AllChecks, "import checks all that a node checks of others' blocks, such as signatures")
	f.IntVar(&o.PerBlock, "block-transfers", o.PerBlock, "transfers in each block of the chain, in each event of Opera's; 0: as many as there usually are")
	f.IntVar(&o.Slots, "slot-transactions", o.Slots, "transactions at the end of the chain, of Opera, that fill 300 fresh slots each")
	f.StringVar(&o.Protocol, "chain", o.Protocol, "chain of the subjects, antelope or opera; needed where all are tarn and it is not antelope")
	f.StringVar(&o.Blocks, "blocks", o.Blocks, "folder with the blocks of a recorded chain, in place of one that is made: import, sync, window, traces and histories can be measured on it")
	f.IntVar(&o.Push, "push", o.Push, "transfers that push, p2p, kill and memory send")
	f.IntVar(&o.Connect, "connections", o.Connect, "connections of push, rpc, calls, traces and memory")
	f.Float64Var(&o.Rate, "rate", o.Rate, "transfers per second in disk, disk-follow and peer; 0: disk and disk-follow measure a node that is idle")
	f.Float64Var(&o.Rating, "tbw", o.Rating, "terabytes that the disk is rated to be written, for the years that it lasts in disk and disk-follow; 0: not told")
	f.Float64Var(&o.AskRate, "ask-rate", o.AskRate, "questions per second of rpc's second loop, and of syncing")
	f.IntVar(&o.Peers, "peers", o.Peers, "light peers in peer and serve-blocks")
	f.Float64Var(&o.Load, "load-rate", o.Load, "transfers per second in recording, streams and setcode")
	f.IntVar(&o.Deployments, "deployments", o.Deployments, "contracts that are deployed in setcode")
	f.IntVar(&o.Memory, "memory", o.Memory, "megabytes of memory that a node has in memory and memory-snapshot; as root")
	f.IntVar(&o.Clients, "clients", o.Clients, "clients in the last part of streams")
	f.IntVar(&o.Syncing, "syncing", o.Syncing, "peers that fetch the chain, of those of serve-blocks")
}

// optionsOf are those of a run that was saved.
func optionsOf(name string) (record.Options, error) {
	r, _, err := record.Load(name)
	if err == nil && r == nil {
		err = fmt.Errorf("%s is a watch, which cannot be done again", name)
	}
	if err != nil {
		return record.Options{}, usage(err)
	}
	return r.Options, nil
}

// measure makes a run and its reports.
func measure(c *cobra.Command, o record.Options, on []string, dir string, free int64, f files, left []string) error {
	config, err := configured(c, o, on, dir, free)
	if err != nil {
		return err
	}
	r, broken := suite.Run(c.Context(), *config)
	if r == nil {
		if errors.Is(broken, context.Canceled) {
			return &failure{errors.New("interrupted before anything was measured"), exitPartial}
		}
		return failed(broken)
	}
	r.Left = append(r.Left, left...)
	err = errors.Join(report.WriteText(c.OutOrStdout(), r), save(f, r))
	for _, name := range []string{f.json, f.html} {
		if name != "" && err == nil {
			fmt.Fprintln(c.OutOrStdout(), "written: "+name) //nolint:errcheck // the report is there
		}
	}
	switch {
	case c.Context().Err() != nil && err == nil:
		return &failure{errors.New("interrupted: the report is of what was measured until then"), exitPartial}
	case errors.Join(broken, err) != nil:
		return failed(errors.Join(broken, err))
	case !anything(r):
		return failed(errors.New("nothing could be measured; the report says why"))
	}
	return nil
}

func anything(r *record.Run) bool {
	for _, l := range r.Lives {
		if l.Values != nil {
			return true
		}
	}
	return false
}

func save(f files, r *record.Run) (err error) {
	if f.json != "" {
		err = record.Save(f.json, r)
	}
	if f.html != "" {
		err = errors.Join(err, report.SaveHTML(f.html, r))
	}
	return err
}

// configured is the run that the command line asks for.
func configured(c *cobra.Command, o record.Options, on []string, dir string, free int64) (*suite.Config, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, failed(fmt.Errorf("find this program: %w", err))
	}
	o.Subjects = nil
	var subjects []subject.Subject
	if text := strings.Join(on, ","); text != "" {
		if subjects, err = subject.Parse(text, own); err != nil {
			return nil, usage(err)
		}
	}
	for _, s := range subjects {
		o.Subjects = append(o.Subjects, s.Name)
	}
	if err := suite.Validate(o); err != nil {
		return nil, usage(err)
	}
	if o.Protocol, err = subject.Protocol(subjects, o.Protocol); err != nil {
		return nil, usage(err)
	}
	if o.Blocks != "" {
		if o.Blocks, err = filepath.Abs(o.Blocks); err != nil {
			return nil, usage(fmt.Errorf("find the recorded chain: %w", err))
		}
	}
	above, err := parent(dir)
	if err != nil {
		return nil, usage(err)
	}
	if err := vfs.MkdirAll(vfs.OS, above); err != nil {
		return nil, failed(fmt.Errorf("make the folder for the nodes: %w", err))
	}
	inMemory, err := vfs.OS.InMemory(above)
	if err != nil {
		return nil, failed(err)
	}
	sourceInMemory := inMemory
	if o.SourceDir != "" {
		if o.SourceDir, err = filepath.Abs(o.SourceDir); err != nil {
			return nil, usage(fmt.Errorf("find the source's folder: %w", err))
		}
		other, err := vfs.OS.InMemory(o.SourceDir)
		if err != nil {
			return nil, usage(fmt.Errorf("look at the source's folder: %w", err))
		}
		sourceInMemory = inMemory || other
	}
	source, err := sourceOf(o, own, sourceInMemory)
	if err != nil {
		return nil, usage(err)
	}
	network, err := chainOf(o, above)
	if err != nil {
		return nil, usage(err)
	}
	if err := suite.Able(network, o.Suites); err != nil {
		return nil, usage(err)
	}
	return &suite.Config{
		Options: o, Subjects: subjects, Source: source, Dir: filepath.Join(above, fmt.Sprintf("nodes-%d", os.Getpid())), Free: free, InMemory: inMemory, Command: called(),
		Network: network,
		Tell:    func(line string) { fmt.Fprintln(c.ErrOrStderr(), line) }, //nolint:errcheck // it is only company
	}, nil
}

// sourceOf is the subject that gives blocks to those that are measured.
func sourceOf(o record.Options, own string, inMemory bool) (subject.Subject, error) {
	s := subject.Subject{Name: "the source", Program: subject.Tarn, Path: own, Mode: "heap"}
	if inMemory { // where heap would keep the state twice
		s.Mode = "mapped"
	}
	if o.Source == "" {
		return s, nil
	}
	all, err := subject.Parse(o.Source, own)
	switch {
	case err == nil && len(all) > 1:
		err = errors.New("more than one is named")
	case err == nil:
		_, err = subject.Protocol(all, o.Protocol)
	}
	if err != nil {
		return s, fmt.Errorf("--source: %w", err)
	}
	s = all[0]
	s.Name = "the source, " + s.Name // it has folders of its own beside a subject that is called so
	return s, nil
}

// chainOf is the chain that the options ask for.
func chainOf(o record.Options, above string) (suite.Network, error) {
	chains, seed := filepath.Join(above, "chains"), cmp.Or(o.Seed, 1)
	switch {
	case o.Protocol == subject.OperaNet && o.Blocks != "":
		return nil, errors.New("--blocks is for chains of Antelope")
	case o.Protocol == subject.OperaNet && (o.PerTransaction != 0 || o.Keys != 0 || o.Empty != 0 || o.Rows != 0 || o.AllChecks):
		return nil, errors.New("--transaction-transfers, --keys, --empty-blocks, --rows and --all-checks are for chains of Antelope")
	case o.Protocol == subject.OperaNet:
		return opera.New(chains, opera.Shape{Seed: seed, Accounts: o.Accounts, Transfers: o.Work, PerEvent: o.PerBlock, Slots: o.Slots})
	case o.Slots != 0:
		return nil, errors.New("--slot-transactions is for chains of Opera")
	case o.Blocks != "":
		n := antelope.NewRecorded(o.Blocks)
		n.AllChecks = o.AllChecks
		return n, nil
	}
	n := antelope.New(chains, antelope.Shape{Seed: seed, Accounts: o.Accounts, Transfers: o.Work, PerBlock: o.PerBlock,
		PerTransaction: o.PerTransaction, Keys: o.Keys, Empty: o.Empty, Rows: o.Rows})
	n.AllChecks = o.AllChecks
	return n, nil
}
