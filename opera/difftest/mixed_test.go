package difftest

import (
	"context"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"tarn/opera/inter"
)

var mixed = flag.Int("difftest.mixed", 0,
	"rounds of work, crashes and partitions of a network of our validators and go-opera's; 0 is no such network")

// tarn builds our program, which is an opera if that is its name.
func tarn(ctx context.Context, t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "opera")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "tarn/cmd/tarn").
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// Validators of ours and of go-opera's make one chain, whoever crashes or stops on the way,
// and however the network falls apart, and nobody signs twice.
func TestAMixedNetworkAgrees(t *testing.T) {
	if *mixed == 0 {
		t.Skip("-difftest.mixed says for how many rounds")
	}
	p, _ := peer(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*mixed+3)*3*time.Minute)
	defer cancel()
	seed := *firstSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	m := mixture{random: rand.New(rand.NewPCG(seed, 0))}
	ours := tarn(ctx, t)
	dir := t.TempDir()
	var err error
	if m.Network, err = StartMixed(ctx, dir, []string{ours, ours, p.program, p.program}); err != nil {
		t.Fatal(err)
	}
	defer m.Kill()
	if t.Failed() {
		return
	}
	for round := range *mixed {
		work := m.round
		if round%2 == 1 {
			work = m.partition
		}
		if err := work(ctx); err != nil {
			t.Fatalf("round %d: %v\n%s", round, err, m.logs())
		}
	}
	blocks, err := m.agree(ctx)
	if err != nil {
		t.Fatal(err)
	}
	made, err := m.finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// One of go-opera's has the votes, and has decided what we decide by its events.
	c, err := replayRecord(t, filepath.Join(dir, "replayed"), &Record{Events: m.events(3)}, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := sameVotes(c.Chain, &m.Nodes[3].config); err != nil {
		t.Error(err)
	}
	block, epoch := c.Votes().Undecided()
	t.Logf(
		"%d blocks, %d epochs, %d transactions, %d of them sent to ours, %d crashes, %d stops, %v partitions; events "+
			"by validator: %v; block %d and epoch %d are undecided",
		blocks, c.Epoch().Epoch, m.sent, m.toOurs, m.crashes, m.stops, m.partitions, made, block, epoch)
	for id := inter.ValidatorID(1); id <= 4; id++ {
		if made[id] < 3 {
			t.Errorf("validator %d made %d events", id, made[id])
		}
	}
	if blocks < *mixed {
		t.Errorf("%d blocks in %d rounds", blocks, *mixed)
	}
}

// mixture is a network of two validators of ours, 1 and 2, and two of go-opera's.
type mixture struct {
	*Network
	random                       *rand.Rand
	sent, toOurs, crashes, stops int
	partitions                   map[string]int
}

// pay has a validator pay somebody, by way of another's node.
func (m *mixture) pay(ctx context.Context, from, node inter.ValidatorID) (common.Hash, error) {
	to := common.BigToAddress(big.NewInt(int64(1 + m.random.IntN(9))))
	hash, err := m.Transfer(ctx, int(node-1), from, to, big.NewInt(m.random.Int64N(1e18)))
	if err != nil {
		return hash, fmt.Errorf("validator %d pays by way of node %d: %w", from, node, err)
	}
	if m.sent++; node <= 2 {
		m.toOurs++
	}
	return hash, nil
}

// round has some pay others, and one node away for a while. All must have executed all when
// it is over. Transactions go to any node that stays.
func (m *mixture) round(ctx context.Context) error {
	away := inter.ValidatorID(1 + m.random.IntN(4))
	others := slices.DeleteFunc([]inter.ValidatorID{1, 2, 3, 4}, func(id inter.ValidatorID) bool { return id == away })
	var last []common.Hash
	pay := func() error {
		for from := inter.ValidatorID(1); from <= 4; from++ {
			hash, err := m.pay(ctx, from, others[m.random.IntN(3)])
			if err != nil {
				return err
			}
			last = append(last, hash)
		}
		return nil
	}
	if err := pay(); err != nil {
		return err
	}
	if m.random.IntN(2) == 0 { // the epoch ends
		d := &Deed{From: m.payers[1], To: &driverAuth, Data: call("advanceEpochs(uint256)").Number(1).Encode(),
			Gas: 900_000, Price: gwei(400)}
		if _, err := m.Do(ctx, int(others[m.random.IntN(3)]-1), d); err != nil {
			return err
		}
	}
	leave := m.Crash
	if m.random.IntN(3) == 0 {
		leave = m.Leave
		m.stops++
	} else {
		m.crashes++
	}
	time.Sleep(time.Duration(m.random.IntN(3000)) * time.Millisecond)
	if err := leave(away); err != nil {
		return fmt.Errorf("validator %d leaves: %w", away, err)
	}
	if err := pay(); err != nil {
		return err
	}
	time.Sleep(time.Duration(m.random.IntN(2000)) * time.Millisecond)
	if err := m.Return(ctx, away); err != nil {
		return fmt.Errorf("validator %d returns: %w", away, err)
	}
	return m.all(ctx, last)
}

// all waits until all nodes have executed all.
func (m *mixture) all(ctx context.Context, list []common.Hash) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, hash := range list {
		if _, err := m.Await(ctx, hash); err != nil {
			return err
		}
	}
	return nil
}

