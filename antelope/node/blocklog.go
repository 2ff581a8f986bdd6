package node

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tarn/antelope/blocklog"
	"tarn/antelope/types"
	"tarn/antelope/variant"
	"tarn/store/vfs/torntail"
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
	b := &blockLog{Command: &cobra.Command{Use: "block-log",
		Short: "Look into block logs, cut and join them (leap-util block-log)"}}
	b.PersistentFlags().StringVar(&b.tool.Dir, "blocks-dir", "blocks", "folder of the block log")
	b.addReading()
	b.addWriting()
	return group(b.Command)
}

func (b *blockLog) add(use, short string, define func(*cobra.Command), do func(*cobra.Command) error) {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		b.tool.Logger = slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
		return throw(do(c))
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
		c.Flags().StringVarP(&b.out, "output-file", "o", "", "file to write; standard output if empty")
	}, b.print)
	b.add("smoke-test", "Check that a block log is whole", func(c *cobra.Command) {
		c.Flags().Uint32Var(&b.interval, "interval", 0, "check every so many blocks; 0 for all")
	}, func(c *cobra.Command) error {
		fmt.Fprintf(c.OutOrStdout(), "\nSmoke test of blocks.log and blocks.index in directory %q\n", b.tool.Dir)
		if err := b.tool.SmokeTest(b.interval); err != nil {
			return err
		}
		_, err := fmt.Fprintln(c.OutOrStdout(), "\nno problems found")
		return err
	})
	b.add("genesis", "Print the genesis of a block log", func(c *cobra.Command) {
		c.Flags().StringVar(&b.retained, "blocks-retained-dir", "", "folder of older parts")
	}, func(c *cobra.Command) error {
		p, ok, err := b.tool.Context(b.retained)
		switch {
		case err != nil:
			return err
		case !ok:
			return fmt.Errorf("No blocks log found at '%s'.", b.tool.Dir)
		case p.Genesis == nil:
			return fmt.Errorf("Block log at '%s' does not contain a genesis state, it only has the chain-id.",
				b.tool.Dir)
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), string(p.Genesis.AppendJSON(nil)))
		return err
	})
}

func (b *blockLog) print(c *cobra.Command) (err error) {
	o := blocklog.PrintOptions{First: b.first, Array: b.array,
		Encode: func(to []byte, block *types.SignedBlock) ([]byte, error) {
			if b.plain {
				return appendLogged(to, block), nil
			}
			return variant.AppendIndented(to, appendLogged(nil, block)), nil
		}}
	if b.last != ^uint32(0) {
		o.Last = b.last
	}
	if o.After, err = b.reversible(); err != nil {
		return err
	}
	if b.out == "" {
		return b.tool.Print(c.OutOrStdout(), o)
	}
	f, err := os.Create(b.out)
	if err != nil {
		return err
	}
	return errors.Join(b.tool.Print(f, o), f.Close())
}

// appendLogged appends a block as print-log has it: with what follows from it in front.
func appendLogged(to []byte, block *types.SignedBlock) []byte {
	id := block.ID()
	_, prefix := types.RefBlock(id)
	to = fmt.Appendf(to, `{"block_num":%d,"id":"%s","ref_block_prefix":%d,`, block.BlockNum(), id, prefix)
	return append(to, block.AppendJSON(nil)[1:]...)
}

// reversible returns the blocks that follow those of the log on the longest branch;
// none while a node has them open, or where they are damaged.
func (b *blockLog) reversible() ([]*types.SignedBlock, error) {
	name := filepath.Join(b.tool.Dir, blocklog.ReversibleDir, blocklog.ReversibleName)
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	lock, err := lockBlocks(b.tool.Dir)
	if err != nil {
		b.tool.Logger.Info("Only the log is printed: its reversible blocks are in use", "reason", err)
		return nil, nil
	}
	defer lock.Close()
	r, err := blocklog.OpenReversible(blocklog.ReversibleOptions{Dir: b.tool.Dir, Logger: b.tool.Logger})
	if errors.As(err, new(*torntail.Damage)) {
		b.tool.Logger.Warn("Only the log is printed: its reversible blocks are damaged", "reason", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	known := map[types.Checksum256]*types.SignedBlock{}
	var last *types.SignedBlock
	for block, err := range r.Blocks() {
		if err != nil {
			return nil, err
		}
		if known[block.ID()] = block; last == nil || block.BlockNum() > last.BlockNum() {
			last = block
		}
	}
	logged, err := b.tool.Last()
	if err != nil {
		return nil, err
	}
	var branch []*types.SignedBlock
	for ; last != nil && last.BlockNum() > logged; last = known[last.Previous] {
		branch = append(branch, last)
	}
	slices.Reverse(branch)
	return branch, nil
}

// withLock does what changes the folder of the log, and must not meet a node that has it open.
func (b *blockLog) withLock(do func() error) error {
	return unmet([]string{b.tool.Dir}, nil, do)
}

func (b *blockLog) trim() error {
	if b.last != ^uint32(0) {
		if err := b.tool.TrimEnd(b.last); err != nil {
			return err
		}
		if err := b.dropReversible(); err != nil {
			return err
		}
	}
	if b.first != 0 {
		return b.tool.TrimFront(b.first, "")
	}
	return nil
}

// dropReversible forgets the blocks that are kept beside a log whose end was cut:
// they would bring back at the next start what was cut off.
func (b *blockLog) dropReversible() error {
	r, err := blocklog.OpenReversible(blocklog.ReversibleOptions{Dir: b.tool.Dir, Logger: b.tool.Logger, Mend: true})
	if err != nil {
		return err
	}
	return errors.Join(r.Reset(), r.Close())
}

// addWriting adds the commands that make files, or change them.
func (b *blockLog) addWriting() {
	b.add("make-index", "Make the index of a block log", func(c *cobra.Command) {
		c.Flags().StringVarP(&b.out, "output-file", "o", "", "file of the index; default blocks.index in the folder")
	}, func(*cobra.Command) error {
		if b.out != "" {
			return unmet(nil, []string{filepath.Dir(b.out)}, func() error { return b.tool.MakeIndex(b.out) })
		}
		return b.withLock(func() error { return b.tool.MakeIndex("") })
	})
	b.add("trim-blocklog", "Cut a block log at its front or its end; --first 0 leaves the front",
		b.limits, func(*cobra.Command) error {
			return b.withLock(b.trim)
		})
	b.add("extract-blocks", "Copy a range of blocks into a new log", func(c *cobra.Command) {
		b.limits(c)
		b.outDir(c)
	}, func(*cobra.Command) error {
		return unmet(nil, []string{b.out}, func() error { return b.tool.Extract(b.first, b.last, b.out) })
	})
	b.add("split-blocks", "Split a block log", func(c *cobra.Command) {
		c.Flags().Uint32Var(&b.stride, "stride", 0, "blocks in each part")
		b.outDir(c)
	}, func(*cobra.Command) error {
		return unmet(nil, []string{b.out}, func() error { return b.tool.Split(b.stride, b.out) })
	})
	// which mends indexes, too
	b.add("merge-blocks", "Join the parts of a block log", b.outDir, func(*cobra.Command) error {
		return unmet([]string{b.tool.Dir}, []string{b.out}, func() error { return b.tool.Merge(b.out) })
	})
	b.add("vacuum", "Make a pruned log an ordinary one", nil, func(c *cobra.Command) error {
		if err := b.withLock(b.tool.Vacuum); err != nil {
			return err
		}
		_, err := fmt.Fprintln(c.OutOrStdout(), "Successfully vacuumed block log")
		return err
	})
}
