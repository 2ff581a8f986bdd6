package chain_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/snapshot"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/contracts/wat"
	"tarn/internal/refdata"
)

// rsa is WAX's function.
const rsa = "verify_rsa_sha256_sig"

// waxlike are the options of a private chain of WAX's node.
func waxlike() chain.Options {
	return chain.Options{Options: execute.Options{GenesisIntrinsics: []string{rsa}}}
}

// snapshotOf writes a chain's state as a snapshot.
func snapshotOf(t *testing.T, c *chain.Chain) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	viewed(t, c, func(v *state.View) error { return snapshot.Write(f, v, c.Standing(), snapshot.Options{}) })
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// loadInto makes a chain of a snapshot on an engine.
func loadInto(t *testing.T, e namedEngine, b []byte, o chain.Options) (*chain.Chain, error) {
	t.Helper()
	c, err := chain.Open(openStore(t, e.options), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, c.Load(func(s *state.State) (consensus.Head, error) {
		r, err := snapshot.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return consensus.Head{}, err
		}
		return snapshot.Load(r, s, nil)
	})
}

// The blocks of WAX's node give the state that WAX's node wrote, to the byte.
func TestTheBlocksOfWAXReplayToItsSnapshot(t *testing.T) {
	dir, want := refdata.Path(t, "wax"), refdata.Read(t, "wax/snap_v6.bin.gz")
	for _, e := range everyEngine() {
		if got := snapshotOf(t, replayLog(t, dir, openStore(t, e.options), waxlike(), nil)); !bytes.Equal(got, want) {
			t.Errorf("%s: the snapshot has %d bytes, WAX's has %d, and they differ", e.name, len(got), len(want))
		}
	}
	if got := snapshotOf(t, replayLog(t, dir, newStore(t), chain.Options{}, nil)); bytes.Equal(got, want) {
		t.Error("a chain of Leap has the same state")
	}
}

