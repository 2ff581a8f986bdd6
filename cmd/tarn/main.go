// Command tarn is a blockchain node that leaves the disk alone, and its tools.
// This package wires signals and exit codes to the subcommands and does nothing else.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"tarn/cmd/tarn/commandtree"
)

func main() { os.Exit(run()) }

func run() int {
	program := commandtree.Program(os.Args)
	command := commandtree.Command(version())
	if program == "" {
		program = "tarn"
		os.Args = commandtree.Line(os.Args)
	} else {
		command = commandtree.Alone(command, program)
	}
	// A second signal ends the program at once, but for nodes, which listen themselves.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	defer stop()

	if err := command.ExecuteContext(ctx); err != nil {
		// What has no text has been said in a log.
		if text := err.Error(); text != "" {
			fmt.Fprintln(os.Stderr, program+": "+text)
		}
		return exitCode(err)
	}
	return 0
}

// exitCode is what the error asks for, else 2: the command line was wrong.
func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return 2
}

// version is the module's, with the commit that it was built from where the
// build knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += " " + s.Value
		}
	}
	return v + " " + info.GoVersion
}
