package difftest

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
)

// Files of a case's folder.
const (
	ManifestFile = "manifest.json"
	SnapshotFile = "snapshot.bin"
	PushesFile   = "pushes.jsonl.gz" // what was sent, and the answers
)

// Workload is one kind of work that a node can be given.
type Workload struct {
	Name      string
	Doc       string   // one line: what it does
	Producers []string // besides eosio, who the node produces for
	Leaps     bool     // whether it needs a chain that leaves out hours to months, where time can be chosen
	Genesis   func(*types.Genesis)
	Run       func(d *Driver, until time.Time) error

	// Reached returns what a chain of the workload lacks of what it is for, where time
	// can be chosen; nil if nothing can be missing.
	Reached func(m *Manifest) error
}

// Manifest says what a case's folder holds.
type Manifest struct {
	Workload      string `json:"workload"`
	Doc           string `json:"doc"`
	Seed          uint64 `json:"seed"`
	ChainID       string `json:"chain_id"`
	HeadNum       uint32 `json:"head_block_num"` // also the last in blocks.log
	HeadID        string `json:"head_block_id"`
	IntegrityHash string `json:"integrity_hash"`
	Executed      int    `json:"transactions_accepted"`
	Refused       int    `json:"transactions_refused"`

	// Actions counts those of transactions that were accepted, by account::name, those
	// that are delayed too. Refusals counts the other transactions by their error's name.
	Actions  map[string]int `json:"actions"`
	Refusals map[string]int `json:"refusals"`

	// Receipts counts what is in the blocks, by outcome. LargestSchedule is how many
	// producers the largest schedule in them has.
	Receipts        map[string]int `json:"receipts"`
	LargestSchedule int            `json:"largest_schedule"`

	// Hashes are integrity hashes after some of the blocks, the head among them, where
	// blocks were made by nodeos' controller; there is no snapshot then.
	Hashes map[uint32]string `json:"integrity_hashes,omitempty"`
}

// ReadManifest reads that of the case in dir.
func ReadManifest(dir string) (m Manifest, err error) {
	b, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("%s: %w", filepath.Join(dir, ManifestFile), err)
	}
	return m, nil
}

// genesis of a workload: block limits high, so that work is what limits.
func genesis(w Workload, key crypto.PrivateKey) types.Genesis {
	g := types.DefaultGenesis()
	g.InitialKey = key.Public()
	g.InitialTimestamp = types.TimePoint(time.Now().Add(-10*time.Second).Unix() * 1_000_000)
	c := &g.InitialConfiguration
	c.MaxBlockNetUsage, c.MaxTransactionNetUsage = 3<<20, 2<<20
	c.MaxBlockCPUUsage, c.MaxTransactionCPUUsage = 2_000_000, 400_000
	if w.Genesis != nil {
		w.Genesis(&g)
	}
	return g
}

// Record runs a workload on a new chain for about the duration, and makes the
// folder dir of what came of it: blocks.log and blocks.index that end with the
// head, a snapshot of it, the manifest.
func (p *Peer) Record(
	ctx context.Context, w Workload, seed uint64, length time.Duration, dir string, say io.Writer,
) (*Manifest, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp("", "tarn-oracle-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(data)
	ctx, cancel := context.WithTimeout(ctx, length+5*time.Minute)
	defer cancel()

	key := NewKey(seed, "eosio")
	producers := map[types.Name]crypto.PrivateKey{system: key}
	for _, name := range w.Producers {
		producers[types.N(name)] = NewKey(seed, name)
	}
	g := genesis(w, key)
	n, err := p.Start(ctx, Config{Dir: data, Genesis: &g, Producers: producers})
	if err != nil {
		return nil, err
	}
	defer n.Kill()
	m := &Manifest{Workload: w.Name, Doc: w.Doc, Seed: seed, ChainID: g.ChainID().String()}
	if err := p.drive(ctx, n, w, m, length, dir, say); err != nil {
		b, _ := os.ReadFile(filepath.Join(data, "nodeos.log"))
		return nil, errors.Join(fmt.Errorf("workload %s, seed %d: %w", w.Name, seed, err),
			os.WriteFile(filepath.Join(dir, "nodeos.log"), b, 0o644))
	}
	if err := m.count(dir); err != nil {
		return nil, err
	}
	return m, m.write(dir)
}

func (m *Manifest) write(dir string) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ManifestFile), append(b, '\n'), 0o644)
}

