package p2p

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tarn/antelope/types"
)

// conn is an open connection. It is made by an accepted or a dialled socket and
// never used again when it has ended. What its parts share is what this peer has shown and
// cost so far. It has many methods because each message of a peer is handled by one.
type conn struct {
	link
	greeting
	clock
	blockSender
	nacks
	promised promise
	rejected rejections
	ballots  ballots // the votings' lock guards them
	heard    heard   // the gossip's lock guards it

	net     *Network
	slot    int     // in sets of connections
	target  *target // what was dialled; nil for an incoming one
	public  string  // the address that is told to the peer
	started time.Time

	traffic   atomic.Uint32 // Traffic
	standing  atomic.Uint32 // standing
	connected atomic.Bool   // it has said something that counts
	used      atomic.Bool   // a message came
	gave      atomic.Bool   // it has sent a transaction that was new
	syncing   atomic.Bool   // it catches up from us
	noRetry   atomic.Uint32 // Reason

	lastMessage, lastBlock, lastVote  atomic.Int64 // Unix nanoseconds; 0 is never
	peerLIB, peerHead, peerFirst      atomic.Uint32
	lastReceived, unique              atomic.Uint32
	bytesIn, lastIn, syncIn, trxBytes atomic.Int64
	delivering                        atomic.Bool // is handing on a block, or waiting for room for it
	due                               time.Time   // for the next block of a span; the syncer's lock guards it
	ordinal                           atomic.Uint32
	large                             atomic.Int64 // bytes of its read buffer, while that is larger than usual
	largeSince                        atomic.Int64 // when it began to be, in Unix nanoseconds
	control, voting, useless          bucket
	failures, inflating, checks       bucket

	arrived []*Transaction // not given to the chain yet; the reader's
}

// errGone ends reading after a go_away was sent.
var errGone = errors.New("sent away")

func newConn(n *Network, socket net.Conn, t *target, public string, rate uint64) *conn {
	c := &conn{net: n, target: t, public: public, started: time.Now()}
	c.greeting.c, c.clock.c, c.blockSender.c, c.nacks.c = c, c, c, c
	c.limits = &n.config.Limits
	c.out.limits, c.promised.limits, c.rejected.limits = c.limits, c.limits, c.limits
	c.log, c.format, c.socket, c.total, c.rate = n.log, n.config.PeerLogFormat, socket, &n.bytesOut, rate
	c.remoteIP, c.remotePort = splitHostPort(socket.RemoteAddr())
	c.localIP, c.localPort = splitHostPort(socket.LocalAddr())
	if s, ok := socket.(syscall.Conn); ok {
		c.raw, _ = s.SyscallConn() // without it the writer does all
	}
	c.ping.Store(math.MaxInt64)
	c.version.Store(protocolGossip)
	c.lines = c.limits.Lines.bucket()
	c.control = c.limits.Control.bucket()
	c.voting = c.limits.Voting.bucket()
	c.useless = c.limits.Useless.bucket()
	c.failures = c.limits.Failures.bucket()
	c.inflating = c.limits.Inflating.bucket()
	c.checks = c.limits.GossipChecks.bucket()
	c.spare = bucket{rate: float64(rate)}
	c.out.wake = make(chan struct{}, 1)
	c.retry.Store(true)
	c.lastMessage.Store(time.Now().UnixNano())
	c.ended, c.cancel = context.WithCancelCause(context.Background())
	if t != nil {
		c.dialled = t.address
		c.setName(t.address)
		c.setTraffic(t.address)
		c.markProducer(t.address)
	}
	return c
}

func (c *conn) incoming() bool { return c.target == nil }

// current tells whether blocks and transactions are passed on to the peer.
func (c *conn) current() bool {
	return c.connected.Load() && !c.syncing.Load() && c.ended.Err() == nil
}

func (c *conn) takesBlocks() bool { return Traffic(c.traffic.Load()) != TransactionsOnly }

