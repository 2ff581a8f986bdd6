package difftest

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/execute"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// blocks calls each with the blocks of a case, and returns its genesis.
func blocks(dir string, begin func(*types.Genesis) error, each func(*types.SignedBlock) error) error {
	index, err := os.ReadFile(filepath.Join(dir, "blocks.index"))
	if err != nil {
		return err
	}
	log, err := os.ReadFile(filepath.Join(dir, "blocks.log"))
	if err != nil {
		return err
	}
	var p blocklog.Preamble
	r := serial.NewReader(log)
	if p.Read(r); r.Err() != nil || p.Genesis == nil {
		return fmt.Errorf("%s: no genesis in blocks.log (%v)", dir, r.Err())
	}
	if err := begin(p.Genesis); err != nil {
		return err
	}
	for ; len(index) >= 8; index = index[8:] {
		at := binary.LittleEndian.Uint64(index)
		if at >= uint64(len(log)) {
			return fmt.Errorf("%s: a position of %d in %d bytes", dir, at, len(log))
		}
		var b types.SignedBlock
		r := serial.NewReader(log[at:])
		if b.Read(r); r.Err() != nil {
			return fmt.Errorf("%s: block at %d: %w", dir, at, r.Err())
		}
		if err := each(&b); err != nil {
			return err
		}
	}
	return nil
}

// replaying returns what applies the blocks of a case to a chain, from the first one on.
func replaying(ctx context.Context, c *chain.Chain) func(*types.SignedBlock) error {
	return func(b *types.SignedBlock) error {
		if b.BlockNum() == 1 {
			return c.Resume(ctx, nil, nil)
		}
		return c.Replay(b, nil, execute.Irreversible)
	}
}

// count notes what the blocks of the case in dir hold.
func (m *Manifest) count(dir string) error {
	names := [...]string{"executed", "soft_fail", "hard_fail", "delayed", "expired"}
	m.Receipts = map[string]int{}
	return blocks(dir, func(*types.Genesis) error { return nil }, func(b *types.SignedBlock) error {
		for _, t := range b.Transactions {
			name := names[min(int(t.Status), len(names)-1)]
			if t.Packed == nil {
				name += " (scheduled)"
			}
			m.Receipts[name]++
		}
		x, err := b.BlockHeader.ExtractExtensions()
		if err != nil {
			return fmt.Errorf("%s: block %d: %w", dir, b.BlockNum(), err)
		}
		if x.ScheduleChange != nil {
			m.LargestSchedule = max(m.LargestSchedule, len(x.ScheduleChange.Producers))
		}
		if b.NewProducers != nil {
			m.LargestSchedule = max(m.LargestSchedule, len(b.NewProducers.Producers))
		}
		return nil
	})
}

// Receipts counts the transactions of a case's blocks by their outcome.
func Receipts(dir string) (map[string]int, error) {
	var m Manifest
	err := m.count(dir)
	return m.Receipts, err
}
