package execute

import (
	"context"
	"errors"
	"strconv"
	"time"

	"tarn/antelope/types"
)

// Readers are several readers, for as many transactions at once. Any goroutine may use
// them.
type Readers struct {
	free    chan *Reader // not at work
	all     []*Reader
	stopped chan struct{}
	reason  error // why they were stopped, once that is closed
}

// readerBytes is what a transaction may change, in bytes. Blocks hold far less.
const readerBytes = 64 << 20

// NewReaders makes n readers. One makes a reader for transactions that change so many bytes at most.
func NewReaders(n int, one func(bytes int64) (*Reader, error)) (*Readers, error) {
	r := &Readers{free: make(chan *Reader, n), stopped: make(chan struct{})}
	for i := range n {
		x, err := one(readerBytes)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		x.thread = "read-" + strconv.Itoa(i)
		r.all = append(r.all, x)
		r.free <- x
	}
	return r, nil
}

// Execute is [Reader.Execute] on one that is free, in a block that is begun then. It
// waits for one until ctx ends.
func (r *Readers) Execute(ctx context.Context, x *Candidate, b Billing) (*types.TransactionTrace, error) {
	var one *Reader
	select {
	case one = <-r.free:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-r.stopped:
		return nil, r.reason
	}
	defer func() { r.free <- one }()
	return one.Execute(x, b, time.Now())
}

// Stop makes what is being executed, and who waits, fail with err, and waits for the end
// of all. It is called once.
func (r *Readers) Stop(err error) error {
	r.reason = err
	close(r.stopped)
	for _, x := range r.all {
		x.Interrupt(err)
	}
	for range r.all {
		<-r.free
	}
	return r.close()
}

func (r *Readers) close() error {
	var errs []error
	for _, x := range r.all {
		errs = append(errs, x.Close())
	}
	r.all = nil
	return errors.Join(errs...)
}
