package difftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"time"

	"tarn/antelope/types"
)

// RecordSteered is [Peer.Record] with blocks that nodeos' controller makes in-process
// as the seed says: the case has the integrity hash after many blocks in place of a
// snapshot. length is of a time of work in which a transaction takes some
// milliseconds, however long it takes. The same seed gives the same transactions; the
// blocks may differ, because delayed transactions are billed what nodeos measures.
func (p *Peer) RecordSteered(
	ctx context.Context, w Workload, seed uint64, length time.Duration, dir string, say io.Writer,
) (*Manifest, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "tarn-oracle-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	ctx, cancel := context.WithTimeout(ctx, 10*length+5*time.Minute)
	defer cancel()
	c, err := p.Controller(ctx, work)
	if err != nil {
		return nil, err
	}
	defer c.Kill()
	g, producers := Genesis(w, seed)
	g.InitialTimestamp = types.TimePoint(1_577_836_800+int64(seed%1e7)) * 1_000_000 // from 2020 on
	m := &Manifest{Workload: w.Name, Doc: w.Doc, Seed: seed, ChainID: g.ChainID().String()}
	s, err := c.steer(&g, seed, w.Leaps)
	if err == nil {
		for _, k := range producers {
			s.sign(k)
		}
		err = p.steer(ctx, s, w, m, length, dir, say)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("workload %s, seed %d: %w", w.Name, seed, err),
			copyFile(filepath.Join(work, "controller.log"), filepath.Join(dir, "controller.log"), -1))
	}
	if err := m.count(dir); err != nil {
		return nil, err
	}
	return m, m.write(dir)
}

// steer does the work and takes what is to be kept: the blocks up to the one that
// was the head when it was over.
func (p *Peer) steer(
	ctx context.Context, s *steered, w Workload, m *Manifest, length time.Duration, dir string, say io.Writer,
) error {
	d := &Driver{ground: s, Peer: p, Say: say, ctx: ctx}
	if err := s.begin(1, true); err != nil {
		return err
	}
	if err := d.work(w, m, length, dir); err != nil {
		return err
	}
	if err := s.settle(ctx, m); err != nil {
		return err
	}
	m.Hashes = maps.Clone(s.hashes)
	return errors.Join(s.Close(), copyBlocks(filepath.Join(s.dir, "data", "blocks"), m.HeadNum, dir))
}

// Explain makes a steered case end with a block, and lets a nodeos replay it up to
// there and write the snapshot that the case lacks, so that [Compare] can tell which
// rows differ.
func (p *Peer) Explain(ctx context.Context, dir string, block uint32) error {
	m, err := ReadManifest(dir)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "tarn-oracle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	blocks := filepath.Join(work, "blocks")
	if err := os.MkdirAll(blocks, 0o755); err != nil {
		return err
	}
	if err := copyBlocks(dir, block, blocks); err != nil {
		return err
	}
	n, err := p.Start(ctx, Config{Dir: work, Extra: []string{"--read-only-threads", "0", "--disable-replay-opts"}})
	if err != nil {
		return err
	}
	defer n.Kill()
	head, hash, err := n.IntegrityHash(ctx)
	if err != nil {
		return err
	}
	if hash != m.Hashes[block] {
		return fmt.Errorf("%s: nodeos replays block %d to %s, and made it with %s", dir, block, hash, m.Hashes[block])
	}
	path, err := n.pendingSnapshot(ctx)
	if err != nil {
		return err
	}
	m.HeadNum, m.HeadID, m.IntegrityHash = block, head, hash
	maps.DeleteFunc(m.Hashes, func(n uint32, _ string) bool { return n > block })
	return errors.Join(copyFile(path, filepath.Join(dir, SnapshotFile), -1),
		copyBlocks(blocks, block, dir), m.write(dir))
}

// pendingSnapshot makes a snapshot of the head and returns its path, without waiting
// until the head is irreversible.
func (n *Node) pendingSnapshot(ctx context.Context) (path string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answered := make(chan error, 1)
	go func() {
		_, _, err := n.Snapshot(ctx)
		answered <- err
	}()
	defer func() { cancel(); <-answered }()
	for {
		found, err := filepath.Glob(filepath.Join(n.dir, "snapshots", ".pending-snapshot-*"))
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return found[0], nil
		}
		select {
		case err := <-answered:
			answered <- err
			return "", fmt.Errorf("asking for a snapshot: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
