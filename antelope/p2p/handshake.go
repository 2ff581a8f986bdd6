package p2p

import (
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// tokenOf is what a handshake of that time is signed with.
func tokenOf(t int64) types.Checksum256 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(t))
	return types.Hash(b[:])
}

// greeting is what two nodes tell each other of themselves and of their chains: who the peer
// is, whether it may be here, and what of the protocol both know.
type greeting struct {
	c *conn
	// introduced says that the peer's first handshake was accepted.
	introduced atomic.Bool
	received   atomic.Pointer[Handshake]
	protocol   atomic.Uint32 // the peer's version
	version    atomic.Uint32 // ours, for this peer

	mu         sync.Mutex
	sent       Handshake
	generation int16
}

// stranger tells whether the peer still has to prove who it is.
func (g *greeting) stranger() bool { return g.c.net.config.allowed != allowAny && !g.introduced.Load() }

// sendHandshake tells the peer where the chain is, unless it has just been told.
func (g *greeting) sendHandshake() {
	info, now := g.c.net.chain.Info(), time.Now().UnixNano()
	g.mu.Lock()
	if g.generation > 0 && g.sent.HeadID == info.HeadID && now < g.sent.Time+int64(g.c.limits.Handshake) {
		g.mu.Unlock()
		return
	}
	if g.generation == math.MaxInt16 {
		g.generation = 1
	}
	g.generation++
	g.sent = g.handshake(info, now)
	h := g.sent
	g.mu.Unlock()
	g.c.infof("Sending handshake generation %d, lib %d, head %d, id %s",
		h.Generation, h.LIBNum, h.HeadNum, shortID(h.HeadID))
	g.c.send(h)
}

// handshake is what the peer is told. The caller holds mu.
func (g *greeting) handshake(info Info, now int64) Handshake {
	n := g.c.net
	h := Handshake{
		NetworkVersion: versionBase + uint16(g.version.Load()),
		ChainID:        n.chain.ID(),
		NodeID:         n.nodeID,
		Key:            n.config.authKey,
		Time:           now,
		P2PAddress:     g.c.told() + " - " + n.nodeID.String()[:7],
		LIBNum:         info.LIBNum,
		LIBID:          info.LIBID,
		HeadNum:        info.HeadNum,
		HeadID:         info.HeadID,
		OS:             osName(),
		Agent:          n.config.AgentName,
		Generation:     g.generation,
	}
	token := tokenOf(now)
	if key, ok := n.config.private[h.Key]; ok {
		if sig, err := key.Sign(token); err == nil {
			h.Token, h.Sig = token, sig
		}
	}
	return h
}

// validHandshake tells whether it is worth looking at (Leap: connection::is_valid).
func (g *greeting) validHandshake(m *Handshake) bool {
	valid := true
	fault := func(format string, args ...any) {
		g.c.warnf("Handshake message validation: "+format, args...)
		valid = false
	}
	if m.LIBNum > m.HeadNum {
		fault("last irreversible block (%d) is greater than head block (%d)", m.LIBNum, m.HeadNum)
	}
	text := func(name, s string, required bool) {
		if s == "" && required {
			fault("%s is null string", name)
		} else if len(s) > maxHandshakeText {
			fault("%s too large: %s...", name, printable(s[:maxHandshakeText]))
		}
	}
	text("p2p_address", m.P2PAddress, true)
	text("os field", m.OS, true)
	text("agent field", m.Agent, false)
	if (m.Sig != types.Signature{} || !m.Token.IsZero()) && m.Token != tokenOf(m.Time) {
		fault("token field invalid")
	}
	return valid
}

// handleHandshake looks at who the peer is, with its first one, and where its chain
// is (Leap: connection::handle_message(handshake_message)).
func (g *greeting) handleHandshake(m *Handshake) {
	if !g.validHandshake(m) {
		g.c.warnf("bad handshake message")
		g.c.goAway(FatalOther, types.Checksum256{})
		return
	}
	g.c.debugf("received handshake gen %d, lib %d, head %d", m.Generation, m.LIBNum, m.HeadNum)
	g.c.peerLIB.Store(m.LIBNum)
	g.c.peerHead.Store(m.HeadNum)
	g.received.Store(m)
	g.c.connected.Store(true)
	// nodeos goes by the generation, which is the peer's word.
	if !g.introduced.Load() && !g.introduce(m) {
		return
	}
	g.c.net.sync.handshake(g.c, m, g.c.blockLatency())
}

