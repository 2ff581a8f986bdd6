package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// flatTraces answers for trace what executions did, call by call, in the form of the
// former Parity.
type flatTraces struct{ s *Service }

func flatConfig() *TraceConfig {
	name := "flatCallTracer"
	return &TraceConfig{Tracer: &name, TracerConfig: json.RawMessage(`{"convertParityErrors":true}`)}
}

// parityWords are failures that the tracer leaves in go-ethereum's words, and what Parity calls
// them.
var parityWords = strings.NewReplacer(
	errorIs("write protection"), errorIs("Mutable Call In Static Context"),
	errorIs("contract address collision"), errorIs("Out of gas"),
	errorIs("invalid code: must not begin with 0xef"), errorIs("Invalid code"),
	errorIs("bad elliptic curve pairing size"), errorIs("Built-in failed"),
	errorIs("invalid final flag"), errorIs("Built-in failed"),
	errorIs("point is not on curve"), errorIs("Built-in failed"),
	errorIs("point is not in correct subgroup"), errorIs("Built-in failed"),
	errorIs("invalid fp.Element encoding"), errorIs("Built-in failed"),
)

// errorIs is a member of a call's trace. No text of a contract's can look like one: its quotation
// marks are escaped.
func errorIs(words string) string { return `"error":"` + words + `"` }

// flatten puts the traces of a block's transactions into one list.
func flatten(all []txTraceJSON) ([]json.RawMessage, error) {
	list := []json.RawMessage{}
	for _, one := range all {
		if one.Error != "" {
			return nil, fmt.Errorf("transaction %v cannot be traced: %s", one.TxHash, one.Error)
		}
		var calls []json.RawMessage
		if err := json.Unmarshal([]byte(parityWords.Replace(string(one.Result))), &calls); err != nil {
			return nil, fmt.Errorf("the trace of transaction %v: %w", one.TxHash, err)
		}
		list = append(list, calls...)
	}
	return list, nil
}

// Block returns the calls of a block. Block 0 is never executed, and has none.
func (f flatTraces) Block(ctx context.Context, t BlockTag) ([]json.RawMessage, error) {
	if t == Earliest {
		return []json.RawMessage{}, nil
	}
	all, err := debugTraces(f).TraceBlockByNumber(ctx, t, flatConfig())
	if err != nil {
		return nil, err
	}
	return flatten(all)
}

func (f flatTraces) Transaction(ctx context.Context, hash common.Hash) ([]json.RawMessage, error) {
	text, err := debugTraces(f).TraceTransaction(ctx, hash, flatConfig())
	if err != nil {
		return nil, err
	}
	return flatten([]txTraceJSON{{TxHash: hash, Result: text}})
}

// Get returns the call that stands at an address of a trace, null if there is none.
func (f flatTraces) Get(ctx context.Context, hash common.Hash, at []hexutil.Uint) (json.RawMessage, error) {
	list, err := f.Transaction(ctx, hash)
	if err != nil {
		return nil, err
	}
	for _, text := range list {
		var call struct {
			Address []uint `json:"traceAddress"`
		}
		if err := json.Unmarshal(text, &call); err != nil {
			return nil, fmt.Errorf("the trace of transaction %v: %w", hash, err)
		}
		same := len(call.Address) == len(at)
		for i := 0; same && i < len(at); i++ {
			same = call.Address[i] == uint(at[i])
		}
		if same {
			return text, nil
		}
	}
	return json.RawMessage("null"), nil
}