// partition has the network fall apart for a while, and has everybody pay by way of their
// own nodes meanwhile. Three make blocks without the fourth; two and two make none, for
// neither have a quorum. All must have executed all when the network is whole again.
func (m *mixture) partition(ctx context.Context) error {
	ids := []inter.ValidatorID{1, 2, 3, 4}
	first := [][]inter.ValidatorID{{1, 2}, {1, 3}, {1, 4}, {1}, {2}, {3}, {4}}[m.random.IntN(7)]
	second := slices.DeleteFunc(slices.Clone(ids), func(id inter.ValidatorID) bool {
		return slices.Contains(first, id)
	})
	if m.partitions == nil {
		m.partitions = map[string]int{}
	}
	m.partitions[fmt.Sprintf("%v|%v", first, second)]++
	if err := m.Split(ctx, first, second); err != nil {
		return err
	}
	few := func(i int) bool { return len(second) < 3 || ids[i] == first[0] } // no quorum
	before, err := m.still(ctx, few)
	if err != nil {
		return err
	}
	var list, ofMost []common.Hash
	for _, id := range ids {
		hash, err := m.pay(ctx, id, id)
		if err != nil {
			return err
		}
		if list = append(list, hash); len(second) == 3 && id != first[0] {
			ofMost = append(ofMost, hash)
		}
	}
	if len(second) == 3 {
		most := &mixture{Network: &Network{Nodes: m.of(second)}}
		if err := most.all(ctx, ofMost); err != nil {
			return fmt.Errorf("three of four, %v: %w", second, err)
		}
	} else {
		time.Sleep(time.Duration(3000+m.random.IntN(3000)) * time.Millisecond)
	}
	after, err := m.heads(ctx)
	if err != nil {
		return err
	}
	for i := range ids {
		if few(i) && after[i] != before[i] {
			return fmt.Errorf("validator %d has made the blocks %d to %d without a quorum: %v|%v",
				ids[i], before[i]+1, after[i], first, second)
		}
	}
	if err := m.Heal(ctx); err != nil {
		return err
	}
	return m.all(ctx, list)
}

// still waits until what was under way to some nodes has come to an end, and returns the heads of all.
func (m *mixture) still(ctx context.Context, some func(i int) bool) (heads []uint64, err error) {
	for range 30 {
		was := heads
		if heads, err = m.heads(ctx); err != nil {
			return nil, err
		}
		same := was != nil
		for i := range was {
			same = same && (!some(i) || was[i] == heads[i])
		}
		if same {
			return heads, nil
		}
		time.Sleep(time.Second)
	}
	return nil, fmt.Errorf("nodes that are apart go on to the blocks %d", heads)
}

// heads are the numbers of the nodes' last blocks.
func (m *mixture) heads(ctx context.Context) (list []uint64, err error) {
	for _, n := range m.Nodes {
		var head hexutil.Uint64
		if err := n.Call(ctx, &head, "eth_blockNumber"); err != nil {
			return nil, err
		}
		list = append(list, uint64(head))
	}
	return list, nil
}

// agree compares the blocks of all nodes, as far as all have them.
func (m *mixture) agree(ctx context.Context) (int, error) {
	var first []BlockAnswer
	for i, n := range m.Nodes {
		blocks, err := n.Blocks(ctx)
		if err != nil {
			return 0, err
		}
		if i == 0 {
			first = blocks
		}
		first = first[:min(len(first), len(blocks))]
		for at := range first {
			if got, want := fmt.Sprintf("%+v", blocks[at]), fmt.Sprintf("%+v", first[at]); got != want {
				return 0, fmt.Errorf("validator %d has block %d as %s, validator 1 as %s", i+1, at+1, got, want)
			}
		}
	}
	return len(first), nil
}

// finish ends all nodes, exports what each has, and finds that nobody has signed twice. It
// returns how many events each validator has made.
func (m *mixture) finish(ctx context.Context) (map[inter.ValidatorID]int, error) {
	for id := inter.ValidatorID(1); id <= 4; id++ {
		for i := range m.Nodes {
			asked := Network{Nodes: m.Nodes[i : i+1]}
			if cheated, err := asked.Cheated(ctx, id); err != nil || cheated {
				return nil, fmt.Errorf("validator %d counts as a cheater at node %d: %v, %v", id, i+1, cheated, err)
			}
		}
	}
	if err := m.Stop(); err != nil {
		return nil, err
	}
	type number struct {
		creator inter.ValidatorID
		epoch   inter.Epoch
		seq     inter.Seq
	}
	made, signed := map[inter.ValidatorID]int{}, map[number]inter.EventID{}
	for i, n := range m.Nodes {
		if err := m.programs[i].ExportEvents(ctx, n.config, m.events(i), 1); err != nil {
			return nil, err
		}
		list, err := raws(m.events(i))
		if err != nil {
			return nil, err
		}
		for _, raw := range list {
			p, err := inter.DecodePayload(raw)
			if err != nil {
				return nil, err
			}
			at := number{p.Creator, p.Epoch, p.Seq}
			other, twice := signed[at]
			if twice && other != p.ID() {
				return nil, fmt.Errorf("a double sign of validator %d: %v and %v", p.Creator, other, p.ID())
			}
			if !twice {
				made[p.Creator]++
			}
			signed[at] = p.ID()
		}
	}
	return made, nil
}

// events is where those are that a node has exported.
func (m *mixture) events(node int) string {
	return filepath.Join(m.dir, fmt.Sprintf("events-%d", node))
}

// logs are the ends of what the nodes said.
func (m *mixture) logs() (text string) {
	for i := range m.Nodes {
		raw, err := os.ReadFile(filepath.Join(m.dir, fmt.Sprintf("validator-%d", i+1), "log"))
		text += fmt.Sprintf("validator %d: %v\n%s\n", i+1, err, raw[max(0, len(raw)-2500):])
	}
	return text
}
