package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth/tracers"
	"github.com/ethereum/go-ethereum/eth/tracers/logger"
	"github.com/holiman/uint256"

	_ "github.com/ethereum/go-ethereum/eth/tracers/js"     // tracers in JavaScript
	_ "github.com/ethereum/go-ethereum/eth/tracers/native" // callTracer, prestateTracer and the others

	"tarn/opera/evm"
	"tarn/opera/state"
)

// debugTraces answers for debug what executions did, with go-ethereum's tracers.
type debugTraces struct{ s *Service }

// TraceConfig chooses a tracer by its name. Without a name go-ethereum's struct logger, which
// shows each step, is the tracer.
type TraceConfig struct {
	*logger.Config
	Tracer       *string         `json:"tracer"`
	Timeout      *string         `json:"timeout"`
	TracerConfig json.RawMessage `json:"tracerConfig"`
}

// CallTraceConfig chooses the tracer of a call, and overrides accounts for that call.
type CallTraceConfig struct {
	TraceConfig
	StateOverrides *StateOverride  `json:"stateOverrides"`
	BlockOverrides *BlockOverrides `json:"blockOverrides"`
	TxIndex        *hexutil.Uint   `json:"txIndex"` // before which transaction of the block; after all if nil
}

// hooked is a state that tells hooks of its changes.
type hooked struct {
	*state.Block
	hooks *tracing.Hooks
	logs  uint // of the block before the transaction
}

// AddBalance implements vm.StateDB.
func (h hooked) AddBalance(
	address common.Address, amount *uint256.Int, reason tracing.BalanceChangeReason,
) uint256.Int {
	was := h.Block.AddBalance(address, amount, reason)
	if h.hooks.OnBalanceChange != nil && !amount.IsZero() {
		h.hooks.OnBalanceChange(address, was.ToBig(), new(uint256.Int).Add(&was, amount).ToBig(), reason)
	}
	return was
}

// SubBalance implements vm.StateDB.
func (h hooked) SubBalance(
	address common.Address, amount *uint256.Int, reason tracing.BalanceChangeReason,
) uint256.Int {
	was := h.Block.SubBalance(address, amount, reason)
	if h.hooks.OnBalanceChange != nil && !amount.IsZero() {
		h.hooks.OnBalanceChange(address, was.ToBig(), new(uint256.Int).Sub(&was, amount).ToBig(), reason)
	}
	return was
}

// SetNonce implements vm.StateDB.
func (h hooked) SetNonce(address common.Address, nonce uint64, reason tracing.NonceChangeReason) {
	was := h.Block.GetNonce(address)
	h.Block.SetNonce(address, nonce, reason)
	if h.hooks.OnNonceChangeV2 != nil {
		h.hooks.OnNonceChangeV2(address, was, nonce, reason)
	} else if h.hooks.OnNonceChange != nil {
		h.hooks.OnNonceChange(address, was, nonce)
	}
}

// SetState implements vm.StateDB.
func (h hooked) SetState(address common.Address, slot, value common.Hash) common.Hash {
	was := h.Block.SetState(address, slot, value)
	if h.hooks.OnStorageChange != nil && was != value {
		h.hooks.OnStorageChange(address, slot, was, value)
	}
	return was
}

// AddLog implements vm.StateDB.
func (h hooked) AddLog(l *types.Log) {
	l.Index = h.logs + uint(len(h.TxLogs()))
	h.Block.AddLog(l)
	if h.hooks.OnLog != nil {
		h.hooks.OnLog(l)
	}
}

// tracer is one of go-ethereum's with the limits of a request.
type tracer struct {
	*tracers.Tracer
	habits
	limit time.Duration
	room  int // bytes that may still be copied
	over  bool
	stop  func()
	end   func()       // the time of the trace
	grew  func() error // why a program in JavaScript was stopped, nil if it was not
}

var errTraceSize = errors.New("the trace is too large")

