package difftest

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/epoch"
	"tarn/opera/inter"
)

// Network is a fakenet of nodes, one for each validator, all connected. It is for one
// goroutine.
type Network struct {
	Nodes []*Node // of validators 1, 2, …; nil while one is stopped

	programs []*Peer // of the validators
	each     Config  // but for what tells them apart
	dir      string
	size     int
	twins    []*Node

	payers map[inter.ValidatorID]*Account // of transfers
}

// unguarded has a validator say what it wants to say at once, whoever else says it, and
// whatever it said before; and it says something every other second.
const unguarded = "[Emitter.EmitIntervals]\nMax = 1500000000\nDoublesignProtection = " +
	"0\nParallelInstanceProtection = 0\n" +
	"[Emitter.PrevEmittedEventFile]\nPath = \"/dev/null\"\n"

// StartNetwork starts a fakenet of that many validators in folders below dir. Nothing in
// them guards against signing twice.
func (p *Peer) StartNetwork(ctx context.Context, dir string, validators int) (*Network, error) {
	return startNetwork(ctx, dir, slices.Repeat([]*Peer{p}, validators), Config{Settings: unguarded})
}

// guarded has a validator wait for a short while before it says something.
const guarded = "[Emitter.EmitIntervals]\nMax = 1500000000\nDoublesignProtection = 1500000000\n"

// StartMixed starts a fakenet of one validator for each program, which may be any that takes
// go-opera's flags, in folders below dir. They guard against signing twice.
func StartMixed(ctx context.Context, dir string, programs []string) (*Network, error) {
	var peers []*Peer
	for _, p := range programs {
		peers = append(peers, &Peer{program: p})
	}
	return startNetwork(ctx, dir, peers, Config{Settings: guarded, Preset: "ldb-1"})
}

// startNetwork starts a validator with each of the programs. Of each, the folder and the validator are left out.
func startNetwork(ctx context.Context, dir string, programs []*Peer, each Config) (*Network, error) {
	size := len(programs)
	n := &Network{programs: programs, each: each, dir: dir, size: size,
		Nodes: make([]*Node, size), payers: map[inter.ValidatorID]*Account{}}
	for i := range n.Nodes {
		if err := n.Return(ctx, inter.ValidatorID(i+1)); err != nil {
			return nil, errors.Join(err, n.Kill())
		}
	}
	return n, nil
}

// Leave stops a validator's node, in order.
func (n *Network) Leave(id inter.ValidatorID) error {
	node := n.Nodes[id-1]
	n.Nodes[id-1] = nil
	return node.Stop()
}

// Crash ends a validator's node as a crash does.
func (n *Network) Crash(id inter.ValidatorID) error {
	node := n.Nodes[id-1]
	n.Nodes[id-1] = nil
	return node.Kill()
}

// Return starts a validator's node, with what it has, and connects it.
func (n *Network) Return(ctx context.Context, id inter.ValidatorID) (err error) {
	n.Nodes[id-1], err = n.join(ctx, "validator-"+strconv.Itoa(int(id)), id)
	return err
}

// Twin starts another node of a validator, from the genesis on.
func (n *Network) Twin(ctx context.Context, id inter.ValidatorID) error {
	node, err := n.join(ctx, "twin-"+strconv.Itoa(int(id)), id)
	if err == nil {
		n.twins = append(n.twins, node)
	}
	return err
}

