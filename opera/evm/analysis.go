package evm

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
)

// Analyses remembers, from block to block, where in a contract's code one may jump.
// Finding that reads the whole code. Any goroutine may use it.
type Analyses struct {
	limit int // bytes of a generation

	mu       sync.RWMutex
	young    map[common.Hash]vm.BitVec
	old      map[common.Hash]vm.BitVec
	occupied int // by young
}

var _ vm.JumpDestCache = (*Analyses)(nil)

// An analysis is an eighth of its code and some bytes for its entry.
const analysisEntry = 128

// NewAnalyses returns a memory that takes up to so many bytes.
func NewAnalyses(bytes int) *Analyses {
	return &Analyses{limit: bytes / 2, young: make(map[common.Hash]vm.BitVec)}
}

// Load implements vm.JumpDestCache.
func (a *Analyses) Load(code common.Hash) (vm.BitVec, bool) {
	a.mu.RLock()
	v, ok := a.young[code]
	if !ok {
		v, ok = a.old[code]
		a.mu.RUnlock()
		if ok {
			a.Store(code, v)
		}
		return v, ok
	}
	a.mu.RUnlock()
	return v, ok
}

// Store implements vm.JumpDestCache. When the young generation is full, the old one is
// forgotten: who was not asked for since goes with it.
func (a *Analyses) Store(code common.Hash, v vm.BitVec) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.young[code]; ok {
		return
	}
	if a.occupied+len(v)+analysisEntry > a.limit {
		a.old, a.young, a.occupied = a.young, make(map[common.Hash]vm.BitVec), 0
	}
	a.young[code] = v
	a.occupied += len(v) + analysisEntry
}
