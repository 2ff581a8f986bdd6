package node_test

import (
	"os"
	"path/filepath"
	"testing"

	"tarn/antelope/abi"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/snapshot"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/contracts"
	"tarn/store"
	"tarn/store/engine"
)

// rowsSnapshot makes a snapshot of a chain whose token contract has a table of so many
// rows, each with a secondary key, and returns its file and the
// chain's id.
func rowsSnapshot(t *testing.T, rows int) (path string, id types.Checksum256) {
	t.Helper()
	def, err := abi.Parse(contracts.Token().ABI)
	if err != nil {
		t.Fatal(err)
	}
	a := types.SetABI{Account: chaintest.TokenAccount, ABI: def.Append(nil)}
	small := snapshotOf(t, func(st store.Store, o chain.Options) (*chain.Chain, error) {
		m, err := chaintest.New(st, o)
		if err != nil {
			return nil, err
		}
		id = m.Genesis.ChainID()
		_, err = m.Block(m.CreateAccount(chaintest.TokenAccount),
			chaintest.SetCode(chaintest.TokenAccount, contracts.Token().Code),
			chaintest.Action(types.N("eosio"), types.N("setabi"), chaintest.TokenAccount, a.Append(nil)))
		return m.Chain, err
	})
	path = snapshotOf(t, func(st store.Store, o chain.Options) (*chain.Chain, error) {
		ch, err := chain.Open(st, o)
		if err != nil {
			return nil, err
		}
		return ch, ch.Load(func(s *state.State) (consensus.Head, error) { return loadRows(s, small, rows) })
	})
	return path, id
}

// snapshotOf makes a chain in memory and returns the file of a snapshot of its head.
func snapshotOf(t *testing.T, make func(store.Store, chain.Options) (*chain.Chain, error)) string {
	t.Helper()
	mode, err := engine.ParseMode("heap")
	if err != nil {
		t.Fatal(err)
	}
	st, err := engine.Open(t.TempDir(), engine.Options{Kind: engine.Page, Mode: mode, LimitBytes: 16 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	features, err := feature.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	ch, err := make(st, chain.Options{Options: execute.Options{Features: features}})
	if err != nil {
		t.Fatal(err)
	}
	defer ch.Close()
	if err := ch.Publish(); err != nil {
		t.Fatal(err)
	}
	v, err := ch.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	f, err := os.Create(filepath.Join(t.TempDir(), "snapshot.bin"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := snapshot.Write(f, v, ch.Standing(), snapshot.Options{}); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// loadRows loads a snapshot and adds the rows.
func loadRows(s *state.State, path string, rows int) (head consensus.Head, err error) {
	f, err := os.Open(path)
	if err != nil {
		return head, err
	}
	defer f.Close()
	r, err := snapshot.FromFile(f)
	if err != nil {
		return head, err
	}
	head, err = snapshot.Load(r, s, nil)
	if err != nil {
		return head, err
	}
	key := state.TableKey{Code: chaintest.TokenAccount, Scope: chaintest.TokenAccount, Table: types.N("accounts")}
	if _, err := s.Tables.Create(key,
		state.ContractTable{Key: key, Payer: key.Code, Count: uint32(2 * rows)}); err != nil {
		return head, err
	}
	symbol, err := types.ParseSymbol("4,TOK")
	if err != nil {
		return head, err
	}
	for i := range uint64(rows) {
		value := types.Asset{Amount: int64(i), Symbol: symbol}.Append(nil)
		if err := s.PutRow(state.RowKey{TableKey: key, Primary: i << 32}, key.Code, value); err != nil {
			return head, err
		}
		index := state.IndexRow{Primary: i << 32, Payer: key.Code,
			Secondary: state.SecondaryKey{Words: [4]uint64{i * 0x9E3779B97F4A7C15}}}
		if err := s.PutIndexRow(state.Index64, key, index); err != nil {
			return head, err
		}
	}
	return head, nil
}
