// Command tarn is a blockchain node that leaves the disk alone, and its tools.
// This package wires the subcommands together and does nothing else.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"tarn/antelope/node"
	"tarn/antelope/node/devnet"
	"tarn/bench"
	"tarn/dbtool"
	opera "tarn/opera/node"
	operadevnet "tarn/opera/node/devnet"
)

func main() { os.Exit(run()) }

func run() int {
	switch name := filepath.Base(os.Args[0]); name {
	case "nodeos", "leap-util", "trace_api_util", "opera": // the programs that links stand in for
		os.Args = append([]string{"tarn", name}, os.Args[1:]...)
	}
	// A second signal ends the program at once, but for nodes, which listen themselves.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	defer stop()

	tarn := &cobra.Command{
		Use:           "tarn",
		Short:         "A blockchain node that leaves the disk alone",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	tarn.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the version and what this was built from", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "tarn version %s\n", version())
			return err
		},
	})
	own := devnet.Command()
	own.AddCommand(operadevnet.Command(version()))
	tarn.AddCommand(bench.Command(), dbtool.Command(), node.Command(), node.Tools(), node.TraceTools(), own, opera.Command(version()))
	if err := tarn.ExecuteContext(ctx); err != nil {
		// What has no text has been said in a log.
		if text := err.Error(); text != "" {
			fmt.Fprintln(os.Stderr, "tarn: "+text)
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
