// Command soak attacks the project for as long as one says: all adversaries in turn, each
// turn with a seed of its own, and writes a page of what was tried, how often, and what was
// found. It owns whose turn it is, how a turn is bounded and judged, the journal by which it
// goes on where it was stopped, and the page. With `flaky` it runs tests again and again, in
// random order and beside load, and names those that do not always end alike.
//
// It never attacks anything itself: adversaries are tests of the packages that they attack,
// and what must hold is theirs to say. It mends nothing, and writes only to its folder.
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
	"regexp"
	"syscall"
	"time"
)

// Exit codes: what was found is the program's finding, not its failure.
const (
	exitSound  = 0
	exitFound  = 1
	exitFailed = 2
)

// options are the words of the command line.
type options struct {
	flaky    bool
	length   time.Duration // at work in all, over stops
	turn     time.Duration // what a turn's size aims at
	dir      string        // of journal, page, findings and programs
	only     *regexp.Regexp
	judges   bool
	seed     uint64 // of a folder that is new; 0 for one of the clock
	list     bool
	load     int // busy loops beside the tests
	atOnce   int // turns
	long     bool
	packages []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(exitSound)
	}
	found := 0
	if err == nil {
		found, err = run(ctx, o, os.Stdout)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(exitFailed)
	case found > 0:
		os.Exit(exitFound)
	}
}

// parse reads the command line.
func parse(args []string, out io.Writer) (options, error) {
	o := options{atOnce: 1}
	if len(args) > 0 && args[0] == "flaky" {
		o.flaky, o.atOnce, args = true, 2, args[1:]
	}
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	f.SetOutput(out)
	f.DurationVar(&o.length, "for", time.Hour, "how long to work, in all: what was done before a stop counts")
	f.StringVar(&o.dir, "dir", "", "folder for the journal, the page and what is found; what is there is gone on with")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the first turns, for a new folder; 0 takes one from the clock")
	f.IntVar(&o.atOnce, "at-once", o.atOnce, "how many turns are had beside each other")
	only := f.String("only", "", "regular expression: those whose kind or name fits it")
	f.BoolVar(&o.list, "list", false, "say whose turns there are, and have none")
	if o.flaky {
		f.IntVar(&o.load, "load", 1, "busy loops beside the tests")
		f.BoolVar(&o.long, "long", false, "run the tests without -short")
		f.Usage = func() {
			fmt.Fprint(out,
				"go run ./soak flaky [-for 1h] [-load 1] [PACKAGES]: run tests again and again, and name those that "+
					"do not always end alike.\n")
			f.PrintDefaults()
		}
	} else {
		f.DurationVar(&o.turn, "turn", time.Minute, "how long a turn shall be: sizes follow it")
		f.BoolVar(&o.judges, "judges", false,
			"let nodeos and go-opera judge, which are fetched and built once, in minutes")
		f.Usage = func() {
			fmt.Fprint(out,
				"go run ./soak [-for 8h] [-judges]: all adversaries in turn, and a page of what they found.\n")
			f.PrintDefaults()
		}
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.packages = f.Args()
	return o, o.complete(*only)
}

// complete checks what was said and adds what was not.
func (o *options) complete(only string) (err error) {
	if o.only, err = regexp.Compile(only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	switch {
	case len(o.packages) > 0 && !o.flaky:
		return fmt.Errorf("%q: packages are for `soak flaky`; say -only to choose adversaries", o.packages[0])
	case o.length <= 0:
		return fmt.Errorf("-for %v: want a time above zero, such as 8h", o.length)
	case o.atOnce < 1:
		return fmt.Errorf("-at-once %d: want one or more", o.atOnce)
	case o.load < 0:
		return fmt.Errorf("-load %d: want zero or more", o.load)
	case !o.flaky && o.turn < time.Second:
		return fmt.Errorf("-turn %v: want a second or more", o.turn)
	}
	if o.flaky {
		o.turn = time.Minute
		if len(o.packages) == 0 {
			o.packages = []string{"./..."}
		}
	}
	if o.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("find a folder for what is done: %w: say -dir", err)
		}
		name := "soak"
		if o.flaky {
			name = "soak-flaky"
		}
		o.dir = filepath.Join(cache, "tarn", name)
	}
	o.dir, err = filepath.Abs(o.dir)
	return err
}

// run does what the command line asks for, and returns how many different things were found.
func run(ctx context.Context, o options, out io.Writer) (found int, err error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return 0, err
	}
	list, err := chooseAdversaries(ctx, root, o)
	if err != nil {
		return 0, err
	}
	if o.list {
		for _, a := range list {
			fmt.Fprintf(out, "%s: %s\n\t%s\n", a.Kind, a.Name, a.What)
		}
		return 0, nil
	}
	w, err := openWork(root, o, list, out)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.all(ctx); err != nil {
		return 0, err
	}
	return len(findings(w.journal.entries)), nil
}

// chooseAdversaries are the adversaries that the command line asks for.
func chooseAdversaries(ctx context.Context, root string, o options) ([]adversary, error) {
	list, err := adversaries(root, o.turn)
	if o.flaky {
		list, err = suites(ctx, root, o)
	}
	if err != nil {
		return nil, err
	}
	var fitting []adversary
	for _, a := range list {
		if o.only.MatchString(a.Kind) || o.only.MatchString(a.Name) {
			fitting = append(fitting, a)
		}
	}
	if len(fitting) == 0 {
		return nil, fmt.Errorf("nothing fits -only %q: -list names all", o.only)
	}
	return fitting, nil
}
