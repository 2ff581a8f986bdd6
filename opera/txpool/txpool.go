// Package txpool keeps the transactions that wait to be executed, by the rules of
// go-opera v1.1.3-rc.5 (evmcore/tx_pool.go).
//
// It owns which transactions may wait and for how long, which of them can be executed
// next, and the journal that brings the node's own clients' transactions over a restart.
// It reads the chain as it was after one block, which [Pool.Follow] replaces. It never
// executes anything, talks to no peer, and decides nothing that a block contains.
//
// # Words
//
// The transactions of an account that follow its nonce without a gap are pending, those
// after a gap are queued. An account is local once a client of this node has sent one of
// its transactions: neither limits nor prices of peers' transactions push these out, nor these
// those. The transactions of an account that can be executed one after another with what it has
// are paid; the others are idle, because they cost nobody anything.
//
// # Invariants
//
//  1. A transaction stands in all and in the list of its sender, in both or in neither;
//     one that is not local stands in one of the two heaps of prices.
//  2. The list of an account ascends by nonce, each nonce once; its first ready
//     transactions begin at the account's nonce and have no gap.
//  3. Nobody's transactions take memory without a bound: those that are not local by
//     slots, local ones by number and bytes.
//  4. Where there is no room, idle transactions make it for those that can be executed:
//     the account that has most of them first, the highest nonces first.
package txpool

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/senderrecovery"
	"tarn/store/vfs"
)

// Limits of a pool. Zero is go-opera's default of each.
type Limits struct {
	PriceLimit   uint64 // least tip of transactions that are not local, in wei for each unit of gas; 0
	PriceBump    uint64 // percent by which a replacement must pay more; 10
	AccountSlots uint64 // pending transactions that an account keeps in any case; 16
	GlobalSlots  uint64 // pending transactions of all accounts; 1280
	AccountQueue uint64 // queued transactions of an account; 32
	GlobalQueue  uint64 // queued transactions of all accounts; 256
	// Lifetime is how long queued transactions stay without one of the account becoming
	// pending; 3 h. LocalLifetime is the same for local ones; 24 h. go-opera has no bound there.
	Lifetime, LocalLifetime time.Duration
	// Locals is how many local transactions may wait before no more are taken, and how many
	// accounts are remembered as local; 16384. go-opera has no bound. What waits of an account
	// that becomes local may come on top. When there is no room, what can be executed takes the
	// place of what cannot.
	Locals int
	// LocalBytes is the same for the bytes of local transactions; 64 MiB.
	LocalBytes uint64
}

func (l *Limits) fill() {
	for p, v := range map[*uint64]uint64{&l.PriceBump: 10, &l.AccountSlots: 16, &l.GlobalSlots: 1280,
		&l.AccountQueue: 32, &l.GlobalQueue: 256, &l.LocalBytes: 64 << 20} {
		if *p == 0 {
			*p = v
		}
	}
	if l.Lifetime < 1 {
		l.Lifetime = 3 * time.Hour
	}
	if l.LocalLifetime < 1 {
		l.LocalLifetime = 24 * time.Hour
	}
	if l.Locals < 1 {
		l.Locals = 16384
	}
}

// Options of a pool.
type Options struct {
	// Head opens the chain after its newest block. It is called by New and by the goroutine
	// that follows the chain, never by the chain's writer.
	Head   func() (*Head, error)
	Signer types.Signer // of the chain
	// Senders finds many of the signer's senders together; nil finds each by itself.
	Senders *senderrecovery.Finder
	Limits  Limits
	// Locals are accounts that are local from the beginning. NoLocals treats what clients
	// send as what peers send, and keeps no journal.
	Locals   []common.Address
	NoLocals bool
	// Journal is the file of local transactions; "" is none. Its folder is made.
	Journal   string
	Rejournal time.Duration // how often it is written anew; an hour, at least a second
	FS        vfs.FS        // of the journal; vfs.OS by default
	// Warn, if not nil, is told what an operator should know. Any goroutine may call it.
	Warn func(error)
	Now  func() time.Time // the clock by default
}

