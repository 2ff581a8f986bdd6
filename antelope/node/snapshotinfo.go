package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tarn/antelope/snapshot"
	"tarn/antelope/variant"
)

// snapshotInfoCommand is what spring-util has as snapshot info.
func snapshotInfoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "info snapshot", Short: "Print which block of which chain a snapshot is of", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := snapshotInfo(args[0])
			if err == nil {
				_, err = c.OutOrStdout().Write(text)
			}
			return refusing(c, err)
		},
	}
}

// snapshotInfo is what a snapshot says of itself, as JSON (Spring: snapshot_info).
func snapshotInfo(path string) (text []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := snapshot.FromFile(f)
	if err != nil {
		return nil, err
	}
	about, err := snapshot.Describe(r)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", path, err)
	}
	b := variant.AppendUint64([]byte(`{"version":`), uint64(about.Version))
	b = about.Chain.AppendJSON(append(b, `,"chain_id":`...))
	b = about.Head.ID.AppendJSON(append(b, `,"head_block_id":`...))
	b = variant.AppendUint64(append(b, `,"head_block_num":`...), uint64(about.Head.BlockNum))
	b = about.Head.Header.Timestamp.AppendJSON(append(b, `,"head_block_time":`...))
	var out bytes.Buffer
	if err := json.Indent(&out, append(b, '}'), "", "  "); err != nil {
		return nil, err
	}
	return append(out.Bytes(), '\n'), nil
}
