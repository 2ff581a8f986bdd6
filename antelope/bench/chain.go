package bench

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/oracle"
	"tarn/antelope/snapshot"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/store"
	"tarn/store/engine"
)

// chainFolder is a chain in a folder: a block log, and maybe a snapshot of its head.
type chainFolder struct {
	dir      string
	snapshot string
	last     uint32
	sums     []int // transactions up to each block; 0 is for no block
}

// openChain counts what is in the blocks.
func openChain(dir string) (_ *chainFolder, err error) {
	log, err := blocklog.Open(blocklog.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	c := &chainFolder{dir: dir, snapshot: filepath.Join(dir, oracle.SnapshotFile), sums: make([]int, 1)}
	c.last, _, _ = log.Head()
	for num := uint32(1); num <= c.last; num++ {
		b, err := log.Read(num)
		if err != nil {
			return nil, err
		}
		c.sums = append(c.sums, c.sums[num-1]+len(b.Transactions))
	}
	return c, nil
}

// copyLog puts the block log where a node looks for it.
func (c *chainFolder) copyLog(to string) error {
	blocks := filepath.Join(to, "blocks")
	if err := os.MkdirAll(blocks, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"blocks.log", "blocks.index"} {
		if err := copyFile(filepath.Join(c.dir, name), filepath.Join(blocks, name)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// transfers is the chain that nodeos made of the transfers, recorded once: all
// features are active, 5000 accounts have tokens.
func (b *bench) transfers() (*chainFolder, error) {
	if b.base != nil {
		return b.base, nil
	}
	c, err := b.record(oracle.Transfers(b.config.Full, 1, 8000))
	b.base = c
	return c, err
}

// record has nodeos make a chain.
func (b *bench) record(w oracle.Workload) (*chainFolder, error) {
	b.logf("recording a chain: %s", w.Doc)
	dir := b.folder("chain")
	if _, err := b.peer.Record(b.ctx, w, b.config.Seed, 4*time.Second, dir, io.Discard); err != nil {
		return nil, err
	}
	return openChain(dir)
}

// workload is one that oracle has for everybody.
func workload(name string) (oracle.Workload, error) {
	list := oracle.Workloads()
	i := slices.IndexFunc(list, func(w oracle.Workload) bool { return w.Name == name })
	if i < 0 {
		return oracle.Workload{}, errors.New("package oracle has no workload " + name)
	}
	return list[i], nil
}

// memory opens an empty store that no file stands behind until it is closed.
func (b *bench) memory() (store.Store, error) {
	mode, err := engine.ParseMode("heap")
	if err != nil {
		return nil, err
	}
	return engine.Open(b.folder("state"), engine.Options{Kind: engine.Page, Mode: mode, LimitBytes: 16 << 30})
}

// emptyBlocks makes a chain of so many of them.
func (b *bench) emptyBlocks(count int) (_ *chainFolder, err error) {
	b.logf("making a chain: %d empty blocks", count)
	dir := b.folder("chain")
	st, err := b.memory()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	log, err := blocklog.Open(blocklog.Options{Dir: dir, BufferBytes: 1 << 20})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	m, err := chaintest.New(st, chain.Options{Blocks: log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Chain.Close()) }()
	if err := log.ResetGenesis(m.Genesis, m.Chain.Head().Block.Append(nil)); err != nil {
		return nil, err
	}
	for range count {
		if _, err := m.Block(); err != nil {
			return nil, err
		}
	}
	head, _, _ := log.Head()
	return &chainFolder{dir: dir, last: head, sums: make([]int, head+1)}, nil
}

// rowBytes is the size of the rows that fill a state, of a contract's usual size.
const rowBytes = 120

// filled makes a snapshot of the head of the chain of transfers with rows of one contract in it, so that
// their values are so many bytes. Its path is for the caller to remove.
func (b *bench) filled(size int64) (path string, err error) {
	c, err := b.transfers()
	if err != nil {
		return "", err
	}
	b.logf("making a snapshot with %d MB of rows", size>>20)
	st, err := b.memory()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	features, err := feature.Builtins()
	if err != nil {
		return "", err
	}
	ch, err := chain.Open(st, chain.Options{Options: execute.Options{Features: features}})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, ch.Close()) }()
	if err := ch.Load(func(s *state.State) (*consensus.HeaderState, error) { return loadFilled(s, c.snapshot, size/rowBytes) }); err != nil {
		return "", err
	}
	if err := ch.Publish(); err != nil {
		return "", err
	}
	v, err := ch.View()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	path = b.folder("snapshot.bin")
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return path, snapshot.Write(f, v, ch.Head().HeaderState, nil)
}

// loadFilled loads a snapshot and adds rows.
func loadFilled(s *state.State, path string, rows int64) (*consensus.HeaderState, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := snapshot.FromFile(f)
	if err != nil {
		return nil, err
	}
	head, err := snapshot.Load(r, s, nil)
	if err != nil {
		return nil, err
	}
	payer := types.N("eosio")
	key := state.TableKey{Code: types.N("eosio.token"), Scope: payer, Table: types.N("filling")}
	if _, err := s.Tables.Create(key, state.ContractTable{Key: key, Payer: payer, Count: uint32(rows)}); err != nil {
		return nil, err
	}
	value := make([]byte, rowBytes)
	for i := range uint64(rows) {
		copy(value, types.N("row").String())
		value[8], value[9], value[10], value[11] = byte(i), byte(i>>8), byte(i>>16), byte(i>>24)
		if err := s.PutRow(state.RowKey{TableKey: key, Primary: i}, payer, value); err != nil {
			return nil, err
		}
	}
	return head, nil
}