// Diverge takes the twins out of the network for so long that they, and the validators that
// they are, sign different events with the same numbers; then all hear of both.
func (n *Network) Diverge(ctx context.Context) error {
	const long = 3 * time.Second
	for _, twin := range n.twins {
		if err := n.catchUp(ctx, twin); err != nil {
			return err
		}
		if err := twin.peers(ctx, "admin_removePeer", n.Nodes); err != nil {
			return err
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(long):
	}
	for _, node := range n.Nodes { // a node calls no other twice within half a minute
		if node == nil {
			continue
		}
		if err := node.peers(ctx, "admin_addPeer", n.twins); err != nil {
			return err
		}
	}
	return nil
}

// catchUp waits until a node is in the epoch of the network.
func (n *Network) catchUp(ctx context.Context, node *Node) error {
	for {
		var there, here hexutil.Uint64
		err := errors.Join(n.Nodes[0].Call(ctx, &there, "eth_currentEpoch"), node.Call(ctx, &here, "eth_currentEpoch"))
		if err != nil || here == there {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("a node is in epoch %d, the network in %d: %w", here, there, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// peers does something with all of those of a node that run.
func (n *Node) peers(ctx context.Context, method string, others []*Node) error {
	for _, other := range others {
		if other == nil {
			continue
		}
		var info struct{ Enode string }
		var done bool
		if err := other.Call(ctx, &info, "admin_nodeInfo"); err != nil {
			return err
		}
		if err := n.Call(ctx, &done, method, info.Enode); err != nil {
			return err
		}
	}
	return nil
}

// Cheated tells whether the contract of stakes knows a validator as one who signed twice.
func (n *Network) Cheated(ctx context.Context, id inter.ValidatorID) (bool, error) {
	var answer hexutil.Bytes
	err := n.Nodes[0].Call(ctx, &answer, "eth_call", map[string]any{
		"to": stakers, "data": hexutil.Bytes(call("getValidator(uint256)").Number(uint64(id)).Encode()),
	}, "latest")
	return len(answer) >= 32 && answer[31]&epoch.Doublesign != 0, err
}

// join starts a node and tells it of all others.
func (n *Network) join(ctx context.Context, name string, id inter.ValidatorID) (*Node, error) {
	c := n.each
	c.Dir, c.Validators, c.Validator = filepath.Join(n.dir, name), n.size, int(id)
	node, err := n.programs[id-1].Start(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := node.peers(ctx, "admin_addPeer", n.running()); err != nil {
		return nil, errors.Join(err, node.Kill())
	}
	return node, nil
}

// running are the nodes that run.
func (n *Network) running() (list []*Node) {
	for _, node := range append(slices.Clone(n.Nodes), n.twins...) {
		if node != nil {
			list = append(list, node)
		}
	}
	return list
}

// Transfer has a validator of the genesis send an amount to an address, by way of one of the
// nodes, and returns the transaction's hash.
func (n *Network) Transfer(
	ctx context.Context, node int, from inter.ValidatorID, to common.Address, wei *big.Int,
) (common.Hash, error) {
	a, ok := n.payers[from]
	if !ok {
		var err error
		if a, err = ValidatorAccount(from); err != nil {
			return common.Hash{}, err
		}
		n.payers[from] = a
	}
	tx, err := n.Do(ctx, node, &Deed{From: a, To: &to, Value: wei, Gas: 21_000, Price: gwei(400)})
	if err != nil {
		return common.Hash{}, err
	}
	return tx.Hash(), nil
}

// Do signs a deed with its account's next nonce, sends it to one of the nodes, and returns
// the transaction. A deed that is refused uses no nonce.
func (n *Network) Do(ctx context.Context, node int, d *Deed) (*types.Transaction, error) {
	tx, err := d.Sign(d.From.nonce)
	if err != nil {
		return nil, err
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("encode a transaction: %w", err)
	}
	var hash common.Hash
	if err := n.Nodes[node].Call(ctx, &hash, "eth_sendRawTransaction", hexutil.Encode(raw)); err != nil {
		return nil, err
	}
	d.From.nonce++
	return tx, nil
}

// Await waits until all nodes have a transaction's receipt, and returns its block.
func (n *Network) Await(ctx context.Context, hash common.Hash) (inter.BlockNumber, error) {
	var receipt struct{ BlockNumber hexutil.Uint64 }
	for _, node := range n.running() {
		for {
			err := node.Call(ctx, &receipt, "eth_getTransactionReceipt", hash)
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return 0, fmt.Errorf("wait for transaction %v: %w", hash, err)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	return inter.BlockNumber(receipt.BlockNumber), nil
}

// Stop ends all nodes in order.
func (n *Network) Stop() error {
	var err error
	for _, node := range n.running() {
		err = errors.Join(err, node.Stop())
	}
	return err
}

// Kill ends all nodes as a crash does.
func (n *Network) Kill() error {
	var err error
	for _, node := range n.running() {
		err = errors.Join(err, node.Kill())
	}
	return err
}
