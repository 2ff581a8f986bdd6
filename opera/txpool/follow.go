package txpool

import (
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// Follow tells the pool that the chain has a new block. It never waits.
func (p *Pool) Follow() {
	select {
	case p.moved <- struct{}{}:
	default: // it will look at the newest block anyway
	}
}

// How often queued transactions are looked at whose time is over, and the journal is made
// durable.
const (
	evicting = time.Minute
	syncing  = time.Second
)

// run follows the chain and the clock until the pool is closed.
func (p *Pool) run() {
	defer close(p.done)
	evict, anew, sync := time.NewTicker(evicting), time.NewTicker(p.o.Rejournal), time.NewTicker(syncing)
	defer evict.Stop()
	defer anew.Stop()
	defer sync.Stop()
	for {
		select {
		case <-p.moved:
			p.advance()
		case <-evict.C:
			p.evict()
		case <-anew.C:
			p.rejournal()
		case <-sync.C:
			p.syncJournal()
		case <-p.quit:
			return
		}
	}
}

// advance brings the pool to the newest block.
func (p *Pool) advance() {
	head, err := p.o.Head()
	if err != nil {
		p.o.Warn(fmt.Errorf("the pool of transactions stays at an older block: %w", err))
		return
	}
	p.mu.Lock()
	old := p.head
	p.head = head
	told, err := p.reset()
	p.mu.Unlock()
	if err = errors.Join(err, old.Close()); err != nil {
		p.o.Warn(err)
	}
	p.listeners.tell(told)
}

// reset brings all accounts to the head, and returns what became pending. It goes on after
// an account that cannot be read, which stays as it is.
func (p *Pool) reset() (told types.Transactions, err error) {
	var news []*entry
	for sender, a := range p.accounts {
		nonce, balance, failed := p.head.Account(sender)
		if failed != nil {
			err = failed
			continue
		}
		news = append(news, p.bring(a, nonce, &balance)...)
	}
	fee, _ := uint256.FromBig(p.head.MinPrice)
	p.prices.setFee(fee)
	p.truncate()
	return p.still(news), err
}

// bring brings an account to its nonce and balance. What is queued comes first: what of it
// becomes pending has been looked at then. Pending transactions that cannot be paid go, and
// those after them become queued.
func (p *Pool) bring(a *account, nonce uint64, balance *uint256.Int) (promoted []*entry) {
	if old, _ := a.find(nonce); old > 0 {
		ready := max(a.ready, old) - old
		p.cut(a, 0, old)
		p.setReady(a, ready)
	}
	a.nonce, a.balance = nonce, *balance
	a.unpay(0)
	p.cutUnpayable(a, a.ready, balance)
	p.noteAccount(a)
	if a.queuedCount() > 0 {
		promoted = p.promote(a)
	}
	if p.cutUnpayable(a, 0, balance); a.ready > 0 && a.contiguous() < a.ready {
		p.setReady(a, a.contiguous())
	}
	p.noteAccount(a)
	return promoted
}

// cutUnpayable removes transactions from a place on that cost or use too much.
func (p *Pool) cutUnpayable(a *account, from int, balance *uint256.Int) {
	for at := len(a.txs) - 1; at >= from; at-- {
		if e := a.txs[at]; e.tx.Gas() > p.head.MaxGas || balance.Lt(&e.cost) {
			p.cut(a, at, at+1)
		}
	}
}

// evict removes what has been queued for too long.
func (p *Pool) evict() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for a := range p.idle {
		lifetime := p.o.Limits.Lifetime
		if a.local {
			lifetime = p.o.Limits.LocalLifetime
		}
		if a.queuedCount() > 0 && p.o.Now().Sub(a.beat) > lifetime {
			p.cut(a, a.ready, len(a.txs))
			p.noteAccount(a)
		}
	}
}
