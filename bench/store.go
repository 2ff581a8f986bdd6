package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tarn/internal/figuretable"
	stores "tarn/store/bench"
	"tarn/store/vfs"
)

// engines says what is measured of the engines, and where results go.
type engines struct {
	stores.Config
	dir, json string
	short     bool
}

func storeCommand() *cobra.Command {
	e := engines{Config: stores.Default()}
	c := &cobra.Command{
		Use:   "store [SECTION...]",
		Short: "Measure the engines without a chain, and compare them with each other and with their bare libraries",
		Long: "Make stores on every engine, measure them and compare them. Each measurement is in a process of its\n" +
			"own. Without sections all sections are measured; at full size that takes hours and 40 GB of disk.\n\n" +
			"Sections:\n" + figuretable.Help(stores.Sections()),
		ValidArgs: sectionNames(), Args: cobra.OnlyValidArgs,
		RunE: func(c *cobra.Command, names []string) error {
			if e.short {
				if err := e.shorten(c.Flags()); err != nil {
					return usage(err)
				}
			}
			f := files{json: e.json}
			if err := f.check(); err != nil {
				return err
			}
			return e.measure(c, names)
		},
	}
	e.flags(c.Flags())
	c.Flags().StringVar(&e.dir, "dir", "",
		"folder for the stores, which are removed at the end; by default a folder in the user's cache")
	c.Flags().StringVar(&e.json, "json", "", "file for all results, in JSON")
	c.Flags().BoolVar(&e.short, "short", false, "use small defaults that are quick, to see that everything runs")
	return c
}

// childCommand is the other side of [engines.measure]: it serves one task.
func childCommand() *cobra.Command {
	return &cobra.Command{
		Use: "child", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return stores.Serve(c.InOrStdin(), c.OutOrStdout()) },
	}
}

func sectionNames() (names []string) {
	for _, s := range stores.Sections() {
		names = append(names, s[0])
	}
	return names
}

// megabytes is a number of bytes that is given in MB.
type megabytes int64

func (m *megabytes) String() string { return fmt.Sprint(int64(*m) >> 20) }
func (m *megabytes) Type() string   { return "MB" }

func (m *megabytes) Set(text string) error {
	var n int64
	if _, err := fmt.Sscan(text, &n); err != nil || n <= 0 || n > 1<<30 {
		return errors.New("a number of MB, 1 or more")
	}
	*m = megabytes(n << 20)
	return nil
}

func (e *engines) flags(f *pflag.FlagSet) {
	var names []string
	for _, s := range stores.Subjects() {
		names = append(names, s.Name)
	}
	f.StringSliceVar(&e.Stores, "stores", nil, "stores to measure, all if not given: "+strings.Join(names, ", "))
	f.IntVar(&e.Rows, "rows", e.Rows, "rows in each store")
	f.Uint64Var(&e.Seed, "seed", e.Seed, "seed of all random choices")
	f.IntVar(&e.Rounds, "rounds", e.Rounds, "rounds of each comparison")
	f.BoolVar(&e.Rest, "rest", e.Rest, "wait between measurements until the disk is idle")
	f.DurationVar(&e.Time, "time", e.Time, "time of one measurement in a round")
	f.DurationVar(&e.Sustain, "sustain", e.Sustain, "time of each run in section lsm")
	f.DurationVar(&e.Trap, "trap", e.Trap, "time of each run in section trap")
	f.DurationVar(&e.TrapBare, "trap-bare", e.TrapBare,
		"time of the bare mapping in section trap; it may write 5 GB per second")
	f.DurationVar(&e.TrapEvery, "trap-every", e.TrapEvery, "time between checkpoints in section trap")
	f.Var((*megabytes)(&e.Cache), "cache", "memory of an LSM engine or library in the sections get, update, seek "+
		"and view")
	f.Var((*megabytes)(&e.Memory), "memory", "memory of an LSM engine or library in the other sections")
	f.Var((*megabytes)(&e.OpenBytes), "open-size", "size of the store that is opened")
	f.Var((*megabytes)(&e.CheckpointBytes), "checkpoint-size", "changed pages of a measured checkpoint")
}

// shorten takes the small defaults for what was not given.
func (e *engines) shorten(given *pflag.FlagSet) error {
	small := engines{Config: stores.Short()}
	f := pflag.NewFlagSet("short", pflag.ContinueOnError)
	small.flags(f)
	var errs []error
	given.Visit(func(g *pflag.Flag) {
		switch {
		case f.Lookup(g.Name) == nil:
		case g.Name == "stores":
			small.Stores = e.Stores
		default:
			errs = append(errs, f.Set(g.Name, g.Value.String()))
		}
	})
	e.Config = small.Config
	return errors.Join(errs...)
}

// measure makes the report.
func (e *engines) measure(c *cobra.Command, names []string) (err error) {
	above, err := parent(e.dir)
	if err != nil {
		return failed(err)
	}
	self, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	e.Dir, e.Log = filepath.Join(above, fmt.Sprintf("stores-%d", os.Getpid())), c.ErrOrStderr()
	e.Command = func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, self, "bench", "child") }
	if err := e.Validate(); err != nil {
		return usage(err)
	}
	if err := os.MkdirAll(above, 0o755); err != nil {
		return failed(err)
	}
	r, err := stores.Run(c.Context(), e.Config, names...)
	if r == nil {
		return failed(err)
	}
	err = errors.Join(err, r.WriteMarkdown(c.OutOrStdout()))
	if e.json != "" {
		text, jerr := json.MarshalIndent(r, "", "\t")
		if jerr == nil {
			jerr = vfs.WriteDurably(vfs.OS, e.json, append(text, '\n'))
		}
		err = errors.Join(err, jerr)
	}
	switch {
	case c.Context().Err() != nil:
		return &failure{errors.New("interrupted: the report is of the time until then"), exitPartial}
	case err != nil:
		return failed(err)
	}
	return nil
}
