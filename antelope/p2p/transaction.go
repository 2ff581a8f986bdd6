package p2p

import (
	"log/slog"
	"maps"
	"sync"
	"time"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// takesTransactions tells whether those of peers are taken now.
func takesTransactions(n *Network) bool {
	return n.config.AcceptTransactions && !n.chain.RefusesTransactions()
}

// handleTransaction takes a transaction. One that is known costs a hash and a look.
func (c *conn) handleTransaction(frame []byte, r *serial.Reader) error {
	n := c.net
	n.trxIn.Add(1)
	if !takesTransactions(n) {
		c.debugf("p2p-accept-transaction=false - dropping trx")
		return nil
	}
	if n.sync.absorbed() {
		c.debugf("syncing, dropping trx")
		return nil
	}
	encoded := frame[r.Offset():]
	hash, compression, ok := peek(encoded)
	id := hash
	if ok && compression == types.CompressionZlib {
		id, ok = n.trxs.inflatedID(hash)
	}
	if ok && n.trxs.noteKnown(id, c.slot) {
		n.duplicateTrx.Add(1)
		return nil
	}
	if c.trxBytes.Load() > c.limits.ConnTransactions || n.trxBytes.Load() > c.limits.Transactions {
		c.dropTransaction("too many trx in progress")
		return nil
	}
	if c.failures.full() {
		c.dropTransaction("too many failed trx")
		return nil
	}
	if compression != types.CompressionNone && c.inflating.full() {
		c.dropTransaction("too much inflated for nothing")
		return nil
	}
	p := new(types.PackedTransaction)
	if p.Read(r); r.Err() != nil {
		return r.Err()
	}
	t, err := NewTransaction(p)
	if err != nil {
		return err
	}
	t.size = p.Footprint(t.Trx, t.ContextFreeData)
	if compression == types.CompressionZlib {
		n.trxs.noteInflated(hash, t.ID, t.Expiration)
	}
	if !n.trxs.add(t.ID, t.Expiration, c.slot) {
		n.duplicateTrx.Add(1)
		c.spendInflated(t)
		return nil
	}
	c.gave.Store(true)
	if c.debugging() {
		c.debugf("received packed_transaction %v", t.ID)
	}
	c.trxBytes.Add(t.size)
	n.trxBytes.Add(t.size)
	if c.arrived = append(c.arrived, t); len(c.arrived) == c.limits.Arrived {
		c.giveTransactions()
	}
	return nil
}

// giveTransactions gives the chain those that have arrived one right after the other.
func (c *conn) giveTransactions() {
	if len(c.arrived) == 0 {
		return
	}
	c.net.chain.Transactions(c.arrived, c.transactionDone)
	clear(c.arrived)
	c.arrived = c.arrived[:0]
}

func (c *conn) transactionDone(t *Transaction, err error) {
	c.trxBytes.Add(-t.size)
	c.net.trxBytes.Add(-t.size)
	if err != nil {
		c.failures.spend(1)
		c.spendInflated(t)
		c.logf(slog.LevelDebug, "bad packed_transaction : %v", err)
	}
}

// spendInflated counts what was inflated for a transaction that was no use.
func (c *conn) spendInflated(t *Transaction) {
	if t.Packed.Compression != types.CompressionNone {
		c.inflating.spend(float64(t.size))
	}
}

// dropTransaction counts a transaction that is not looked at.
func (c *conn) dropTransaction(why string) {
	c.net.droppedTrx.Add(1)
	c.warnf("Dropping trx, %s %d bytes", why, c.trxBytes.Load())
}

// peek finds what a packed transaction is recognised by without inflating or decoding it:
// the hash of the packed bytes. Of one that is not compressed that is the id, if those
// bytes are what encoding it again gives; if they are not, it is no transaction's.
func peek(encoded []byte) (hash types.Checksum256, c types.Compression, ok bool) {
	const signature = 65
	r := serial.NewReader(encoded)
	for n := r.Count(1 + signature); n > 0; n-- {
		if types.KeyType(r.Uint8()) > types.R1 {
			return hash, types.CompressionZlib, false // it may be
		}
		r.Raw(signature)
	}
	c = types.Compression(r.Uint8())
	r.Bytes() // context-free data
	packed := r.Bytes()
	if r.Err() != nil {
		return hash, c, false
	}
	return types.Hash(packed), c, true
}

// trxShards is how many parts the index has, each with a lock of its own.
const trxShards = 16

// trxIndex remembers for a while which peers have which transactions.
type trxIndex struct {
	keep   time.Duration
	shards [trxShards]trxShard
}

type trxShard struct {
	mu     sync.Mutex
	list   map[types.Checksum256]*trxEntry
	zipped map[types.Checksum256]zipped // by the hash of what is compressed
}

// zipped is a compressed transaction that was inflated.
type zipped struct {
	id      types.Checksum256
	expires int64 // Unix seconds
}

type trxEntry struct {
	peers   slotSet
	expires int64 // Unix seconds, the whole second included
}

func newTrxIndex(keep time.Duration) *trxIndex {
	x := &trxIndex{keep: keep}
	for i := range x.shards {
		x.shards[i].list = map[types.Checksum256]*trxEntry{}
		x.shards[i].zipped = map[types.Checksum256]zipped{}
	}
	return x
}

func (x *trxIndex) shard(id *types.Checksum256) *trxShard { return &x.shards[id[7]%trxShards] }

// noteKnown tells whether a transaction is remembered, and if so that the peer has it.
func (x *trxIndex) noteKnown(id types.Checksum256, slot int) bool {
	s := x.shard(&id)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.list[id]
	if e == nil {
		return false
	}
	e.peers.add(slot)
	return true
}

// inflatedID returns the id of a compressed transaction that was inflated before, by the hash
// of what is compressed.
func (x *trxIndex) inflatedID(hash types.Checksum256) (id types.Checksum256, ok bool) {
	s := x.shard(&hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	z, ok := s.zipped[hash]
	return z.id, ok
}

// noteInflated remembers what a compressed transaction inflated to.
func (x *trxIndex) noteInflated(hash, id types.Checksum256, expiration types.TimePointSec) {
	s := x.shard(&hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zipped[hash] = zipped{id, x.until(expiration)}
}

// until is how long something about a transaction is remembered, in Unix seconds.
func (x *trxIndex) until(expiration types.TimePointSec) int64 {
	return min(time.Now().Add(x.keep).Unix(), int64(expiration))
}

// add remembers that a peer has a transaction, and tells whether it is news.
func (x *trxIndex) add(id types.Checksum256, expiration types.TimePointSec, slot int) bool {
	s := x.shard(&id)
	s.mu.Lock()
	defer s.mu.Unlock()
	e, old := s.entry(id, expiration, x)
	e.peers.add(slot)
	return !old
}

func (s *trxShard) entry(id types.Checksum256, expiration types.TimePointSec, x *trxIndex) (e *trxEntry, old bool) {
	if e = s.list[id]; e != nil {
		return e, true
	}
	e = &trxEntry{expires: x.until(expiration)}
	s.list[id] = e
	return e, false
}

// spread returns the connections that a transaction is to be passed on to, and
// notes that they have it.
func (x *trxIndex) spread(id types.Checksum256, expiration types.TimePointSec, conns []*conn, to []*conn) []*conn {
	s := x.shard(&id)
	s.mu.Lock()
	defer s.mu.Unlock()
	e, _ := s.entry(id, expiration, x)
	for _, c := range conns {
		if c.takesTransactions() && c.current() && e.peers.add(c.slot) {
			to = append(to, c)
		}
	}
	return to
}

// expire forgets what is old.
func (x *trxIndex) expire(now time.Time) {
	limit := now.Unix()
	for i := range x.shards {
		s := &x.shards[i]
		s.mu.Lock()
		for id, e := range s.list {
			if e.expires <= limit {
				delete(s.list, id)
			}
		}
		maps.DeleteFunc(s.zipped, func(_ types.Checksum256, z zipped) bool { return z.expires <= limit })
		s.mu.Unlock()
	}
}

// size is how many transactions are remembered.
func (x *trxIndex) size() (n int) {
	for i := range x.shards {
		s := &x.shards[i]
		s.mu.Lock()
		n += len(s.list)
		s.mu.Unlock()
	}
	return n
}
