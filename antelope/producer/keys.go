package producer

import (
	"sync"

	"tarn/antelope/chain"
	"tarn/antelope/types"
)

// foundKeys remembers transactions whose keys were found, so that they need not be
// found again when a block brings them. It keeps between one and two times
// maxFoundKeys, the newest.
type foundKeys struct {
	mu         sync.Mutex
	young, old map[types.Checksum256]*chain.Candidate
}

const maxFoundKeys = 20_000

func (f *foundKeys) put(x *chain.Candidate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.young == nil || len(f.young) >= maxFoundKeys {
		f.young, f.old = make(map[types.Checksum256]*chain.Candidate), f.young
	}
	f.young[x.ID] = &chain.Candidate{Packed: x.Packed, Keys: x.Keys} // what a block needs of it
}

func (f *foundKeys) get(id types.Checksum256) *chain.Candidate {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.young[id]; x != nil {
		return x
	}
	return f.old[id]
}
