package producer

import (
	"sync"

	"tarn/antelope/execute"
	"tarn/antelope/types"
)

// foundKeys remembers transactions whose keys were found, so that they need not be
// found again when a block brings them. It keeps the newest.
type foundKeys struct {
	mu         sync.Mutex
	young, old map[types.Checksum256]*execute.Candidate
	bytes      int64 // of young
}

// Anybody can send transactions, so what is kept of them is bounded in bytes, and
// most have room when some are large.
const (
	maxFoundKeys = 8 << 20  // of young; old has as much: of small ones a block or two at full load
	maxFoundKey  = 64 << 10 // of a transaction
)

// keptSize is how much a candidate counts of which only what came is kept, with its keys.
func keptSize(x *execute.Candidate) int64 {
	const fields = 400
	return int64(x.Unprunable+x.Prunable)*2 + fields
}

// put remembers a transaction, unless it is large or another of its id is known.
func (f *foundKeys) put(x *execute.Candidate) {
	size := keptSize(x)
	if size > maxFoundKey {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.young[x.ID] != nil || f.old[x.ID] != nil {
		return
	}
	if f.young == nil || f.bytes+size > maxFoundKeys {
		f.young, f.old, f.bytes = make(map[types.Checksum256]*execute.Candidate), f.young, 0
	}
	f.young[x.ID] = &execute.Candidate{Packed: x.Packed, Keys: x.Keys} // what a block needs of it
	f.bytes += size
}

// drop forgets a transaction that was refused.
func (f *foundKeys) drop(x *execute.Candidate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if k := f.young[x.ID]; k != nil && k.Packed == x.Packed {
		delete(f.young, x.ID)
		f.bytes -= keptSize(x)
	} else if k := f.old[x.ID]; k != nil && k.Packed == x.Packed {
		delete(f.old, x.ID)
	}
}

func (f *foundKeys) get(id types.Checksum256) *execute.Candidate {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.young[id]; x != nil {
		return x
	}
	return f.old[id]
}
