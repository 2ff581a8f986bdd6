package senderrecovery

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// last remembers who sent the last transactions. Most come several times: from peers, from clients, in
// events of several validators; and to find a sender takes longer than to execute a transfer. A hash is
// of the signature, too, so that it has one sender.
type last struct {
	mu         sync.Mutex
	young, old map[common.Hash]common.Address
}

// lastMost bounds the transactions of each of the two generations, which take some 4 MB each.
const lastMost = 1 << 15

// senders returns who sent each transaction, nobody for those that are not remembered.
func (l *last) senders(txs types.Transactions) []common.Address {
	senders := make([]common.Address, len(txs))
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, tx := range txs {
		hash := tx.Hash()
		from, known := l.young[hash]
		if !known {
			from = l.old[hash]
		}
		senders[i] = from
	}
	return senders
}

// remember takes transactions and who sent them; nobody for those that are not to be remembered.
func (l *last) remember(txs types.Transactions, senders []common.Address) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, tx := range txs {
		if senders[i] == (common.Address{}) {
			continue
		}
		if len(l.young) >= lastMost {
			l.young, l.old = l.old, l.young
			clear(l.young)
		}
		l.young[tx.Hash()] = senders[i]
	}
}