func (c *conn) takesTransactions() bool { return Traffic(c.traffic.Load()) != BlocksOnly }

// setTraffic takes the kind of traffic from the end of an address.
func (c *conn) setTraffic(address string) {
	_, _, kind, ok := splitPeer(address)
	if !ok {
		return
	}
	t, known := trafficOf(kind)
	if !known {
		c.warnf("Unknown connection %d type: %s, for %s", c.id, printable(kind), printable(address))
		return
	}
	c.traffic.Store(uint32(t))
}

// heedTraffic takes the kind of traffic from what a peer says that was connected to, unless the operator said
// one (Spring: set_peer_connection_type).
func (c *conn) heedTraffic(address string) {
	_, _, kind, _ := splitPeer(address)
	if t, known := trafficOf(kind); known && c.net.chain.Info().Spring {
		c.traffic.CompareAndSwap(uint32(Both), uint32(t))
	}
}

// told is the address at which a handshake says that this node is, with what the peer is to send. Where that
// is all that the node takes, Leap says so to everybody. Spring says so to those who connected here; to
// others it says nothing of what a listener is for, which they would take for what they are asked to send.
func (c *conn) told() string {
	spring := c.net.chain.Info().Spring
	if spring && !c.incoming() {
		host, port, _, _ := splitPeer(c.public)
		return host + ":" + port
	}
	s := c.public
	add := func(t Traffic) {
		if end := t.String(); !spring || !strings.Contains(s, end) {
			s += end
		}
	}
	if !c.takesBlocks() {
		add(TransactionsOnly)
	}
	if !c.takesTransactions() || !takesTransactions(c.net) {
		add(BlocksOnly)
	}
	return s
}

// goAway tells the peer why it has to leave. Nothing that it says afterwards is
// heard, and the connection ends when it has been told.
func (c *conn) goAway(r Reason, node types.Checksum256) {
	c.noRetry.Store(uint32(r))
	c.out.last(c.encode(GoAway{r, node}))
	c.finalf(slog.LevelInfo, "sent a go away message: %v, closing connection %d", r, c.id)
}

// run works until the connection ends.
func (c *conn) run(ctx context.Context) {
	defer context.AfterFunc(ctx, func() { c.cancel(ctx.Err()) })()
	defer context.AfterFunc(c.ended, func() { c.socket.Close() })()
	if t, ok := c.socket.(*net.TCPConn); ok {
		_ = t.SetNoDelay(true) // it is the default
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		if err := c.write(c.fetch); err != nil {
			c.cancel(fmt.Errorf("Error sending to peer: %w", err))
		}
		_ = c.socket.SetReadDeadline(time.Now()) // the reader is to see that it is over
	}()
	if !c.incoming() {
		c.sendHandshake()
		c.startPing()
	}
	err := c.read()
	if errors.Is(err, errGone) {
		c.partWays(written)
	}
	c.cancel(err)
	c.socket.Close()
	<-written
	c.connected.Store(false)
	c.finalf(slog.LevelInfo, "closing: %v", context.Cause(c.ended))
}

