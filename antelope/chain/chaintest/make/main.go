// Command make writes a block log with token transfers, to be replayed by this node
// and by others:
//
//	go run ./antelope/chain/chaintest/make -dir FOLDER -code eosio.token.wasm -transfers 250000
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/store/engine"
	"tarn/store/page"
)

func main() {
	dir := flag.String("dir", "", "folder for blocks.log, which must not exist")
	code := flag.String("code", "", "file of a token contract, in the interface of eosio.token")
	users := flag.Int("users", 5000, "accounts")
	transfers := flag.Int("transfers", 250_000, "transfers in all")
	each := flag.Int("each", 1, "transfers in a transaction")
	block := flag.Int("block", 700, "transfers in a block")
	flag.Parse()
	if err := write(*dir, *code, *users, *transfers, *each, *block); err != nil {
		fmt.Fprintln(os.Stderr, "make:", err)
		os.Exit(1)
	}
}

func write(dir, codeFile string, users, transfers, each, block int) (err error) {
	code, err := os.ReadFile(codeFile)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "tarn-make-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	st, err := engine.Open(work, engine.Options{Kind: engine.Page, Mode: page.Heap, LimitBytes: 8 << 30})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if _, err := os.Stat(filepath.Join(dir, "blocks.log")); err == nil {
		return fmt.Errorf("%s holds a block log", dir)
	}
	log, err := blocklog.Open(blocklog.Options{Dir: dir, BufferBytes: 1 << 20})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	m, err := chaintest.New(st, chain.Options{Blocks: log})
	if err != nil {
		return err
	}
	defer m.Chain.Close()
	if err := log.ResetGenesis(m.Genesis, m.Chain.Head().Block.Append(nil)); err != nil {
		return err
	}
	t, err := chaintest.NewToken(m, code, users)
	if err != nil {
		return err
	}
	for done := 0; done < transfers; done += block {
		if _, err := t.Transfers(block/each, each); err != nil {
			return err
		}
	}
	// What is irreversible goes to the log: one more block makes the last one so.
	for range 3 {
		if _, err := m.Block(); err != nil {
			return err
		}
	}
	head, _, _ := log.Head()
	fmt.Printf("%d blocks, %d transfers, chain id %s\n", head, transfers, m.Genesis.ChainID())
	return nil
}
