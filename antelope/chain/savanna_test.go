package chain_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/serial"
	"tarn/antelope/snapshot"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

// springDigests are finality digests of Spring's chain, by block: the genesis block's, one before
// finalizers changed and one after.
var springDigests = map[uint32]string{
	4:  "f6da76175903dc61ac72c082ad3df94206ccfdcbafaab92364d7db1d8a630145",
	8:  "2d264561700ac32c2b5c935671652fbd156ff1e2763b2022c18ba8d28d365999",
	9:  "e11ec0879fe791c6f0ddf651d22769819898d1e290aca7d2dd8a5444dc1d6420",
	16: "af638e6a88590573dd3f8ec79107a4688450398d6877024c10eb4e3e228a55a6",
}

// A chain that Spring made is replayed from its genesis through the change of rules: what its
// headers commit to, the roots of what earlier blocks did, is what comes out here.
func TestAChainOfSpringGoesOverToSavanna(t *testing.T) {
	dir := refdata.Path(t, "savanna/consensus_blockchain")
	for _, e := range everyEngine() {
		t.Run(e.name, func(t *testing.T) {
			for _, all := range []bool{false, true} {
				seen := 0
				var log bytes.Buffer
				replayLog(t, dir, openStore(t, e.options), chain.Options{
					Options: execute.Options{ForceAllChecks: all, Log: slog.New(slog.NewTextHandler(&log, nil))}},
					func(c *chain.Chain) {
						h := c.Head()
						if proper := h.BlockNum >= 6; h.IsProper() != proper {
							t.Errorf("block %d is proper: %t", h.BlockNum, h.IsProper())
						}
						want, known := springDigests[h.BlockNum]
						if !known {
							return
						}
						if seen++; h.Finality.Digest().String() != want {
							t.Errorf("block %d has the finality digest %s, want %s",
								h.BlockNum, h.Finality.Digest(), want)
						}
					})
				if seen != len(springDigests) {
					t.Errorf("%d of %d blocks", seen, len(springDigests))
				}
				const change = "Transitioning to savanna, IF Genesis Block 4, IF Critical Block 5"
				if strings.Count(log.String(), change) != 1 {
					t.Errorf("%q is not once in the log: %s", change, &log)
				}
			}
		})
	}
}

// A chain goes on from a snapshot that Spring wrote in the middle of it, and writes the same one again.
func TestAChainGoesOnFromASnapshotOfSpring(t *testing.T) {
	raw := refdata.Read(t, "savanna/consensus_blockchain/snapshot.gz")
	log := refdata.Path(t, "savanna/consensus_blockchain")
	for _, e := range everyEngine() {
		t.Run(e.name, func(t *testing.T) {
			c, err := loadInto(t, e, raw, chain.Options{Options: execute.Options{ForceAllChecks: true}})
			if err != nil {
				t.Fatal(err)
			}
			if got := snapshotOf(t, c); !bytes.Equal(got, raw) {
				t.Errorf("a snapshot of %d bytes, want the %d of Spring's", len(got), len(raw))
			}
			for _, b := range blocksOf(t, log, 11) {
				if err := c.Replay(b, nil, execute.Irreversible); err != nil {
					t.Fatal(err)
				}
			}
			if got := c.Head().Finality.Digest().String(); got != springDigests[16] {
				t.Errorf("the finality digest of block %d is %s", c.Head().BlockNum, got)
			}
		})
	}
}