// introduce decides about a peer by its first handshake. It returns false when
// there is nothing more to do with that.
func (g *greeting) introduce(m *Handshake) bool {
	n := g.c.net
	if m.NodeID == n.nodeID {
		g.c.infof("Self connection detected node_id %v. Closing connection", m.NodeID)
		g.c.goAway(Self, types.Checksum256{})
		return false
	}
	g.c.setName(printable(m.P2PAddress))
	g.c.setProgram(m.Agent, uint32(protocolOf(m.NetworkVersion)))
	g.c.markProducer(m.P2PAddress)
	if n.peering.enabled() && n.config.MaxClients != 0 && !g.c.producers() && g.c.incoming() &&
		n.clients() > int(n.config.MaxClients) {
		g.c.debugf("max_client_count %d exceeded", n.config.MaxClients)
		g.c.close(false, "max_client_count exceeded")
		return false
	}
	if g.c.incoming() {
		g.c.setTraffic(m.P2PAddress)
		if g.duplicate(m) {
			g.c.debugf("sending go_away duplicate, msg.p2p_address: %s", printable(m.P2PAddress))
			g.c.goAway(Duplicate, g.c.peerID())
			return false
		}
	} else {
		g.c.heedTraffic(m.P2PAddress)
		g.endSecond(m)
	}
	if m.ChainID != n.chain.ID() {
		g.c.infof("Peer on a different chain. Closing connection")
		g.c.goAway(WrongChain, types.Checksum256{})
		return false
	}
	g.protocol.Store(uint32(protocolOf(m.NetworkVersion)))
	if p := g.protocol.Load(); p != g.version.Load() {
		g.c.infof("Local network version different: %d Remote version: %d", g.version.Load(), p)
	} else {
		g.c.infof("Local network version: %d", p)
	}
	g.c.setPeerID(m.NodeID)
	if !g.authentic(m) {
		g.c.warnf("Peer not authenticated.  Closing connection.")
		g.c.goAway(Authentication, types.Checksum256{})
		return false
	}
	if g.forked(m) {
		g.c.warnf("Peer chain is forked, sending: forked go away")
		g.c.goAway(Forked, types.Checksum256{})
		return false
	}
	g.introduced.Store(true)
	return g.answerVersion()
}

// answerVersion sends the first handshake back. A peer of EOSIO 2.1 is told that
// this node is 2.0, whose blocks and transactions it then sends.
func (g *greeting) answerVersion() bool {
	p := g.protocol.Load()
	if p >= protocolPrunedTypes && p < protocolLeap {
		g.version.Store(protocolExplicitSync)
		g.mu.Lock()
		g.generation, g.sent = 0, Handshake{}
		g.mu.Unlock()
		g.sendHandshake()
		return false
	}
	g.mu.Lock()
	first := g.generation == 0
	g.mu.Unlock()
	if first {
		g.sendHandshake()
	}
	g.c.net.gossip.greet(g.c)
	return true
}

// duplicate tells whether there is another connection with the same node, and this
// is the one to give up. Both nodes must come to the same.
func (g *greeting) duplicate(m *Handshake) bool {
	n := g.c.net
	for _, o := range *n.conns.Load() {
		r := g.sameNode(o, m)
		if r == nil {
			continue
		}
		switch {
		case m.NetworkVersion < versionBase+protocolDuplicateByName:
			if m.Time+g.sentAt() <= o.sentAt()+r.Time {
				continue
			}
		case m.NetworkVersion < versionBase+protocolDuplicateByID:
			if g.c.public < m.P2PAddress {
				continue
			}
		case n.nodeID.Compare(m.NodeID) < 0:
			continue
		}
		return true
	}
	return false
}

