package rpc

import (
	"runtime"
	"sync"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/state"
)

// codes remembers contracts' code, which calls ask for again and again: the store's is copied each
// time. Any goroutine may use it.
type codes struct {
	mu         sync.RWMutex
	young, old map[common.Hash][]byte
	bytes      int // of young
}

// codeBytes bounds the memory of remembered code.
const codeBytes = 32 << 20

func newCodes() *codes { return &codes{young: map[common.Hash][]byte{}} }

// get returns the code of a hash, from a state if it is not remembered. Nobody changes it.
func (c *codes) get(of state.Source, hash common.Hash) ([]byte, error) {
	c.mu.RLock()
	code, young := c.young[hash]
	if !young {
		code = c.old[hash]
	}
	c.mu.RUnlock()
	if young {
		return code, nil
	}
	if code == nil {
		var err error
		if code, err = of.Code(hash); err != nil || len(code) == 0 {
			return code, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes+len(code) > codeBytes/2 {
		c.old, c.young, c.bytes = c.young, map[common.Hash][]byte{}, 0
	}
	if c.young[hash] == nil {
		c.young[hash] = code
		c.bytes += len(code)
	}
	return code, nil
}

// coded is a state whose code is remembered.
type coded struct {
	state.Source
	codes *codes
}

// Code implements state.Source.
func (c coded) Code(hash common.Hash) ([]byte, error) { return c.codes.get(c.Source, hash) }

// hashers are memories of hashes that calls take in turn, as many as calls can run at once. One
// that finds none remembers nothing.
type hashers chan *state.Hashes

func newHashers() hashers {
	h := make(hashers, runtime.GOMAXPROCS(0))
	for range cap(h) {
		h <- state.NewHashes()
	}
	return h
}

// take returns a memory, nil if all are taken, and what gives it back.
func (h hashers) take() (of *state.Hashes, back func()) {
	select {
	case of = <-h:
		return of, func() { h <- of }
	default:
		return nil, func() {}
	}
}