func (o *Options) fill() {
	o.Limits.fill()
	if o.NoLocals {
		o.Journal = ""
	}
	if o.Rejournal == 0 {
		o.Rejournal = time.Hour
	}
	o.Rejournal = max(o.Rejournal, time.Second)
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Pool is the transactions that wait, as the chain's last block leaves them, with who adds them and
// who hears of them. Any goroutine may call its methods.
type Pool struct {
	o       Options
	journal *journal // nil: there is none
	workers chan struct{}
	moved   chan struct{} // the chain has a new block
	quit    chan struct{}
	done    chan struct{}

	mu   sync.RWMutex
	head *Head
	waiting

	listeners listeners
}

// New returns a pool with what its journal holds. Close ends it. Whatever is wrong with the
// journal is a warning.
func New(o Options) (*Pool, error) {
	o.fill()
	p := &Pool{
		o: o, workers: make(chan struct{}, workers()), waiting: newWaiting(&o),
		moved: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	var err error
	if p.head, err = o.Head(); err != nil {
		return nil, fmt.Errorf("read the chain for the pool of transactions: %w", err)
	}
	if o.Journal != "" {
		p.restore()
	}
	go p.run()
	return p, nil
}

// Close ends following the chain, and writes the journal. Transactions must not be added
// any more.
func (p *Pool) Close() error {
	close(p.quit)
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.head.Close()
	if p.journal != nil {
		err = errors.Join(err, p.journal.close())
	}
	return err
}

// Subscribe has each told of transactions that have become pending, and of those that have
// replaced pending ones, by nonces. It is called by whoever added them, and must not wait.
// What is returned ends that.
func (p *Pool) Subscribe(each func(types.Transactions)) func() { return p.listeners.add(each) }

// Get returns a transaction that waits, nil if there is none.
func (p *Pool) Get(hash common.Hash) *types.Transaction {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if e := p.all[hash]; e != nil {
		return e.tx
	}
	return nil
}

// Missing returns those of the hashes whose transactions are not here.
func (p *Pool) Missing(hashes []common.Hash) []common.Hash {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var missing []common.Hash
	for _, h := range hashes {
		if p.all[h] == nil {
			missing = append(missing, h)
		}
	}
	return missing
}

// Sample returns the hashes of some that wait, as many as are asked for or all.
func (p *Pool) Sample(most int) []common.Hash {
	p.mu.RLock()
	defer p.mu.RUnlock()
	skip := 0
	if n := len(p.all); n > most {
		skip = rand.IntN(n - most + 1)
	}
	hashes := make([]common.Hash, 0, min(most, len(p.all)))
	for h := range p.all {
		if len(hashes) >= most {
			break
		}
		if skip--; skip < 0 {
			hashes = append(hashes, h)
		}
	}
	return hashes
}

// Nonce returns what the next transaction of a sender has after its pending ones.
func (p *Pool) Nonce(sender common.Address) uint64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if a := p.accounts[sender]; a != nil {
		return a.next()
	}
	nonce, _, err := p.head.Account(sender)
	if err != nil {
		p.o.Warn(err)
	}
	return nonce
}

// Stats returns how many transactions are pending, and how many are queued.
func (p *Pool) Stats() (pending, queued int) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.ready, len(p.all) - p.ready
}

// Pending returns the pending transactions by sender and nonce. They are the caller's.
func (p *Pool) Pending() map[common.Address]types.Transactions {
	pending, _ := p.content(true, false)
	return pending
}

// Offers returns the pending transactions that a validator should execute: those of an
// account that is not local only as far as they leave it the tip of PriceLimit.
func (p *Pool) Offers() map[common.Address]types.Transactions {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.offers()
}

// Content returns the pending and the queued transactions by sender and nonce. They are
// the caller's.
func (p *Pool) Content() (pending, queued map[common.Address]types.Transactions) {
	return p.content(true, true)
}

func (p *Pool) content(wantPending, wantQueued bool) (pending, queued map[common.Address]types.Transactions) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.bySender(wantPending, wantQueued)
}

// ContentFrom returns what Content does of one sender.
func (p *Pool) ContentFrom(sender common.Address) (pending, queued types.Transactions) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	a := p.accounts[sender]
	if a == nil {
		return nil, nil
	}
	return transactions(a.txs[:a.ready]), transactions(a.txs[a.ready:])
}