// read takes messages until the connection ends, and returns why.
func (c *conn) read() error {
	defer c.endLarge()
	buf := make([]byte, c.limits.ReadBuffer)
	begin, end := 0, 0
	for {
		need, err := c.frames(buf, &begin, end)
		if err != nil {
			return err
		}
		// Room is made as data come, not as they are announced.
		if begin > 0 {
			end = copy(buf, buf[begin:end])
			begin = 0
		}
		switch {
		case end == len(buf):
			if err := c.makeLarge(min(2*len(buf), need)); err != nil {
				return err
			}
			buf = append(make([]byte, 0, min(2*len(buf), need)), buf[:end]...)
			buf = buf[:cap(buf)]
		case end < c.limits.ReadBuffer && len(buf) > c.limits.MaxReadBuffer:
			buf = append(make([]byte, 0, c.limits.MaxReadBuffer), buf[:end]...)[:c.limits.MaxReadBuffer]
			c.endLarge()
		}
		if err := c.mayRead(); err != nil {
			return err
		}
		n, err := c.socket.Read(buf[end:])
		full := n == len(buf)-end
		end += n
		c.net.bytesIn.Add(uint64(n))
		if err != nil && n == 0 {
			return c.readError(err)
		}
		if full && len(buf) < c.limits.MaxReadBuffer {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

func (c *conn) readError(err error) error {
	if cause := context.Cause(c.ended); cause != nil {
		return cause
	}
	if c.out.isLast() {
		return errGone
	}
	if !c.incoming() && !c.used.Load() && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		c.warnf("The peer refused the connection without a word. Nodes do that when they have enough connections, in all " +
			"(their max-clients) or with this host (their p2p-max-nodes-per-host, 1 by default); the peer's log says which")
		return errors.New("the peer refused the connection")
	}
	if errors.Is(err, io.EOF) {
		c.infof("Peer closed connection")
		return errors.New("Peer closed connection")
	}
	level := slog.LevelError
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		level = slog.LevelInfo // it went, as a peer does that is killed; nobody has to do anything (nodeos: an error)
	}
	c.logf(level, "Error reading message: %v", err)
	return err
}

// frames handles the whole messages in buf[*begin:end], and returns how large the
// buffer must be for the next.
func (c *conn) frames(buf []byte, begin *int, end int) (need int, err error) {
	defer c.giveTransactions()
	for {
		if end-*begin < 4 {
			return c.limits.ReadBuffer, nil
		}
		size := int(binary.LittleEndian.Uint32(buf[*begin:]))
		if size == 0 || size > maxMessage {
			err := unexpectedLength(buf[*begin:][:4])
			c.finalf(slog.LevelError, "%v", err)
			return 0, err
		}
		if end-*begin < 4+size {
			return 4 + size, nil
		}
		frame := buf[*begin+4 : *begin+4+size]
		*begin += 4 + size
		now := time.Now().UnixNano()
		c.used.Store(true)
		c.bytesIn.Add(int64(size))
		c.lastIn.Store(now)
		c.lastMessage.Store(now)
		if err := c.handle(frame); err != nil {
			return 0, err
		}
		if c.ended.Err() != nil {
			return 0, context.Cause(c.ended)
		}
		if c.out.isLast() {
			return 0, errGone
		}
	}
}

// unexpectedLength says what is wrong with the length that begins a message. A peer that begins like an
// HTTP server is one.
func unexpectedLength(b []byte) error {
	hint := ""
	if string(b) == "HTTP" {
		hint = ": an HTTP server answers at this address. Give p2p-peer-address the port of the node's " +
			"p2p-listen-endpoint (often 9876), not that of its API (often 8888)"
	}
	return fmt.Errorf("incoming message length unexpected (%d)%s", binary.LittleEndian.Uint32(b), hint)
}

// mayRead refuses to read from a peer that does not read.
func (c *conn) mayRead() error {
	if queued := c.out.size(); queued > c.limits.SoftQueue {
		c.finalf(slog.LevelError, "write queue full %d bytes, giving up on connection, closing", queued)
		c.retry.Store(false)
		return errors.New("write queue full")
	}
	return nil
}

// rejections counts windows of time in which all blocks of a peer were refused
// (Leap: block_status_monitor).
type rejections struct {
	limits *Limits

	mu      sync.Mutex
	since   time.Time // zero while blocks are accepted
	windows int
}

func (r *rejections) reset() {
	r.mu.Lock()
	r.since, r.windows = time.Time{}, 0
	r.mu.Unlock()
}

// countRejection tells whether it has been too many.
func (r *rejections) countRejection(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.since.IsZero():
		r.since, r.windows = now, 0
	case now.Sub(r.since) >= r.limits.RejectionWindow:
		r.since = now
		r.windows++
	}
	return r.windows >= r.limits.RejectionWindows
}
