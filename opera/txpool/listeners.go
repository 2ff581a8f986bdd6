package txpool

import (
	"maps"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/core/types"
)

// listeners are who is told of transactions. The zero value is nobody. Any goroutine may call its
// methods; who is told must call none of them.
type listeners struct {
	mu   sync.Mutex
	list map[int]func(types.Transactions)
	next int
}

// add has each told from now on. What is returned ends that.
func (l *listeners) add(each func(types.Transactions)) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.next
	l.next++
	if l.list == nil {
		l.list = map[int]func(types.Transactions){}
	}
	l.list[id] = each
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.list, id)
	}
}

// tell tells those who listen, in the order of their coming.
func (l *listeners) tell(txs types.Transactions) {
	if len(txs) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(l.list)) {
		l.list[id](txs)
	}
}
