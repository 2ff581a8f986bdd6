package ship

import (
	"sync"

	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
)

// recorded is what sessions are sent of a block. It does not change, but for who use it.
type recorded struct {
	wire.Position
	prev         types.Checksum256
	irreversible wire.Position // when it became the head

	block, traces, deltas, finality []byte // nil if they are not kept

	users int // who are being sent it; the shelf's
}

func (r *recorded) size() int64 {
	return int64(len(r.block)+len(r.traces)+len(r.deltas)+len(r.finality)) + 256
}

// recent keeps the newest blocks, which most clients wait for, as they are sent.
type recent struct {
	mu    sync.Mutex
	list  []*recorded // ascending, without a gap
	bytes int64
	most  int64
}

func newRecent(most int64) *recent { return &recent{most: most} }

// add adds a block in the place of what had its number, and of what followed that.
func (r *recent) add(x *recorded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := len(r.list); n > 0 && r.list[n-1].Num >= x.Num; n = len(r.list) {
		r.drop(n-1, n)
	}
	if n := len(r.list); n > 0 && r.list[n-1].Num+1 != x.Num {
		r.drop(0, n)
	}
	r.list, r.bytes = append(r.list, x), r.bytes+x.size()
	over := 0
	for bytes := r.bytes; over < len(r.list)-1 && bytes > r.most; over++ {
		bytes -= r.list[over].size()
	}
	r.drop(0, over)
}

func (r *recent) drop(from, to int) {
	for _, x := range r.list[from:to] {
		r.bytes -= x.size()
	}
	n := len(r.list)
	r.list = append(r.list[:from], r.list[to:]...)
	clear(r.list[len(r.list):n])
}

// get returns a block, nil if it is not kept.
func (r *recent) get(num uint32) *recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 || num < r.list[0].Num || num > r.list[len(r.list)-1].Num {
		return nil
	}
	return r.list[num-r.list[0].Num]
}
