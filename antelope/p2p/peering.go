package p2p

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tarn/antelope/types"
)

// proximity is how far apart in the schedule producers are that keep a connection without gossip.
const proximity = 2

// standing is what a peer is to the producers of this node.
type standing uint32

const (
	ordinary   standing = iota
	configured          // a producer's, by p2p-auto-bp-peer
	gossiping           // a producer's, by a signature
	unproven            // it said so before this node could tell
)

// producers tells whether the peer is a producer's node, which counts for no limit.
func (c *conn) producers() bool { return standing(c.standing.Load()) != ordinary }

// peering keeps connections between producers. With gossip those are all that are in the schedule and whose
// addresses are known (Spring: auto_bp_peering.hpp); without it, the neighbours in the schedule whose addresses the
// operator gave (Leap).
type peering struct {
	net *Network

	mu                            sync.Mutex
	pendingVersion, activeVersion uint32
	pendingKept, activeKept       map[types.Name]bool       // who a connection is kept with
	active                        []types.ProducerAuthority // the active schedule, once there was one
}

func newPeering(n *Network) *peering { return &peering{net: n} }

// enabled tells whether connections to producers are made: then they are known by what they say.
func (p *peering) enabled() bool {
	return p.net.gossip.enabled() || len(p.net.config.autoPeers) > 0 && len(p.net.config.Producers) > 0
}

// markProducer notes that the peer at an address, as it stands in the options or in
// a handshake, is a producer's.
func (c *conn) markProducer(address string) {
	address, _, _ = strings.Cut(address, " ")
	if _, ok := c.net.config.autoNames[address]; ok {
		c.standing.Store(uint32(configured))
	}
}

// choose finds the producers of a schedule whose addresses are known. Without gossip they are those within
// distances from ours.
func (p *peering) choose(schedule []types.ProducerAuthority, distances ...int) map[types.Name]bool {
	found := map[types.Name]bool{}
	ours := map[int]bool{}
	for i := range schedule {
		name := schedule[i].Producer
		if _, known := p.net.config.autoPeers[name]; p.net.gossip.enabled() &&
			(known || p.net.gossip.directory.has(name)) {
			found[name] = true
		}
		if slices.Contains(p.net.config.Producers, name) {
			ours[i] = true
		}
	}
	if p.net.gossip.enabled() {
		return found
	}
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

// connect connects to producers, but not to what is this node itself.
func (p *peering) connect(names map[types.Name]bool) {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if address, ok := p.net.config.autoPeers[name]; ok {
			p.net.addTarget(address)
		}
		for _, address := range p.net.gossip.directory.servers(name) {
			if !slices.ContainsFunc(p.net.gossip.own, func(o reached) bool { return o.server == address }) {
				p.net.addTold(address)
			}
		}
	}
}

// connectActive connects to the producers of the active schedule of whom something has become known.
func (p *peering) connectActive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.activeKept = p.choose(p.active)
	p.connect(p.activeKept)
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

// onPending connects to those who come after us, with gossip to all. The caller holds mu.
func (p *peering) onPending(s *types.ProducerSchedule) {
	if len(s.Producers) == 0 {
		p.pendingKept = nil
		return
	}
	if s.Version == p.pendingVersion {
		return
	}
	p.net.log.Debug(fmt.Sprintf("pending producer schedule switches from version %d to %d",
		p.pendingVersion, s.Version))
	p.connect(p.choose(s.Producers, 1, proximity))
	p.pendingKept = p.choose(s.Producers, 1, proximity, -1, -proximity)
	p.pendingVersion = s.Version
}

// onActive leaves those with whom no connection is kept any more. The caller holds mu.
func (p *peering) onActive(s *types.ProducerSchedule) {
	if s.Version == p.activeVersion || len(s.Producers) == 0 {
		return
	}
	p.net.log.Debug(fmt.Sprintf("active producer schedule switches from version %d to %d", p.activeVersion, s.Version))
	old, first := p.activeKept, p.activeVersion == 0
	p.active, p.activeVersion = s.Producers, s.Version
	p.activeKept = p.choose(s.Producers, 1, proximity, -1, -proximity)
	if first && p.net.gossip.enabled() {
		p.connect(p.activeKept)
	}
	gone := map[types.Name]bool{}
	for name := range old {
		if !p.activeKept[name] && !p.pendingKept[name] {
			gone[name] = true
		}
	}
	p.disconnect(gone)
}

// disconnect leaves producers. With the own ones gone too, it leaves all whom it knows by gossip.
func (p *peering) disconnect(gone map[types.Name]bool) {
	g := p.net.gossip
	if g.enabled() && !slices.ContainsFunc(g.own, func(o reached) bool { return !gone[o.producer] }) {
		for address := range g.directory.allServers() {
			p.net.leave(address)
		}
		return
	}
	for name := range gone {
		if address, ok := p.net.config.autoPeers[name]; ok {
			p.net.leave(address)
		}
		for _, address := range g.directory.servers(name) {
			p.net.leave(address)
		}
	}
}
