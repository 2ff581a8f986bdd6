// Command report measures the engines beside each other and writes tables:
//
//	go run ./store/bench/report                        # full size: hours, 40 GB of disk
//	go run ./store/bench/report -short                 # that everything runs: below a minute
//	go run ./store/bench/report -only get,seek -rows 1000000
//
// Stores are made in a new folder below -dir, which is removed at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"tarn/internal/figures"
	"tarn/store/bench"
)

// childMark tells a process that it is to serve one task.
const childMark = "TARN_BENCH_CHILD"

func main() {
	err := serveOrReport()
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func serveOrReport() error {
	if os.Getenv(childMark) != "" {
		return bench.Serve(os.Stdin, os.Stdout)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return report(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// options are the flags that are not the measurement's own.
type options struct {
	dir, only, stores, json string
	short                   bool
}

func report(ctx context.Context, args []string, out, log io.Writer) (err error) {
	o, c, err := parse(args, log)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	parent, err := os.MkdirTemp(o.dir, "tarn-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(parent)) }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c.Dir, c.Log = filepath.Join(parent, "stores"), log
	c.Command = func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, self)
		cmd.Env = append(os.Environ(), childMark+"=1")
		return cmd
	}
	var names []string
	if o.only != "" {
		names = strings.Split(o.only, ",")
	}
	r, err := bench.Run(ctx, c, names...)
	if r == nil {
		return err
	}
	return errors.Join(err, figures.Publish(r, out, o.json))
}

func parse(args []string, log io.Writer) (o options, c bench.Config, err error) {
	for _, a := range args { // it decides the defaults of the others
		if a == "-short" || a == "--short" {
			o.short = true
		}
	}
	if c = bench.Default(); o.short {
		c = bench.Short()
	}
	f := flag.NewFlagSet("report", flag.ContinueOnError)
	f.SetOutput(log)
	f.StringVar(&o.dir, "dir", "", "folder for the stores; default the system's temporary one")
	f.StringVar(&o.only, "only", "", "sections to measure, separated by commas:\n"+figures.Help(bench.Sections())+"default all")
	f.StringVar(&o.stores, "stores", "", "stores to measure, separated by commas:\n  "+strings.Join(storeNames(), ", ")+"\ndefault all")
	f.StringVar(&o.json, "json", "", "file for all results as measured")
	f.BoolVar(&o.short, "short", o.short, "small and quick; shows that everything runs")
	f.IntVar(&c.Rows, "rows", c.Rows, "rows in each store")
	f.Uint64Var(&c.Seed, "seed", c.Seed, "of all random choices")
	f.IntVar(&c.Rounds, "rounds", c.Rounds, "rounds of each comparison")
	f.BoolVar(&c.Rest, "rest", c.Rest, "let the disk come to rest between measurements")
	f.DurationVar(&c.Time, "time", c.Time, "of one measurement in a round")
	f.DurationVar(&c.Sustain, "sustain", c.Sustain, "of each run in section lsm")
	f.DurationVar(&c.Trap, "trap", c.Trap, "of each run in section trap")
	f.DurationVar(&c.TrapBare, "trap-bare", c.TrapBare, "of the bare mapping in section trap; it may write 5 GB a second")
	f.DurationVar(&c.TrapEvery, "trap-every", c.TrapEvery, "time between checkpoints in section trap")
	sizes := map[string]*int64{"cache": &c.Cache, "memory": &c.Memory, "open-size": &c.OpenBytes, "checkpoint-size": &c.CheckpointBytes}
	for name, use := range map[string]string{
		"cache": "memory of an LSM engine or library in get, update, seek and view, in `MB`", "memory": "the same in the other sections, in `MB`",
		"open-size": "size of the store that is opened, in `MB`", "checkpoint-size": "changed pages of a measured checkpoint, in `MB`",
	} {
		f.Func(name, fmt.Sprintf("%s (default %d)", use, *sizes[name]>>20), func(v string) error {
			var mb int64
			if _, err := fmt.Sscan(v, &mb); err != nil {
				return err
			}
			*sizes[name] = mb << 20
			return nil
		})
	}
	if err := f.Parse(args); err != nil {
		return o, c, err
	}
	if o.stores != "" {
		c.Stores = strings.Split(o.stores, ",")
	}
	if f.NArg() > 0 {
		return o, c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return o, c, nil
}

func storeNames() (names []string) {
	for _, s := range bench.Subjects() {
		names = append(names, s.Name)
	}
	return names
}
