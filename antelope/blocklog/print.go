package blocklog

import (
	"bufio"
	"io"

	"tarn/antelope/types"
)

// PrintOptions say what of a log is printed and how.
type PrintOptions struct {
	First, Last uint32 // numbers; a Last of 0 is the end
	Array       bool   // one JSON array instead of an object a line
	// Encode appends a block as a JSON object, pretty or not.
	Encode func(b []byte, block *types.SignedBlock) ([]byte, error)
	// After are blocks that follow the log's, in order: those of the fork
	// database's branch.
	After []*types.SignedBlock
}

// Last returns the number of the log's last block, 0 for a log without blocks.
func (t Tool) Last() (uint32, error) {
	t = t.settle()
	b, err := t.open(workingBase(t.Dir), false)
	if err != nil {
		return 0, err
	}
	defer b.seg.Close()
	if !b.extent.blocks {
		return 0, nil
	}
	return b.extent.head.num, nil
}

// Print writes the blocks of a log as JSON.
func (t Tool) Print(w io.Writer, o PrintOptions) (err error) {
	t = t.settle()
	b, err := t.open(workingBase(t.Dir), false)
	if err != nil {
		return err
	}
	defer b.seg.Close()
	switch {
	case !b.extent.blocks:
		return fault(Unsound, "No blocks found in block log")
	case b.extent.head.num <= 1:
		return fault(Unsound, "Only one block found in block log")
	}
	if len(o.After) > 0 && o.After[0].BlockNum() != b.extent.head.num+1 {
		return fault(Unsound, "fork_db does not start at end of block log")
	}
	if o.Last == 0 {
		o.Last = 1<<32 - 1
	}
	p := &printer{w: bufio.NewWriterSize(w, 1<<16), o: o}
	surface := t.surface("blocks printed", uint64(min(o.Last, b.extent.head.num)))
	if o.Array {
		p.text("[")
	}
	for num := uint64(max(o.First, b.first)); num <= uint64(min(o.Last, b.extent.head.num)) && p.err == nil; {
		sp, err := b.seg.read(uint32(num), min(o.Last, b.extent.head.num), b.extent.head.num, b.extent.end, aheadBytes)
		if err != nil {
			return err
		}
		for i := range len(sp.positions) - 1 {
			block, err := decodeBlock(sp.block(i))
			if err != nil {
				return err
			}
			p.block(block)
		}
		num += uint64(len(sp.positions)) - 1
		surface.at(num)
	}
	for _, block := range o.After {
		if num := block.BlockNum(); num >= o.First && num <= o.Last {
			p.block(block)
		}
	}
	if o.Array {
		p.text("]")
	}
	if p.err == nil {
		p.err = p.w.Flush()
	}
	return p.err
}

// printer writes objects until the first error.
type printer struct {
	w    *bufio.Writer
	o    PrintOptions
	buf  []byte
	some bool
	err  error
}

func (p *printer) text(s string) {
	if p.err == nil {
		_, p.err = p.w.WriteString(s)
	}
}

func (p *printer) block(b *types.SignedBlock) {
	if p.err != nil {
		return
	}
	if p.o.Array && p.some {
		p.text(",")
	}
	p.some = true
	if p.buf, p.err = p.o.Encode(p.buf[:0], b); p.err != nil {
		return
	}
	if _, p.err = p.w.Write(p.buf); !p.o.Array {
		p.text("\n")
	}
}
