// Package antelope lets `tarn bench` measure nodes of Antelope chains: it makes the chain
// that all of them are given, knows their command lines, and speaks their HTTP.
//
// It owns the chain's shape and the programs' options. It measures nothing: what it starts
// and asks is somebody else's to time.
package antelope

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/bench/record"
	"tarn/bench/suite"
	"tarn/contracts"
	"tarn/internal/hostlimits"
	"tarn/store/engine"
	"tarn/store/vfs"
)

// Shape is what a chain is made of. The same shape is the same chain, to the last byte.
type Shape struct {
	Seed      uint64
	Accounts  int // that have tokens
	Transfers int // between them
	PerBlock  int // transfers of one block; 0: usualPerBlock

	PerTransaction int // transfers of one transaction; 0: one
	Keys           int // that the accounts have; 0: one
	Empty          int // blocks without transfers, after those with them
	Rows           int // megabytes of rows of one table, besides; 0: a few
	Finalizers     int // that vote from before the transfers on, by Savanna's rules; 0: the chain has Leap's
}

const (
	usualPerBlock = 500
	usualAccounts = 500_000  // and fewer have room in the usual state
	accountBytes  = 32 << 10 // of state that an account takes while the chain is made, at most
	chainFile     = "chain.json"
	shapeVersion  = 4 // of all that is below, for the name of the folder
)

// StateBytes is about how large the state of the chain is.
func (s Shape) StateBytes() int64 {
	const account, row = 2500, 1_400_000 // bytes of an account, and of a megabyte of rows
	return account*int64(s.Accounts) + row*int64(s.Rows)
}

// more is the room that the state needs besides the usual one, in MiB, in any node.
func (s Shape) more() int {
	const account = 4 << 10 // bytes, at most
	return rowRoom*s.Rows + max(0, s.Accounts-usualAccounts)*account>>20
}

// Network is a chain of a shape, in a folder of made chains.
type Network struct {
	blocks
	shape Shape
	cache string
}

// New is the network of a chain, kept in the folder cache.
func New(cache string, s Shape) *Network {
	s.PerBlock, s.PerTransaction, s.Keys = cmp.Or(s.PerBlock, usualPerBlock), cmp.Or(s.PerTransaction, 1),
		cmp.Or(s.Keys, 1)
	name := fmt.Sprintf("antelope-%d-%d-%d-%d", shapeVersion, s.Seed, s.Accounts, s.Transfers)
	for _, unusual := range []struct {
		what       string
		got, usual int
	}{{"block", s.PerBlock, usualPerBlock}, {"transaction", s.PerTransaction, 1}, {"keys", s.Keys, 1},
		{"empty", s.Empty, 0}, {"rows", s.Rows, 0}, {"finalizers", s.Finalizers, 0}} {
		if unusual.got != unusual.usual {
			name += fmt.Sprintf("-%s-%d", unusual.what, unusual.got)
		}
	}
	return &Network{blocks: blocks{dir: filepath.Join(cache, name), more: s.more()}, shape: s, cache: cache}
}

// traffic chooses transfers between the chain's accounts.
func (n *Network) traffic(seed uint64) (*chaintest.Traffic, error) {
	t, err := chaintest.NewTraffic(n.shape.Accounts, seed)
	if err != nil {
		return nil, err
	}
	return t, t.Keyed(n.shape.Keys)
}

// Chain makes the chain, unless the folder has it whole.
func (n *Network) Chain(ctx context.Context, tell func(string)) (record.Chain, error) {
	if n.chain.SHA256 != "" {
		return n.chain, nil
	}
	about := fmt.Sprintf("%d accounts and %d transfers", n.shape.Accounts, n.shape.Transfers)
	made, err := suite.Kept{Cache: n.cache, Dir: n.dir, About: about, Found: n.readChain, Make: n.make}.Chain(ctx, tell)
	if err == nil {
		n.chain = made
	}
	return made, err
}

// readChain reads what is said of the chain in the folder, and holds its blocks against it.
func (n *Network) readChain() (c record.Chain, err error) {
	text, err := os.ReadFile(filepath.Join(n.dir, chainFile))
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("read %s: %w", filepath.Join(n.dir, chainFile), err)
	}
	sum, _, err := hashFile(filepath.Join(n.dir, blocklog.LogName))
	if err == nil && sum != c.SHA256 {
		err = errors.New("its blocks are not those that were made")
	}
	return c, err
}

func hashFile(name string) (sum string, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// make makes the chain in part/chain.
func (n *Network) make(ctx context.Context, part string) (err error) {
	inMemory, err := vfs.OS.InMemory(part)
	if err != nil {
		return err
	}
	name := "heap"
	if inMemory || n.shape.StateBytes() > hostlimits.ReadMemory().Bytes/2 { // heap would keep it twice, or has no room
		name = "mapped"
	}
	mode, err := engine.ParseMode(name)
	if err != nil {
		return err
	}
	limit := int64(1<<30) + accountBytes*int64(n.shape.Accounts) + rowRoom*int64(n.shape.Rows)<<20
	st, err := engine.Open(filepath.Join(part, "state"),
		engine.Options{Kind: engine.Page, Mode: mode, LimitBytes: limit})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	dir := filepath.Join(part, "chain")
	log, err := blocklog.Open(blocklog.Options{Dir: dir, BufferBytes: 1 << 20})
	if err != nil {
		return err
	}
	m, err := chaintest.New(st, chain.Options{Blocks: log})
	if err != nil {
		return errors.Join(err, log.Close())
	}
	err = errors.Join(n.fill(ctx, m, log), m.Chain.Close())
	head, _, _ := log.Head()
	if err := errors.Join(err, log.Close()); err != nil {
		return err
	}
	c := record.Chain{Protocol: "antelope", Seed: n.shape.Seed, ID: m.Genesis.ChainID().String(),
		Accounts:  n.shape.Accounts,
		Transfers: n.shape.Transfers, Blocks: uint64(head)}
	if c.SHA256, c.Bytes, err = hashFile(filepath.Join(dir, blocklog.LogName)); err != nil {
		return err
	}
	text, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return err
	}
	return vfs.WriteDurably(vfs.OS, filepath.Join(dir, chainFile), append(text, '\n'))
}

// fill makes the blocks.
func (n *Network) fill(ctx context.Context, m *chaintest.Maker, log *blocklog.Log) error {
	if err := log.ResetGenesis(m.Genesis, m.Chain.Head().Block.Append(nil)); err != nil {
		return err
	}
	traffic, err := n.traffic(n.shape.Seed)
	if err != nil {
		return err
	}
	if n.shape.Finalizers > 0 {
		if err := m.Finalise(n.shape.Finalizers); err != nil {
			return err
		}
	}
	token := contracts.Token()
	t, err := chaintest.NewTokenOf(m, token.Code, traffic)
	if err != nil {
		return err
	}
	if err := setABI(m, chaintest.TokenAccount, token.ABI); err != nil {
		return err
	}
	if err := fillTable(ctx, m, n.shape.Rows); err != nil {
		return fmt.Errorf("fill a table: %w", err)
	}
	for left := n.shape.Transfers; left > 0; left -= n.shape.PerBlock {
		if err := ctx.Err(); err != nil {
			return err
		}
		transactions := (min(left, n.shape.PerBlock) + n.shape.PerTransaction - 1) / n.shape.PerTransaction
		if _, err := t.Transfers(transactions, n.shape.PerTransaction); err != nil {
			return err
		}
	}
	for range n.shape.Empty + 3 { // a later block makes one irreversible, and what is goes to the log
		if _, err := m.Block(); err != nil {
			return err
		}
	}
	return nil
}
