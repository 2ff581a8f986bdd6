package fleettool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tarn/fleet/stream"
	"tarn/internal/exit"
)

// ErrNotEqual says that a replica has other rows than the node, or has not told.
var ErrNotEqual = errors.New("not all replicas have shown that their rows are the node's")

func verifyCommand() *cobra.Command {
	var o stream.Options
	var asJSON bool
	var wait, timeout time.Duration
	c := &cobra.Command{
		Use:   "verify --fleet-server nats://HOST:PORT",
		Short: "Have all replicas compare their rows with the node's",
		Long: `Have all replicas compare their rows with the node's.

The node that publishes reads all rows of its newest block, and each replica its own rows of the same block,
while they work. The report names each replica whose rows differ, and the tables. Such a replica begins again with
the newest snapshot, and is not ready until then.

The options that begin with fleet are those of the node and its replicas. Exit codes: 0 there is a replica,
and all have the node's rows; 1 a replica differs or did not answer in time, there is none, no node publishes, or the
servers do not answer; 2 the command line is wrong.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return fmt.Errorf("%s: %w\nusage: %s", c.CommandPath(), err, c.UseLine())
			}
			ctx, done := context.WithTimeout(c.Context(), timeout)
			defer done()
			r, err := stream.Compare(ctx, o, wait)
			if err != nil {
				return &exit.Error{Err: fmt.Errorf("%s: %w", c.CommandPath(), err), Code: 1}
			}
			if asJSON {
				err = writeJSON(c.OutOrStdout(), r)
			} else {
				err = writeComparison(c.OutOrStdout(), r)
			}
			if err == nil && !r.Equal() {
				err = &exit.Error{Err: fmt.Errorf("%s: %w", c.CommandPath(), ErrNotEqual), Code: 1}
			}
			return err
		},
	}
	connectFlags(c.Flags(), &o)
	c.Flags().DurationVar(&wait, "wait", time.Second, "how long members may take to say that they are there")
	c.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long reading all rows may take")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON for scripts")
	return c
}

// writeComparison writes the report for people.
func writeComparison(w io.Writer, c *stream.Comparison) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\n%d rows in %d tables, hash %s\n\n", point(c.Node.Block), c.Node.Rows,
		len(c.Node.Tables), c.Node.Hash)
	fmt.Fprintln(t, "member\thost\tprocess\trows")
	fmt.Fprintf(t, "node\t%s\t%d\t%d\n", c.Node.Host, c.Node.Process, c.Node.Rows)
	for i := range c.Replicas {
		v := &c.Replicas[i]
		fmt.Fprintf(t, "replica\t%s\t%d\t%s\n", v.Host, v.Process, verdict(v, c))
	}
	if len(c.Replicas) == 0 {
		fmt.Fprintln(t, "no replica answers")
	}
	return t.Flush()
}

func verdict(v *stream.Verdict, c *stream.Comparison) string {
	switch {
	case v.Failure != "":
		return "not compared: " + v.Failure
	case v.Same(&c.Node.RowsSum):
		return "the same"
	}
	return fmt.Sprintf("DIFFERENT in %s", strings.Join(v.Difference(&c.Node.RowsSum), ", "))
}
