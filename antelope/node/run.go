package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tarn/antelope/config"
	"tarn/antelope/deepmind"
	"tarn/antelope/exception"
	"tarn/antelope/logging"
	"tarn/fleet/fleetnode"
	"tarn/fleet/stream"
	"tarn/internal/exit"
	"tarn/internal/hostlimits"
	"tarn/internal/sdnotify"
	"tarn/internal/tty"
	"tarn/nodeupkeep"
	"tarn/store"
	"tarn/store/engine"
)

// streams are those of the process.
type streams struct{ out, err io.Writer }

// errStopped is why a node stops that was told to.
var errStopped = errors.New("told to stop")

// invocation is one run of a node, from the command line to the exit code.
type invocation struct {
	settings
	version Version
	manager sdnotify.Manager
	cause   func(error) // ends ctx with a reason

	starting func() error // ends what answers at the API's addresses before Serve; nil for nothing
}

// run runs nodeos until it is told to stop, or its work is done. The errors that it returns have an exit code, and have
// been logged.
func run(ctx context.Context, args []string, s streams) error { return runAs(ctx, args, s, false) }

// replicaHelp stands above the options of the node, which are the replica's too.
const replicaHelp = "A replica of a node. It needs fleet-server: its state and its blocks come from the fleet.\n" +
	"Options of producers, of snapshots, of a genesis and of replays, and trace-history-debug-mode, are refused.\n\n"

// runAs runs nodeos, or a replica of one.
func runAs(ctx context.Context, args []string, s streams, replica bool) error {
	l := &invocation{version: version(), manager: sdnotify.FromEnvironment()}
	l.replica = replica
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	c, err := config.Load(args, config.Environment{Home: os.Getenv("HOME"), Dir: dir, Version: l.version.Short,
		Full: l.version.Full})
	if err != nil {
		logs := newLogs(s, false)
		if c != nil {
			err = (&settings{Config: c, logs: logs, replica: replica}).mistakes(err, l.version)
		}
		return l.end(logs.Logger(""), err)
	}
	if c.Print != "" {
		if replica && c.Bool("help") {
			c.Print = replicaHelp + c.Print
		}
		_, err := io.WriteString(s.out, c.Print)
		return err
	}
	if text := c.Text("reported-version"); text != "" {
		l.version = l.version.as(text)
	}
	l.Config, l.logs = c, newLogs(s, c.Text("log-format") == "json")
	defer l.logs.Close()
	l.log = l.logs.Logger("")
	if err := l.configureLogs(); err != nil {
		return l.end(l.log, l.mistakes(&config.Error{Text: err.Error(), Code: config.ExitOther}, l.version))
	}
	ctx, l.cause = context.WithCancelCause(ctx)
	defer l.cause(nil)
	l.stop = l.cause
	// To the very end: a log that nobody reads any more is a signal, too.
	defer l.signals(s)()
	l.introduce(true)
	err = l.live(ctx)
	l.introduce(false)
	return l.end(l.logs.Certain(), err)
}

// broken tells whether one of the streams leads nowhere any more.
func (s streams) broken() bool {
	for _, w := range [2]io.Writer{s.out, s.err} {
		f, ok := w.(*os.File)
		if !ok {
			continue
		}
		c, err := f.SyscallConn()
		if err != nil {
			return true // closed
		}
		gone := false
		err = c.Control(func(fd uintptr) {
			p := []unix.PollFd{{Fd: int32(fd)}}
			n, err := unix.Poll(p, 0)
			gone = err == nil && n > 0 && p[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0
		})
		if err != nil || gone {
			return true
		}
	}
	return false
}

// newLogs makes the logs of a process.
func newLogs(s streams, objects bool) *logging.Logs {
	return logging.New(logging.Options{
		Out: s.out, Err: s.err, Thread: "nodeos", JSON: objects, Journal: os.Getenv("JOURNAL_STREAM") != "",
		ColorOut: tty.Is(s.out), ColorErr: tty.Is(s.err),
	})
}

// configureLogs makes logging.json hold, if there is one.
func (l *invocation) configureLogs() error {
	text, err := os.ReadFile(l.LogConf)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("logging configuration: %w", err)
	}
	notices, err := l.logs.Configure(text)
	if err != nil {
		return fmt.Errorf("%s: %w", l.LogConf, err)
	}
	for _, n := range notices { // the log may be what is wrong
		l.logs.Certain().Warn(fmt.Sprintf("%s: %s", l.LogConf, n))
	}
	return nil
}

