package oracle

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
)

// Network is a fakenet of go-operas, one for each validator, all connected.
type Network struct {
	Nodes  []*Node // of validators 1, 2, …
	peer   *Peer
	nonces map[inter.ValidatorID]uint64
}

// StartNetwork starts a fakenet of that many validators in folders below dir.
func (p *Peer) StartNetwork(ctx context.Context, dir string, validators int) (*Network, error) {
	n := &Network{peer: p, nonces: map[inter.ValidatorID]uint64{}}
	for i := 1; i <= validators; i++ {
		node, err := p.Start(ctx, Config{
			Dir: filepath.Join(dir, "validator-"+strconv.Itoa(i)), Validators: validators, Validator: i,
		})
		if err != nil {
			return nil, errors.Join(err, n.Kill())
		}
		n.Nodes = append(n.Nodes, node)
	}
	if err := n.connect(ctx); err != nil {
		return nil, errors.Join(err, n.Kill())
	}
	return n, nil
}

// connect tells each node of those before it.
func (n *Network) connect(ctx context.Context) error {
	var urls []string
	for _, node := range n.Nodes {
		var info struct{ Enode string }
		if err := node.Call(ctx, &info, "admin_nodeInfo"); err != nil {
			return err
		}
		for _, url := range urls {
			var added bool
			if err := node.Call(ctx, &added, "admin_addPeer", url); err != nil {
				return err
			}
		}
		urls = append(urls, info.Enode)
	}
	return nil
}

// Transfer signs a transfer of a validator's to an address, sends it to one of the
// nodes, and returns its hash. A validator's transfers get one nonce after another.
func (n *Network) Transfer(ctx context.Context, node int, from inter.ValidatorID, to common.Address, wei *big.Int) (common.Hash, error) {
	return n.Send(ctx, node, from, &types.LegacyTx{To: &to, Value: wei, Gas: 21_000})
}

// Send signs a transaction of a validator's with its next nonce, sends it to one of the
// nodes, and returns its hash. Without a price it pays 400 gwei.
func (n *Network) Send(ctx context.Context, node int, from inter.ValidatorID, tx *types.LegacyTx) (common.Hash, error) {
	key, err := fakenet.Key(from)
	if err != nil {
		return common.Hash{}, err
	}
	tx.Nonce = n.nonces[from]
	if tx.GasPrice == nil {
		tx.GasPrice = big.NewInt(400e9)
	}
	signed, err := types.SignNewTx(key, types.NewLondonSigner(new(big.Int).SetUint64(inter.FakeNetwork)), tx)
	if err != nil {
		return common.Hash{}, fmt.Errorf("sign a transaction of %v: %w", crypto.PubkeyToAddress(key.PublicKey), err)
	}
	raw, err := signed.MarshalBinary()
	if err != nil {
		return common.Hash{}, fmt.Errorf("encode a transaction: %w", err)
	}
	var hash common.Hash
	if err := n.Nodes[node].Call(ctx, &hash, "eth_sendRawTransaction", hexutil.Encode(raw)); err != nil {
		return common.Hash{}, err
	}
	n.nonces[from]++
	return hash, nil
}

// Await waits until all nodes have a transaction's receipt, and returns its block.
func (n *Network) Await(ctx context.Context, hash common.Hash) (inter.BlockNumber, error) {
	var receipt struct{ BlockNumber hexutil.Uint64 }
	for _, node := range n.Nodes {
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
	for _, node := range n.Nodes {
		err = errors.Join(err, node.Stop())
	}
	return err
}

// Kill ends all nodes as a crash does.
func (n *Network) Kill() error {
	var err error
	for _, node := range n.Nodes {
		err = errors.Join(err, node.Kill())
	}
	return err
}
