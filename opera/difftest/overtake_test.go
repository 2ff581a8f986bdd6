package difftest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

var (
	overtakeKills = flag.Int("difftest.overtakekills", 1,
		"times that a node is killed that overtakes its network by --syncmode snap")
	overtakeWork = flag.Int("difftest.overtakework", 48, "transactions of the network that is overtaken")
)

// A node of ours that begins with --syncmode snap gets records and a state from go-operas, and
// follows them from there; whenever it is killed on the way.
func TestANodeOvertakesGoOpera(t *testing.T) {
	p, ctx := peer(t)
	dir := t.TempDir()
	network, err := p.StartNetwork(ctx, filepath.Join(dir, "network"), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer network.Kill()
	overtaken(ctx, t, network, own(t), filepath.Join(dir, "node"))
}

// alone has the only validator say what it wants to say at once, without peers.
const alone = "[Emitter.EmitIntervals]\nMax = 1500000000\nDoublesignProtection = 0\nParallelInstanceProtection = 0\n"

// The same, from a node of ours.
func TestANodeOvertakesAnotherOfItsKind(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nodes; not with -short")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute+time.Duration(*overtakeKills)*20*time.Second)
	defer cancel()
	program, dir := own(t), t.TempDir()
	network, err := startNetwork(ctx, filepath.Join(dir, "network"), []*Peer{program}, Config{Settings: alone})
	if err != nil {
		t.Fatal(err)
	}
	defer network.Kill()
	overtaken(ctx, t, network, program, filepath.Join(dir, "node"))
}

// goesOver is what a node says when it has overtaken its network.
const goesOver = "the chain continues in that epoch"

// overtaken has a network work for some epochs, and another node overtake it, after it was killed
// again and again.
func overtaken(ctx context.Context, t *testing.T, network *Network, program *Peer, dir string) {
	t.Helper()
	seed := *firstSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 5))
	w, err := NewWork(seed, 1)
	if err != nil {
		t.Fatal(err)
	}
	l := &live{Network: network, work: w, deeds: Deeds{}, refused: map[string]int{}, used: map[*Account]int{},
		price: map[*Account]int64{}}
	if err := l.drive(ctx, *overtakeWork); err != nil {
		t.Fatal(err)
	}
	config := Config{Dir: dir, Validators: 1, Settings: "[Opera]\nAllowSnapsync = true\n"}
	pay := func() common.Hash {
		t.Helper()
		var next hexutil.Uint64 // what came late counts, too
		if err := network.Nodes[0].Call(ctx, &next, "eth_getTransactionCount", w.owner.Address, "pending"); err != nil {
			t.Fatalf("%v; %s", err, logOf(config))
		}
		w.owner.nonce = uint64(next)
		tx, err := l.Do(ctx, 0, &Deed{From: w.owner, To: &common.Address{7}, Value: big.NewInt(1), Gas: 21_000,
			Price: gwei(5000)})
		if err != nil {
			t.Fatal(err)
		}
		return tx.Hash()
	}
	gone := 0 // over, when it was killed
	for kill := range *overtakeKills {
		pay() // a validator of ours shows its vote for an epoch with a block
		before := len(logOf(config))
		node := overtaker(ctx, t, program, network, config)
		// On the way, until somewhere, and a little further.
		where := []string{"Started P2P", "Downloading a state", "is downloaded", "is downloaded",
			goesOver}[random.IntN(5)]
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if log := logOf(config); strings.Contains(log[min(before, len(log)):], where) ||
				strings.Contains(log, goesOver) {
				break
			}
		}
		time.Sleep(time.Duration(random.IntN(800)) * time.Millisecond)
		if err := node.Kill(); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		if strings.Contains(logOf(config), goesOver) && random.IntN(2) == 0 { // from the beginning once more
			gone++
			config.Dir = fmt.Sprintf("%s-%d", dir, kill)
		}
	}
	node := overtaker(ctx, t, program, network, config)
	defer node.Kill()
	there := &Network{Nodes: []*Node{network.Nodes[0], node}}
	for { // it does not answer while it is opened again
		var here, its hexutil.Uint64
		if err := network.Nodes[0].Call(ctx, &its, "eth_currentEpoch"); err != nil {
			t.Fatalf("%v; %s", err, logOf(config))
		}
		if err := node.Call(ctx, &here, "eth_currentEpoch"); err == nil && here == its {
			break
		}
		pay()
		time.Sleep(time.Second)
	}
	var paid []common.Hash
	for range 5 {
		paid = append(paid, pay())
	}
	both := &mixture{Network: there}
	if err := both.all(ctx, paid); err != nil {
		t.Fatalf("%v; %s", err, logOf(config))
	}
	blocks, err := both.agree(ctx)
	if err != nil {
		t.Fatal(err)
	}
	epoch, err := sameAnswers(ctx, l.work, there.Nodes)
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d blocks, epoch %d, %d transactions; of %d kills %d ended a way that was begun anew",
		blocks, epoch, len(l.deeds), *overtakeKills, gone)
	if log := logOf(config); !strings.Contains(log, goesOver) {
		t.Errorf("the node has not gone over:\n%s", log)
	}
	if err := errors.Join(node.Stop(), network.Stop()); err != nil {
		t.Error(err)
	}
}

// overtaker starts a node that knows the network.
func overtaker(ctx context.Context, t *testing.T, program *Peer, network *Network, config Config) *Node {
	t.Helper()
	node, err := program.Start(ctx, config)
	if err == nil {
		err = node.peers(ctx, "admin_addPeer", network.Nodes)
	}
	if err != nil {
		t.Fatalf("%v; %s", err, logOf(config))
	}
	return node
}

func logOf(c Config) string {
	log, err := os.ReadFile(filepath.Join(c.Dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(log)
}

// sameAnswers compares what two nodes say of accounts, their codes and the epoch.
func sameAnswers(ctx context.Context, w *Work, nodes []*Node) (epoch hexutil.Uint64, err error) {
	for _, a := range w.accounts {
		for _, method := range []string{"eth_getBalance", "eth_getTransactionCount", "eth_getCode"} {
			var said [2]string
			for i, n := range nodes {
				err = errors.Join(err, n.Call(ctx, &said[i], method, a.Address, "latest"))
			}
			if said[0] != said[1] {
				err = errors.Join(err, fmt.Errorf("%s of %v is %s and %s", method, a.Address, said[0], said[1]))
			}
		}
	}
	return epoch, errors.Join(err, nodes[1].Call(ctx, &epoch, "eth_currentEpoch"))
}
