package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	gethlog "github.com/ethereum/go-ethereum/log"
	"github.com/spf13/cobra"

	"tarn/httpserver"
	"tarn/internal/cobraflags"
	"tarn/internal/exit"
	"tarn/internal/hostlimits"
	"tarn/internal/sdnotify"
	"tarn/internal/tty"
	"tarn/livepage"
	"tarn/nodeupkeep"
	"tarn/opera/chain"
	"tarn/opera/config"
	"tarn/opera/rpc"
	"tarn/store/engine"
)

// invocation is one run of a command.
//
// Its methods are the commands, one or more for each: all of them need the same options, streams,
// log and profile, which would otherwise go through each of them as arguments.
type invocation struct {
	services
	words    []string // after the command's
	in       io.Reader
	out, err io.Writer
}

// services makes what runs beside a node's chain, as the command line and the file say: what
// waits, peers, requests, a validator, and what an operator's programs see of them.
type services struct {
	*config.Config
	log      *slog.Logger
	filter   rpc.LogControl // of the log
	build    string         // what says what the program was built from
	keys     keyring
	observed observed
	added    []string // peers that the node was told of before it was opened again
	replica  bool
	renew    bool                      // the replica gives its state up
	elder    atomic.Pointer[rpc.Elder] // answers replicas for what is older than they are; nil while it does not
}

// fatal is an error that go-opera ends with at once, and says where scripts see it: on both
// streams.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// action is a command of go-opera's.
type action struct {
	name string // its words
	help string
	run  func(l *invocation, ctx context.Context) error
}

func actions() []action {
	return slices.Concat([]action{{"", "Run a node", (*invocation).node}}, accountActions(), consoleActions(), []action{
		{"checkconfig", "Check the configuration", func(*invocation, context.Context) error { return nil }},
		{"dumpconfig", "Show the configuration: [FILE]", (*invocation).dumpConfig},
		{"version", "Print version numbers", (*invocation).version},
		{"license", "Print the licence", (*invocation).license},
		{"import events", "Import events from files: FILE...", (*invocation).importEvents},
		{"import genesis", "Begin a chain with a genesis file and end: FILE", (*invocation).importGenesis},
		{"import datadir", "Take over the chain of a stopped go-opera, and end: DATADIR of go-opera",
			(*invocation).importFolder},
		{"export events", "Export events to a file, compressed if its name ends with .gz: FILE [FROM-EPOCH [TO-EPOCH]]",
			(*invocation).exportEvents},
		{"export genesis",
			"Export the state at the beginning of the current epoch to a genesis file: " +
				"FILE|dry-run [FROM-EPOCH [TO-EPOCH]]",
			(*invocation).exportGenesis},
	}, maintenance(), []action{{"help", "Show this", (*invocation).help}})
}

// elsewhere are commands of go-opera's that mean nothing here, and what to do instead.
func elsewhere() map[string]string {
	return map[string]string{
		"import evm": "the state has no nodes by their hashes to add to; it comes whole with `import genesis` " +
			"or `import datadir`",
		"export evm-keys": "the keys are those of nodes by their hashes, for --export.evm.exclude, which leaves " +
			"nothing out here; `export genesis` exports the state",
	}
}

// Command is the opera subcommand. Its arguments are go-opera's own, read by go-opera's
// rules. build says what the program was built from.
func Command(build string) *cobra.Command {
	return newCommand("An Opera node, which replaces Fantom's opera (see --help)", build, false)
}

// Replica is the subcommand of a replica of an Opera node. Its arguments are go-opera's own.
func Replica(build string) *cobra.Command {
	return newCommand("A replica of an Opera node: it answers the same API from a state of its own, and executes no "+
		"block (see --help, and --fleet.server there)", build, true)
}

func newCommand(short, build string, replica bool) *cobra.Command {
	c := &cobra.Command{
		Use:                "opera",
		Short:              short,
		Args:               cobra.ArbitraryArgs,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			l := &invocation{in: c.InOrStdin(), out: c.OutOrStdout(), err: c.ErrOrStderr(),
				services: services{build: build, replica: replica}}
			err := l.run(c.Context(), args)
			return l.reportEnd(errors.Join(err, l.keys.close()))
		},
	}
	c.ValidArgsFunction = nextWords
	cobraflags.Add(c, config.Synopsis(config.Environment{Home: "~"}))
	return c
}

