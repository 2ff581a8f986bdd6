package node

import (
	"maps"
	"slices"
	"sync"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/finality"
	"tarn/antelope/types"
	"tarn/httpserver/exposition"
)

// maxFinalizers are told apart, by their descriptions; more are called other. A policy may have 65,536.
const maxFinalizers = 500

// certificates counts those of new blocks, and the votes that they lack. The zero value is ready. Any
// goroutine may call its methods.
type certificates struct {
	mu           sync.Mutex // over what follows
	strong, weak uint64
	missed       map[string]uint64
	all          uint64 // missed by anybody
	savanna      bool   // the newest block follows Savanna's rules
}

// hooks count the certificates of the chain. What is caught up with is of the past, and is not counted.
func (c *certificates) hooks(certified func(*consensus.BlockState) *finality.State) chain.Hooks {
	return chain.Hooks{AcceptedBlock: func(b *consensus.BlockState) {
		c.mu.Lock()
		c.savanna = b.IsProper()
		c.mu.Unlock()
		if b.Certificate == nil || !b.IsProper() || age(b) > newVotes {
			return
		}
		if of := certified(b); of != nil {
			c.count(of, b.Certificate)
		}
	}}
}

// count counts a certificate for the block with that state.
func (c *certificates) count(of *finality.State, q *types.QuorumCertificate) {
	missing := finality.Missing(of, q)
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.IsStrong() {
		c.strong++
	} else {
		c.weak++
	}
	if c.missed == nil {
		c.missed = map[string]uint64{}
	}
	for _, f := range missing {
		name := f.Description
		if _, known := c.missed[name]; !known && len(c.missed) >= maxFinalizers {
			name = otherName
		}
		c.missed[name]++
		c.all++
	}
}

// missingVotes is how many votes certificates lacked.
func (c *certificates) missingVotes() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

func (c *certificates) append(w *exposition.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Whether("tarn_finality_savanna", "1 if the newest block follows Savanna's rules", c.savanna)
	w.Metric("tarn_finality_certificates_total",
		exposition.Counter, "Quorum certificates in new blocks; a weak certificate makes no block final")
	w.Sample(float64(c.strong), "strength", "strong")
	w.Sample(float64(c.weak), "strength", "weak")
	w.Metric("tarn_finalizer_missed_votes_total",
		exposition.Counter, "Votes that these certificates lack, by the finalizer's description")
	for _, name := range slices.Sorted(maps.Keys(c.missed)) {
		w.Sample(float64(c.missed[name]), "finalizer", name)
	}
}
