package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tarn/antelope/blocklog"
	"tarn/antelope/types"
)

func TestASnapshotIsWrittenAsJSON(t *testing.T) {
	c := theChain(t)
	out := filepath.Join(t.TempDir(), "out.json")
	tool := Tools()
	tool.SetArgs([]string{"snapshot", "to-json", "-i", c.mid, "-o", out, "--db-size", "256"})
	var said bytes.Buffer
	tool.SetErr(&said)
	if err := tool.Execute(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "Completed writing snapshot: "+out) {
		t.Errorf("it ends without a word: %s", &said)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var accounts struct {
		Rows []struct{ Name string }
		Num  int `json:"num_rows"`
	}
	if err := json.Unmarshal(doc["eosio::chain::account_object"], &accounts); err != nil {
		t.Fatal(err)
	}
	if len(accounts.Rows) == 0 || accounts.Num != len(accounts.Rows) {
		t.Errorf("%d accounts of %d", len(accounts.Rows), accounts.Num)
	}

	tool.SetArgs([]string{"snapshot", "to-json", "-i", c.mid, "-o", out, "--chain-id", c.genesis.ChainID().String()})
	if err := tool.Execute(); err != nil {
		t.Fatal(err)
	}
	tool.SetArgs([]string{"snapshot", "to-json", "-i", c.mid, "-o", out + ".not",
		"--chain-id", strings.Repeat("0", 64)})
	if err := tool.Execute(); err == nil || !strings.Contains(err.Error(), "does not match the chain ID") {
		t.Errorf("another chain's id: %v", err)
	}
	tool.SetArgs([]string{"snapshot", "to-json", "-i", out, "-o", out + ".not", "--chain-id", ""})
	tool.SilenceErrors, tool.SilenceUsage = true, true
	if err := tool.Execute(); err == nil {
		t.Error("JSON was read as a snapshot")
	}
}

func TestAToolThatIsNotThereIsAnError(t *testing.T) {
	for args, want := range map[string]string{
		"": "a subcommand is required", "block-log": "a subcommand is required",
		"nonsense": "nonsense", "block-log nonsense": "nonsense", "snapshot nonsense": "nonsense",
		"version nonsense": "nonsense", "chain-state last-shutdown-state": "chain-state",
	} {
		tool := Tools()
		tool.SilenceErrors, tool.SilenceUsage = true, true
		tool.SetArgs(strings.Fields(args))
		if err := tool.Execute(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// nodeos' tool says it in these words (Leap: leap-util).
func TestALogWithoutAGenesisHasNoneToPrint(t *testing.T) {
	dir := t.TempDir()
	log, err := blocklog.Open(blocklog.Options{Dir: filepath.Join(dir, "later")})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(log.Reset(types.Hash([]byte("chain")), 5), log.Close()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"none": "No blocks log found at '",
		"later": "does not contain a genesis state, it only has the chain-id."} {
		tool := Tools()
		tool.SilenceErrors, tool.SilenceUsage = true, true
		tool.SetArgs([]string{"block-log", "genesis", "--blocks-dir", filepath.Join(dir, name)})
		if err := tool.Execute(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// printBlocks is what print-log prints of a folder.
func printBlocks(t *testing.T, dir string) (blocks []printedBlock) {
	t.Helper()
	var out bytes.Buffer
	tool := Tools()
	tool.SetOut(&out)
	tool.SetArgs([]string{"block-log", "print-log", "--as-json-array", "--blocks-dir", dir})
	if err := tool.Execute(); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &blocks); err != nil {
		t.Fatal(err)
	}
	return blocks
}

type printedBlock struct {
	Num      uint32 `json:"block_num"`
	ID       string
	Prefix   uint32 `json:"ref_block_prefix"`
	Previous string
}

// Of damaged reversible blocks the log is printed alone, and the file stays as it is.
func TestTheLogIsPrintedWhereItsReversibleBlocksAreDamaged(t *testing.T) {
	c := theChain(t)
	dir := filepath.Join(t.TempDir(), "blocks")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(c.dir, "blocks"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, blocklog.ReversibleDir, blocklog.ReversibleName)
	damaged, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged[len(damaged)/2] ^= 1
	clear(damaged[len(damaged)-1024:])
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	blocks := printBlocks(t, dir)
	if n := len(blocks); n == 0 || blocks[n-1].Num != c.logged {
		t.Errorf("%d blocks are printed, the log ends with %d", n, c.logged)
	}
	if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, damaged) {
		t.Errorf("the file was changed: %v", err)
	}
}

func TestBlocksArePrintedUpToTheHead(t *testing.T) {
	c := theChain(t)
	blocks := printBlocks(t, filepath.Join(c.dir, "blocks"))
	if len(blocks) == 0 {
		t.Fatal("no blocks")
	}
	for i, b := range blocks {
		if b.Num != uint32(i+1) || i > 0 && b.Previous != blocks[i-1].ID {
			t.Fatalf("block %d is %+v", i+1, b)
		}
	}
	_, prefix := types.RefBlock(c.final)
	if last := blocks[len(blocks)-1]; last.ID != c.final.String() || last.Num <= c.logged || last.Prefix != prefix {
		t.Errorf("the last one is %d %s, the head is %s; the log ends with %d", last.Num, last.ID, c.final, c.logged)
	}
}