// newTracer returns a tracer, and a context that ends with the time of its trace, which has begun.
// The caller calls the tracer's end.
func (s *Service) newTracer(
	ctx context.Context, c *TraceConfig, about *tracers.Context, v *view,
) (*tracer, context.Context, error) {
	if c == nil {
		c = &TraceConfig{}
	}
	t := &tracer{limit: s.limits.RequestTime, room: s.limits.Trace, habits: habits{copies: 1}, stop: func() {},
		grew: func() error { return nil }}
	if c.Timeout != nil {
		limit, err := time.ParseDuration(*c.Timeout)
		if err != nil {
			return nil, nil, err
		}
		t.limit = min(limit, traceTime*s.limits.RequestTime)
	}
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	if c.Tracer == nil {
		config := logger.Config{}
		if c.Config != nil {
			config = *c.Config
		}
		if config.Limit <= 0 || config.Limit > s.limits.Trace {
			config.Limit = s.limits.Trace
		}
		l := logger.NewStructLogger(&config)
		t.Tracer = &tracers.Tracer{Hooks: l.Hooks(), GetResult: l.GetResult, Stop: l.Stop}
	} else {
		of, err := s.newNamed(ctx, *c.Tracer, about, c.TracerConfig, v, maxCopies)
		if err != nil {
			cancel()
			return nil, nil, err
		}
		if t.Tracer, t.habits = of.Tracer, of.habits; t.program {
			t.grew = limitGrowth(of.Tracer, s.limits.ScriptGrowth)
		}
	}
	t.bound()
	unwatch := t.until(ctx)
	t.end = func() {
		unwatch()
		_ = t.grew()
		cancel()
	}
	return t, ctx, nil
}

// result is what the tracer tells in the end.
func (t *tracer) result(limit int) (json.RawMessage, error) {
	if t.over {
		return nil, errTraceSize
	}
	text, err := t.GetResult() // the client's code, if it is in JavaScript
	if grew := t.grew(); grew != nil {
		return nil, grew
	}
	if err == nil && len(text) > limit {
		err = errTraceSize
	}
	return text, err
}

// replay is a block that is executed again.
type replay struct {
	v *view
	b *block
	h *evm.Header
	// before is the state before the block, with what was executed so far.
	before *state.Block
	done   int
	broken bool // a transaction was not executed to its end: there is no going on from before
}

// logs is how many logs the transactions before the next one have.
func (r *replay) logs() (n uint) {
	for _, receipt := range r.b.Receipts[:r.done] {
		n += uint(len(receipt.Logs))
	}
	return n
}

var errNotMade = errors.New(
	"this block came with the genesis or as a record: it was not executed here, and has no trace")

func (v *view) replay(b *block) (*replay, error) {
	if b.Number == 0 {
		return nil, errors.New("genesis is not traceable")
	}
	if !v.Made(b.Number) {
		return nil, errNotMade
	}
	h, err := v.header(b.Number)
	if err != nil {
		return nil, err
	}
	st, err := v.stateAt(b.Number - 1)
	if err != nil {
		return nil, err
	}
	return &replay{v: v, b: b, h: h, before: st}, nil
}

// run executes the transactions from r.done to until, without the one at until. t sees them
// unless it is nil. A transaction that uses other gas than its receipt says is an error.
func (r *replay) run(ctx context.Context, until int, t *tracer) error {
	var st evm.State = r.before
	if t != nil {
		st = hooked{r.before, t.Hooks, r.logs()}
	}
	block := evm.NewBlock(*r.h, st, r.v.service.analyses)
	defer block.Close()
	if t != nil {
		block.Trace(t.Hooks)
		t.stop = block.Cancel
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		if t != nil {
			t.Stop(errors.New("execution timeout"))
		}
		block.Cancel()
		close(stopped)
	})
	var failed error
	for ; r.done < until && failed == nil && !block.Cancelled(); r.done++ {
		tx := evm.Tx{Transaction: r.b.Txs[r.done], From: r.b.Senders[r.done]}
		receipts, err := block.Execute([]evm.Tx{tx}, nil)
		switch want := r.b.Receipts[r.done]; {
		case err != nil:
			failed = err
		case block.Cancelled():
		case len(receipts) != 1 || receipts[0].GasUsed != want.GasUsed:
			failed = fmt.Errorf("transaction %v was not executed as it was in block %d", tx.Hash(), r.b.Number)
		}
	}
	r.broken = failed != nil || block.Cancelled()
	if !stop() {
		<-stopped
		r.broken = true
		return errors.New("execution timeout")
	}
	return failed
}

