package node

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"tarn/antelope/blocklog"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// blockLog is the block-log command with the values of its flags.
type blockLog struct {
	*cobra.Command
	tool                          blocklog.Tool
	first, last, stride, interval uint32
	out, retained                 string
	plain, array                  bool
}

// blockLogCommand is what leap-util has as block-log.
func blockLogCommand() *cobra.Command {
	b := &blockLog{Command: &cobra.Command{Use: "block-log", Short: "Look into block logs, cut and join them (leap-util block-log)"}}
	b.PersistentFlags().StringVar(&b.tool.Dir, "blocks-dir", "blocks", "folder of the block log")
	b.addReading()
	b.addWriting()
	return b.Command
}

func (b *blockLog) add(use, short string, define func(*cobra.Command), do func(*cobra.Command) error) {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		b.tool.Logger = slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
		return do(c)
	}}
	if define != nil {
		define(c)
	}
	b.AddCommand(c)
}

func (b *blockLog) limits(c *cobra.Command) {
	c.Flags().Uint32VarP(&b.first, "first", "f", 0, "first block")
	c.Flags().Uint32VarP(&b.last, "last", "l", ^uint32(0), "last block")
}

func (b *blockLog) outDir(c *cobra.Command) {
	c.Flags().StringVar(&b.out, "output-dir", "", "folder for what is made")
}

// addReading adds the commands that change nothing.
func (b *blockLog) addReading() {
	b.add("print-log", "Print blocks as JSON", func(c *cobra.Command) {
		b.limits(c)
		c.Flags().BoolVar(&b.plain, "no-pretty-print", false, "one line a block")
		c.Flags().BoolVar(&b.array, "as-json-array", false, "all blocks in one array")
	}, b.print)
	b.add("smoke-test", "Check that a block log is whole", func(c *cobra.Command) {
		c.Flags().Uint32Var(&b.interval, "interval", 0, "check every so many blocks; 0 for all")
	}, func(*cobra.Command) error { return b.tool.SmokeTest(b.interval) })
	b.add("genesis", "Print the genesis of a block log", func(c *cobra.Command) {
		c.Flags().StringVar(&b.retained, "blocks-retained-dir", "", "folder of older parts")
	}, func(c *cobra.Command) error {
		g, err := b.tool.Genesis(b.retained)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), string(g.AppendJSON(nil)))
		return err
	})
}

func (b *blockLog) print(c *cobra.Command) error {
	o := blocklog.PrintOptions{First: b.first, Array: b.array, Encode: func(to []byte, block *types.SignedBlock) ([]byte, error) {
		if b.plain {
			return block.AppendJSON(to), nil
		}
		return variant.AppendIndented(to, block.AppendJSON(nil)), nil
	}}
	if b.last != ^uint32(0) {
		o.Last = b.last
	}
	return b.tool.Print(c.OutOrStdout(), o)
}

// alone does what must not meet a node that has the folder open.
func (b *blockLog) alone(do func() error) error {
	lock, err := lockBlocks(b.tool.Dir)
	if err != nil {
		return err
	}
	return errors.Join(do(), lock.Close())
}

func (b *blockLog) trim(c *cobra.Command) error {
	if c.Flags().Changed("last") {
		if err := b.tool.TrimEnd(b.last); err != nil {
			return err
		}
	}
	if c.Flags().Changed("first") {
		return b.tool.TrimFront(b.first, "")
	}
	return nil
}

// addWriting adds the commands that make files, or change them.
func (b *blockLog) addWriting() {
	b.add("make-index", "Make the index of a block log", func(c *cobra.Command) {
		c.Flags().StringVarP(&b.out, "output-file", "o", "", "file of the index; default blocks.index in the folder")
	}, func(*cobra.Command) error { return b.tool.MakeIndex(b.out) })
	b.add("trim-blocklog", "Cut a block log at its front or its end", b.limits, func(c *cobra.Command) error {
		return b.alone(func() error { return b.trim(c) })
	})
	b.add("extract-blocks", "Copy a range of blocks into a new log", func(c *cobra.Command) {
		b.limits(c)
		b.outDir(c)
	}, func(*cobra.Command) error { return b.tool.Extract(b.first, b.last, b.out) })
	b.add("split-blocks", "Split a block log", func(c *cobra.Command) {
		c.Flags().Uint32Var(&b.stride, "stride", 0, "blocks in each part")
		b.outDir(c)
	}, func(*cobra.Command) error { return b.tool.Split(b.stride, b.out) })
	b.add("merge-blocks", "Join the parts of a block log", b.outDir, func(*cobra.Command) error { return b.tool.Merge(b.out) })
	b.add("vacuum", "Make a pruned log an ordinary one", nil, func(*cobra.Command) error { return b.alone(b.tool.Vacuum) })
}
