package difftest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"tarn/opera/inter"
)

var followerKills = flag.Int("difftest.followerkills", 2,
	"times that a node is killed that follows another and answers requests")

// A node that follows a validator and answers requests is killed again and again. Each start
// is at the last block that it told of or above, and has that block as it told; in the end
// it has the validator's blocks.
func TestAKilledFollowerLosesNothingThatItTold(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nodes; not with -short")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute+time.Duration(*followerKills)*20*time.Second)
	defer cancel()
	seed := *firstSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	program, dir := own(t), t.TempDir()
	network, err := startNetwork(ctx, dir, []*Peer{program}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer network.Kill()
	f := &follower{program: program, network: network,
		config: Config{Dir: filepath.Join(dir, "follower"), Validators: 1}}
	for kill := range *followerKills {
		// Every other life saves its state all the time, so that kills meet that too.
		if f.config.Settings = ""; kill%2 == 0 {
			f.config.Settings = "[Tarn]\nRecovery = 1000000\n"
		}
		if err := f.life(ctx, random); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
	}
	node, err := f.start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer node.Kill()
	last, err := network.Transfer(ctx, 0, 1, common.Address{7}, big.NewInt(1))
	if err != nil {
		t.Fatal(err)
	}
	both := &mixture{Network: &Network{Nodes: []*Node{network.Nodes[0], node}}}
	if err := both.all(ctx, []common.Hash{last}); err != nil {
		t.Fatal(err)
	}
	blocks, err := both.agree(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d blocks, %d answers before %d kills", blocks, f.answers.Load(), *followerKills)
	if blocks < 3 || f.answers.Load() == 0 {
		t.Error("next to nothing happened")
	}
	if err := errors.Join(node.Stop(), network.Stop()); err != nil {
		t.Error(err)
	}
}

// follower is a node that follows the only validator of a network.
type follower struct {
	program *Peer
	network *Network
	config  Config
	answers atomic.Int64
	told    BlockAnswer // the last block that any life told of
}

// start starts the node, and compares where it is with what was told.
func (f *follower) start(ctx context.Context) (*Node, error) {
	n, err := f.program.Start(ctx, f.config)
	if err != nil {
		return nil, err
	}
	var head hexutil.Uint64
	err = n.Call(ctx, &head, "eth_blockNumber")
	if err == nil && head < f.told.Number {
		err = fmt.Errorf("it starts at block %d, and has told of %d", head, f.told.Number)
	}
	if err == nil && f.told.Number > 0 {
		var again BlockAnswer
		if err = n.Call(ctx, &again, "eth_getBlockByNumber", f.told.Number, false); err == nil &&
			fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", f.told) {
			err = fmt.Errorf("it told of %+v, and has %+v", f.told, again)
		}
	}
	if err == nil {
		err = n.peers(ctx, "admin_addPeer", f.network.Nodes)
	}
	if err != nil {
		return nil, errors.Join(err, n.Kill())
	}
	return n, nil
}

// life is a start, a time of work and questions, and a kill at any moment of that.
func (f *follower) life(ctx context.Context, random *rand.Rand) error {
	n, err := f.start(ctx)
	if err != nil {
		return err
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for {
			var b BlockAnswer
			if n.Call(ctx, &b, "eth_getBlockByNumber", "latest", false) != nil {
				return
			}
			f.answers.Add(1)
			f.told = b
		}
	}()
	end := time.Now().Add(time.Duration(500+random.IntN(2500)) * time.Millisecond)
	for time.Now().Before(end) && err == nil {
		_, err = f.network.Transfer(ctx, 0, inter.ValidatorID(1), common.Address{byte(1 + random.IntN(9))},
			big.NewInt(random.Int64N(1e18)))
		time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
	}
	err = errors.Join(err, n.Kill())
	<-asked
	return err
}
