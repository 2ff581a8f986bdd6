package p2p

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"tarn/antelope/admintypes"
	"tarn/antelope/crypto"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// gossip is this node's part in producers telling each other where they can be reached (Spring:
// bp_connection_manager). It does nothing without an own producer to tell of. One goroutine looks at
// what came and signs, on behalf of all connections, which take turns: so signatures hold up neither blocks
// nor the chain.
type gossip struct {
	net       *Network
	own       []reached
	names     map[types.Name]bool // the producers of own
	directory directory
	wake      chan struct{}
	keysDue   atomic.Bool // the keys are to be read
	ranked    atomic.Bool // they have been

	// Of the goroutine.
	untold bool // there is news that peers have not been told
	told   time.Time
	fault  string // the last one of reading keys

	mu    sync.Mutex
	keys  map[types.Name]ranking
	first []byte  // what a connection begins with, as a frame; nil before it was signed
	turns []*conn // with something in heard, the next one first
	bytes int     // of what is in heard
}

// reached is an own producer and where it says that it can be reached: p2p-bp-gossip-endpoint.
type reached struct {
	producer         types.Name
	server, outbound string
}

// heard is what a peer has gossiped that nobody has looked at yet, the newest of each kind: each tells all that the
// peer knows. The gossip's lock guards it.
type heard struct{ first, list *Gossip }

func (h *heard) bytes() int { return h.first.bytes() + h.list.bytes() }

// bytes is about what a message takes in memory.
func (m *Gossip) bytes() (n int) {
	if m == nil {
		return 0
	}
	for i := range m.Records {
		x := &m.Records[i]
		n += int(unsafe.Sizeof(*x)) + len(x.Info) + x.Sig.VariableSize()
	}
	return n
}

func newGossip(n *Network) *gossip {
	g := &gossip{net: n, own: n.config.gossip, names: map[types.Name]bool{}, wake: make(chan struct{}, 1)}
	g.directory.limits = &n.config.Limits
	for _, o := range g.own {
		g.names[o.producer] = true
	}
	return g
}

func (g *gossip) enabled() bool { return len(g.own) > 0 }

func (g *gossip) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// HeadShown is to be called with the number of each block that views of the chain begin to show. It does not wait.
func (n *Network) HeadShown(num uint32) {
	g := n.gossip
	if g.enabled() && (!g.ranked.Load() || (num+1)%keysEvery == 0) {
		g.keysDue.Store(true)
		g.signal()
	}
}

// GossipPeers returns where producers can be reached, by their names. The slice is the caller's.
func (n *Network) GossipPeers() []admintypes.GossipPeer { return n.gossip.directory.peers() }

// handleGossip leaves a message to the goroutine, if this node takes part.
func (c *conn) handleGossip(frame []byte, r *serial.Reader) error {
	if !c.control.take(1) {
		return errors.New("the peer sent too many messages")
	}
	if len(frame) > c.limits.GossipBytes {
		return fmt.Errorf("gossip of %d bytes", len(frame))
	}
	m := new(Gossip)
	if m.Read(r); r.Err() != nil {
		return r.Err()
	}
	if g := c.net.gossip; g.enabled() {
		g.add(c, m)
	}
	return nil
}

// add puts a message in the place of an older one of the peer. There is room for who has less than a share.
func (g *gossip) add(c *conn, m *Gossip) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h, was := c.heard, c.heard.bytes()
	if m.isFirst() {
		h.first = m
	} else {
		h.list = m
	}
	most := g.net.config.Limits.GossipWaiting
	if c.ended.Err() != nil || g.bytes-was+h.bytes() > most && h.bytes() > most/max(1, len(*g.net.conns.Load())) {
		return
	}
	if c.heard == (heard{}) {
		g.turns = append(g.turns, c)
	}
	g.bytes += h.bytes() - was
	c.heard = h
	g.signal()
}

// next takes what the connection has sent whose turn it is; nil if nobody waits.
func (g *gossip) next() (*conn, heard) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.turns) == 0 {
		return nil, heard{}
	}
	c := g.turns[0]
	g.turns = g.turns[1:]
	h := c.heard
	g.bytes -= h.bytes()
	c.heard = heard{}
	return c, h
}

// forgetPeer drops what a connection has sent that has ended.
func (g *gossip) forgetPeer(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bytes -= c.heard.bytes()
	c.heard = heard{}
	g.turns = slices.DeleteFunc(g.turns, func(o *conn) bool { return o == c })
}

