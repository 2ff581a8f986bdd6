package difftest

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tarn/antelope/chain"
	"tarn/antelope/execute"
	"tarn/antelope/serial"
	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
	"tarn/internal/freeport"
	"tarn/store/engine"
)

// StateHistory replays the blocks of the case in dir with nodeos, in a folder that it
// makes, and returns the folder with the logs of its state history.
func (p *Peer) StateHistory(ctx context.Context, dir, work string) (string, error) {
	if err := replayFolder(dir, work); err != nil {
		return "", err
	}
	ports, err := freeport.Addresses(2)
	if err != nil {
		return "", err
	}
	out, err := os.Create(filepath.Join(work, "replay.out"))
	if err != nil {
		return "", err
	}
	args := append(replayArguments(work, ports[0]), "--plugin", "eosio::state_history_plugin",
		"--state-history-endpoint", ports[1],
		"--trace-history", "--chain-state-history", "--replay-blockchain")
	err = p.tellStart(ctx, out, filepath.Join(work, "replay.log"), args...)
	return filepath.Join(work, "state-history"), errors.Join(err, out.Close())
}

// historyLog reads the payloads of a state-history log, by block.
func historyLog(path string) (map[uint32][]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	const header = 8 + 32 + 8
	out := make(map[uint32][]byte)
	for len(b) > header+12 {
		num, size := binary.BigEndian.Uint32(b[8:]), binary.LittleEndian.Uint64(b[40:])
		if size < 12 || uint64(len(b)) < header+size+8 {
			return nil, fmt.Errorf("%s: entry of block %d has %d bytes", path, num, size)
		}
		z, err := zlib.NewReader(bytes.NewReader(b[header+12 : header+size]))
		if err != nil {
			return nil, fmt.Errorf("%s: block %d: %w", path, num, err)
		}
		if out[num], err = io.ReadAll(z); err != nil {
			return nil, fmt.Errorf("%s: block %d: %w", path, num, err)
		}
		b = b[header+size+8:]
	}
	return out, nil
}

// CompareHistory replays the blocks of the case in dir with our chain, on a store in a
// folder that it makes and removes, and compares the histories of each block with
// nodeos', which are in theirs. It returns how many blocks it compared.
func CompareHistory(dir, theirs string, e engine.Options, o chain.Options) (blocks int, err error) {
	c := &historyCompare{}
	if c.traces, err = historyLog(filepath.Join(theirs, "trace_history.log")); err != nil {
		return 0, err
	}
	if c.rows, err = historyLog(filepath.Join(theirs, "chain_state_history.log")); err != nil {
		return 0, err
	}
	work, err := os.MkdirTemp("", "tarn-oracle-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	o.Hooks.Changes, o.Hooks.Record = true, c.block
	err = c.replay(dir, filepath.Join(work, "state"), e, o)
	if err == nil && (c.blocks != len(c.rows) || c.blocks != len(c.traces)) {
		err = fmt.Errorf("%w: %d blocks here, %d with rows and %d with traces at nodeos",
			ErrDifferent, c.blocks, len(c.rows), len(c.traces))
	}
	if err != nil {
		return c.blocks, fmt.Errorf("%s: %w", dir, err)
	}
	return c.blocks, nil
}

// historyCompare holds what our chain tells of blocks against nodeos' logs.
type historyCompare struct {
	traces, rows map[uint32][]byte
	blocks       int
}

// wholeState is the block with which nodeos, which replays with an empty log, shows the
// whole state: the first one that it applies.
const wholeState = 2

func (c *historyCompare) replay(dir, folder string, e engine.Options, o chain.Options) error {
	return withChain(folder, e, o, func(x *chain.Chain) error {
		apply := replaying(context.Background(), x)
		return blocks(dir, x.Genesis, func(b *types.SignedBlock) error {
			if err := apply(b); err != nil || b.BlockNum() != wholeState {
				return err
			}
			return c.whole(x)
		})
	})
}

// whole compares the whole state.
func (c *historyCompare) whole(x *chain.Chain) error {
	if err := x.Publish(); err != nil {
		return err
	}
	v, err := x.View()
	if err != nil {
		return err
	}
	defer v.Close()
	var got bytes.Buffer
	if err := wire.WriteState(&got, v); err != nil {
		return err
	}
	if want := c.rows[wholeState]; !bytes.Equal(got.Bytes(), want) {
		return fmt.Errorf("%w: the whole state of block %d:\n%s", ErrDifferent, wholeState,
			differingRows(want, got.Bytes()))
	}
	return nil
}

func (c *historyCompare) block(x *chain.Executed) error {
	num := x.Block.BlockNum
	c.blocks++
	if num != wholeState {
		want, got := c.rows[num], wire.AppendDeltas(nil, x.Changes)
		if !bytes.Equal(got, want) {
			return fmt.Errorf("%w: rows of block %d:\n%s", ErrDifferent, num, differingRows(want, got))
		}
	}
	if handlerFailed(x.Transactions) {
		return nil
	}
	got, err := wire.AppendTraces(nil, x.Transactions, false)
	if err != nil {
		return err
	}
	if want := c.traces[num]; !bytes.Equal(got, want) {
		return fmt.Errorf("%w: traces of block %d:\nwant %x\n got %x", ErrDifferent, num, want, got)
	}
	return nil
}

// handlerFailed tells whether a block has a handler of errors that failed, which does
// nothing in this nodeos: it fails before, see the script contract.
func handlerFailed(list []execute.Transaction) bool {
	for _, x := range list {
		if x.Trace.FailedDeferred != nil && x.Trace.Except != nil {
			return true
		}
	}
	return false
}

// differingRows lists the rows of tables that differ.
func differingRows(want, got []byte) string {
	var s bytes.Buffer
	a, b := rowTexts(want), rowTexts(got)
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			fmt.Fprintf(&s, "  want %s\n   got %s\n", x, y)
		}
		if s.Len() > 4000 {
			break
		}
	}
	return s.String()
}

// rowTexts are the rows of encoded deltas, each as a line.
func rowTexts(b []byte) (list []string) {
	r := serial.NewReader(b)
	for range r.Count(1) {
		r.Varuint32()
		name := r.String()
		for range r.Count(1) {
			sign := "-"
			if r.Bool() {
				sign = "+"
			}
			row := r.Bytes()
			var first [8]byte
			copy(first[:], row[min(1, len(row)):])
			list = append(list,
				fmt.Sprintf("%s %s%s %x", name, sign, types.Name(binary.LittleEndian.Uint64(first[:])), row))
		}
	}
	return list
}
