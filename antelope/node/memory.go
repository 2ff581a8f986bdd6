package node

import (
	"fmt"

	"tarn/antelope/producer"
	"tarn/antelope/state"
	"tarn/internal/hostlimits"
	"tarn/nodeupkeep"
	"tarn/store/engine"
)

// shares is who may take how much memory, in bytes.
type shares struct {
	nodeupkeep.Memory

	modules   int64 // compiled contracts
	instances int64 // of contracts, of each of those who execute
	keys      int64 // prepared to be checked
	rows      int64 // decoded, of the state
	queue     int64 // transactions that wait
}

// share shares m out. The parts of the protocol end where more would bring nothing.
func share(m hostlimits.Memory) shares {
	s := shares{Memory: nodeupkeep.ShareMemory(m)}
	s.modules = min(s.Total/16, 256<<20)
	s.instances = min(s.Total/32, 256<<20)
	s.keys = min(s.Total/32, 156<<20)
	s.rows = min(s.Total/16, state.DefaultCacheRows*state.CachedRowBytes)
	s.queue = min(s.Total/8, 1<<30)
	return s
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
	o.Chain.InstanceBytes, o.Chain.KeyBytes, o.Chain.RowBytes = m.instances, m.keys, m.rows
	e := &o.Engine
	switch {
	case e.Kind != engine.Page:
		m.Library()
	case e.PrivateBytes == 0:
		e.PrivateBytes = m.Private
	}
	said := []string{m.String()}
	if e.Kind == engine.Page && e.Mode.Anonymous() && e.LimitBytes > m.State {
		e.LimitBytes = m.State &^ (1<<20 - 1)
		said = append(said,
			fmt.Sprintf(
				"The state may grow to %d MiB, less than chain-state-db-size-mb: database-map-mode = %s keeps all of "+
					"it in memory",
				e.LimitBytes>>20, e.Mode))
	}
	return said
}

func (m *shares) String() string {
	from := "of the machine"
	if m.Limit != "" {
		from = "as " + m.Limit + " says"
	}
	return fmt.Sprintf(
		"Memory: %d MiB %s; for changed pages of the state %d, Go's heap %d, contracts %d, keys %d, decoded rows %d, "+
			"waiting transactions %d",
		m.Bytes>>20, from, m.Private>>20, m.Heap>>20, (m.modules+m.instances)>>20, m.keys>>20, m.rows>>20, m.queue>>20)
}
