package node

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/snapshot"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/nodeupkeep"
	"tarn/store/engine"
)

// Tools is what Leap has as the program leap-util: block-log, snapshot, version.
func Tools() *cobra.Command {
	c := &cobra.Command{Use: "leap-util", Short: "Tools for block logs and snapshots; replaces Leap's leap-util"}
	c.AddCommand(blockLogCommand(), snapshotCommand(), versionCommand(version()))
	return group(c)
}

// SpringTools is what Spring has as the program spring-util: what leap-util has, with finalizers' keys.
func SpringTools() *cobra.Command {
	c := &cobra.Command{Use: "spring-util",
		Short: "Tools for block logs, snapshots and finalizers' keys; replaces Spring's spring-util"}
	snapshots := snapshotCommand()
	snapshots.AddCommand(snapshotInfoCommand())
	c.AddCommand(blockLogCommand(), blsCommand(), snapshots, versionCommand(version().as(execute.Spring)))
	return group(c)
}

// group makes a command one that does nothing without one of its subcommands.
func group(c *cobra.Command) *cobra.Command {
	c.Args = cobra.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error {
		return fmt.Errorf("%s: a subcommand is required; --help lists them", c.CommandPath())
	}
	return c
}

func versionCommand(v Version) *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "Print the version"}
	for name, text := range map[string]string{"client": v.Short, "full": v.Full} {
		c.AddCommand(&cobra.Command{Use: name, Short: "Print it in this form", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				_, err := fmt.Fprintln(c.OutOrStdout(), text)
				return err
			}})
	}
	return group(c)
}

// snapshotRoom bounds the state that a snapshot is turned into, in MiB: nodeos'
// tool has the same.
const snapshotRoom = 65536

// snapshotCommand is what leap-util has as snapshot.
func snapshotCommand() *cobra.Command {
	var in, out, id string
	var room uint64
	c := &cobra.Command{Use: "snapshot", Short: "Print snapshots (leap-util snapshot)"}
	j := &cobra.Command{Use: "to-json", Short: "Write a snapshot as JSON",
		Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
			if in == "" {
				return errors.New("--input-file is required")
			}
			if out == "" {
				out = in + ".json"
			}
			log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
			if err := snapshotJSON(in, out, id, room<<20, log); err != nil {
				return err
			}
			log.Info("Completed writing snapshot: " + out)
			return nil
		}}
	j.Flags().StringVarP(&in, "input-file", "i", "", "snapshot")
	j.Flags().StringVarP(&out, "output-file", "o", "", "file to write; input-file with .json if empty")
	j.Flags().StringVar(&id, "chain-id", "", "id of the chain that the snapshot must be of; any if empty")
	j.Flags().Uint64Var(&room, "db-size", snapshotRoom, "bound (in MiB) of the state that it is read into")
	c.AddCommand(j)
	return group(c)
}

// ofChain checks whose chain's snapshot it is; an empty id is any's.
func ofChain(r *snapshot.Reader, id string) error {
	if id == "" {
		return nil
	}
	want, err := types.ParseChecksum256(id)
	if err != nil {
		return fmt.Errorf("--chain-id: %w", err)
	}
	got, err := snapshot.ChainID(r)
	if err == nil && got != want {
		err = exception.New(exception.ChainIDType,
			"chain ID in snapshot (${snapshot_chain_id}) does not match the chain ID that controller was constructed "+
				"with (${controller_chain_id})", "snapshot_chain_id", got, "controller_chain_id", want)
	}
	return err
}

// snapshotJSON reads a snapshot into a state of its own, which gives the rows of
// any version of the format as the newest has them, and writes those.
func snapshotJSON(in, out, id string, limit uint64, log *slog.Logger) (err error) {
	f, err := os.Open(in)
	if err != nil {
		return fmt.Errorf("cannot load snapshot, %s does not exist: %w", in, err)
	}
	defer f.Close()
	r, err := snapshot.FromFile(f)
	if err != nil {
		return err
	}
	if err := ofChain(r, id); err != nil {
		return fmt.Errorf("snapshot %s: %w", in, err)
	}
	dir, err := os.MkdirTemp("", "snapshot-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := engine.Open(dir, engine.Options{Kind: engine.Page, LimitBytes: int64(limit)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s, err := state.Open(db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	watch := nodeupkeep.NewProgress(log, "Loading the snapshot", progressEvery)
	defer watch.End()
	head, err := snapshot.Load(r, s, func(p snapshot.Progress) error {
		watch.Bytes(uint64(p.Bytes), uint64(r.Size()), "rows", p.Rows)
		return nil
	})
	if err != nil {
		return fmt.Errorf("load snapshot %s: %w", in, err)
	}
	if err := errors.Join(s.Flush(), db.Publish()); err != nil {
		return err
	}
	view, err := s.View()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	log.Info("Writing snapshot: " + out)
	return writeJSON(out, view, head, log)
}

// writeJSON writes a state as the JSON of a snapshot. A file that is not whole is removed.
func writeJSON(out string, view *state.View, head consensus.Head, log *slog.Logger) error {
	to, err := os.Create(out)
	if err != nil {
		return err
	}
	watch := nodeupkeep.NewProgress(log, "Writing the snapshot", progressEvery)
	defer watch.End()
	err = snapshot.Export(snapshot.NewJSON(to), view, head, snapshot.Options{Report: func(p snapshot.Progress) error {
		watch.Items(p.Rows, 0, "section", p.Section)
		return nil
	}})
	if err = errors.Join(err, to.Close()); err != nil {
		err = fmt.Errorf("write %s: %w", out, err)
		if info, lerr := os.Lstat(out); lerr == nil && info.Mode().IsRegular() { // no pipe, and no /dev/stdout
			err = errors.Join(err, os.Remove(out))
		}
	}
	return err
}