// sameNode is the handshake of another connection with the node of m; nil if it is with none, or over.
func (g *greeting) sameNode(o *conn, m *Handshake) *Handshake {
	if o == g.c || !o.connected.Load() || o.ended.Err() != nil {
		return nil
	}
	if r := o.received.Load(); r != nil && r.NodeID == m.NodeID {
		return r
	}
	return nil
}

// endSecond ends connections that the node of m has made to this one, if this one has to decide: their
// handshakes came before there was another, so duplicate let them be. nodeos keeps both then.
func (g *greeting) endSecond(m *Handshake) {
	n := g.c.net
	if m.NetworkVersion < versionBase+protocolDuplicateByID || n.nodeID.Compare(m.NodeID) < 0 {
		return
	}
	for _, o := range *n.conns.Load() {
		if o.incoming() && g.sameNode(o, m) != nil {
			o.debugf("sending go_away duplicate, msg.p2p_address: %s", printable(m.P2PAddress))
			o.goAway(Duplicate, o.peerID())
		}
	}
}

// forked tells whether the peer's last irreversible block is another than ours of
// that number.
func (g *greeting) forked(m *Handshake) bool {
	if m.LIBNum == 0 || m.LIBNum > g.c.net.chain.Info().LIBNum {
		return false
	}
	id, err := g.c.net.chain.BlockID(m.LIBNum)
	switch {
	case exception.Is(err, exception.UnknownBlock):
		g.c.debugf("peer last irreversible block %d is unknown", m.LIBNum)
		return false // found out when syncing
	case err != nil:
		g.c.warnf("caught an exception getting block id for %d: %v", m.LIBNum, err)
		return true
	}
	return id != m.LIBID
}

// authentic tells whether allowed-connection lets the peer in (Leap:
// authenticate_peer).
func (g *greeting) authentic(m *Handshake) bool {
	conf := g.c.net.config
	if conf.allowed == 0 {
		return false
	}
	if conf.allowed == allowAny {
		return true
	}
	if !g.c.net.allowedKey(m.Key) {
		g.c.warnf("Peer %s sent a handshake with an unauthorized key: %v.", printable(m.P2PAddress), m.Key)
		return false
	}
	if m.Sig == (types.Signature{}) || m.Token.IsZero() {
		g.c.debugf(
			"Peer sent a handshake with blank signature and token, but this node accepts only authenticated " +
				"connections.")
		return false
	}
	key, err := crypto.Recover(m.Sig, m.Token, true)
	if err != nil {
		g.c.warnf("Peer %s sent a handshake with an unrecoverable key.", printable(m.P2PAddress))
		return false
	}
	if key != m.Key {
		g.c.warnf("Peer %s sent a handshake with an unauthenticated key.", printable(m.P2PAddress))
		return false
	}
	return true
}

// allowedKey tells whether a key is one of those that may connect.
func (n *Network) allowedKey(k types.PublicKey) bool {
	for _, allowed := range n.config.keys {
		if allowed == k {
			return true
		}
	}
	_, own := n.config.private[k]
	return own || n.config.IsProducerKey != nil && n.config.IsProducerKey(k)
}

// clients counts the peers that connected to this node and are no producers.
func (n *Network) clients() (count int) {
	for _, c := range *n.conns.Load() {
		if c.incoming() && !c.producers() && c.received.Load() != nil {
			count++
		}
	}
	return count
}

// checkHandshake ends a connection whose peer does not introduce itself, unless it
// came to send transactions: where anybody may connect they are taken without a
// handshake, as by nodeos, and there are programs that send nothing else.
func (g *greeting) checkHandshake() {
	if g.received.Load() == nil && !g.c.gave.Load() && time.Since(g.c.started) > 2*g.c.net.config.KeepAlive {
		g.c.warnf("no handshake in %v", 2*g.c.net.config.KeepAlive)
		g.c.close(false, "no handshake")
	}
}

// sentAt is when the last handshake was sent, in Unix nanoseconds; 0 is never.
func (g *greeting) sentAt() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sent.Time
}
