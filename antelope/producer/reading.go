package producer

import (
	"context"
	"errors"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/control"
	"tarn/antelope/types"
	"tarn/writer"
)

// readers execute transactions that leave nothing, on views: several at once, and
// beside the writer.
type readers struct {
	free chan *chain.Reader // not at work
	all  []*chain.Reader
}

func openReaders(c *chain.Chain, n int) (*readers, error) {
	r := &readers{free: make(chan *chain.Reader, n)}
	for range n {
		x, err := c.NewReader()
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.all = append(r.all, x)
		r.free <- x
	}
	return r, nil
}

// stop makes what is being executed fail, and waits for its end.
func (r *readers) stop() error {
	for _, x := range r.all {
		x.Interrupt(writer.ErrStopped)
	}
	for range r.all {
		<-r.free
	}
	return r.close()
}

func (r *readers) close() error {
	var errs []error
	for _, x := range r.all {
		errs = append(errs, x.Close())
	}
	r.all = nil
	return errors.Join(errs...)
}

// read executes a transaction on a reader. Only where the pending block that is
// shown has no room left does the writer execute it, in the next block.
func (p *Producer) read(ctx context.Context, x *chain.Candidate, o control.TransactionOptions) (*types.TransactionTrace, error) {
	if err := p.examine([]*chain.Candidate{x})[0]; err != nil {
		return nil, err
	}
	var r *chain.Reader
	select {
	case r = <-p.readers.free:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-p.writer.Closed():
		return nil, writer.ErrStopped
	}
	trace, err := r.Execute(x, chain.Billing{MaxTime: max(p.maxTime.Load(), 0)}, time.Now())
	p.readers.free <- r
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