// work does a workload for about so long, and writes down in dir what was sent.
func (d *Driver) work(w Workload, m *Manifest, length time.Duration, dir string) error {
	f, err := os.Create(filepath.Join(dir, PushesFile))
	if err != nil {
		return err
	}
	defer f.Close()
	zip := gzip.NewWriter(f)
	out := bufio.NewWriter(zip)
	d.Rand, d.Seed = rand.New(rand.NewPCG(m.Seed, 1)), m.Seed
	d.keys, d.pushes = map[types.Name]Signer{}, json.NewEncoder(out)
	m.Actions, m.Refusals = map[string]int{}, map[string]int{}
	d.done, d.refused = m.Actions, m.Refusals
	if d.chain, err = types.ParseChecksum256(m.ChainID); err != nil {
		return err
	}
	err = w.Run(d, d.ground.now().Add(length))
	m.Executed, m.Refused = d.ok, d.bad
	return errors.Join(err, out.Flush(), zip.Close())
}

// drive does the work on a running node and takes what is to be kept.
func (p *Peer) drive(
	ctx context.Context, n *Node, w Workload, m *Manifest, length time.Duration, dir string, say io.Writer,
) error {
	d := &Driver{Node: n, ground: &live{Node: n}, Peer: p, Say: say, ctx: ctx}
	if err := d.work(w, m, length, dir); err != nil {
		return err
	}
	return n.keep(ctx, m, dir)
}

// keep takes the hash and a snapshot of the head, lets it become irreversible,
// stops the node, and copies the block log up to that block.
func (n *Node) keep(ctx context.Context, m *Manifest, dir string) error {
	if err := n.Blocks(ctx, 2); err != nil {
		return err
	}
	if err := n.Pause(ctx); err != nil {
		return err
	}
	time.Sleep(time.Second) // the block that was being made
	head, hash, err := n.IntegrityHash(ctx)
	if err != nil {
		return err
	}
	type snapshot struct {
		head, path string
		err        error
	}
	made := make(chan snapshot, 1)
	go func() {
		var s snapshot
		s.head, s.path, s.err = n.Snapshot(ctx)
		made <- s
	}()
	for found := []string(nil); found == nil; time.Sleep(20 * time.Millisecond) {
		if err := ctx.Err(); err != nil {
			return err
		}
		found, _ = filepath.Glob(filepath.Join(n.dir, "snapshots", ".pending-snapshot-*"))
	}
	if err := n.Resume(ctx); err != nil {
		return err
	}
	s := <-made
	if s.err != nil {
		return s.err
	}
	if s.head != head {
		return fmt.Errorf("hash of block %s, snapshot of block %s", head, s.head)
	}
	id, err := types.ParseChecksum256(head)
	if err != nil {
		return err
	}
	m.HeadID, m.HeadNum, m.IntegrityHash = head, types.BlockNum(id), hash
	if err := n.AwaitHead(ctx, m.HeadNum+1, true); err != nil {
		return err
	}
	if err := n.Stop(); err != nil {
		return err
	}
	return errors.Join(copyFile(s.path, filepath.Join(dir, SnapshotFile), -1), n.copyBlocks(m.HeadNum, dir))
}

// Blocks waits for more blocks.
func (n *Node) Blocks(ctx context.Context, more uint32) error {
	i, err := n.Info(ctx)
	if err != nil {
		return err
	}
	return n.AwaitHead(ctx, i.HeadNum+more, false)
}

// copyBlocks copies the node's block log, which begins with block 1, up to block head.
func (n *Node) copyBlocks(head uint32, dir string) error {
	return copyBlocks(filepath.Join(n.dir, "blocks"), head, dir)
}

// copyBlocks copies the block log in a folder, which begins with block 1, up to block
// head.
func copyBlocks(blocks string, head uint32, dir string) error {
	index, err := os.ReadFile(filepath.Join(blocks, "blocks.index"))
	if err != nil {
		return err
	}
	end := int64(-1)
	switch {
	case len(index) < 8*int(head):
		return fmt.Errorf("blocks.index of %d bytes ends before block %d", len(index), head)
	case len(index) > 8*int(head):
		end = int64(le64(index[8*head:]))
	}
	return errors.Join(
		copyFile(filepath.Join(blocks, "blocks.log"), filepath.Join(dir, "blocks.log"), end),
		os.WriteFile(filepath.Join(dir, "blocks.index"), index[:8*head], 0o644))
}

func le64(b []byte) (v uint64) {
	for i := range 8 {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

// copyFile copies the first size bytes of a file, or all of it.
func copyFile(from, to string, size int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if size >= 0 {
		_, err = io.CopyN(out, in, size)
	} else {
		_, err = io.Copy(out, in)
	}
	return errors.Join(err, out.Close())
}