// run works until ctx ends.
func (g *gossip) run(ctx context.Context) {
	expire := time.NewTicker(g.net.config.Limits.Expiry)
	defer expire.Stop()
	later := time.NewTimer(g.net.config.Limits.GossipPause)
	defer later.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-expire.C:
			g.expire()
		case <-g.wake:
		case <-later.C:
		}
		if g.keysDue.Swap(false) {
			g.readKeys(ctx)
		}
		for c, h := g.next(); c != nil && ctx.Err() == nil; c, h = g.next() {
			for _, m := range [...]*Gossip{h.first, h.list} {
				if m != nil && !c.out.isLast() {
					g.judge(c, m)
				}
			}
		}
		if pause := g.net.config.Limits.GossipPause - time.Since(g.told); g.untold && pause > 0 {
			later.Reset(pause)
		} else if g.untold {
			g.tell()
		}
	}
}

// expire forgets what has ended, and whom nobody tells of any more. Own records are signed again in time.
func (g *gossip) expire() {
	head := g.net.chain.Info().Time
	if g.directory.expire(head, g.own) && g.sign() {
		g.untold = true
	}
	g.net.forgetUntold(false)
}

// judge acts on a message (Spring: connection::handle_message(gossip_bp_peers_message)).
func (g *gossip) judge(c *conn, m *Gossip) {
	g.mu.Lock()
	ready := g.first != nil
	g.mu.Unlock()
	if !ready {
		c.standing.Store(uint32(unproven))
		c.debugf("received gossip_bp_peers_message before bp gossip initialized")
		return
	}
	list, good := m.list()
	if good {
		list, good = g.verify(c, list, m.isFirst())
	}
	if !good {
		c.warnf("bad gossip_bp_peers_message, closing")
		c.goAway(FatalOther, types.Checksum256{})
		return
	}
	if len(list) == 0 {
		return
	}
	c.standing.Store(uint32(gossiping))
	if m.isFirst() {
		g.answer(c)
		return
	}
	news := false
	for _, e := range list {
		news = g.directory.put(e) || news
	}
	if news {
		g.net.peering.connectActive()
		g.untold = true
	}
}

// answer sends a peer all that there is.
func (g *gossip) answer(c *conn) {
	if frame := g.directory.frame(); frame != nil {
		c.enqueue(frame, controlLane)
	}
}

// verify returns the records whose signatures are good and whose time is right. It is false for what no honest node
// sends. A producer may have lost its key, or its rank, meanwhile: records that are only not good any more are left
// out.
func (g *gossip) verify(c *conn, list []listed, first bool) ([]listed, bool) {
	n, head := g.net, g.net.chain.Info().Time
	good := list[:0]
	for _, e := range list {
		if !first && g.directory.knows(&e) {
			good = append(good, e)
			continue
		}
		if e.Sig.Type == types.WebAuthn {
			return nil, false
		}
		key, ok := g.key(e.Producer)
		if !ok || len(e.Info) > n.config.Limits.GossipPlace {
			continue
		}
		price := 1
		if first {
			price = n.config.Limits.GossipAnswer
		}
		if !c.checks.take(float64(price)) {
			c.finalf(slog.LevelWarn, "the peer sent too many signatures of producers, closing")
			c.close(false, "too many signatures")
			return nil, true
		}
		is, err := crypto.Recover(e.Sig, e.Digest(n.chain.ID()), false)
		if err != nil {
			c.debugf("Exception recovering peer key %v, error: %v", e.Producer, err)
			return nil, false
		}
		if is == key && (first || e.lasts(head)) {
			good = append(good, e)
		}
	}
	return good, true
}

// greet tells a peer that a producer's node speaks.
func (g *gossip) greet(c *conn) {
	if c.protocol.Load() < protocolGossip || !g.enabled() {
		return
	}
	g.mu.Lock()
	first := g.first
	g.mu.Unlock()
	if first == nil {
		c.infof("no initial gossip_bp_peers_message to send")
		return
	}
	c.enqueue(first, controlLane)
}

// tell tells all producers' nodes all that there is, and greets who may be one.
func (g *gossip) tell() {
	g.untold, g.told = false, time.Now()
	frame := g.directory.frame()
	for _, c := range *g.net.conns.Load() {
		if c.protocol.Load() < protocolGossip || c.ended.Err() != nil {
			continue
		}
		switch standing(c.standing.Load()) {
		case gossiping:
			if frame != nil {
				c.enqueue(frame, controlLane)
			}
		case configured, unproven:
			g.greet(c)
		}
	}
}
