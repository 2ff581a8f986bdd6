package rpc

import (
	"runtime"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"

	"tarn/opera/state"
)

// codes is remembered code, by its hash.
type codes = lru.SizeConstrainedCache[common.Hash, []byte]

// newCodes returns a memory of so many bytes, of which each code takes some for its entry.
func newCodes(bytes int) *codes {
	each := func(common.Hash) uint64 { return 128 }
	return lru.NewSizeConstrainedCacheWithKeySize[common.Hash, []byte](uint64(bytes), each)
}

// pendingTexts is remembered transactions as JSON, by their hashes.
type pendingTexts = lru.SizeConstrainedCache[common.Hash, []byte]

// newPendingTexts returns a memory of so many bytes, of which each text takes some for its entry.
func newPendingTexts(bytes int64) *pendingTexts { return newCodes(int(bytes)) }

// coded is a state whose code is remembered: calls ask for the same again and again, and the
// store's is copied each time. Nobody changes the code.
type coded struct {
	state.Source
	codes *codes
}

// Code implements state.Source.
func (c coded) Code(hash common.Hash) ([]byte, error) {
	if code, ok := c.codes.Get(hash); ok {
		return code, nil
	}
	code, err := c.Source.Code(hash)
	if err == nil && len(code) > 0 {
		c.codes.Add(hash, code)
	}
	return code, err
}

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
