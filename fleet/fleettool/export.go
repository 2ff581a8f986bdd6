package fleettool

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"tarn/fleet/parquet"
	"tarn/internal/exit"
)

// Ledger is one that a fleet's blocks can be of.
type Ledger struct {
	Program string // whose nodes publish them, as operators know it; their fleet has that name unless they say another
	parquet.Ledger
}

func exportCommand(ledgers []Ledger) *cobra.Command {
	var o parquet.Options
	var program string
	var rowGroup, held int64
	programs := make([]string, len(ledgers))
	for i, l := range ledgers {
		programs[i] = l.Program
	}
	c := &cobra.Command{
		Use:   "export --parquet FOLDER --ledger " + strings.Join(programs, "|") + " --fleet-server nats://HOST:PORT",
		Short: "Write irreversible blocks, their transactions and the rows that they changed to Parquet files",
		Long: `Write irreversible blocks, their transactions and the rows that they changed to Parquet files.

The export begins with the oldest block that the stream has, and follows until it is interrupted or has written the block
of --until. Started again with the same folder it goes on after the last complete file: what was not complete is written
again. A folder is for one chain. If the stream no longer has what follows, it ends with an error, unless --from-here says
that blocks may be missing.

Exit codes: 0 interrupted or at the end, 1 the next block is not available, the stream is damaged or of another chain, or the
files cannot be written, 2 the command line is wrong.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, l := range ledgers {
				if l.Program == program {
					o.Ledger = l.Ledger
				}
			}
			if !c.Flags().Changed("fleet-name") {
				o.Stream.Name = program
			}
			o.RowGroup, o.Held = rowGroup<<20, held<<20
			if err := o.Validate(); err != nil {
				return fmt.Errorf("%s: %w\nusage: %s", c.CommandPath(), err, c.UseLine())
			}
			o.Log = slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
			o.Stream.Log = o.Log
			if err := parquet.Run(c.Context(), o); err != nil {
				return &exit.Error{Err: fmt.Errorf("%s: %w", c.CommandPath(), err), Code: 1, Remedy: exportRemedy(err)}
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&o.Dir, "parquet", "", "folder of the files, made if it is missing")
	f.StringVar(&program, "ledger", "", "whose blocks the fleet has: "+strings.Join(programs, " or "))
	f.Uint64Var(&o.BlocksPerFile, "blocks-per-file", 10_000,
		"a file ends with each block whose number is a multiple of this")
	f.Uint64Var(&o.Until, "until", 0, "end with this block (0: follow until interrupted)")
	f.BoolVar(&o.FromHere, "from-here", false,
		"leave blocks out that the stream no longer has, and go on with those that it has")
	f.Int64Var(&rowGroup, "row-group-mb", 32, "MiB of rows that each open file holds in memory")
	f.Int64Var(&held, "memory-mb", 512, "MiB of blocks that can still be taken back")
	connectFlags(f, &o.Stream)
	name := f.Lookup("fleet-name")
	name.Usage, name.DefValue = "name of the fleet, as in the node's option; if not given, the value of --ledger", ""
	return c
}

// exportRemedy is what to do about an error.
func exportRemedy(err error) string {
	if errors.Is(err, parquet.ErrGap) {
		return "name another folder, or say --from-here to leave these blocks out"
	}
	return ""
}
