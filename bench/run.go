package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tarn/bench/antelope"
	"tarn/bench/opera"
	"tarn/bench/record"
	"tarn/bench/report"
	"tarn/bench/subjectflag"
	"tarn/bench/suite"
	"tarn/store/vfs"
)

// runBytes must be free for `tarn bench run` with chains of the usual size: for each
// subject, and twice over.
const runBytes = 1_000_000_000

// snapshotStates is how many states are on the disk at most where a snapshot is measured: the one that it is made of,
// the snapshot, and the one that is made of it.
const snapshotStates = 3

// diskBytes must be free for a run: of each subject, and of the chain. While that is made its state is on the disk
// too, and no subject's.
func diskBytes(o record.Options, subjects int) int64 {
	state := antelope.Shape{Accounts: o.Accounts, Rows: o.Rows}.StateBytes()
	if slices.ContainsFunc(o.Suites, func(name string) bool { return name == suite.Snapshot || name == suite.MemorySnapshot }) {
		state *= snapshotStates
	}
	return int64(1+subjects)*runBytes + int64(subjects)*state
}

func runCommand() *cobra.Command {
	o := tourOptions()
	o.Limit, o.Suites = 0, nil
	var f files
	var dir, from string
	var on []string
	c := &cobra.Command{
		Use:   "run SUITE... --on SUBJECT,...",
		Short: "Measure suites on subjects, in pairs",
		Long: "Measure suites (`tarn bench list`) on subjects, one after the other, in rounds. Every second round " +
			"has\n" +
			"the reverse order. The other subjects are compared with the first one. A subject is\n" +
			"tarn[=PATH][:MODE], nodeos=PATH[:MODE] or opera=PATH[:PRESET]. MODE is the map mode; for tarn it may\n" +
			"also be an engine.",
		RunE: func(c *cobra.Command, args []string) error {
			o.Suites = args
			if from != "" {
				again, err := optionsOf(from)
				if err != nil {
					return err
				}
				if len(args) > 0 || len(on) > 0 {
					return usage(errors.New("--from names the suites and subjects: name no others"))
				}
				o, on = again, again.Subjects
			}
			if err := f.check(); err != nil {
				return err
			}
			return measure(c, o, on, dir, diskBytes(o, len(on)), f, nil)
		},
	}
	f.flags(c, "tarn-bench.json", "tarn-bench.html")
	c.Flags().StringSliceVar(&on, "on", nil, "subjects, separated by commas")
	c.Flags().StringVar(&dir, "dir", "",
		"folder for the chains and the nodes; by default a folder in the user's cache")
	c.Flags().StringVar(&from, "from", "", "JSON file of a run, to repeat this run")
	runFlags(c, &o)
	return c
}

// runFlags are the options of the suites.
func runFlags(c *cobra.Command, o *record.Options) {
	f := c.Flags()
	for _, x := range suite.Options(o) {
		switch v := x.Value.(type) {
		case *int:
			f.IntVar(v, x.Name, *v, x.Help)
		case *uint64:
			f.Uint64Var(v, x.Name, *v, x.Help)
		case *float64:
			f.Float64Var(v, x.Name, *v, x.Help)
		case *string:
			f.StringVar(v, x.Name, *v, x.Help)
		case *bool:
			f.BoolVar(v, x.Name, *v, x.Help)
		case suite.Seconds:
			f.Var(v, x.Name, x.Help)
		}
	}
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
	config, err := configure(c, o, on, dir, free)
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

// configure makes the run that the command line asks for.
func configure(c *cobra.Command, o record.Options, on []string, dir string, free int64) (*suite.Config, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, failed(fmt.Errorf("find this program: %w", err))
	}
	o.Subjects = nil
	var subjects []subjectflag.Subject
	if text := strings.Join(on, ","); text != "" {
		if subjects, err = subjectflag.Parse(text, own); err != nil {
			return nil, usage(err)
		}
	}
	for _, s := range subjects {
		o.Subjects = append(o.Subjects, s.Name)
	}
	if err := suite.Validate(o); err != nil {
		return nil, usage(err)
	}
	if o.Protocol, err = subjectflag.Protocol(subjects, o.Protocol); err != nil {
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
		Options: o, Subjects: subjects, Source: source, Dir: filepath.Join(above, fmt.Sprintf("nodes-%d", os.Getpid())),
		Free: free, InMemory: inMemory, Command: called(),
		Network: network,
		Tell:    func(line string) { fmt.Fprintln(c.ErrOrStderr(), line) }, //nolint:errcheck // it is only company
	}, nil
}

// sourceOf is the subject that gives blocks to those that are measured.
func sourceOf(o record.Options, own string, inMemory bool) (subjectflag.Subject, error) {
	s := subjectflag.Subject{Name: "the source", Program: subjectflag.Tarn, Path: own, Mode: "heap"}
	if inMemory { // where heap would keep the state twice
		s.Mode = "mapped"
	}
	if o.Source == "" {
		return s, nil
	}
	all, err := subjectflag.Parse(o.Source, own)
	switch {
	case err == nil && len(all) > 1:
		err = errors.New("more than one is named")
	case err == nil:
		_, err = subjectflag.Protocol(all, o.Protocol)
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
	case o.Protocol == subjectflag.OperaNet && o.Blocks != "":
		return nil, errors.New("--blocks is for chains of Antelope")
	case o.Protocol == subjectflag.OperaNet &&
		(o.PerTransaction != 0 || o.Keys != 0 || o.Empty != 0 || o.Rows != 0 || o.Finalizers != 0 || o.AllChecks):
		return nil, errors.New("--transaction-transfers, --keys, --empty-blocks, --rows, --finalizers and " +
			"--all-checks are for chains of Antelope")
	case o.Protocol == subjectflag.OperaNet:
		return opera.New(chains,
			opera.Shape{Seed: seed, Accounts: o.Accounts, Transfers: o.Work, PerEvent: o.PerBlock, Slots: o.Slots,
				Validators: o.Validators})
	case o.Slots != 0 || o.Validators != 0:
		return nil, errors.New("--slot-transactions and --validators are for chains of Opera")
	case o.Blocks != "":
		n := antelope.NewRecorded(o.Blocks)
		n.AllChecks = o.AllChecks
		return n, nil
	}
	n := antelope.New(chains, antelope.Shape{Seed: seed, Accounts: o.Accounts, Transfers: o.Work, PerBlock: o.PerBlock,
		PerTransaction: o.PerTransaction, Keys: o.Keys, Empty: o.Empty, Rows: o.Rows, Finalizers: o.Finalizers})
	n.AllChecks = o.AllChecks
	return n, nil
}