func TestSnapshotsOfWAXAreLoadedAndWrittenAgain(t *testing.T) {
	want := refdata.Read(t, "wax/snap_v6.bin.gz")
	for _, name := range []string{"wax/snap_v2.bin.gz", "wax/snap_v6.bin.gz"} {
		c, err := loadInto(t, everyEngine()[0], refdata.Read(t, name), chain.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := snapshotOf(t, c); !bytes.Equal(got, want) {
			t.Errorf("%s comes out with %d bytes, want %d", name, len(got), len(want))
		}
	}
}

// What a new chain lets contracts import follows from its id: WAX's networks have a function
// more, and EOS has Leap's list and block 1.
func TestNewChainsOfNetworksAllowWhatTheirNodesDo(t *testing.T) {
	const eos = "aca376f206b8fc25a6ed44dbdc66547c36c6c33e3a119ffbeaef943642f0e906"
	genesis := map[string]*types.Genesis{eos: eosGenesis(t)}
	for name, id := range map[string]string{
		"wax/wax-genesis.json":         "1064487b3cd1a897ce03ae5b6a865651747e2e152090f99c1d19d44e01aea5a4",
		"wax/wax-testnet-genesis.json": "f16b1833c747c43682f4386fca9cbb327929334a762755ebec17f6f23c9b8a12",
	} {
		g, err := types.ParseGenesis(string(refdata.Read(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		genesis[id] = &g
	}
	for id, g := range genesis {
		c, err := chain.Open(newStore(t), chain.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.Genesis(g); err != nil {
			t.Fatal(err)
		}
		p, err := c.State().Protocol.Get()
		if err != nil {
			t.Fatal(err)
		}
		version, err := c.ForkVersion()
		if c.ID().String() != id || err != nil {
			t.Errorf("chain id %s, want %s, %v", c.ID(), id, err)
		}
		if id == eos {
			if len(p.Intrinsics) != 168 || slices.Contains(p.Intrinsics, rsa) || version != "" {
				t.Errorf("EOS allows %d functions and is of %q", len(p.Intrinsics), version)
			}
			if got := c.Head().ID.String(); got != "00000001405147477ab2f5f51cda427b638191c66d2c59aa392d5c2c98076cb0" {
				t.Errorf("block 1 of EOS is %s", got)
			}
		} else if len(p.Intrinsics) != 169 || !slices.Contains(p.Intrinsics, rsa) || version != "v5.0.3wax01" {
			t.Errorf("%s allows %d functions and is of %q", id, len(p.Intrinsics), version)
		}
	}
}

// eosGenesis is that of EOS's main network.
func eosGenesis(t *testing.T) *types.Genesis {
	t.Helper()
	g, err := types.ParseGenesis(`{"initial_timestamp":"2018-06-08T08:08:08.888",
		"initial_key":"EOS7EarnUhcyYqmdnPon8rm7mBCTnBoot6o7fE2WzjvEX2TdggbL3","initial_configuration":{
		"max_block_net_usage":1048576,"target_block_net_usage_pct":1000,"max_transaction_net_usage":524288,
		"base_per_transaction_net_usage":12,"net_usage_leeway":500,"context_free_discount_net_usage_num":20,
		"context_free_discount_net_usage_den":100,"max_block_cpu_usage":200000,"target_block_cpu_usage_pct":1000,
		"max_transaction_cpu_usage":150000,"min_transaction_cpu_usage":100,"max_transaction_lifetime":3600,
		"deferred_trx_expiration_window":600,"max_transaction_delay":3888000,"max_inline_action_size":4096,
		"max_inline_action_depth":4,"max_authority_depth":6}}`)
	if err != nil {
		t.Fatal(err)
	}
	return &g
}

// rsaCode is a contract that keeps what the function says of its action's data, 64 bytes from 16
// on, with a signature that is the encoding of "message" under exponent one: a row (table 1, scope
// 2, key load64(16)) whose value is 1 or 0.
func rsaCode(t *testing.T) []byte {
	t.Helper()
	hash := sha256.Sum256([]byte("message"))
	signature := "0001" + strings.Repeat("f", 16) + "003031300d060960864801650304020105000420" +
		hex.EncodeToString(hash[:])
	code, err := wat.Assemble(`(module
	  (import "env" "read_action_data" (func $read_action_data (param $p i32) (param $n i32) (result i32)))
	  (import "env" "verify_rsa_sha256_sig" (func $verify (param $a i32) (param $b i32) (param $c i32)
	    (param $d i32) (param $e i32) (param $f i32) (param $g i32) (param $h i32) (result i32)))
	  (import "env" "db_store_i64" (func $db_store_i64 (param $a i64) (param $b i64) (param $c i64) (param $d i64)
	    (param $e i32) (param $f i32) (result i32)))
	  (memory 1)
	  (data (i32.const 200) "1")
	  (data (i32.const 300) "` + signature + `")
	  (data (i32.const 600) "` + strings.Repeat("f", len(signature)) + `")
	  (func (export "apply") (param $self i64) (param $code i64) (param $action i64)
	    (drop (call $read_action_data (i32.const 16) (i32.const 64)))
	    (i32.store (i32.const 100) (call $verify (i32.const 24) (i32.const 7) (i32.const 300) (i32.const 124)
	      (i32.const 200) (i32.const 1) (i32.const 600) (i32.const 124)))
	    (drop (call $db_store_i64 (i64.const 2) (i64.const 1) (local.get $self) (i64.load (i32.const 16))
	      (i32.const 100) (i32.const 4)))))`)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// ask is an action that asks the contract about a message, under a key.
func ask(account types.Name, key byte, message string) types.Action {
	return chaintest.Action(account, types.N("ask"), account, append([]byte{key, 0, 0, 0, 0, 0, 0, 0}, message...))
}

// contractValue is what the contract kept under a key.
func contractValue(t *testing.T, c *chain.Chain, account types.Name, key uint64) string {
	t.Helper()
	_, value, found, err := c.State().Row(state.RowKey{TableKey: state.TableKey{Code: account, Scope: 2, Table: 1},
		Primary: key})
	if err != nil || !found {
		return "nothing"
	}
	return hex.EncodeToString(value)
}

// A chain whose contracts call a fork's function is followed on every engine: its blocks pushed and
// replayed, a fork taken back, its snapshot loaded.
func TestEveryEngineFollowsAChainThatCallsAForksFunction(t *testing.T) {
	m, other := makerWith(t, waxlike()), makerWith(t, waxlike())
	account := types.N("verifier")
	blocks := []*types.SignedBlock{
		block(t, m, m.CreateAccount(account), chaintest.SetCode(account, rsaCode(t))),
		block(t, m, ask(account, 1, "message"), ask(account, 2, "another")),
	}
	for _, b := range blocks {
		if err := push(t, other.Chain, b); err != nil {
			t.Fatal(err)
		}
	}
	lost := block(t, m, ask(account, 3, "message")) // a longer branch says something else under 3
	won := []*types.SignedBlock{block(t, other, ask(account, 3, "another")),
		block(t, other, ask(account, 4, "message"))}
	want := hash(t, other.Chain)
	for i, e := range everyEngine() {
		c, err := chain.Open(openStore(t, e.options), waxlike())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.Genesis(&m.Genesis); err != nil {
			t.Fatal(err)
		}
		for _, b := range slices.Concat(blocks, []*types.SignedBlock{lost}) {
			if err := push(t, c, b); err != nil {
				t.Fatalf("%s: block %d: %v", e.name, b.BlockNum(), err)
			}
		}
		if got := contractValue(t, c, account, 3); got != "01000000" {
			t.Fatalf("%s: before the fork it said %s", e.name, got)
		}
		for _, b := range won {
			if err := push(t, c, b); err != nil {
				t.Fatalf("%s: block %d of the longer branch: %v", e.name, b.BlockNum(), err)
			}
		}
		for key, want := range map[uint64]string{1: "01000000", 2: "00000000", 3: "00000000", 4: "01000000"} {
			if got := contractValue(t, c, account, key); got != want {
				t.Errorf("%s: under %d it said %s, want %s", e.name, key, got, want)
			}
		}
		if got := hash(t, c); got != want {
			t.Errorf("%s: hash %s, want %s", e.name, got, want)
		}
		// The snapshot brings the list; the options of a new chain have no say.
		again, err := loadInto(t, e, snapshotOf(t, c), chain.Options{})
		if err != nil {
			t.Fatal(err)
		}
		key := byte(10 + i)
		next := block(t, other, ask(account, key, "message"))
		if err := push(t, again, next); err != nil || contractValue(t, again, account, uint64(key)) != "01000000" {
			t.Errorf("%s: after a snapshot it said %s, %v", e.name, contractValue(t, again, account, uint64(key)), err)
		}
		won, want = append(won, next), hash(t, other.Chain)
	}
}

// makerWith makes a chain with options.
func makerWith(t *testing.T, o chain.Options) *chaintest.Maker {
	t.Helper()
	m, err := chaintest.New(newStore(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Chain.Close() })
	return m
}

// Where the state does not list the function, a contract that imports it is refused as Leap
// refuses one, and so is a block that sets it.
func TestAStateWithoutTheFunctionRefusesItsContracts(t *testing.T) {
	m, account := maker(t), types.N("verifier")
	block(t, m, m.CreateAccount(account))
	if err := m.StartBlock(); err != nil {
		t.Fatal(err)
	}
	_, err := m.Push(chaintest.SetCode(account, rsaCode(t)))
	if !exception.Is(err, exception.WasmSerializationError) ||
		!strings.Contains(err.Error(), "no mapping for imported function verify_rsa_sha256_sig") {
		t.Errorf("setcode: %v", err)
	}
	w := makerWith(t, waxlike())
	made := []*types.SignedBlock{block(t, w, w.CreateAccount(account)),
		block(t, w, chaintest.SetCode(account, rsaCode(t)))}
	c := follower(t, maker(t))
	if err := push(t, c, made[0]); err != nil {
		t.Fatal(err)
	}
	if err := push(t, c, made[1]); err == nil || !strings.Contains(err.Error(), "no mapping") {
		t.Errorf("a block that sets the contract: %v", err)
	}
}

// A state that lists functions which nobody here has is refused with their names, unless the
// operator wants it.
func TestAStateThatNeedsUnknownFunctionsIsRefused(t *testing.T) {
	st := newStore(t)
	c, err := chain.Open(st, chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	alien := chain.Options{
		Options: execute.Options{GenesisIntrinsics: []string{"send_response", "get_account_ram_usage"}}}
	c.Close()
	refusal := "this network needs get_account_ram_usage, send_response, which this program does not have"
	if c, err = chain.Open(st, alien); err != nil {
		t.Fatal(err)
	}
	g := types.DefaultGenesis()
	if err := c.Genesis(&g); err == nil || !strings.Contains(err.Error(), refusal) {
		t.Errorf("a new chain: %v", err)
	}
	c.Close()
	if _, err := chain.Open(st, chain.Options{}); err == nil || !strings.Contains(err.Error(), refusal) {
		t.Errorf("a state that exists: %v", err)
	}
	taken := chain.Options{Options: execute.Options{MissingIntrinsics: true}}
	c, err = chain.Open(st, taken)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	b := snapshotOf(t, c)
	if _, err := loadInto(t, everyEngine()[0], b, chain.Options{}); err == nil ||
		!strings.Contains(err.Error(), refusal) {
		t.Errorf("a snapshot: %v", err)
	}
	if _, err := loadInto(t, everyEngine()[0], b, taken); err != nil {
		t.Errorf("a snapshot that is wanted: %v", err)
	}
}

// A state of WAX's network that a program without WAX's function has made is refused, and an
// operator hears that genesis-intrinsic comes too late.
func TestAStateWithTheListOfAnotherProgramIsRefused(t *testing.T) {
	g, err := types.ParseGenesis(string(refdata.Read(t, "wax/wax-genesis.json")))
	if err != nil {
		t.Fatal(err)
	}
	st := newStore(t)
	c, err := chain.Open(st, chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Genesis(&g); err != nil {
		t.Fatal(err)
	}
	p, err := c.State().Protocol.Edit()
	if err != nil {
		t.Fatal(err)
	}
	p.Intrinsics = slices.DeleteFunc(slices.Clone(p.Intrinsics), func(name string) bool { return name == rsa })
	if err := errors.Join(c.State().Flush(), c.Publish(), c.Close()); err != nil {
		t.Fatal(err)
	}
	if c, err = chain.Open(st, chain.Options{}); err == nil ||
		!strings.Contains(err.Error(), "may import verify_rsa_sha256_sig, and the state does not list it") {
		t.Errorf("it opens: %v", err)
	}
	if err == nil {
		c.Close()
	}
	var log bytes.Buffer
	leap := newStore(t)
	open := func(more ...string) *chain.Chain {
		c, err := chain.Open(leap, chain.Options{Options: execute.Options{Log: slog.New(slog.NewTextHandler(&log, nil)),
			GenesisIntrinsics: more}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c, g = open(), types.DefaultGenesis()
	if err := errors.Join(c.Genesis(&g), c.Close()); err != nil {
		t.Fatal(err)
	}
	open(rsa).Close()
	if !strings.Contains(log.String(), "genesis-intrinsic has no effect on a state that exists") {
		t.Errorf("the log says %q", log.String())
	}
}
