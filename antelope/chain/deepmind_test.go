package chain_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/crypto"
	"tarn/antelope/deepmind"
	"tarn/antelope/execute"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

// deepMindReference is the deep-mind log of nodeos' own test (Leap: unittests/
// deep_mind_tests.cpp), with its line ends.
func deepMindReference(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(refdata.Path(t, "deep-mind.log"))
	if err != nil {
		t.Fatal(err)
	}
	return linesOf(b)
}

// springReference is that of Spring's own test, of a chain that goes over to Savanna.
func springReference(t *testing.T) []string {
	t.Helper()
	return linesOf(refdata.Read(t, "savanna/deep-mind.log.gz"))
}

func linesOf(b []byte) []string {
	lines := strings.SplitAfter(string(b), "\n")
	return lines[:len(lines)-1]
}

// acceptedBlocks are the blocks that a deep-mind log tells of.
func acceptedBlocks(t *testing.T, log []string) (blocks []*types.SignedBlock) {
	t.Helper()
	for _, line := range log {
		switch f := strings.Fields(line); f[1] {
		case "ACCEPTED_BLOCK":
			blocks = append(blocks, blockIn(t, f[3], func(r *serial.Reader) bool {
				new(consensus.HeaderState).Read(r)
				return r.Bool()
			}))
		case "ACCEPTED_BLOCK_V2":
			blocks = append(blocks, blockIn(t, f[5], func(*serial.Reader) bool { return true }))
		}
	}
	if len(blocks) == 0 {
		t.Fatal("the log has no blocks")
	}
	return blocks
}

// blockIn reads the block in a hexadecimal value, behind what before reads, which tells whether
// there is one.
func blockIn(t *testing.T, text string, before func(*serial.Reader) bool) *types.SignedBlock {
	t.Helper()
	raw, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	r := serial.NewReader(raw)
	if !before(r) {
		t.Fatalf("there is no block in %s", text)
	}
	b := new(types.SignedBlock)
	b.Read(r)
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return b
}

// testerGenesis is the genesis of nodeos' tests (Leap: tester.hpp, default_genesis).
func testerGenesis(t *testing.T) *types.Genesis {
	t.Helper()
	g := types.DefaultGenesis()
	g.InitialTimestamp = chaintest.Begin
	var err error
	if g.InitialKey, err = types.ParsePublicKey("EOS5P52UyPoYL7vMiSREPvqxh6WebuMAunCMK4w53J7Gu6zmk4qyN"); err != nil {
		t.Fatal(err)
	}
	return &g
}

