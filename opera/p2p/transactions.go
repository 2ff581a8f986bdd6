package p2p

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// transactions is the part of a node that tells peers of the pool's transactions, and the pool of
// theirs. Without a pool none are told, taken or served.
type transactions struct {
	pool    Pool // nil: there is none
	peers   *peers
	limits  *Limits
	now     func() time.Time
	synced  func() bool // a node that is not has no use for transactions
	fetcher *fetcher[common.Hash]
	sampled time.Time
}

// newTransactions returns it for a node whose options, limits and peers are there.
func newTransactions(n *Node) *transactions {
	t := &transactions{pool: n.o.Pool, peers: &n.peers, limits: &n.limits, now: n.o.Now, synced: n.Synced}
	if t.pool != nil {
		t.fetcher = newFetcher(t.limits, t.limits.ArriveTx, t.pool.Missing, func(p *peer, ids []common.Hash) {
			_ = p.send(codeGetTxs, ids)
		})
	}
	return t
}

// wanted tells whether transactions are of use.
func (t *transactions) wanted() bool { return t.pool != nil && t.synced() }

// forgetPeer forgets what a peer was asked for.
func (t *transactions) forgetPeer(p *peer) {
	if t.fetcher != nil {
		t.fetcher.forgetPeer(p)
	}
}

// take takes transactions: those that were asked for, and those that are new.
func (t *transactions) take(p *peer, raw []byte) error {
	if !t.wanted() {
		return nil
	}
	txs, err := decodeTxs(raw)
	if err != nil {
		return err
	}
	hashes := hashesOf(txs)
	p.noteTxs(hashes)
	t.fetcher.noteReceived(hashes...)
	t.pool.AddRemotes(txs)
	return nil
}

// takeHashes asks for announced transactions.
func (t *transactions) takeHashes(p *peer, raw []byte) error {
	if !t.wanted() {
		return nil
	}
	hashes, err := decodeHashes[common.Hash](raw)
	if err != nil {
		return err
	}
	p.noteTxs(hashes)
	t.fetcher.announce(p, hashes, t.now())
	return nil
}

// noteTxs notes what the peer has.
func (p *peer) noteTxs(hashes []common.Hash) {
	for _, h := range hashes {
		p.txs.add(short(h))
	}
}

// greet tells a new peer of the pool.
func (t *transactions) greet(p *peer) {
	if t.pool != nil {
		t.tell(p, t.pool.Sample(t.limits.FirstTxs))
	}
}

func (t *transactions) tell(p *peer, hashes []common.Hash) {
	for part := range slices.Chunk(hashes, softItems) {
		if p.send(codeTxHashes, part) == nil {
			p.noteTxs(part)
		}
	}
}

// fetch asks again for what did not come.
func (t *transactions) fetch(now time.Time) {
	if t.fetcher != nil {
		t.fetcher.tick(now)
	}
}

// tick tells a random peer of some transactions of the pool when that is due.
func (t *transactions) tick(now time.Time) {
	if now.Sub(t.sampled) < t.limits.RandomEvery {
		return
	}
	t.sampled = now
	if peers := t.peers.list(); t.wanted() && len(peers) > 0 {
		t.tell(peers[rand.IntN(len(peers))], t.pool.Sample(t.limits.RandomTxs))
	}
}

// serve sends those of the transactions that wait, each once however often it is named.
func (t *transactions) serve(p *peer, hashes []common.Hash) error {
	if t.pool == nil {
		return nil
	}
	var txs types.Transactions
	named := make(map[common.Hash]bool, len(hashes))
	for _, h := range hashes {
		if named[h] {
			continue
		}
		named[h] = true
		if tx := t.pool.Get(h); tx != nil {
			txs = append(txs, tx)
		}
	}
	for len(txs) > 0 {
		batch := txs[:fittingCount(txs)]
		txs = txs[len(batch):]
		raw, err := rlp.EncodeToBytes(batch)
		if err != nil {
			return fmt.Errorf("encode transactions: %w", err)
		}
		p.noteTxs(hashesOf(batch))
		if err := p.reply(message{codeTxs, raw}); err != nil {
			return err
		}
	}
	return nil
}

// broadcast tells peers of transactions that are new in the pool.
func (t *transactions) broadcast(txs types.Transactions) {
	lacking, size := map[*peer]types.Transactions{}, 0
	peers := t.peers.list()
	for _, tx := range txs {
		for _, p := range peers {
			if !p.txs.contains(short(tx.Hash())) {
				lacking[p] = append(lacking[p], tx)
			}
		}
		size += int(tx.Size())
	}
	whole := recipients(size, txAge, len(lacking))
	for p, txs := range lacking {
		for len(txs) > 0 {
			batch := txs[:fittingCount(txs)]
			txs = txs[len(batch):]
			hashes := hashesOf(batch)
			var err error
			if whole > 0 {
				err = p.send(codeTxs, batch)
			} else {
				err = p.send(codeTxHashes, hashes)
			}
			if err == nil {
				p.noteTxs(hashes)
			}
		}
		whole--
	}
}

// fittingCount is how many of the transactions go into one message.
func fittingCount(txs types.Transactions) int {
	size := 0
	for i, tx := range txs {
		if size += int(tx.Size()) + txOverhead; size >= softBytes || i+1 >= softItems {
			return i + 1
		}
	}
	return len(txs)
}

func hashesOf(txs types.Transactions) []common.Hash {
	hashes := make([]common.Hash, len(txs))
	for i, tx := range txs {
		hashes[i] = tx.Hash()
	}
	return hashes
}
