package producer

import (
	"context"

	"tarn/antelope/control"
	"tarn/antelope/execute"
	"tarn/antelope/types"
)

// read executes a transaction on a reader. Only where the pending block that is
// shown has no room left does the writer execute it, in the next block.
func (p *Producer) read(ctx context.Context, x *execute.Candidate, o control.TransactionOptions) (*types.TransactionTrace, error) {
	if err := p.examine([]*execute.Candidate{x})[0]; err != nil {
		return nil, err
	}
	trace, err := p.readers.Execute(ctx, x, execute.Billing{MaxTime: max(p.maxTime.Load(), 0)})
	if err == nil && trace.Except != nil && exhausts(trace.Except) {
		return p.submit(ctx, x, o)
	}
	p.logTrace(func() string { return speculating }, x, trace, err)
	if err == nil && trace.Except != nil && !o.FailureTrace {
		err = trace.Except
	}
	if err != nil {
		return nil, err
	}
	return trace, nil
}