// about tells a tracer where a transaction stands.
func (r *replay) about(index int) *tracers.Context {
	return &tracers.Context{
		BlockHash: common.Hash(r.b.ID), BlockNumber: new(big.Int).SetUint64(uint64(r.b.Number)), TxIndex: index,
		TxHash: r.b.TxHash(index),
	}
}

// trace executes the next transaction up to an index with a tracer, and those before
// without.
func (r *replay) trace(ctx context.Context, index int, c *TraceConfig) (json.RawMessage, error) {
	t, ctx, err := r.v.service.newTracer(ctx, c, r.about(index), r.v)
	if err != nil {
		return nil, err
	}
	defer t.end()
	if err := r.run(ctx, index, nil); err != nil {
		return nil, err
	}
	if err := r.run(ctx, index+1, t); err != nil && !t.over {
		return nil, fmt.Errorf("tracing failed: %w", err)
	}
	return t.result(r.v.service.limits.Trace)
}

func (d debugTraces) TraceTransaction(ctx context.Context, hash common.Hash, c *TraceConfig) (json.RawMessage, error) {
	return read(d.s, func(v *view) (json.RawMessage, error) {
		b, index, err := v.find(hash)
		if err == nil && b == nil {
			err = errors.New("transaction not found")
		}
		if err != nil {
			return nil, err
		}
		r, err := v.replay(b)
		if err != nil {
			return nil, err
		}
		return r.trace(ctx, int(index), c)
	})
}

func (d debugTraces) block(
	ctx context.Context, get func(*view) (*block, error), what any, c *TraceConfig,
) ([]txTraceJSON, error) {
	return read(d.s, func(v *view) ([]txTraceJSON, error) {
		b, err := get(v)
		if err == nil && b == nil {
			err = fmt.Errorf("block %v not found", what)
		}
		if err != nil {
			return nil, err
		}
		return v.traces(ctx, b, c)
	})
}

func (d debugTraces) TraceBlockByNumber(ctx context.Context, t BlockTag, c *TraceConfig) ([]txTraceJSON, error) {
	return d.block(ctx, byTag(t), fmt.Sprintf("#%d", t), c)
}

func (d debugTraces) TraceBlockByHash(ctx context.Context, hash common.Hash, c *TraceConfig) ([]txTraceJSON, error) {
	return d.block(ctx, byHash(hash), hash, c)
}

func (d debugTraces) TraceCall(
	ctx context.Context, a TransactionArgs, r *BlockRef, c *CallTraceConfig,
) (json.RawMessage, error) {
	if r == nil {
		ref := refTo(Latest)
		r = &ref
	}
	if c == nil {
		c = &CallTraceConfig{}
	}
	return read(d.s, func(v *view) (json.RawMessage, error) {
		on, err := c.callee(ctx, v, *r)
		if err != nil {
			return nil, err
		}
		t, ctx, err := d.s.newTracer(ctx, &c.TraceConfig,
			&tracers.Context{BlockNumber: new(big.Int).SetUint64(uint64(on.header.Number))}, v)
		if err != nil {
			return nil, err
		}
		defer t.end()
		if err := a.checkChain(v); err != nil {
			return nil, err
		}
		m, err := a.message(d.s.limits.GasCap, c.BlockOverrides.baseFee(on.header))
		if err != nil {
			return nil, err
		}
		within, stop := context.WithCancel(ctx)
		defer stop()
		t.stop = stop
		if _, err := on.run(within, m, c.StateOverrides, t.Hooks, t.limit); err != nil && !t.over {
			return nil, fmt.Errorf("tracing failed: %w", err)
		}
		return t.result(d.s.limits.Trace)
	})
}
