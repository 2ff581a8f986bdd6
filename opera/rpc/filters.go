package rpc

import (
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// ethFilters answers for eth about logs and what is new.
type ethFilters struct{ s *Service }

func (e ethFilters) GetLogs(ctx context.Context, c Criteria) ([]*LogJSON, error) {
	return read(e.s, func(v *view) ([]*LogJSON, error) {
		list, err := v.logs(ctx, &c)
		return logsJSON(list), err
	})
}

func (e ethFilters) NewFilter(ctx context.Context, c Criteria) (rpc.ID, error) {
	if err := e.s.checkFilter(&c); err != nil {
		return "", err
	}
	return e.s.filters.install(ctx, ofLogs, c)
}

// checkFilter refuses blocks that will never come, and prepares the criteria.
func (s *Service) checkFilter(c *Criteria) error {
	if err := c.checkBounds(&s.limits); err != nil {
		return err
	}
	c.prepare()
	from, to := Latest, Latest
	if c.From != nil {
		from = *c.From
	}
	if c.To != nil {
		to = *c.To
	}
	switch {
	case from == Pending && to == Latest: // whose end comes before its beginning
	case from < 0 && to < 0, from >= 0 && to >= from, from >= 0 && to < 0:
		return nil
	}
	return errors.New("invalid from and to block combination: from > to")
}

func (e ethFilters) NewBlockFilter(ctx context.Context) (rpc.ID, error) {
	return e.s.filters.install(ctx, ofBlocks, Criteria{})
}

func (e ethFilters) NewPendingTransactionFilter(ctx context.Context) (rpc.ID, error) {
	return e.s.filters.install(ctx, ofPending, Criteria{})
}

func (e ethFilters) UninstallFilter(id rpc.ID) bool { return e.s.filters.uninstall(id) }

func (e ethFilters) GetFilterChanges(ctx context.Context, id rpc.ID) (any, error) {
	return e.s.filters.changes(ctx, id)
}

func (e ethFilters) GetFilterLogs(ctx context.Context, id rpc.ID) ([]*LogJSON, error) {
	c, err := e.s.filters.criteria(id)
	if err == nil {
		err = e.s.hasLogs(&c)
	}
	if err != nil {
		return nil, err
	}
	return e.GetLogs(ctx, c)
}

// headJSON is a header in the form of newHeads, and what else blocks have.
type headJSON struct {
	ParentHash  common.Hash      `json:"parentHash"`
	UncleHash   common.Hash      `json:"sha3Uncles"`
	Coinbase    common.Address   `json:"miner"`
	Root        common.Hash      `json:"stateRoot"`
	TxHash      common.Hash      `json:"transactionsRoot"`
	ReceiptHash common.Hash      `json:"receiptsRoot"`
	Bloom       types.Bloom      `json:"logsBloom"`
	Difficulty  *hexutil.Big     `json:"difficulty"`
	Number      *hexutil.Big     `json:"number"`
	GasLimit    hexutil.Uint64   `json:"gasLimit"`
	GasUsed     hexutil.Uint64   `json:"gasUsed"`
	Time        hexutil.Uint64   `json:"timestamp"`
	Extra       hexutil.Bytes    `json:"extraData"`
	MixDigest   common.Hash      `json:"mixHash"`
	Nonce       types.BlockNonce `json:"nonce"`
	BaseFee     *hexutil.Big     `json:"baseFeePerGas"`
	Hash        common.Hash      `json:"hash"`

	Epoch           hexutil.Uint64 `json:"epoch"`
	Size            hexutil.Uint64 `json:"size"`
	TimestampNano   hexutil.Uint64 `json:"timestampNano"`
	TotalDifficulty hexutil.Uint64 `json:"totalDifficulty"`
}

func headOf(h *types.Header, b *block) *headJSON {
	return &headJSON{
		ParentHash: h.ParentHash, UncleHash: h.UncleHash, Coinbase: h.Coinbase, Root: h.Root, TxHash: h.TxHash,
		ReceiptHash: h.ReceiptHash, Bloom: h.Bloom, Difficulty: (*hexutil.Big)(h.Difficulty),
		Number: (*hexutil.Big)(h.Number), GasLimit: hexutil.Uint64(h.GasLimit), GasUsed: hexutil.Uint64(h.GasUsed),
		Time: hexutil.Uint64(h.Time), Extra: h.Extra, MixDigest: h.MixDigest, Nonce: h.Nonce,
		BaseFee: (*hexutil.Big)(h.BaseFee), Hash: common.Hash(b.ID), Epoch: hexutil.Uint64(b.ID.Epoch()),
		Size: hexutil.Uint64(b.size(h.Root)), TimestampNano: hexutil.Uint64(b.Time),
	}
}

// hasLogs refuses to look for the logs of a filter that begins before the chain does, where another node would be asked
// for them: it does not know the filter.
func (s *Service) hasLogs(c *Criteria) error {
	if s.options.Older == nil || c.From == nil {
		return nil
	}
	_, err := read(s, func(v *view) (any, error) {
		found, err := v.Keeps(max(1, min(v.number(*c.From), v.Head().Number)))
		if err == nil && !found {
			err = &busy{errors.New("this filter begins with blocks that are older than what this node has: " +
				"ask for their logs with eth_getLogs")}
		}
		return nil, err
	})
	return err
}
