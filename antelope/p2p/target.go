package p2p

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// target is a peer that this node connects to, and connects to again.
type target struct {
	net     *Network
	address string // host:port[:kind]
	told    bool   // known by gossip alone
	cancel  context.CancelFunc

	mu      sync.Mutex
	conn    *conn // nil while there is none
	dialing bool
}

// Connect adds a peer and starts to connect to it. It returns what the API answers.
func (n *Network) Connect(address string) string {
	if _, _, _, ok := splitPeer(address); !ok {
		n.log.Error(fmt.Sprintf(`Invalid peer address. must be "host:port[:<blk>|<trx>]": %s`, printable(address)))
		return "invalid peer address"
	}
	n.mu.Lock()
	n.supplied[address] = true
	n.mu.Unlock()
	return n.addTarget(address)
}

// Disconnect ends the connection with a peer that was connected to, and forgets it.
// It returns what the API answers.
func (n *Network) Disconnect(address string) string {
	n.mu.Lock()
	delete(n.supplied, address)
	n.mu.Unlock()
	if !n.leave(address) {
		return "no known connection for host"
	}
	return "connection removed"
}

// leave ends the connection with an address, unless it is one to be connected with, and forgets it. It is false if
// nothing is known of it.
func (n *Network) leave(address string) bool {
	n.mu.Lock()
	t := n.targets[address]
	if n.supplied[address] {
		t = nil
	}
	if t != nil {
		delete(n.targets, address)
	}
	n.mu.Unlock()
	if t == nil {
		return false
	}
	t.mu.Lock()
	if t.conn != nil {
		n.log.Info(fmt.Sprintf("disconnecting: %d", t.conn.id))
		t.conn.close(false, "disconnected by the operator")
	}
	t.mu.Unlock()
	t.cancel()
	return true
}

// addTold starts to connect to an address that came by gossip, if it is one that the log can show. When there are
// many, those make room of whom nobody tells any more.
func (n *Network) addTold(address string) {
	if _, _, _, ok := splitPeer(address); !ok || printable(address) != address {
		return
	}
	n.mu.Lock()
	known, count := n.targets[address] != nil, 0
	if !known {
		for _, t := range n.targets {
			if t.told {
				count++
			}
		}
	}
	n.mu.Unlock()
	if known || count >= n.config.Limits.GossipDials && n.forgetUntold(true) == 0 {
		return
	}
	n.addTarget(address)
	n.mu.Lock()
	if t := n.targets[address]; t != nil && !n.supplied[address] {
		t.told = true
	}
	n.mu.Unlock()
}

// forgetUntold forgets addresses that came by gossip and are in it no more, and returns how many: all, or those
// without a connection. Otherwise who tells of another address each minute would have all of them dialled for ever.
func (n *Network) forgetUntold(all bool) (count int) {
	in := n.gossip.directory.allServers()
	var out []*target
	n.mu.Lock()
	for address, t := range n.targets {
		if t.told && !in[address] {
			out = append(out, t)
		}
	}
	n.mu.Unlock()
	for _, t := range out {
		t.mu.Lock()
		connected := t.conn != nil
		t.mu.Unlock()
		if (all || !connected) && n.leave(t.address) {
			count++
		}
	}
	return count
}

// addTarget starts to connect to an address unless that is being done.
func (n *Network) addTarget(address string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.targets[address] != nil {
		return "already connected"
	}
	if n.ctx == nil {
		return "added connection" // with what Run begins with
	}
	ctx, cancel := context.WithCancel(n.ctx)
	t := &target{net: n, address: address, cancel: cancel, dialing: true}
	n.targets[address] = t
	n.goLocked(func() {
		defer cancel()
		t.run(ctx)
		n.mu.Lock()
		if n.targets[address] == t {
			delete(n.targets, address)
		}
		n.mu.Unlock()
	})
	return "added connection"
}

// run connects, again and again, until ctx ends or the peer is one to leave alone
// (Leap: connection::reconnect).
func (t *target) run(ctx context.Context) {
	immediate := 0
	for {
		c, err := t.dial(ctx)
		delay := t.net.config.CleanupPeriod
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			t.net.failed.Add(1)
			t.net.log.Info(fmt.Sprintf("connection failed to %s, %v", t.address, err))
		} else {
			c.run(ctx)
			t.net.remove(c)
			if ctx.Err() != nil {
				return
			}
			immediate++
			if c.used.Load() {
				immediate = 0
			}
			reason := Reason(c.noRetry.Load())
			if !mayRetry(reason) {
				t.net.log.Debug(fmt.Sprintf("Skipping connect due to go_away reason %v", reason))
				return
			}
			if c.retry.Load() && immediate <= t.net.config.Limits.Reconnects && reason != BenignOther {
				delay = t.net.config.Limits.Reconnect
			}
		}
		t.set(nil, false)
		if !sleep(ctx, delay) {
			return
		}
	}
}

// mayRetry tells whether a peer that left, or was sent away, for a reason is dialled
// again. A node that sends away for a block that is not valid may be the one that errs,
// or have got it from us as we had it from others: unlike nodeos we come back.
func mayRetry(r Reason) bool {
	switch r {
	case NoReason, WrongVersion, BenignOther, Duplicate, Validation:
		return true
	}
	return false
}

func (t *target) set(c *conn, dialing bool) {
	t.mu.Lock()
	t.conn, t.dialing = c, dialing
	t.mu.Unlock()
}

// dial connects once.
func (t *target) dial(ctx context.Context) (*conn, error) {
	n := t.net
	t.set(nil, true)
	host, port, _, _ := splitPeer(t.address)
	socket, err := (&net.Dialer{Timeout: n.config.Limits.DialTime}).DialContext(ctx, "tcp",
		net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	public := ""
	if len(n.config.listeners) > 0 {
		public = n.config.listeners[0].public
	}
	c := newConn(n, socket, t, public, 0)
	n.mu.Lock()
	n.addLocked(c)
	n.mu.Unlock()
	n.log.Info(fmt.Sprintf("created connection %d to %s", c.id, t.address))
	t.set(c, false)
	return c, nil
}
