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
	t := n.targets[address]
	delete(n.targets, address)
	delete(n.supplied, address)
	n.mu.Unlock()
	if t == nil {
		return "no known connection for host"
	}
	t.mu.Lock()
	if t.conn != nil {
		n.log.Info(fmt.Sprintf("disconnecting: %d", t.conn.id))
		t.conn.close(false, "disconnected by the operator")
	}
	t.mu.Unlock()
	t.cancel()
	return "connection removed"
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
	socket, err := (&net.Dialer{Timeout: n.config.Limits.DialTime}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
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