// nextWords is for shells: the words of commands that may come after those that are there.
func nextWords(_ *cobra.Command, before []string, _ string) ([]string, cobra.ShellCompDirective) {
	before = slices.DeleteFunc(slices.Clone(before), func(word string) bool { return strings.HasPrefix(word, "-") })
	var next []string
	for _, a := range actions()[1:] {
		words := strings.Fields(a.name)
		if len(words) <= len(before) || !slices.Equal(words[:len(before)], before) {
			continue
		}
		word := words[len(before)]
		if len(words) == len(before)+1 {
			word += "\t" + a.help
		}
		next = append(next, word)
	}
	return slices.Compact(next), cobra.ShellCompDirectiveDefault
}

// reportEnd says how the command ended. The code is 1, as go-opera's, whatever it was.
func (l *invocation) reportEnd(err error) error {
	var unknown unknownTopic
	var end fatal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unknown):
		fmt.Fprintln(l.err, err)
		return exit.Said(3)
	case errors.As(err, &end):
		fmt.Fprintf(l.err, "Fatal: %v\n", err)
		if !same(l.out, l.err) {
			fmt.Fprintf(l.out, "Fatal: %v\n", err)
		}
	default:
		fmt.Fprintln(l.err, err)
	}
	return exit.Said(1)
}

// same tells whether both streams go to the same file.
func same(a, b io.Writer) bool {
	f, ok := a.(*os.File)
	g, also := b.(*os.File)
	if !ok || !also {
		return a == b
	}
	one, err := f.Stat()
	other, failed := g.Stat()
	return err == nil && failed == nil && os.SameFile(one, other)
}

// unknownTopic is a word behind one with which several commands begin.
type unknownTopic string

func (u unknownTopic) Error() string { return fmt.Sprintf("No help topic for '%s'", string(u)) }

// run reads the command line and runs its command.
func (l *invocation) run(ctx context.Context, args []string) (err error) {
	var words []string
	if l.Config, words, err = config.Load(args, config.Environment{Home: os.Getenv("HOME")}); err != nil {
		return err
	}
	if err := l.openLog(); err != nil {
		return err
	}
	l.keys = keyring{Config: l.Config, in: l.in, out: l.out, log: l.log}
	if l.Run.Help {
		return l.help(ctx)
	}
	all := actions()
	// The longest command that the words begin with.
	for n := min(2, len(words)); n >= 0; n-- {
		name := strings.Join(words[:n], " ")
		i := slices.IndexFunc(all, func(a action) bool { return a.name == name })
		if i < 0 || n == 0 && len(words) > 0 {
			continue
		}
		l.words = words[n:]
		for _, notice := range l.Notices {
			l.log.Warn(notice)
		}
		stop, err := l.profile()
		if err != nil {
			return err
		}
		hide, err := l.observe()
		if err != nil {
			return errors.Join(l.inUse(), err, stop()) // of a second node on a folder, the folder first
		}
		return errors.Join(all[i].run(l, ctx), hide(), stop())
	}
	for n := min(2, len(words)); n > 0; n-- {
		if instead, ok := elsewhere()[strings.Join(words[:n], " ")]; ok {
			return fmt.Errorf("there is no command %q: %s", strings.Join(words[:n], " "), instead)
		}
	}
	return l.group(words)
}

// group answers a word with which several commands begin.
func (l *invocation) group(words []string) error {
	all := slices.DeleteFunc(actions(), func(a action) bool { return !strings.HasPrefix(a.name, words[0]+" ") })
	switch {
	case len(all) == 0:
		return fmt.Errorf("invalid command: %q", words[0])
	case len(words) > 1:
		return unknownTopic(words[1])
	}
	fmt.Fprintf(l.out, "USAGE:\n   opera %s command [command options] [arguments...]\n\nCOMMANDS:\n", words[0])
	return list(l.out, all)
}

// list prints what commands are for.
func list(w io.Writer, all []action) error {
	for _, a := range all {
		if _, err := fmt.Fprintf(w, "   %-18s %s\n", a.name, a.help); err != nil {
			return fmt.Errorf("print the commands: %w", err)
		}
	}
	return nil
}

// openLog makes the log, in go-opera's form.
func (l *invocation) openLog() error {
	out := l.err
	live := nodeupkeep.NewLive(l.err)
	if live != nil {
		out = live
	}
	var to slog.Handler = gethlog.NewTerminalHandler(out, tty.Is(l.err))
	if l.Run.Log.JSON {
		to = gethlog.JSONHandler(out)
	}
	filter := gethlog.NewGlogHandler(to)
	filter.Verbosity(gethlog.FromLegacyLevel(l.Run.Log.Verbosity))
	if err := filter.Vmodule(l.Run.Log.Modules); err != nil {
		return fmt.Errorf("--vmodule: %w", err)
	}
	l.log, l.filter = slog.New(live.Handler(filter)), leveled{filter}
	return nil
}

