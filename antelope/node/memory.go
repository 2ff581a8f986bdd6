package node

import (
	"fmt"
	"os"
	"runtime/debug"

	"tarn/antelope/producer"
	"tarn/internal/machine"
	"tarn/store/engine"
)

// shares is who may take how much of the memory that the machine, or the container,
// has for the node, in bytes. What is left is for the page cache, stacks and machine
// code: without any the kernel reads the same pages again and again.
type shares struct {
	memory machine.Memory

	heap      int64 // of Go, above which it collects garbage more often
	private   int64 // changed pages of the page engine in mode mapped_private
	state     int64 // a state that is all in memory
	modules   int64 // compiled contracts
	instances int64 // of contracts, of each of those who execute
	keys      int64 // prepared to be checked
	queue     int64 // transactions that wait
}

// leastMemory is what a node needs: less is taken for so much.
const leastMemory = 256 << 20

// share shares m out. Each part ends where more would bring nothing. Where the machine's
// memory is unknown, nothing is bounded but by these ends.
func share(m machine.Memory) shares {
	total := max(m.Bytes, leastMemory)
	if m.Bytes == 0 {
		total = 1 << 40
	}
	return shares{
		memory:    m,
		heap:      total / 4,
		private:   total / 2,
		state:     (total + m.Swap) / 8 * 7,
		modules:   min(total/16, 256<<20),
		instances: min(total/32, 256<<20),
		keys:      min(total/32, 156<<20),
		queue:     min(total/8, 1<<30),
	}
}

// bound gives what was not given otherwise its share, and returns what is to be said of
// it at the start.
func (m *shares) bound(o *Options, p *producer.Options, given func(option string) bool) []string {
	if !given("incoming-transaction-queue-size-mb") {
		p.QueueBytes = min(p.QueueBytes, uint64(m.queue))
	}
	if o.Chain.CacheBytes == 0 {
		o.Chain.CacheBytes = m.modules
	}
	o.Chain.InstanceBytes, o.Chain.KeyBytes = m.instances, m.keys
	e := &o.Engine
	switch {
	case e.Kind != engine.Page:
		m.heap, m.private = m.heap+m.private/2, 0 // the libraries have their share, and the overlays, which are not Go's
	case e.PrivateBytes == 0:
		e.PrivateBytes = m.private
	}
	said := []string{m.String()}
	if e.Kind == engine.Page && e.Mode.Anonymous() && e.LimitBytes > m.state {
		e.LimitBytes = m.state &^ (1<<20 - 1)
		said = append(said, fmt.Sprintf("The state may grow to %d MiB, less than chain-state-db-size-mb: database-map-mode = %s keeps all of it in memory",
			e.LimitBytes>>20, e.Mode))
	}
	return said
}

func (m *shares) String() string {
	from := "of the machine"
	if m.memory.Limit != "" {
		from = "as " + m.memory.Limit + " says"
	}
	return fmt.Sprintf("Memory: %d MiB %s; for changed pages of the state %d, Go's heap %d, contracts %d, keys %d, waiting transactions %d",
		m.memory.Bytes>>20, from, m.private>>20, m.heap>>20, (m.modules+m.instances)>>20, m.keys>>20, m.queue>>20)
}

// limitHeap has Go collect garbage more often before its heap gets larger than its
// share, unless somebody has set a limit.
func (m *shares) limitHeap() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(m.heap)
	}
}
