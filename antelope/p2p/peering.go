package p2p

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"tarn/antelope/types"
)

// proximity is how far apart in the schedule producers are that keep a connection.
const proximity = 2

// peering keeps connections between producers that are neighbours in the schedule
// (Leap: auto_bp_peering.hpp).
type peering struct {
	net *Network

	mu                             sync.Mutex
	pendingVersion, activeVersion  uint32
	pendingNeighbours, activeNeigh map[types.Name]bool
}

func newPeering(n *Network) *peering { return &peering{net: n} }

// enabled tells whether there are producers here, and addresses of others.
func (p *peering) enabled() bool {
	return len(p.net.config.autoPeers) > 0 && len(p.net.config.Producers) > 0
}

// markProducer notes that the peer at an address, as it stands in the options or in
// a handshake, is a producer's, which counts for no limit.
func (c *conn) markProducer(address string) {
	address, _, _ = strings.Cut(address, " ")
	if _, ok := c.net.config.autoNames[address]; ok {
		c.bp.Store(true)
	}
}

// neighbours finds the producers within distances from our producers in a schedule
// whose address is known.
func (p *peering) neighbours(schedule []types.ProducerAuthority, distances ...int) map[types.Name]bool {
	ours := map[int]bool{}
	for i := range schedule {
		if slices.Contains(p.net.config.Producers, schedule[i].Producer) {
			ours[i] = true
		}
	}
	found := map[types.Name]bool{}
	for i := range ours {
		for _, d := range distances {
			at := ((i+d)%len(schedule) + len(schedule)) % len(schedule)
			name := schedule[at].Producer
			if _, known := p.net.config.autoPeers[name]; known && !ours[at] {
				found[name] = true
			}
		}
	}
	return found
}

// schedules looks at the schedules of a block. Those of old blocks name who were neighbours once; a peer's claim does
// not make a block old.
func (p *peering) schedules(active, pending *types.ProducerSchedule) {
	if !p.enabled() || p.net.sync.stage() != inSync && !p.net.sync.recent() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if pending != nil {
		p.onPending(pending)
	}
	if active != nil {
		p.onActive(active)
	}
}

// onPending connects to those who come after us. The caller holds mu.
func (p *peering) onPending(s *types.ProducerSchedule) {
	if len(s.Producers) == 0 {
		p.pendingNeighbours = nil
		return
	}
	if s.Version == p.pendingVersion {
		return
	}
	p.net.log.Debug(fmt.Sprintf("pending producer schedule switches from version %d to %d", p.pendingVersion, s.Version))
	for name := range p.neighbours(s.Producers, 1, proximity) {
		p.net.addTarget(p.net.config.autoPeers[name])
	}
	p.pendingNeighbours = p.neighbours(s.Producers, 1, proximity, -1, -proximity)
	p.pendingVersion = s.Version
}

// onActive leaves those who are no neighbours any more. The caller holds mu.
func (p *peering) onActive(s *types.ProducerSchedule) {
	if s.Version == p.activeVersion || len(s.Producers) == 0 {
		return
	}
	p.net.log.Debug(fmt.Sprintf("active producer schedule switches from version %d to %d", p.activeVersion, s.Version))
	old := p.activeNeigh
	p.activeNeigh = p.neighbours(s.Producers, 1, proximity, -1, -proximity)
	for name := range old {
		if !p.activeNeigh[name] && !p.pendingNeighbours[name] {
			p.net.Disconnect(p.net.config.autoPeers[name])
		}
	}
	p.activeVersion = s.Version
}
