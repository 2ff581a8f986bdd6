package difftest

import (
	"context"
	"errors"
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
	Rules  inter.Rules   // of the last epoch

	config Config // of the node
}

// Record stops the network, asks one of its nodes, started again alone and as no validator, for
// the blocks, and exports its chain into its folder. What is asked and what is exported are the
// same chain: nobody adds to it.
func (n *Network) Record(ctx context.Context, node int) (*Record, error) {
	c := n.Nodes[node].config
	c.Validator = 0
	if err := n.Stop(); err != nil {
		return nil, err
	}
	return n.programs[node].record(ctx, c)
}

// Replay has a go-opera in a new folder import a file of events that follow the genesis of
// a fakenet, and records what it makes of them. Events that it refuses are missing from
// what it exports.
func (p *Peer) Replay(ctx context.Context, dir string, validators int, path string) (*Record, error) {
	c := Config{Dir: dir, Validators: validators, Preset: "ldb-1"}
	if err := p.ImportEvents(ctx, c, path); err != nil {
		return nil, err
	}
	return p.record(ctx, c)
}

// record starts a node on a folder, asks it what it has, stops it and makes the files of a
// record.
func (p *Peer) record(ctx context.Context, c Config) (*Record, error) {
	n, err := p.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	r := &Record{config: c, Events: filepath.Join(c.Dir, "events.gz"), Final: filepath.Join(c.Dir, "final.g")}
	r.Blocks, err = n.Blocks(ctx)
	if err == nil {
		err = n.Call(ctx, &r.Rules, "eth_getRules", "pending")
	}
	if err = errors.Join(err, n.Stop()); err != nil {
		return nil, err
	}
	if err := p.ExportEvents(ctx, c, r.Events, inter.Epoch(1)); err != nil {
		return nil, err
	}
	return r, p.ExportGenesis(ctx, c, r.Final, "mpt")
}