// The state after the last block before the proper ones is what Savanna's rules alone say of it, in the
// snapshot and in its JSON, as Spring's head is then a block of Savanna's. A chain goes on from that, and from
// what earlier releases have written, which was both rules' parts.
func TestAChainGoesOnFromTheLastBlockBeforeTheProperOnes(t *testing.T) {
	const last = 5 // block 4 is the genesis block of Savanna's rules
	dir, engine := refdata.Path(t, "savanna/consensus_blockchain"), everyEngine()[0]
	all := chain.Options{Options: execute.Options{ForceAllChecks: true}}
	var raw, both []byte
	parts := map[uint32][]string{}
	replayLog(t, dir, openStore(t, engine.options), all, func(c *chain.Chain) {
		h := c.Head()
		if h.BlockNum >= last-1 && h.BlockNum <= last+1 {
			parts[h.BlockNum] = partsOf(t, c)
		}
		if h.BlockNum == last {
			raw = snapshotOf(t, c)
			both = withOlderPart(raw, h.HeaderState)
		}
	})
	if want := map[uint32][]string{last - 1: {"bs", "bs_l"}, last: {"bs"},
		last + 1: {"bs"}}; !reflect.DeepEqual(parts, want) {
		t.Errorf("the blocks have the parts %v, want %v", parts, want)
	}
	for _, file := range [][]byte{raw, both} {
		c, err := loadInto(t, engine, file, all)
		if err != nil {
			t.Fatal(err)
		}
		if h := c.Head(); !h.PrecedesProper() || h.LIB() != last-1 || h.BlockNum != last {
			t.Errorf("block %d, whose last irreversible one is %d, before a proper one: %t",
				h.BlockNum, h.LIB(), h.PrecedesProper())
		}
		if !bytes.Equal(snapshotOf(t, c), raw) {
			t.Errorf("a snapshot of %d bytes is written as another one than that of %d bytes", len(file), len(raw))
		}
		for _, b := range blocksOf(t, dir, last+1) {
			if err := c.Replay(b, nil, execute.Irreversible); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.Head().Finality.Digest().String(); got != springDigests[16] {
			t.Errorf("the finality digest of block %d is %s", c.Head().BlockNum, got)
		}
	}
}

// A schedule that waits by the older rules may become active in transition. Proper blocks do without it: after the
// last block before them the producers are those of Savanna's rules, before a restart and after it.
func TestAfterTheLastBlockBeforeTheProperOnesProducersAreSavannas(t *testing.T) {
	m := maker(t)
	eosio, setprods, late := types.N("eosio"), types.N("setprods"), types.N("late")
	schedule := func(names ...types.Name) types.Action {
		list := serial.AppendCount(nil, len(names))
		for _, n := range names {
			list = types.LegacyProducerKey{Producer: n, Key: m.Key.Public()}.Append(list)
		}
		return chaintest.Action(eosio, setprods, eosio, list)
	}
	until := func(what string, reached func(*consensus.BlockState) bool) {
		for range 200 {
			if reached(m.Chain.Head()) {
				return
			}
			block(t, m)
		}
		t.Fatalf("%s: not within 200 blocks", what)
	}
	names := []types.Name{types.N("early1"), types.N("early2"), types.N("early3")}
	actions := []types.Action{chaintest.SetCode(eosio, chaintest.SystemCode()), m.CreateAccount(late)}
	for _, n := range names {
		actions = append(actions, m.CreateAccount(n))
	}
	block(t, m, actions...)
	block(t, m, schedule(names...))
	until("three producers", func(b *consensus.BlockState) bool { return len(b.ActiveSchedule.Producers) == len(names) })
	block(t, m, schedule(late))
	until("a schedule that waits", func(b *consensus.BlockState) bool { return b.HasPendingProducers() })
	// Three producers need more blocks than Finalise waits for.
	if err := m.Finalise(1); m.Chain.Head().Finality == nil {
		t.Fatal(err)
	}
	until("the last block before the proper ones", func(b *consensus.BlockState) bool { return b.PrecedesProper() })
	head := m.Chain.Head()
	if _, active := head.LastProduced.Get(late); head.IsProper() || !active {
		t.Fatal("the schedule that waited did not become active in transition")
	}
	stored, err := consensus.DecodeHead(m.Chain.Standing().Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []*consensus.HeaderState{head.HeaderState, stored.HeaderState} {
		if got, want := h.ActiveSchedule, &h.Finality.Proposers.Schedule; !got.Equal(want) {
			t.Errorf("the producers are those of version %d, want %d", got.Version, want.Version)
		}
	}
	block(t, m)
	if b := m.Chain.Head(); !b.IsProper() || !slices.Contains(names, b.Header.Producer) {
		t.Errorf("the next block is of %s, and proper: %t", b.Header.Producer, b.IsProper())
	}
}

// withOlderPart puts the older rules' part into a snapshot's row of the head, which has none.
func withOlderPart(raw []byte, h *consensus.HeaderState) []byte {
	const name = "eosio::chain::block_state\x00"
	start := bytes.Index(raw, []byte(name)) // behind the section's size and the number of its rows
	row := start + len(name)
	part := h.Append([]byte{1})
	size := binary.LittleEndian.Uint64(raw[start-16:]) + uint64(len(part)-1)
	return slices.Concat(binary.LittleEndian.AppendUint64(bytes.Clone(raw[:start-16]), size), raw[start-8:row],
		part, raw[row+1:])
}

// partsOf names the parts that a snapshot's row of the head has.
func partsOf(t *testing.T, c *chain.Chain) (names []string) {
	t.Helper()
	var b bytes.Buffer
	viewed(t, c, func(v *state.View) error {
		return snapshot.Export(snapshot.NewJSON(&b), v, c.Standing(), snapshot.Options{})
	})
	var all struct {
		State struct {
			Rows []map[string]json.RawMessage
		} `json:"eosio::chain::block_state"`
	}
	if err := json.Unmarshal(b.Bytes(), &all); err != nil || len(all.State.Rows) != 1 {
		t.Fatalf("%d rows, %v", len(all.State.Rows), err)
	}
	return slices.Sorted(maps.Keys(all.State.Rows[0]))
}

// blocksOf are the blocks of a log from one on.
func blocksOf(t *testing.T, dir string, from uint32) (list []*types.SignedBlock) {
	t.Helper()
	work := t.TempDir()
	if err := os.CopyFS(work, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	log, err := blocklog.Open(blocklog.Options{Dir: work})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	last, _, _ := log.Head()
	for n := from; n <= last; n++ {
		b, err := log.Read(n)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}