// leveled is a log whose verbosity is said in go-opera's numbers.
type leveled struct{ *gethlog.GlogHandler }

func (l leveled) Verbosity(level int) {
	l.GlogHandler.Verbosity(gethlog.FromLegacyLevel(min(max(level, 0), 5)))
}

func (l *invocation) help(context.Context) error {
	if l.replica {
		fmt.Fprint(l.out, "A replica of a node. It needs --fleet.server and --datadir: its state and its blocks come from "+
			"the fleet.\nOptions of a genesis, of syncing and of validators are refused.\n\n")
	}
	fmt.Fprint(l.out, "USAGE:\n   opera [flags] [command] [flags] [arguments]\n\nCOMMANDS:\n")
	if err := list(l.out, actions()[1:]); err != nil {
		return err
	}
	config.Help(l.out, config.Environment{Home: os.Getenv("HOME")})
	return nil
}

// arguments refuses more or fewer words than a command takes.
func (l *invocation) arguments(least, most int) error {
	switch {
	case len(l.words) < least:
		return errors.New("This command requires an argument.")
	case most >= 0 && len(l.words) > most:
		return fmt.Errorf("too many arguments: %q", l.words[most:])
	}
	return nil
}

// options are the node's own. The error names all that is wrong with them.
func (l *invocation) options() (Options, error) {
	t := &l.Tarn
	o := Options{
		Manager: sdnotify.FromEnvironment(),
		Dir:     l.Node.DataDir, Log: l.log, Recovery: t.Recovery, ExitAge: l.Run.ExitAge, ExitEpoch: l.Run.ExitEpoch,
		MinFree: t.MinFreeDiskMB << 20,
		History: chain.HistoryOptions{OldDir: t.HistoryDir, States: t.States},
	}
	switch {
	case l.Run.Genesis != "":
		o.Genesis = &Beginning{File: l.Run.Genesis, Trust: l.Run.Trust}
	case l.Run.Fakenet.Validators != 0:
		o.Genesis = &Beginning{Validators: l.Run.Fakenet.Validators}
	}
	var errs []error
	if l.Run.Dashboard != "" {
		if err := livepage.CheckAddress(l.Run.Dashboard); err != nil {
			errs = append(errs, fmt.Errorf("--dashboard.addr: %w", err))
		}
	}
	if _, err := httpserver.ParseTrusted(t.Trusted); err != nil {
		errs = append(errs, fmt.Errorf("--http.trusted: %w", err))
	}
	if t.Engine != "" {
		var err error
		o.Engine.Kind, err = engine.ParseKind(t.Engine)
		errs = append(errs, err)
	}
	if t.MapMode != "" {
		var err error
		o.Engine.Mode, err = engine.ParseMode(t.MapMode)
		errs = append(errs, err)
	}
	o.Engine.LimitBytes, o.Engine.SeekCompaction = int64(t.LimitMB)<<20, t.SeekCompaction
	// Half of the memory is for what has changed.
	cache := int64(t.CacheMB) << 20
	o.Engine.PrivateBytes, o.Engine.OverlayBytes, o.Engine.CacheBytes = cache/2, cache/2, cache/2
	return o, errors.Join(errs...)
}

// trustedAddresses are the addresses whose clients have no share of their own. The options were looked at.
func (s *services) trustedAddresses() httpserver.Trusted {
	all, err := httpserver.ParseTrusted(s.Tarn.Trusted)
	if err != nil {
		return httpserver.Trusted{}
	}
	return all
}

// limitHeap keeps Go's heap within its share of what the machine, or the container, has. The
// engine is "" while nobody knows.
func limitHeap(kind engine.Kind) {
	m := nodeupkeep.ShareMemory(hostlimits.ReadMemory())
	if kind != "" && kind != engine.Page {
		m.Library()
	}
	m.LimitHeap()
}

// withNode opens the node, does some work with it, and closes it.
func (l *invocation) withNode(
	ctx context.Context, change func(*Options), work func(context.Context, *Node) error,
) error {
	o, err := l.options()
	if err != nil {
		return err
	}
	if change != nil {
		change(&o)
	}
	limitHeap(o.Engine.Kind)
	n, err := Open(ctx, o)
	if err != nil {
		return err
	}
	limitHeap(n.o.Engine.Kind) // the one that was found
	l.remember()
	hide := l.observed.open(n)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(n.ended, func() { cancel(n.Cause()) })
	defer stop()
	err = work(ctx, n)
	hide()
	return errors.Join(err, n.Close())
}
