package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

// springTool runs spring-util.
func springTool(args ...string) (out, said string, err error) {
	var o, e bytes.Buffer
	tool := SpringTools()
	tool.SilenceErrors, tool.SilenceUsage = true, true
	tool.SetOut(&o)
	tool.SetErr(&e)
	tool.SetArgs(args)
	err = tool.Execute()
	return o.String(), e.String(), err
}

// lines are the values of a text's lines, by what is before the colon.
func lines(text string) map[string]string {
	m := make(map[string]string)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		m[name] = value
	}
	return m
}

// What is made is a key with its proof; the proof can be had again from the key, in a file or not.
func TestKeysOfFinalizersAreMade(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, nil, 0o644); err != nil { // as mktemp leaves it
		t.Fatal(err)
	}
	shown, _, err := springTool("bls", "create", "key", "--to-console")
	if err != nil {
		t.Fatal(err)
	}
	if said, _, err := springTool("bls", "create", "key", "-f", file); err != nil ||
		said != "saving keys to "+file+"\n" {
		t.Fatalf("%q, %v", said, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file can be read by others: %v, %v", info.Mode(), err)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if shown == string(written) {
		t.Error("two keys are the same")
	}
	for _, text := range []string{shown, string(written)} {
		made := lines(text)
		key, err := crypto.ParseBLSPrivateKey(made["Private key"])
		if err != nil {
			t.Fatal(err)
		}
		proof, err := key.Proof()
		if err != nil || made["Public key"] != key.Public().String() || made["Proof of Possession"] != proof.String() ||
			len(made) != 3 {
			t.Errorf("made %v, %v", made, err)
		}
		one := filepath.Join(dir, "one")
		want := map[string]string{"Public key": made["Public key"], "Proof of Possession": made["Proof of Possession"]}
		for _, end := range []string{"", "\n"} {
			if err := os.WriteFile(one, []byte(made["Private key"]+end), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, _, err := springTool("bls", "create", "pop", "--file", one); err != nil ||
				!reflect.DeepEqual(lines(out), want) {
				t.Errorf("from a file: %q, %v", out, err)
			}
		}
		if out, _, err := springTool("bls", "create", "pop", "--private-key", made["Private key"]); err != nil ||
			!reflect.DeepEqual(lines(out), want) {
			t.Errorf("%q, %v", out, err)
		}
	}
}

func TestSpringsToolRefusesWhatItCannotDo(t *testing.T) {
	dir := t.TempDir()
	empty, two := filepath.Join(dir, "empty"), filepath.Join(dir, "two")
	if err := errors.Join(os.WriteFile(empty, nil, 0o600), os.WriteFile(two, []byte("one\ntwo\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"bls create key":                           "--to-console",
		"bls create key --to-console -f " + two:    "--to-console",
		"bls create key -f " + dir + "/none/key":   "none/key",
		"bls create pop":                           "--private-key",
		"bls create pop --private-key x -f " + two: "--private-key",
		"bls create pop -f " + dir + "/none":       "none",
		"bls create pop -f " + empty:               "empty",
		"bls create pop -f " + two:                 "more than one line",
		"bls create pop --private-key PVT_BLS_x":   "invalid format",
		"snapshot info " + dir + "/none":           "none",
		"snapshot info " + two:                     "two",
	} {
		out, said, err := springTool(strings.Fields(args)...)
		var coded interface{ ExitCode() int }
		if !errors.As(err, &coded) || coded.ExitCode() != exitRefused || !strings.HasPrefix(said, "ERROR: ") ||
			!strings.Contains(said, want) || out != "" {
			t.Errorf("%s: %v %q %q, want %q", args, err, out, said, want)
		}
	}
	for args, want := range map[string]string{
		"": "subcommand", "bls": "subcommand", "bls create": "subcommand", "snapshot": "subcommand",
		"snapshot info": "arg", "nonsense": "nonsense",
	} {
		if _, _, err := springTool(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
	if out, _, err := springTool("version", "client"); err != nil || out != "v1.2.2\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// about is what snapshot info prints.
type about struct {
	Version uint32
	Chain   string `json:"chain_id"`
	ID      string `json:"head_block_id"`
	Num     uint32 `json:"head_block_num"`
	Time    string `json:"head_block_time"`
}

func infoOf(t *testing.T, path string) (a about) {
	t.Helper()
	out, said, err := springTool("snapshot", "info", path)
	if err != nil {
		t.Fatal(err, said)
	}
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestASnapshotSaysWhatItIsOf(t *testing.T) {
	c := theChain(t)
	got := infoOf(t, c.mid)
	id, err := types.ParseChecksum256(got.ID)
	if err != nil || got.Version != 6 || got.Chain != c.genesis.ChainID().String() ||
		got.Num != types.BlockNum(id) || got.Num < 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Spring's own snapshots say what its tool prints of them (Spring: spring_util_snapshot_info_test.py).
func TestSpringsSnapshotsSayWhatSpringPrints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snapshot.bin")
	for file, want := range map[string]about{
		"savanna/snap_v8.bin.gz": {
			8, "90d8c7436017001e64891e8b6b7eb0060baeb350048eb52d2cdb594fdbc2617d",
			"00000003ad205c959e2af857e2cc621d00a63c3df2b82d38392d5dd162b1c511", 3, "2020-01-01T00:00:01.000",
		},
	} {
		if err := os.WriteFile(path, refdata.Read(t, file), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := infoOf(t, path); got != want {
			t.Errorf("%s: %+v", file, got)
		}
	}
	if err := os.WriteFile(path, refdata.Read(t, "savanna/consensus_blockchain/snapshot.gz"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := infoOf(t, path); got.Num != 10 || got.Version != 8 || !strings.HasPrefix(got.ID, "0000000a") {
		t.Errorf("of a proper block: %+v", got)
	}
}
