package oracle

import (
	"context"
	"path/filepath"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"tarn/opera/inter"
)

// BlockAnswer is what a node says of a block over JSON-RPC.
type BlockAnswer struct {
	Number           hexutil.Uint64 `json:"number"`
	Hash             common.Hash    `json:"hash"` // its Atropos
	ParentHash       common.Hash    `json:"parentHash"`
	Epoch            hexutil.Uint64 `json:"epoch"`
	TimestampNano    hexutil.Uint64 `json:"timestampNano"`
	GasUsed          hexutil.Uint64 `json:"gasUsed"`
	BaseFee          *hexutil.Big   `json:"baseFeePerGas"` // nil before London
	StateRoot        common.Hash    `json:"stateRoot"`
	TransactionsRoot common.Hash    `json:"transactionsRoot"`
	ReceiptsRoot     common.Hash    `json:"receiptsRoot"`
	LogsBloom        hexutil.Bytes  `json:"logsBloom"`
	Transactions     []common.Hash  `json:"transactions"`
}

// Blocks asks for all blocks up to the head, the first block first.
func (n *Node) Blocks(ctx context.Context) ([]BlockAnswer, error) {
	var head hexutil.Uint64
	if err := n.Call(ctx, &head, "eth_blockNumber"); err != nil {
		return nil, err
	}
	list := make([]BlockAnswer, head)
	for i := range list {
		if err := n.Call(ctx, &list[i], "eth_getBlockByNumber", hexutil.EncodeUint64(uint64(i+1)), false); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Record is what a replay needs of a chain, and what it has to come to.
type Record struct {
	// Events is the path of all events in go-opera's form, compressed. They follow the
	// genesis of the fakenet.
	Events string
	// Final is the path of a genesis with the chain up to the beginning of its last
	// epoch.
	Final  string
	Blocks []BlockAnswer // the first block first
}

// Record asks a node of the network for the blocks, stops the network, and exports the
// node's chain into its folder.
func (n *Network) Record(ctx context.Context, node int) (*Record, error) {
	asked := n.Nodes[node]
	r := &Record{
		Events: filepath.Join(asked.config.Dir, "events.gz"),
		Final:  filepath.Join(asked.config.Dir, "final.g"),
	}
	var err error
	if r.Blocks, err = asked.Blocks(ctx); err != nil {
		return nil, err
	}
	if err := n.Stop(); err != nil {
		return nil, err
	}
	if err := n.peer.ExportEvents(ctx, asked.config, r.Events, inter.Epoch(1)); err != nil {
		return nil, err
	}
	return r, n.peer.ExportGenesis(ctx, asked.config, r.Final, "mpt")
}
