// Command cmd records cases of a real nodeos' work, and compares snapshots; and it finds that
// nodeos for others.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/difftest"
	"tarn/antelope/execute"
	"tarn/antelope/node"
	"tarn/store/engine"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "nodeos" { // it listens to signals itself
		if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

const usage = `usage:
  list                                what workloads there are
  record [-seed N] [-time D] [-steered] [-dir D] WORKLOAD...
                                      run nodeos, keep a case folder for each
  hunt [-for D] [-time D] [-jobs N] [-steered] [-dir D] [WORKLOAD...]
                                      random workloads with random seeds, compared; what differs is kept;
                                      -steered: blocks made by nodeos' controller, in its own time
  compare [-engine E] [-mode M] [-all] DIR...
                                      replay cases with our chain, compare hash and snapshot
  receipts DIR...                     outcomes of the transactions in a case's blocks
  hash SNAPSHOT                       rows and hash of a snapshot
  print SNAPSHOT [SECTION]            its rows as text
  diff SNAPSHOT SNAPSHOT              the first differences of two
  sync, partition, kill [-seed N] ... networks of nodes, ours and nodeos: a long chain from one to the next, links
                                      that are cut, nodes that are killed
  program                             a script that is nodeos 4.1, for what takes a program
  nodeos ...                          a node of ours, which these run; -tarn names another one`

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%s", usage)
	}
	switch rest := args[1:]; args[0] {
	case "list":
		for _, w := range difftest.Workloads() {
			fmt.Fprintf(out, "%-12s %s\n", w.Name, w.Doc)
		}
		return nil
	case "record":
		return record(ctx, rest, out)
	case "hunt":
		return hunt(ctx, rest, out)
	case "compare":
		return compare(rest, out)
	case "receipts":
		for _, dir := range rest {
			counts, err := difftest.Receipts(dir)
			if err != nil {
				return err
			}
			fmt.Fprintln(out, dir, counts)
		}
		return nil
	case "program":
		peer, err := difftest.Find(ctx)
		if err == nil {
			_, err = io.WriteString(out, peer.Script())
		}
		return err
	case "sync", "partition", "kill":
		return networks(ctx, args[0], rest, out)
	case "nodeos":
		c := node.Command()
		c.SilenceUsage, c.SilenceErrors = true, true
		c.SetArgs(rest)
		return c.ExecuteContext(context.Background())
	case "hash", "print", "diff":
		return snapshots(args, out)
	default:
		return fmt.Errorf("%s", usage)
	}
}

func record(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("record", flag.ContinueOnError)
	seed := flags.Uint64("seed", 0, "seed of all that is random; 0 for a new one")
	length := flags.Duration("time", 20*time.Second, "how long to work")
	steered := flags.Bool("steered", false, "let nodeos' controller make the blocks, in its own time")
	dir := flags.String("dir", ".", "where the case folders go")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	peer, err := difftest.Find(ctx)
	if err != nil {
		return err
	}
	workloads := difftest.Workloads()
	for _, name := range flags.Args() {
		i := slices.IndexFunc(workloads, func(w difftest.Workload) bool { return w.Name == name })
		if i < 0 {
			return fmt.Errorf("no workload %q", name)
		}
		w := workloads[i]
		fmt.Fprintf(out, "%s: seed %d\n", name, *seed)
		make := peer.Record
		if *steered {
			make = peer.RecordSteered
		}
		m, err := make(ctx, w, *seed, *length, filepath.Join(*dir, name), out)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: head %d, %d accepted, %d refused, hash %s\n",
			name, m.HeadNum, m.Executed, m.Refused, m.IntegrityHash)
		fmt.Fprintf(out, "%s: %v\n", name, m.Receipts)
	}
	return nil
}

func snapshots(args []string, out io.Writer) error {
	var read []*difftest.Snapshot
	for _, path := range args[1:min(len(args), 3)] {
		if args[0] != "diff" && len(read) == 1 {
			break
		}
		s, err := difftest.ReadSnapshot(path)
		if err != nil {
			return err
		}
		read = append(read, s)
	}
	switch {
	case args[0] == "hash" && len(read) == 1:
		fmt.Fprintf(out, "%x\n", read[0].Hash())
		return nil
	case args[0] == "print" && len(read) == 1:
		section := ""
		if len(args) > 2 {
			section = args[2]
		}
		return read[0].Print(out, section)
	case args[0] == "diff" && len(read) == 2:
		if n := difftest.Diff(out, read[0], read[1], 5); n > 0 {
			return fmt.Errorf("%d rows differ", n)
		}
		return nil
	}
	return fmt.Errorf("%s", usage)
}

// compare goes on to the next case when one differs.
func compare(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	kind := flags.String("engine", "page", "storage engine")
	mode := flags.String("mode", "heap", "how the page engine maps its file")
	all := flags.Bool("all", false, "check everything, signatures too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o := engine.Options{LimitBytes: 8 << 30, CacheBytes: 256 << 20, OverlayBytes: 256 << 20}
	var err error
	if o.Kind, err = engine.ParseKind(*kind); err != nil {
		return err
	}
	for _, m := range engine.Modes() {
		if m.String() == *mode {
			o.Mode = m
		}
	}
	different := 0
	for _, dir := range flags.Args() {
		start := time.Now()
		if err := difftest.Compare(dir, o, chain.Options{Options: execute.Options{ForceAllChecks: *all}},
			out); err != nil {
			fmt.Fprintln(out, err)
			different++
			continue
		}
		fmt.Fprintf(out, "%s: same (%v)\n", dir, time.Since(start).Round(time.Millisecond))
	}
	if different > 0 {
		return fmt.Errorf("%d of %d differ", different, flags.NArg())
	}
	return nil
}

// hunt records and compares until the time is over, and keeps what differs.
func hunt(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("hunt", flag.ContinueOnError)
	total := flags.Duration("for", time.Hour, "how long to go on")
	length := flags.Duration("time", 15*time.Second, "how long each node works")
	jobs := flags.Int("jobs", 2, "how many nodes work at once")
	steered := flags.Bool("steered", false, "let nodeos' controller make the blocks, in its own time")
	dir := flags.String("dir", ".", "where cases that differ go")
	if err := flags.Parse(args); err != nil {
		return err
	}
	peer, err := difftest.Find(ctx)
	if err != nil {
		return err
	}
	h := &difftest.Hunt{Peer: peer, Length: *length, Dir: *dir, Only: flags.Args(), Out: out, Steered: *steered}
	return h.Run(ctx, *total, *jobs)
}
