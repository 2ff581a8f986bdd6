package chaintest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/serial"
	"tarn/store/engine"
	"tarn/store/page"
)

// Replay has hooks told of all blocks of the log in a folder, from its genesis on. begin, if not
// nil, gets the chain at its first block. The log is copied to the empty folder work, and the state
// lies there.
func Replay(ctx context.Context, dir, work string, hooks chain.Hooks, begin func(*chain.Chain) error) (err error) {
	raw, err := os.ReadFile(filepath.Join(dir, "blocks.log"))
	if err == nil {
		err = os.WriteFile(filepath.Join(work, "blocks.log"), raw, 0o644)
	}
	if err != nil {
		return fmt.Errorf("copy the block log in %s: %w", dir, err)
	}
	log, err := blocklog.Open(blocklog.Options{Dir: work})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	st, err := engine.Open(filepath.Join(work, "state"),
		engine.Options{Kind: engine.Page, Mode: page.Heap, LimitBytes: 64 << 20})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	c, err := chain.Open(st, chain.Options{Blocks: log, Hooks: hooks})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var p blocklog.Preamble
	p.Read(serial.NewReader(raw))
	if err := c.Genesis(p.Genesis); err != nil {
		return err
	}
	if begin != nil {
		if err := begin(c); err != nil {
			return err
		}
	}
	return c.Resume(ctx, nil, nil)
}