// introduce says what runs, at the start and at the end, as nodeos does.
func (l *invocation) introduce(start bool) {
	l.log.Info(fmt.Sprintf("nodeos version %s %s", l.version.Short, l.version.Full))
	if start {
		l.log.Info(fmt.Sprintf("nodeos using configuration file %s", l.File))
		l.log.Info(fmt.Sprintf("nodeos data directory is %s", l.DataDir))
	}
	l.log.Info(fmt.Sprintf("Non-default options: %s", l.Summary()))
}

// certain takes what must be seen wherever the log goes: why the node ends.
func (l *invocation) certain() *slog.Logger {
	if l.logs == nil {
		return l.log
	}
	return l.logs.Certain()
}

// end turns how a run ended into how the process ends. log takes why.
func (l *invocation) end(log *slog.Logger, err error) error {
	if err == nil {
		l.log.Info("nodeos successfully exiting")
		return nil
	}
	if errors.Is(err, errReported) {
		return exit.Said(config.ExitReported)
	}
	err = throw(err)
	text := "nodeos ends"
	if e := exception.Of(err); e != nil {
		text += " with " + e.Kind.Name
	}
	var refused *config.Error
	isRefused := errors.As(err, &refused)
	for i, line := range strings.Split(err.Error(), "\n") { // of several causes each has its own
		if i == 0 && !isRefused {
			line = text + ": " + line
		}
		log.Error(line)
	}
	if isRefused {
		return exit.Said(refused.Code)
	}
	switch {
	case errors.Is(err, store.ErrGuard):
		return nil // as nodeos: it has stopped in time
	case errors.Is(err, syscall.ENOSPC):
		return exit.Said(config.ExitOther)
	case errors.Is(err, store.ErrFull), errors.Is(err, store.ErrMemory):
		return exit.Said(config.ExitMemory)
	}
	return exit.Said(config.ExitOther)
}

// live lives as long as the node is to; that of a replica may have to begin again.
func (l *invocation) live(ctx context.Context) error {
	for _, n := range l.Notices {
		l.log.Warn(n)
	}
	if done, err := l.reports(); done {
		return err
	}
	err := l.runOnce(ctx, false)
	for (errors.Is(err, stream.ErrBeginAgain) || errors.Is(err, stream.ErrInterrupted)) && ctx.Err() == nil {
		l.log.Warn("The replica cannot follow the fleet from where it stands; it begins again with the newest snapshot",
			"reason", err)
		fleetnode.Rest(ctx)
		err = l.runOnce(ctx, true)
	}
	return err
}

// runOnce opens the node, brings it to its head, serves, and closes it. again says that its state and its blocks are
// given up first.
func (l *invocation) runOnce(ctx context.Context, again bool) (err error) {
	o, err := l.options()
	if err == nil && again { // also if the process ends before all of it is given up
		err = engine.MarkUnfinished(o.StateDir, []byte(fleetNote))
	}
	services, e := l.services(&o, l.version)
	for _, line := range services.mistakes() {
		l.log.Error(line)
	}
	if err = errors.Join(err, e); err != nil {
		return err
	}
	if l.Bool("deep-mind") {
		failed := func(err error) { l.cause(fmt.Errorf("deep-mind: %w", err)) }
		o.Chain.Hooks.Tracer = deepmind.New(l.logs.DeepMind(), deepmind.Options{Spring: l.spring(), Failed: failed})
		o.Chain.Hooks.Roots = l.spring()
	}
	memory := share(hostlimits.ReadMemory())
	for _, text := range memory.bound(&o, &services.Producer, l.Given) {
		l.log.Info(text)
	}
	memory.LimitHeap()
	if err := os.MkdirAll(l.DataDir, 0o755); err != nil {
		return err
	}
	if err := checkUnused(&o); err != nil { // or a second node on a folder would be told of a port
		return err
	}
	if services.HTTP != nil {
		if l.starting, err = Starting(ctx, services.HTTP); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, l.endStarting()) }()
	n, err := Open(ctx, o)
	if err != nil {
		if n != nil {
			err = errors.Join(err, n.Close())
		}
		return l.stopError(ctx, remedy(err))
	}
	for _, text := range l.idle(n.store.Stats()) {
		l.log.Warn(text)
	}
	err = l.serve(ctx, n, &o, services)
	return errors.Join(l.stopError(ctx, remedy(err)), l.close(n))
}

