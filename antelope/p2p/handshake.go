package p2p

import (
	"encoding/binary"
	"math"
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

// sendHandshake tells the peer where the chain is, unless it has just been told.
func (c *conn) sendHandshake() {
	info, now := c.net.chain.Info(), time.Now().UnixNano()
	c.mu.Lock()
	if c.generation > 0 && c.sent.HeadID == info.HeadID && now < c.sent.Time+int64(handshakeInterval) {
		c.mu.Unlock()
		return
	}
	if c.generation == math.MaxInt16 {
		c.generation = 1
	}
	c.generation++
	c.sent = c.handshake(info, now)
	h := c.sent
	c.mu.Unlock()
	c.infof("Sending handshake generation %d, lib %d, head %d, id %s", h.Generation, h.LIBNum, h.HeadNum, shortID(h.HeadID))
	c.send(h)
}

// handshake is what the peer is told. The caller holds mu.
func (c *conn) handshake(info Info, now int64) Handshake {
	n := c.net
	h := Handshake{
		NetworkVersion: versionBase + uint16(c.version.Load()),
		ChainID:        n.chain.ID(),
		NodeID:         n.nodeID,
		Key:            n.config.authKey,
		Time:           now,
		P2PAddress:     c.public,
		LIBNum:         info.LIBNum,
		LIBID:          info.LIBID,
		HeadNum:        info.HeadNum,
		HeadID:         info.HeadID,
		OS:             osName(),
		Agent:          n.config.AgentName,
		Generation:     c.generation,
	}
	token := tokenOf(now)
	if key, ok := n.config.private[h.Key]; ok {
		if sig, err := key.Sign(token); err == nil {
			h.Token, h.Sig = token, sig
		}
	}
	if !c.takesBlocks() {
		h.P2PAddress += ":trx"
	}
	if !c.takesTransactions() || !n.config.AcceptTransactions {
		h.P2PAddress += ":blk"
	}
	h.P2PAddress += " - " + h.NodeID.String()[:7]
	return h
}

// validHandshake tells whether it is worth looking at (Leap: connection::is_valid).
func (c *conn) validHandshake(m *Handshake) bool {
	valid := true
	fault := func(format string, args ...any) {
		c.warnf("Handshake message validation: "+format, args...)
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
func (c *conn) handleHandshake(m *Handshake) {
	if !c.validHandshake(m) {
		c.warnf("bad handshake message")
		c.goAway(FatalOther, types.Checksum256{})
		return
	}
	c.debugf("received handshake gen %d, lib %d, head %d", m.Generation, m.LIBNum, m.HeadNum)
	c.peerLIB.Store(m.LIBNum)
	c.peerHead.Store(m.HeadNum)
	c.received.Store(m)
	c.connected.Store(true)
	// nodeos goes by the generation, which is the peer's word.
	if !c.introduced.Load() && !c.introduce(m) {
		return
	}
	c.net.sync.handshake(c, m, c.blockLatency())
}

// introduce decides about a peer by its first handshake. It returns false when
// there is nothing more to do with that.
func (c *conn) introduce(m *Handshake) bool {
	n := c.net
	if m.NodeID == n.nodeID {
		c.infof("Self connection detected node_id %v. Closing connection", m.NodeID)
		c.goAway(Self, types.Checksum256{})
		return false
	}
	c.mu.Lock()
	c.label = printable(m.P2PAddress)
	c.mu.Unlock()
	c.markProducer(m.P2PAddress)
	if n.peering.enabled() && n.config.MaxClients != 0 && !c.bp.Load() && c.incoming() && n.clients() > int(n.config.MaxClients) {
		c.debugf("max_client_count %d exceeded", n.config.MaxClients)
		c.close(false, "max_client_count exceeded")
		return false
	}
	if c.incoming() {
		c.setTraffic(m.P2PAddress)
		if c.duplicate(m) {
			c.debugf("sending go_away duplicate, msg.p2p_address: %s", printable(m.P2PAddress))
			c.goAway(Duplicate, c.peerID())
			return false
		}
	}
	if m.ChainID != n.chain.ID() {
		c.infof("Peer on a different chain. Closing connection")
		c.goAway(WrongChain, types.Checksum256{})
		return false
	}
	c.protocol.Store(uint32(protocolOf(m.NetworkVersion)))
	if p := c.protocol.Load(); p != c.version.Load() {
		c.infof("Local network version different: %d Remote version: %d", c.version.Load(), p)
	} else {
		c.infof("Local network version: %d", p)
	}
	c.mu.Lock()
	c.node = m.NodeID
	c.mu.Unlock()
	if !c.authentic(m) {
		c.warnf("Peer not authenticated.  Closing connection.")
		c.goAway(Authentication, types.Checksum256{})
		return false
	}
	if c.forked(m) {
		c.warnf("Peer chain is forked, sending: forked go away")
		c.goAway(Forked, types.Checksum256{})
		return false
	}
	c.introduced.Store(true)
	return c.answerVersion()
}

// answerVersion sends the first handshake back. A peer of EOSIO 2.1 is told that
// this node is 2.0, whose blocks and transactions it then sends.
func (c *conn) answerVersion() bool {
	p := c.protocol.Load()
	if p >= protocolPrunedTypes && p < protocolLeap {
		c.version.Store(protocolExplicitSync)
		c.mu.Lock()
		c.generation, c.sent = 0, Handshake{}
		c.mu.Unlock()
		c.sendHandshake()
		return false
	}
	c.mu.Lock()
	first := c.generation == 0
	c.mu.Unlock()
	if first {
		c.sendHandshake()
	}
	return true
}

// duplicate tells whether there is another connection with the same node, and this
// is the one to give up. Both nodes must come to the same.
func (c *conn) duplicate(m *Handshake) bool {
	n := c.net
	for _, o := range *n.conns.Load() {
		if o == c || !o.connected.Load() || o.ended.Err() != nil {
			continue
		}
		r := o.received.Load()
		if r == nil || r.NodeID != m.NodeID {
			continue
		}
		switch {
		case m.NetworkVersion < versionBase+protocolDuplicateByName:
			c.mu.Lock()
			mine := c.sent.Time
			c.mu.Unlock()
			o.mu.Lock()
			theirs := o.sent.Time
			o.mu.Unlock()
			if m.Time+mine <= theirs+r.Time {
				continue
			}
		case m.NetworkVersion < versionBase+protocolDuplicateByID:
			if c.public < m.P2PAddress {
				continue
			}
		case n.nodeID.Compare(m.NodeID) < 0:
			continue
		}
		return true
	}
	return false
}

// forked tells whether the peer's last irreversible block is another than ours of
// that number.
func (c *conn) forked(m *Handshake) bool {
	if m.LIBNum == 0 || m.LIBNum > c.net.chain.Info().LIBNum {
		return false
	}
	id, err := c.net.chain.BlockID(m.LIBNum)
	switch {
	case exception.Is(err, exception.UnknownBlock):
		c.debugf("peer last irreversible block %d is unknown", m.LIBNum)
		return false // found out when syncing
	case err != nil:
		c.warnf("caught an exception getting block id for %d: %v", m.LIBNum, err)
		return true
	}
	return id != m.LIBID
}

// authentic tells whether allowed-connection lets the peer in (Leap:
// authenticate_peer).
func (c *conn) authentic(m *Handshake) bool {
	conf := c.net.config
	if conf.allowed == 0 {
		return false
	}
	if conf.allowed == allowAny {
		return true
	}
	if !c.net.allowedKey(m.Key) {
		c.warnf("Peer %s sent a handshake with an unauthorized key: %v.", printable(m.P2PAddress), m.Key)
		return false
	}
	if m.Sig == (types.Signature{}) || m.Token.IsZero() {
		c.debugf("Peer sent a handshake with blank signature and token, but this node accepts only authenticated connections.")
		return false
	}
	key, err := crypto.Recover(m.Sig, m.Token, true)
	if err != nil {
		c.warnf("Peer %s sent a handshake with an unrecoverable key.", printable(m.P2PAddress))
		return false
	}
	if key != m.Key {
		c.warnf("Peer %s sent a handshake with an unauthenticated key.", printable(m.P2PAddress))
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
		if c.incoming() && !c.bp.Load() && c.received.Load() != nil {
			count++
		}
	}
	return count
}

// blockLatency is by how many blocks the peer's news are old when the answer is
// there (Leap: calc_block_latency).
func (c *conn) blockLatency() uint32 {
	ping := c.ping.Load()
	if ping == math.MaxInt64 {
		return 0
	}
	return uint32(math.Round(float64(ping) / float64(blockInterval)))
}

// checkHandshake ends a connection whose peer does not introduce itself, unless it
// came to send transactions: where anybody may connect they are taken without a
// handshake, as by nodeos, and there are programs that send nothing else.
func (c *conn) checkHandshake() {
	if c.received.Load() == nil && !c.gave.Load() && time.Since(c.started) > 2*c.net.config.KeepAlive {
		c.warnf("no handshake in %v", 2*c.net.config.KeepAlive)
		c.close(false, "no handshake")
	}
}
