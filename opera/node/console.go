package node

import (
	"context"
	"fmt"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	gethrpc "github.com/ethereum/go-ethereum/rpc"

	"tarn/opera/console"
	"tarn/opera/rpc"
)

// consoleActions are the commands that run JavaScript.
func consoleActions() []action {
	return []action{
		{"attach", "Open a JavaScript console to a running node: [ENDPOINT]", (*invocation).attach},
		{"console", "Run a node, and open a JavaScript console to it", (*invocation).console},
		{"js", "Run a node, and execute JavaScript files: FILE...", (*invocation).js},
	}
}

// attach is a console of a node that runs, at its local socket if no other endpoint is named.
func (l *invocation) attach(ctx context.Context) error {
	if err := l.arguments(0, 1); err != nil {
		return err
	}
	ctx, stop := l.typing(ctx)
	defer stop()
	endpoint := filepath.Join(l.Node.DataDir, "opera.ipc")
	if len(l.words) > 0 && l.words[0] != "" {
		endpoint = strings.TrimPrefix(strings.TrimPrefix(l.words[0], "rpc:"), "ipc:")
	}
	client, err := gethrpc.DialContext(ctx, endpoint)
	if err != nil {
		return fatal{fmt.Errorf("Unable to attach to remote opera: %w", err)}
	}
	defer client.Close()
	return l.withConsole(ctx, client, l.converse)
}

// console is a console of a node that ends with it.
func (l *invocation) console(ctx context.Context) error {
	if err := l.arguments(0, 0); err != nil {
		return err
	}
	ctx, stop := l.typing(ctx)
	defer stop()
	return l.runBeside(ctx, l.converse)
}

// js executes files beside a node that ends with them.
func (l *invocation) js(ctx context.Context) error {
	return l.runBeside(ctx, func(ctx context.Context, c *console.Console) error {
		for _, file := range l.words {
			if err := c.Execute(ctx, file); err != nil {
				return fatal{fmt.Errorf("Failed to execute %s: %w", file, err)}
			}
		}
		c.Wait(ctx)
		return nil
	})
}

// runBeside runs a node while a console works.
func (l *invocation) runBeside(ctx context.Context, work func(context.Context, *console.Console) error) error {
	return l.running(ctx, func(ctx context.Context, s *rpc.Service) error {
		client, leave, err := s.Attach()
		if err != nil {
			return fatal{fmt.Errorf("Failed to attach to the inproc opera: %w", err)}
		}
		defer leave()
		return l.withConsole(ctx, client, work)
	})
}

// typing tells whether a console asks what to do. Then Ctrl-C is for what it is at, and does
// not end the program.
func (l *invocation) typing(ctx context.Context) (context.Context, func()) {
	if l.Run.Exec != "" {
		return ctx, func() {}
	}
	return signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
}

// withConsole opens a console, loads the scripts of --preload, and has it work.
func (l *invocation) withConsole(
	ctx context.Context, client *gethrpc.Client, work func(context.Context, *console.Console) error,
) error {
	failed := func(err error) error {
		return fatal{fmt.Errorf("Failed to start the JavaScript console: %w", err)}
	}
	c, err := console.New(ctx, console.Options{
		Client: client, Out: l.out, Terminal: l.keys.terminal, Scripts: l.Run.JSPath,
		History: filepath.Join(l.Node.DataDir, "history"),
	})
	if err != nil {
		return failed(err)
	}
	defer c.Close()
	for file := range strings.SplitSeq(l.Run.Preload, ",") {
		if file = strings.TrimSpace(file); file == "" {
			continue
		}
		if err := c.Preload(ctx, file); err != nil {
			return failed(err)
		}
	}
	return work(ctx, c)
}

// converse evaluates what --exec says, or what is typed.
func (l *invocation) converse(ctx context.Context, c *console.Console) error {
	if l.Run.Exec != "" {
		c.Evaluate(ctx, l.Run.Exec)
		return nil
	}
	c.Welcome(ctx)
	return c.Interactive(ctx)
}
