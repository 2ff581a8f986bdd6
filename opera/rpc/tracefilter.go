package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/inter"
)

// TraceFilter says which calls trace_filter returns, in the form of the former Parity: of
// the blocks From to To, the last one if nil, from one of some addresses, if any are named,
// and to one of others. After of them are left out, and Count is how many there are at most.
type TraceFilter struct {
	From        *BlockTag        `json:"fromBlock"`
	To          *BlockTag        `json:"toBlock"`
	FromAddress []common.Address `json:"fromAddress"`
	ToAddress   []common.Address `json:"toAddress"`
	After       *Count           `json:"after"`
	Count       *Count           `json:"count"`
}

// traced is what a filter looks at in a call's trace.
type traced struct {
	Type   string
	Action struct {
		From, To, Address, RefundAddress, Author *common.Address
	}
	Result *struct{ Address *common.Address }
}

// match tells whether a call is wanted. A creation is to the contract that came to be, an
// end of a contract from that to who gets the money.
func (f *TraceFilter) match(c *traced) bool {
	from, to := c.Action.From, c.Action.To
	switch {
	case c.Type == "suicide":
		from, to = c.Action.Address, c.Action.RefundAddress
	case to == nil && c.Result != nil:
		to = c.Result.Address
	}
	among := func(list []common.Address, a *common.Address) bool {
		return len(list) == 0 || a != nil && slices.Contains(list, *a)
	}
	return among(f.FromAddress, from) && among(f.ToAddress, to)
}

// found collects what a filter wants, within limits.
type found struct {
	filter *TraceFilter
	skip   uint64
	most   uint64
	room   int
	calls  []json.RawMessage
}

// take adds the calls of a block, and tells whether there is room for more.
func (f *found) take(calls []json.RawMessage) (more bool, err error) {
	for _, text := range calls {
		var c traced
		if err := json.Unmarshal(text, &c); err != nil {
			return false, fmt.Errorf("read a trace: %w", err)
		}
		if !f.filter.match(&c) {
			continue
		}
		if f.skip > 0 {
			f.skip--
			continue
		}
		if f.room -= len(text); f.room < 0 {
			return false, errTraceSize
		}
		if f.calls = append(f.calls, text); uint64(len(f.calls)) >= f.most {
			return false, nil
		}
	}
	return true, nil
}

// Filter executes the blocks of a range again and returns the calls that are wanted, oldest
// first. A range that is too wide, or takes too long, is an error that says which blocks
// fit, and where to go on.
func (f flatTraces) Filter(ctx context.Context, c TraceFilter) ([]json.RawMessage, error) {
	limits := &f.s.limits
	if n := len(c.FromAddress) + len(c.ToAddress); n > limits.Criteria {
		return nil, fmt.Errorf("too many addresses: %d, the limit is %d", n, limits.Criteria)
	}
	got := &found{filter: &c, most: 1 << 62, room: limits.Trace, calls: []json.RawMessage{}}
	if c.After != nil {
		got.skip = uint64(*c.After)
	}
	if c.Count != nil {
		if got.most = uint64(*c.Count); got.most == 0 {
			return got.calls, nil
		}
	}
	return read(f.s, func(v *view) ([]json.RawMessage, error) {
		from, to := v.Head().Number, v.Head().Number
		if c.From != nil {
			from = v.number(*c.From)
		}
		if c.To != nil {
			to = min(to, v.number(*c.To))
		}
		if from > to {
			return got.calls, nil
		}
		if to-from >= limits.TraceBlocks {
			return nil, shorter(fmt.Sprintf("too wide blocks range, the limit is %d", limits.TraceBlocks), from,
				from+limits.TraceBlocks-1)
		}
		return got.calls, v.filter(ctx, got, from, to)
	})
}

// filter goes through the blocks of a range.
func (v *view) filter(ctx context.Context, got *found, from, to inter.BlockNumber) error {
	end := time.Now().Add(traceTime * v.service.limits.RequestTime)
	for n := from; n <= to; n++ {
		if time.Now().After(end) || ctx.Err() != nil {
			const why = "the blocks took too long"
			if n == from {
				return fmt.Errorf("%s, and %#x alone does: trace its transactions one by one", why, uint64(n))
			}
			return shorter(why, from, n-1)
		}
		b, err := v.passedBlock(n)
		if err != nil {
			return err
		}
		if b == nil || len(b.Txs) == 0 {
			continue
		}
		var calls []json.RawMessage
		all, err := v.traces(ctx, b, flatConfig())
		if err == nil {
			calls, err = flatten(all)
		}
		if err != nil {
			return fmt.Errorf("block %#x cannot be traced: %w. Leave it out, and go on from %#x",
				uint64(n), err, uint64(n)+1)
		}
		more, err := got.take(calls)
		if err == errTraceSize && n > from {
			return shorter(err.Error(), from, n-1)
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// shorter says which blocks fit into an answer, and where the next begins.
func shorter(why string, from, to inter.BlockNumber) error {
	return fmt.Errorf("%s. Try with this block range [%#x, %#x], and go on from %#x",
		why, uint64(from), uint64(to), uint64(to+1))
}
