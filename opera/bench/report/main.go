// Command report measures this node beside go-opera and writes tables:
//
//	go run ./opera/bench/report -chains DIR           # full size: an hour, the first time more
//	go run ./opera/bench/report -short                # that everything runs: some four minutes
//	go run ./opera/bench/report -only import -rounds 5 -engines mapped_private,leveldb
//
// It needs a go-opera in the user's cache folder, which TARN_OPERA=build has built. The node
// that is measured is the one that the command was built with: with opera as its first argument
// the command is that node. Chains are made by a fakenet of go-opera's and kept in -chains, for
// the next time; nodes' data is kept in a new folder below -dir, which is removed at the end.
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

	"tarn/internal/figures"
	"tarn/opera/bench"
	"tarn/opera/node"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "opera" {
		os.Exit(serve(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) == 6 && os.Args[1] == "told" {
		err = bench.Tell(ctx, os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Stdout)
	} else {
		err = report(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// serve is the node, and returns its exit code; what ended it, it has said.
func serve(args []string) int {
	c := node.Command("bench")
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetArgs(args)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := c.ExecuteContext(ctx)
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
	if c.Chains == "" {
		c.Chains = filepath.Join(parent, "chains")
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
	// It decides the defaults of the others.
	short := slices.Contains(args, "-short") || slices.Contains(args, "--short")
	if c = bench.Default(); short {
		c = bench.Short()
	}
	f := flag.NewFlagSet("report", flag.ContinueOnError)
	f.SetOutput(log)
	f.StringVar(&o.dir, "dir", "", "folder for the nodes' data; default the system's temporary one")
	f.StringVar(&c.Chains, "chains", "", "folder in which chains are kept for the next time; default none")
	f.StringVar(&o.only, "only", "", "sections to measure, separated by commas:\n"+figures.Help(bench.Sections())+"default all")
	f.StringVar(&o.json, "json", "", "file for all results as measured")
	f.Bool("short", short, "small and quick; shows that everything runs")
	f.StringVar(&c.Tarn, "tarn", "", "another build of this command that is measured")
	f.IntVar(&c.Rounds, "rounds", c.Rounds, "rounds of each comparison")
	f.Func("engines", "ours that are measured, separated by commas; default "+strings.Join(c.Engines, ","), func(v string) error {
		c.Engines = strings.Split(v, ",")
		return nil
	})
	f.Uint64Var(&c.Work.Seed, "seed", c.Work.Seed, "of the work's random choices")
	f.IntVar(&c.Work.Accounts, "accounts", c.Work.Accounts, "accounts that send")
	f.IntVar(&c.Work.Tokens, "tokens", c.Work.Tokens, "transfers of tokens")
	f.IntVar(&c.Work.Plain, "plain", c.Work.Plain, "transfers of money")
	f.IntVar(&c.Work.Heavy, "heavy", c.Work.Heavy, "calls of a heavy contract")
	f.IntVar(&c.Slots, "slots", c.Slots, fmt.Sprintf("transactions that fill %d fresh slots each", bench.SlotsEach))
	f.IntVar(&c.Readable.Blocks, "blocks", c.Readable.Blocks, "blocks of the chain that is asked about")
	f.DurationVar(&c.Living, "living", c.Living, "how long a validator is busy, and idle")
	f.DurationVar(&c.Asking, "asking", c.Asking, "how long each kind of requests is made in a round")
	f.DurationVar(&c.Syncing, "syncing", c.Syncing, "how long a node that syncs is asked in a round")
	f.DurationVar(&c.Recovery, "recovery", c.Recovery, "ours: how long a start may take to make blocks again (--db.recovery)")
	if err := f.Parse(args); err != nil {
		return o, c, err
	}
	if f.NArg() > 0 {
		return o, c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return o, c, nil
}