// openTold opens a chain with that genesis, and what it says.
func openTold(t *testing.T, o deepmind.Options) (*chain.Chain, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	o.ZeroElapsed = true
	c, err := chain.Open(newStore(t), chain.Options{Hooks: chain.Hooks{Tracer: deepmind.New(log, o), Roots: o.Spring}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Genesis(testerGenesis(t)); err != nil {
		t.Fatal(err)
	}
	if err := c.Resume(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	return c, log
}

// A node that is given the blocks of nodeos' test, a genesis first, says of them
// what nodeos said, to the byte: the test's node zeroed the times, too.
func TestNodeosSaysTheSameOfTheSameBlocks(t *testing.T) {
	want := deepMindReference(t)
	sameLines(t, toldOf(t, acceptedBlocks(t, want), deepmind.Options{}), want)
}

// toldOf is what a node says that is given blocks, a genesis first.
func toldOf(t *testing.T, blocks []*types.SignedBlock, o deepmind.Options) []string {
	t.Helper()
	c, log := openTold(t, o)
	for _, b := range blocks {
		if err := push(t, c, b); err != nil {
			t.Fatalf("block %d: %v", b.BlockNum(), err)
		}
	}
	return strings.SplitAfter(strings.TrimSuffix(log.String(), "\n"), "\n")
}

// So does a node that is to speak as Spring does, of Spring's blocks: before the change to Savanna's
// rules, within it and after it. Leap's form differs before the change, and not after it.
func TestSpringSaysTheSameOfTheSameBlocks(t *testing.T) {
	want := springReference(t)
	blocks := acceptedBlocks(t, want)
	sameLines(t, toldOf(t, blocks, deepmind.Options{Spring: true}), want)

	differ := 0
	leap := toldOf(t, blocks, deepmind.Options{})
	for i, line := range leap {
		switch kind := strings.Fields(line)[1]; {
		case strings.TrimSuffix(line, "\n") == strings.TrimSuffix(want[i], "\n"):
		case kind == "DEEP_MIND_VERSION", kind == "ACCEPTED_BLOCK":
			differ++
		default:
			t.Errorf("line %d is in Leap's form\n%sand in Spring's\n%s", i+1, line, want[i])
		}
	}
	if len(leap) != len(want) || differ != 3 { // the version, and two blocks
		t.Errorf("%d of %d lines differ from %d", differ, len(leap), len(want))
	}
}

// The producer of the test, with its key, makes the same blocks of the same
// transactions. Only the traces differ: they do not know their block yet.
func TestTheBlocksOfNodeosAreMadeAgain(t *testing.T) {
	want := deepMindReference(t)
	c, log := openTold(t, deepmind.Options{})
	key, err := crypto.NewPrivateKey(types.K1, types.Hash([]byte("eosioactive")))
	if err != nil {
		t.Fatal(err)
	}
	sign := func(d types.Checksum256) ([]types.Signature, error) {
		s, err := key.Sign(d)
		return []types.Signature{s}, err
	}
	for _, b := range acceptedBlocks(t, want) {
		h, err := consensus.NewBlockState(c.Head().HeaderState, b, chainFeatures(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.StartBlock(execute.Start{Time: b.Timestamp, Confirmed: b.Confirmed, Activations: h.Activations(),
			Status: execute.Incomplete}); err != nil {
			t.Fatal(err)
		}
		for i := range b.Transactions {
			x, err := execute.NewCandidate(b.Transactions[i].Packed, execute.Input)
			if err != nil {
				t.Fatal(err)
			}
			if errs := c.Keys().Recover(execute.Unlimited, 1, []*execute.Candidate{x}); errs != nil {
				t.Fatal(errs[0])
			}
			trace, err := c.PushTransaction(x, execute.Billing{Explicit: true, CPU: 2000})
			if err != nil || trace.Except != nil {
				t.Fatalf("transaction %s: %v %v", x.ID, err, trace.Except)
			}
		}
		made, err := c.ProduceBlock(sign, func(s types.Signature, d types.Checksum256) (types.PublicKey, error) {
			return crypto.Recover(s, d, true)
		})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(made.Block.Append(nil), b.Append(nil)) {
			t.Fatalf("block %d is another one", b.BlockNum())
		}
	}
	untraced := func(lines []string) []string {
		return slices.DeleteFunc(lines, func(s string) bool {
			return strings.HasPrefix(s, "DMLOG APPLIED_TRANSACTION")
		})
	}
	sameLines(t, untraced(strings.SplitAfter(strings.TrimSuffix(log.String(), "\n"), "\n")), untraced(want))
}

func sameLines(t *testing.T, got, want []string) {
	t.Helper()
	for i := range want {
		if i >= len(got) {
			t.Fatalf("line %d is missing:\n%s", i+1, want[i])
		}
		if strings.TrimSuffix(got[i], "\n") != strings.TrimSuffix(want[i], "\n") {
			t.Fatalf("line %d of nodeos\n%sis here\n%s", i+1, want[i], got[i])
		}
	}
	if len(got) > len(want) {
		t.Fatalf("line %d is more than nodeos says:\n%s", len(want)+1, got[len(want)])
	}
}

// Of what is only tried nothing is said; a failure is, with its trace, and a
// transaction from outside may look like the chain's own.
func TestWhatIsOnlyTriedIsNotSaid(t *testing.T) {
	var log bytes.Buffer
	m, err := chaintest.New(newStore(t),
		chain.Options{Hooks: chain.Hooks{Tracer: deepmind.New(&log, deepmind.Options{ZeroElapsed: true})}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Chain.Close() })
	if err := m.StartBlock(); err != nil {
		t.Fatal(err)
	}
	eosio := types.N("eosio")
	create, onblock := m.CreateAccount(types.N("alice")), chaintest.Action(eosio, types.N("onblock"), eosio, nil)
	said := func(kind execute.Kind, act types.Action) (kinds []string) {
		t.Helper()
		p, err := m.Sign(act)
		if err != nil {
			t.Fatal(err)
		}
		x, err := execute.NewCandidate(p, kind)
		if err != nil {
			t.Fatal(err)
		}
		x.Keys = []types.PublicKey{m.Key.Public()}
		log.Reset()
		if _, err := m.Chain.PushTransaction(x, execute.Billing{Explicit: true, CPU: 100}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(log.String()) {
			f := strings.Fields(line)
			kinds = append(kinds, f[1])
			if f[1] == "TRX_OP" && !strings.Contains(f[5], hex.EncodeToString(p.Signatures[0].Append(nil))) {
				t.Errorf("signatures are missing: %s", line)
			}
		}
		return kinds
	}
	if got := said(execute.DryRun, create); got != nil {
		t.Errorf("of a dry run is said %q", got)
	}
	want := []string{"CREATION_OP", "PERM_OP", "PERM_OP", "RLIMIT_OP", "RLIMIT_OP", "RAM_OP", "RLIMIT_OP",
		"APPLIED_TRANSACTION"}
	if got := said(execute.Input, create); !slices.Equal(got, want) {
		t.Errorf("of a new account is said %q", got)
	}
	if got := said(execute.Input, create); !slices.Equal(got, []string{"CREATION_OP", "APPLIED_TRANSACTION"}) {
		t.Errorf("of one that exists is said %q", got)
	}
	if got := said(execute.Input, onblock); !slices.Equal(got,
		[]string{"CREATION_OP", "RLIMIT_OP", "TRX_OP", "APPLIED_TRANSACTION"}) {
		t.Errorf("of onblock from outside is said %q", got)
	}
}
