// Package commandtree is the tree of tarn's subcommands, and the names of the programs that links to
// it stand in for. It runs nothing.
package commandtree

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tarn/antelope/node"
	"tarn/antelope/node/devnet"
	antelopereplica "tarn/antelope/replica"
	"tarn/bench"
	"tarn/dbtool"
	"tarn/fleet/fleettool"
	opera "tarn/opera/node"
	operadevnet "tarn/opera/node/devnet"
	operareplica "tarn/opera/replica"
)

// Programs are the names under which a link to tarn is that subcommand of it.
func Programs() []string {
	return []string{"nodeos", "leap-util", "spring-util", "trace_api_util", "opera"}
}

// Program is the program whose name tarn was called under as argv, and "" where tarn itself
// is meant, or where a shell asks tarn what may come next.
func Program(argv []string) string {
	name := filepath.Base(argv[0])
	if !slices.Contains(Programs(), name) || asked(argv) {
		return ""
	}
	return name
}

// asked tells whether a shell asks what may come next.
func asked(argv []string) bool {
	return len(argv) > 1 && (argv[1] == cobra.ShellCompRequestCmd || argv[1] == cobra.ShellCompNoDescRequestCmd)
}

// Line is the command line that tarn was meant to get when it was called as argv: under the
// name of a program, a shell that asks what may come next asks tarn.
func Line(argv []string) []string {
	name := filepath.Base(argv[0])
	if !slices.Contains(Programs(), name) || !asked(argv) {
		return argv
	}
	return slices.Concat([]string{"tarn", argv[1], name}, argv[2:])
}

// Alone takes a program's command out of tarn's, so that its usage has its own name alone.
func Alone(tarn *cobra.Command, program string) *cobra.Command {
	for _, c := range tarn.Commands() {
		if c.Name() == program {
			tarn.RemoveCommand(c)
			c.SilenceUsage, c.SilenceErrors = true, true
			c.CompletionOptions.DisableDefaultCmd = true
			return c
		}
	}
	return tarn
}

// Command is tarn's. version is what it says of itself.
func Command(version string) *cobra.Command {
	tarn := &cobra.Command{
		Use:           "tarn",
		Short:         "A node for Antelope and Opera chains that writes little to the disk",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	tarn.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the version and what this was built from", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "tarn version %s\n", version)
			return err
		},
	})
	own := devnet.Command()
	own.AddCommand(operadevnet.Command(version))
	replicas := &cobra.Command{Use: "replica", Short: "Run a replica: it serves the API of a node, from what the node publishes"}
	replicas.AddCommand(node.Replica(), opera.Replica(version))
	tarn.AddCommand(replicas, fleettool.Command(exportLedgers()...), bench.Command(), dbtool.Command(), node.Command(),
		node.Tools(), node.SpringTools(),
		node.TraceTools(), node.HistoryTools(), own, opera.Command(version))
	return tarn
}

// exportLedgers are the ledgers whose blocks can be exported, by the programs whose nodes publish them.
func exportLedgers() []fleettool.Ledger {
	return []fleettool.Ledger{
		{Program: "nodeos", Ledger: antelopereplica.Exported()},
		{Program: "opera", Ledger: operareplica.Exported()},
	}
}
