// Package trxretry keeps transactions that clients want to see in a block: it sends them
// again until they are in one, and answers when that block is deep enough or final
// (Leap: trx_retry_db.cpp).
//
// It executes nothing: it is told, and what it sends goes to peers.
package trxretry

import (
	"context"
	"sync"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/rpc"
	"tarn/antelope/types"
)

// forkPause is how long a transaction that was forked out waits at least before it is
// sent again, so that the switch of forks can end.
const forkPause = 10 * time.Second

// Options say how transactions are kept.
type Options struct {
	MaxBytes      uint64        // transaction-retry-max-storage-size-gb
	Interval      time.Duration // transaction-retry-interval-sec
	MaxExpiration time.Duration // transaction-retry-max-expiration-sec

	// Send gives a transaction to peers. Render returns the JSON of a trace. Both are
	// called on the goroutine of the events.
	Send   func(*types.PackedTransaction)
	Render func(*types.TransactionTrace) ([]byte, error)
	Now    func() time.Time
}

// result is what a client gets.
type result struct {
	json []byte
	err  error
}

// tracked is a transaction that is kept.
type tracked struct {
	db      *Database
	id      types.Checksum256
	packed  *types.PackedTransaction
	expires types.TimePointSec
	blocks  *uint16 // how deep it should be; nil until it is irreversible
	block   uint32  // that it is in, 0 for none
	trace   []byte
	tried   time.Time
	done    chan result // has room for the one answer
}

// size is about what it takes, in bytes.
func (t *tracked) size() uint64 {
	return uint64(256 + len(t.packed.PackedTrx) + len(t.packed.PackedContextFreeData) +
		80*len(t.packed.Signatures) + len(t.trace))
}

// Database keeps transactions. One goroutine, the chain's writer, tells it what
// happens; any goroutine may give it transactions.
type Database struct {
	opt Options

	mu   sync.Mutex
	trxs map[types.Checksum256][]*tracked // some are given twice
	used uint64                           // the sum of their sizes
}

var _ rpc.Retry = (*Database)(nil)

// New returns a database without transactions.
func New(o Options) *Database {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Database{opt: o, trxs: map[types.Checksum256][]*tracked{}}
}

// MaxExpiration is the latest expiration that is taken: a second that has begun
// counts.
func (d *Database) MaxExpiration() types.TimePointSec {
	return types.TimePointSec(d.opt.Now().Add(d.opt.MaxExpiration + time.Second - time.Microsecond).Unix())
}

// Track begins to keep a transaction.
func (d *Database) Track(p *types.PackedTransaction, blocks *uint16) (rpc.Tracked, error) {
	trx, _, err := p.Unpack()
	if err != nil {
		return nil, err
	}
	t := &tracked{db: d, id: trx.ID(), packed: p, expires: trx.Expiration, blocks: blocks, tried: d.opt.Now(),
		done: make(chan result, 1)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used >= d.opt.MaxBytes {
		return nil, exception.New(exception.TxResourceExhaustion,
			"Transaction exceeded  transaction-retry-max-storage-size-gb limit: ${m} bytes", "m", d.used)
	}
	d.trxs[t.id] = append(d.trxs[t.id], t)
	d.used += t.size()
	return t, nil
}

// setTrace changes the trace of a transaction that is kept.
func (d *Database) setTrace(t *tracked, trace []byte) {
	d.used += uint64(len(trace)) - uint64(len(t.trace))
	t.trace = trace
}

// Wait returns the JSON of the trace once the transaction is where it should be.
func (t *tracked) Wait(ctx context.Context) ([]byte, error) {
	select {
	case r := <-t.done:
		return r.json, r.err
	case <-ctx.Done():
		t.Drop()
		return nil, ctx.Err()
	}
}

// Drop ends the keeping.
func (t *tracked) Drop() {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	t.db.remove(t)
}

func (d *Database) remove(t *tracked) {
	list := d.trxs[t.id]
	kept := list[:0:0]
	for _, o := range list {
		if o == t {
			d.used -= t.size()
		} else {
			kept = append(kept, o)
		}
	}
	if d.trxs[t.id] = kept; len(kept) == 0 {
		delete(d.trxs, t.id)
	}
}

// finish answers, and ends the keeping.
func (d *Database) finish(t *tracked, r result) {
	t.done <- r
	d.remove(t)
}

// Stop answers err to all who wait.
func (d *Database) Stop(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.each(func(t *tracked) { d.finish(t, result{err: err}) })
}

// each calls f with every transaction; f may remove it.
func (d *Database) each(f func(*tracked)) {
	for _, list := range d.trxs {
		for _, t := range list {
			f(t)
		}
	}
}

// StartBlock is called before a block is begun: what was in it and later ones has been
// taken back.
func (d *Database) StartBlock(num uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.opt.Now()
	d.each(func(t *tracked) {
		if t.block == 0 || t.block < num {
			return
		}
		if !t.tried.Add(d.opt.Interval).After(now) {
			t.tried = t.tried.Add(forkPause)
		}
		t.block = 0
		d.setTrace(t, nil)
	})
}

// Applied is called with each transaction that was executed. Only those in blocks of
// other nodes count: a node that produces keeps no transactions.
func (d *Database) Applied(trace *types.TransactionTrace) {
	if trace.Receipt == nil || trace.Receipt.Status != types.StatusExecuted || trace.Scheduled ||
		trace.ProducerBlockID == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.trxs[trace.ID]
	if len(list) == 0 {
		return
	}
	json, err := d.opt.Render(trace)
	for _, t := range list {
		if err != nil {
			d.finish(t, result{err: err})
			continue
		}
		t.block = trace.BlockNum
		d.setTrace(t, json)
	}
}

// Accepted is called with each block that became the head.
func (d *Database) Accepted(b *consensus.BlockState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.opt.Now()
	d.each(func(t *tracked) {
		switch {
		case t.block != 0 && t.blocks != nil && uint64(t.block)+uint64(*t.blocks) <= uint64(b.BlockNum):
			d.finish(t, result{json: t.trace})
		case t.block == 0 && !t.tried.Add(d.opt.Interval).After(now):
			d.opt.Send(t.packed)
			t.tried = now
		}
	})
}

// Irreversible is called with each block that became irreversible.
func (d *Database) Irreversible(b *consensus.BlockState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := b.Header.Timestamp
	d.each(func(t *tracked) {
		switch {
		case t.block != 0 && t.block <= b.BlockNum:
			d.finish(t, result{json: t.trace})
		case t.expires.TimePoint() <= now.TimePoint():
			d.finish(t, result{err: exception.New(exception.ExpiredTx, "expired retry transaction ${id}, expiration "+
				"${e}, block time ${bt}", "id", t.id, "e", t.expires, "bt", now)})
		}
	})
}
