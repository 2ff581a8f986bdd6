package nodeupkeep

import (
	"os"
	"runtime/debug"

	"tarn/internal/hostlimits"
)

// Memory is who may take how much of the memory that the machine, or the container, has for
// the node, in bytes. A ledger shares out some of the rest. What nobody has is for the page
// cache, stacks and machine code: without any the kernel reads the same pages again and again.
type Memory struct {
	hostlimits.Memory
	Total   int64 // what is shared out
	Heap    int64 // of Go, above which it collects garbage more often
	Private int64 // changed pages of the page engine that are in no image
	State   int64 // a state that is all in memory
}

// leastMemory is what a node needs: less is taken for so much.
const leastMemory = 256 << 20

// mostBesideState is what a node with all of its state in memory keeps for the rest at most.
const mostBesideState = 4 << 30

// ShareMemory shares m out to a node on the page engine. Where the machine's memory is
// unknown, it is taken for endless.
func ShareMemory(m hostlimits.Memory) Memory {
	total := max(m.Bytes, leastMemory)
	if m.Bytes == 0 {
		total = 1 << 40
	}
	return Memory{Memory: m, Total: total, Heap: total / 4, Private: total / 2,
		State: (total+m.Swap)/8*7 - min(total/4, mostBesideState)}
}

// Library shares out anew for a node on an LSM library: much of the library's memory is Go's,
// and its overlays have bounds of their own.
func (m *Memory) Library() { m.Heap, m.Private = m.Heap+m.Private/2, 0 }

// LimitHeap has Go collect garbage more often before its heap gets larger than its share,
// unless GOMEMLIMIT says otherwise.
func (m *Memory) LimitHeap() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(m.Heap)
	}
}