// serve runs an open node.
func (l *invocation) serve(ctx context.Context, n *Node, o *Options, services Services) error {
	// A thread that watches disks may only tell; the node stops by itself.
	watch, err := l.monitor(o)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	watching, stop := context.WithCancel(ctx)
	go func() {
		defer close(ended)
		if err := watch.Run(watching); err != nil {
			l.cause(diskFull{err})
		}
	}()
	defer func() { stop(); <-ended }()
	l.watch().Tell(l.manager.Status("replaying"))
	if err := n.Start(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if services.HTTP != nil {
		services.HTTP.DiskFull = watch.Full
	}
	if err := l.recogniseFork(n, &services); err != nil {
		return err
	}
	if err := l.endStarting(); err != nil {
		return err
	}
	l.watch().Serving()
	return n.Serve(ctx, services)
}

// recogniseFork makes a node work as those of its network, which may be Spring's, and call itself what they
// do, which may be of a fork of Leap or of Spring, unless the operator has said another version.
func (l *invocation) recogniseFork(n *Node, s *Services) error {
	if n.chain.Spring() {
		if err := l.workAsSpring(s); err != nil {
			return err
		}
	}
	text, err := n.chain.ForkVersion()
	if err != nil || text == "" || l.Text("reported-version") != "" {
		return err
	}
	v := l.version.as(text)
	l.log.Info(
		"The state has functions that Leap does not have: the node reports the version of the program that has them",
		"version", text)
	s.Version = v
	if h := s.HTTP; h != nil {
		h.Server.Server, h.API.VersionString, h.API.FullVersion = serverName(v), v.Short, v.Full
	}
	return nil
}

// endStarting ends what answers at the API's addresses while the node starts.
func (l *invocation) endStarting() error {
	stop := l.starting
	if l.starting = nil; stop == nil {
		return nil
	}
	return stop()
}

// diskFull is why a node stops that would else fill a disk. That is no failure.
type diskFull struct{ error }

// stopError is how a run ended that was told to end: not with the error that the end
// of its context made, but with what ended that.
func (l *invocation) stopError(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	var full diskFull
	switch {
	case cause == nil, err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, cause):
		return err
	case errors.As(cause, &full):
		l.certain().Error("nodeos stops: " + full.Error())
		return nil
	case errors.Is(cause, errStopped), errors.Is(cause, context.Canceled):
		return nil
	}
	return cause
}

// signals makes SIGTERM and SIGINT stop the node, however often they come, SIGPIPE
// too if it is because nobody reads what the node says, and SIGHUP read logging.json
// again. The function that it returns takes that back.
func (l *invocation) signals(said streams) func() {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGHUP)
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		stopping := false
		for {
			var s os.Signal
			select {
			case <-done:
				return
			case s = <-c:
			}
			switch {
			case s == syscall.SIGHUP:
				l.log.Info(fmt.Sprintf("Received HUP.  Reloading logging configuration from %s.", l.LogConf))
				if err := l.configureLogs(); err != nil {
					l.logs.Certain().Error("Error reloading logging.json", "error", err)
				}
			case s == syscall.SIGPIPE && (stopping || !said.broken()):
				// It is of a connection whose other end is gone, or of what is said about
				// stopping.
			case stopping:
				l.watch().Again(s)
			default:
				stopping = true
				l.log.Info(fmt.Sprintf("Received %v: stopping", s))
				l.watch().Stopping()
				l.cause(errStopped)
			}
		}
	}()
	return func() {
		close(done)
		<-gone
		signal.Stop(c)
	}
}

// close closes a node, with progress, and with the service manager's patience.
func (l *invocation) close(n *Node) error {
	if n.chain.Head() == nil {
		return n.closeFiles()
	}
	return errors.Join(l.watch().Save(n.store, n.save), n.closeFiles())
}

// watch is who hears how the node is doing.
func (l *invocation) watch() nodeupkeep.Watch {
	return nodeupkeep.Watch{Log: l.log, Manager: l.manager}
}
