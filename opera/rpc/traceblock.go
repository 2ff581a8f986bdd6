package rpc

import (
	"context"
	"encoding/json"

	"github.com/ethereum/go-ethereum/common"
)

// txTraceJSON is what became of one transaction of a traced block.
type txTraceJSON struct {
	TxHash common.Hash     `json:"txHash"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// traces traces all transactions of a block. One that cannot be traced has an error in its
// place; if none can, that of the first is the block's. The limits of a trace are those of
// all together.
func (v *view) traces(ctx context.Context, b *block, c *TraceConfig) ([]txTraceJSON, error) {
	ctx, cancel := context.WithTimeout(ctx, traceTime*v.service.limits.RequestTime)
	defer cancel()
	r, err := v.replay(b)
	if err != nil {
		return nil, err
	}
	var first error
	list, room, failed := make([]txTraceJSON, 0, len(b.Txs)), v.service.limits.Trace, 0
	for i := range b.Txs {
		one := txTraceJSON{TxHash: b.TxHash(i)}
		one.Result, err = r.trace(ctx, i, c)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, err
		case err != nil:
			one.Error = err.Error()
			if failed++; first == nil {
				first = err
			}
		}
		if room -= len(one.Result) + len(one.Error); room < 0 {
			return nil, errTraceSize
		}
		list = append(list, one)
		if r.broken { // the next ones need the state that this one left half made
			if r, err = v.replay(b); err != nil {
				return nil, err
			}
		}
	}
	if failed > 0 && failed == len(list) {
		return nil, first
	}
	return list, nil
}
