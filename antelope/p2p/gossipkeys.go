package p2p

import (
	"context"
	"fmt"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// PeerKey is a producer that the chain's contract names, and the key that it has registered for gossip.
type PeerKey struct {
	Producer types.Name
	Key      types.PublicKey // zero if it has registered none
}

// ranking is a producer's key, and its place among those that the chain names.
type ranking struct {
	rank int
	key  types.PublicKey
}

// readKeys reads the producers and their keys from the chain, unless it is far behind (Spring: peer_keys_db_t).
func (g *gossip) readKeys(ctx context.Context) {
	n := g.net
	if time.Since(n.chain.Info().Time.TimePoint().Time()) > keysWithin {
		return
	}
	list, err := n.chain.PeerKeys(ctx)
	fault := ""
	if err != nil {
		fault = err.Error()
	}
	if fault != g.fault && err != nil { // until there are keys they are read at each block
		n.log.Warn(fmt.Sprintf("cannot read the keys of block producers: %v", err))
	}
	g.fault = fault
	if len(list) == 0 {
		return
	}
	keys := make(map[types.Name]ranking, len(list))
	for i, k := range list {
		keys[k.Producer] = ranking{i, k.Key}
	}
	g.mu.Lock()
	changed := false
	for name := range g.names {
		changed = changed || keys[name] != g.keys[name]
	}
	g.keys = keys
	g.mu.Unlock()
	g.ranked.Store(true)
	if changed && g.sign() {
		n.peering.connectActive()
		g.untold = true
	}
}

// key is a producer's key, if it has one.
func (g *gossip) key(producer types.Name) (types.PublicKey, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := g.keys[producer].key
	return k, k != (types.PublicKey{})
}

// sign makes the own records anew. It is false if a key is not this node's.
func (g *gossip) sign() bool {
	n := g.net
	end := n.chain.Info().Time + slots(recordLife)
	greeted := false // what a connection begins with is made
	for _, o := range g.own {
		key, ok := g.key(o.producer)
		if !ok {
			n.log.Warn(fmt.Sprintf("On-chain peer-key not found for configured BP %v", o.producer))
			continue
		}
		e := listed{Record: Record{Version: 1, Producer: o.producer}, Place: Place{o.server, o.outbound, end}}
		e.Info = e.Place.Append(nil)
		empty := Record{Version: 1, Producer: o.producer}
		if !greeted && !g.signRecord(&empty, key) || !g.signRecord(&e.Record, key) {
			return false
		}
		if !greeted {
			g.mu.Lock()
			g.first = appendRawFrame(nil, TypeGossip, Gossip{[]Record{empty}}.Append(nil))
			g.mu.Unlock()
			greeted = true
		}
		g.directory.put(e)
	}
	return true
}

// signRecord signs an own record. It is false, and said, if the key is not this node's.
func (g *gossip) signRecord(x *Record, key types.PublicKey) bool {
	var err error
	if x.Sig, err = g.net.signFor(key, x.Digest(g.net.chain.ID())); err != nil {
		g.net.log.Error(fmt.Sprintf("Unable to update bp producer peers, error: %v", err))
	}
	return err == nil
}

// signFor signs with the private key of a public one: a peer's, or a producer's.
func (n *Network) signFor(key types.PublicKey, digest types.Checksum256) (types.Signature, error) {
	if private, ok := n.config.private[key]; ok {
		return private.Sign(digest)
	}
	if n.config.Sign == nil {
		return types.Signature{}, exception.New(exception.ProducerPrivKeyNotFound,
			"no private key for ${key}", "key", key)
	}
	return n.config.Sign(key, digest)
}
