// Command report measures this node beside nodeos and writes tables:
//
//	go run ./antelope/bench/report                    # full size: two hours and a half, 30 GB of disk
//	go run ./antelope/bench/report -short             # that everything runs: some four minutes
//	go run ./antelope/bench/report -only push,p2p -rounds 5
//	go run ./antelope/bench/report -only memory -snapshot-size 3072   # as root
//	go run ./antelope/bench/report -only push -other /path/to/an/older/tarn
//
// The node that is measured is the one that the command was built with: with nodeos
// as its first argument the command is that node. Data is kept in a new folder below
// -dir, which is removed at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"tarn/antelope/bench"
	"tarn/antelope/node"
	"tarn/internal/figures"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "nodeos" {
		os.Exit(serve(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := report(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// serve is the node, and returns its exit code; what ended it, it has said in its log.
func serve(args []string) int {
	c := node.Command()
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetArgs(args)
	err := c.ExecuteContext(context.Background())
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coded):
		return coded.ExitCode()
	}
	return 1
}

// options are the flags that are not the measurement's own.
type options struct {
	dir, only, json string
	short           bool
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
	if c.Tarn == "" {
		if c.Tarn, err = os.Executable(); err != nil {
			return err
		}
	}
	c.Dir, c.Log = filepath.Join(parent, "data"), log
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
	// It decides the defaults of the others.
	o.short = slices.Contains(args, "-short") || slices.Contains(args, "--short")
	if c = bench.Default(); o.short {
		c = bench.Short()
	}
	f := flag.NewFlagSet("report", flag.ContinueOnError)
	f.SetOutput(log)
	f.StringVar(&o.dir, "dir", "", "folder for the nodes' data; default the system's temporary one")
	f.StringVar(&o.only, "only", "", "sections to measure, separated by commas:\n"+figures.Help(bench.Sections())+"default all")
	f.StringVar(&o.json, "json", "", "file for all results as measured")
	f.BoolVar(&o.short, "short", o.short, "small and quick; shows that everything runs")
	f.StringVar(&c.Tarn, "tarn", "", "program that is measured; default this one")
	f.StringVar(&c.Other, "other", "", "another build of it that is measured beside")
	f.Uint64Var(&c.Seed, "seed", c.Seed, "of all random choices")
	f.IntVar(&c.Rounds, "rounds", c.Rounds, "rounds of each comparison")
	f.IntVar(&c.Transfers, "transfers", c.Transfers, "of a run in push and p2p")
	f.IntVar(&c.Full, "full", c.Full, "transfers in the chain of full blocks")
	f.IntVar(&c.Empty, "empty", c.Empty, "blocks in the chain of empty ones")
	f.DurationVar(&c.Reads, "reads", c.Reads, "of one call in a round")
	f.DurationVar(&c.Load, "load", c.Load, "of the load in section disk")
	f.DurationVar(&c.Idle, "idle", c.Idle, "of no load in section disk")
	f.DurationVar(&c.Slow, "slow", c.Slow, "of a few transfers per second in section disk")
	f.IntVar(&c.LoadRate, "load-rate", c.LoadRate, "transfers per second in -load and start")
	f.IntVar(&c.SlowRate, "slow-rate", c.SlowRate, "transfers per second in -slow")
	f.Func("states", "that section memory tries, of database-map-mode or state-engine, separated by commas (default all)", func(v string) error {
		c.States = strings.Split(v, ",")
		return nil
	})
	for name, to := range map[string]*int64{"state-size": &c.StateBytes, "snapshot-size": &c.SnapshotBytes} {
		f.Func(name, fmt.Sprintf("rows in the state of section %s, in `MB` (default %d)", name[:strings.IndexByte(name, '-')], *to>>20), func(v string) error {
			var mb int64
			_, err := fmt.Sscan(v, &mb)
			*to = mb << 20
			return err
		})
	}
	if err := f.Parse(args); err != nil {
		return o, c, err
	}
	if f.NArg() > 0 {
		return o, c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return o, c, nil
}
