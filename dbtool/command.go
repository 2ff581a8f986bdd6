package dbtool

import (
	"encoding/hex"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"tarn/store"
	"tarn/store/engine"
)

// Command is `tarn db` with all its subcommands. It stops cleanly when the
// context that it is executed with ends. Its errors tell their exit code through
// an ExitCode method.
func Command() *cobra.Command {
	db := &cobra.Command{
		Use:   "db",
		Short: "Look into, verify and convert state stores",
		Long: `Look into, verify and convert state stores of any engine.

A store is named by its folder: the one that holds state.tarn, or a folder
` + engine.Choice(engine.FolderNames()) + `.

Exit codes: 0 done, 1 the store, or its history, is damaged, 2 the command could not do its work,
130 interrupted.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	db.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return wrongUse(c, "%v", err) })
	db.AddCommand(infoCommand(), verifyCommand(), convertCommand(), dumpCommand(), checkpointCommand())
	return db
}

// action is a command's work; its error is given an exit code and a remedy. A page
// that the disk cannot serve when a row in the mapping is read is such an error,
// too.
func action(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		defer func(old bool) {
			debug.SetPanicOnFault(old)
			if r := recover(); r != nil {
				err = explain(repanic(args[0], r))
			}
		}(debug.SetPanicOnFault(true))
		return explain(run(cmd, args))
	}
}

// repanic passes on every panic that is no page fault.
func repanic(dir string, r any) error {
	fault, ok := r.(interface {
		error
		Addr() uintptr
	})
	if !ok {
		panic(r)
	}
	return fmt.Errorf("%s: %w: file cut short or unreadable: %w", dir, store.ErrFault, fault)
}

// folders demands so many arguments.
func folders(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		want := "one folder"
		if n == 2 {
			want = "two folders"
		}
		return wrongUse(c, "the command takes %s, and %d arguments were given", want, len(args))
	}
}

// wrongUse is an error of the command line, with how the command is to be used.
func wrongUse(c *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%s: %s\nusage: %s", c.CommandPath(), fmt.Sprintf(format, args...), c.UseLine())
}

func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON for scripts")
}

func infoCommand() *cobra.Command {
	var count bool
	cmd := &cobra.Command{
		Use:   "info DIR",
		Short: "Show engine, revisions, tables, space and the last checkpoint",
		Long: `Show a store's engine, revisions, tables, space and last checkpoint.

Works beside a running node for page stores: then only what the last checkpoint's
meta page says is shown.`,
		Args: folders(1),
	}
	asJSON := jsonFlag(cmd)
	cmd.Flags().BoolVar(&count, "count", false,
		"count the rows of tables by reading them, where the engine keeps no count")
	cmd.RunE = action(func(cmd *cobra.Command, args []string) error {
		info, err := inspect(cmd.Context(), args[0], count, newDisplay(cmd.ErrOrStderr()))
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), info)
		}
		info.print(cmd.OutOrStdout())
		return nil
	})
	return cmd
}

func checkpointCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "checkpoint DIR",
		Short: "Show the age, revision, duration and size of the last checkpoint",
		Args:  folders(1),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = action(func(cmd *cobra.Command, args []string) error {
		info, err := inspect(cmd.Context(), args[0], false, newDisplay(cmd.ErrOrStderr()))
		if err != nil {
			return err
		}
		age := Age{Path: info.Path, Engine: info.Engine, InUse: info.InUse, Checkpoint: info.Checkpoint}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), age)
		}
		age.print(cmd.OutOrStdout())
		return nil
	})
	return cmd
}

// damageListed is how many findings a JSON report lists; it counts all.
const damageListed = 10_000

func verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Read all of a store, or of a history, and check every checksum and every tree",
		Long: `Read all of a store and check every checksum and every invariant of its format.
Each piece of damage is printed as soon as it is found.

DIR may also be a folder of history, or the folder of an Opera chain (chaindata),
which has a store and a history. What a crash left at the end of a log, and the
next start mends, is no damage.`,
		Args: folders(1),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = action(func(cmd *cobra.Command, args []string) error {
		damage := []Damage{}
		v, err := verify(cmd.Context(), args[0], newDisplay(cmd.ErrOrStderr()), func(err error) {
			switch {
			case !*asJSON:
				printDamage(cmd.OutOrStdout(), err)
			case len(damage) < damageListed:
				damage = append(damage, damageOf(err))
			}
		})
		if err != nil {
			return err
		}
		if *asJSON {
			v.Damage = damage
			if v.Notices == nil {
				v.Notices = []string{}
			}
			err = writeJSON(cmd.OutOrStdout(), v)
		} else {
			for _, n := range v.Notices {
				printNotice(cmd.OutOrStdout(), n)
			}
			if v.Sound {
				v.print(cmd.OutOrStdout())
			}
		}
		if err == nil && !v.Sound {
			what := errDamaged
			if v.Engine == "" {
				what = errHistory
			}
			err = fmt.Errorf("%s: %w: %s found", v.Path, what, formatGrouped(v.Found))
		}
		return err
	})
	return cmd
}

func convertCommand() *cobra.Command {
	var kind, mode string
	var limit sizeFlag
	cmd := &cobra.Command{
		Use:   "convert SRC DST --engine ENGINE",
		Short: "Copy a store's durable state into a new store of any engine",
		Long: `Copy a store's durable state into a new store of any engine, and compare the two
row by row.

Tables keep their handles and counters. Where both stores keep undo data (page),
it is kept; where the new one does not, it gets the state at the irreversible
revision. The source is opened read-only (a Badger store after a kill is opened
once for writing first).

Until all is copied and compared, DST holds a file UNFINISHED and is not opened by
any node. An interrupted conversion goes on when the same command is run again.`,
		Args: folders(2),
	}
	asJSON := jsonFlag(cmd)
	cmd.Flags().StringVar(&kind, "engine", "", "engine of the new store: "+engine.Choice(engine.KindNames()))
	cmd.Flags().StringVar(&mode, "mode", "mapped_private", "how a page store is written: "+
		engine.Choice(engine.ModeNames())+"; it is not stored")
	cmd.Flags().Var(&limit, "limit", "how large a page store may become, such as 64G (default: the engine's)")
	cmd.RunE = action(func(cmd *cobra.Command, args []string) error {
		if kind == "" {
			return wrongUse(cmd, "the new store's engine is missing: --engine %s", engine.Choice(engine.KindNames()))
		}
		k, err := engine.ParseKind(kind)
		if err != nil {
			return err
		}
		m, err := engine.ParseMode(mode)
		if err != nil {
			return err
		}
		o := convertOptions{kind: k, mode: m, limit: int64(limit)}
		c, err := convert(cmd.Context(), args[0], args[1], o, newDisplay(cmd.ErrOrStderr()))
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), c)
		}
		c.print(cmd.OutOrStdout())
		return nil
	})
	return cmd
}

func dumpCommand() *cobra.Command {
	var o dumpOptions
	var from, to string
	cmd := &cobra.Command{
		Use:   "dump DIR",
		Short: "Print rows",
		Long: `Print rows of the durable state in key order, one a line: table, key and value in
hex, and both as text. With --format json each line is an object.`,
		Args: folders(1),
	}
	cmd.Flags().StringVar(&o.table, "table", "", "only this table")
	cmd.Flags().StringVar(&from, "from", "", "start at this key, in hex")
	cmd.Flags().StringVar(&to, "to", "", "stop before this key, in hex")
	cmd.Flags().Int64Var(&o.limit, "limit", 0, "print at most this many rows (default: all)")
	cmd.Flags().StringVar(&o.format, "format", "hex", "hex or json")
	cmd.RunE = action(func(cmd *cobra.Command, args []string) error {
		var err error
		if o.from, err = hexKey("from", from); err != nil {
			return err
		}
		if o.to, err = hexKey("to", to); err != nil {
			return err
		}
		if o.format != "hex" && o.format != "json" {
			return fmt.Errorf("unknown format %q: hex or json", o.format)
		}
		return dump(cmd.Context(), args[0], o, cmd.OutOrStdout())
	})
	return cmd
}

// hexKey reads a key from the command line, nil if it is not given.
func hexKey(flag, s string) ([]byte, error) {
	if s == "" {
		return nil, nil
	}
	key, err := hex.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("--%s %s: a key is written in hex, two digits a byte: %w", flag, s, err)
	}
	return key, nil
}
