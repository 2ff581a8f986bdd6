package p2p

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// handle acts on a message, which is good until it returns. An error ends the
// connection.
func (c *conn) handle(frame []byte) error {
	r := serial.NewReader(frame)
	t := Type(r.Varuint32())
	switch t {
	case TypeHandshake, TypeChainSize, TypeGoAway, TypeTime:
	default:
		if c.stranger() {
			return nil
		}
	}
	if t != TypeTransaction {
		c.giveTransactions() // they came before
	}
	var err error
	switch t {
	case TypeBlock:
		c.lastBlock.Store(time.Now().UnixNano())
		err = c.handleBlock(frame, r)
	case TypeTransaction:
		err = c.handleTransaction(frame, r)
	default:
		if !c.control.take(1) {
			return errors.New("too many messages")
		}
		var m Message
		if m, err = decode(t, r); err == nil {
			if err = r.Err(); err == nil {
				err = c.handleMessage(m)
			}
		}
	}
	if err != nil {
		err = fmt.Errorf("message of type %d: %w", t, err)
		c.finalf(slog.LevelWarn, "Exception in handling message: %v", err)
	}
	return err
}

func (c *conn) handleMessage(m Message) error {
	switch m := m.(type) {
	case Handshake:
		c.debugf("handle handshake_message")
		c.handleHandshake(&m)
	case ChainSize:
		c.debugf("received chain_size_message")
	case GoAway:
		c.handleGoAway(m)
	case Time:
		c.handleTime(m)
	case Notice:
		return c.handleNotice(m)
	case Request:
		return c.handleRequest(m)
	case SyncRequest:
		c.handleSyncRequest(m)
	}
	return nil
}

func (c *conn) handleGoAway(m GoAway) {
	c.warnf("received go_away_message, reason = %v", m.Reason)
	retry, reason := c.noRetry.Load() == uint32(NoReason), m.Reason
	switch m.Reason {
	case WrongVersion:
		if !retry {
			reason = FatalOther // only once
		}
	case BenignOther:
	default:
		retry = false
	}
	if m.Reason == Duplicate {
		c.mu.Lock()
		c.node = m.NodeID
		c.mu.Unlock()
	}
	c.noRetry.Store(uint32(reason))
	c.close(retry, "the peer said: "+m.Reason.String())
}

// startPing sends a time message, unless the answer to another is awaited.
func (c *conn) startPing() {
	c.mu.Lock()
	if c.origin != 0 {
		c.mu.Unlock()
		return
	}
	c.origin = time.Now().UnixNano()
	m := Time{Transmit: c.origin}
	c.mu.Unlock()
	c.send(m)
}

// handleTime measures the round trip, and how far the clocks are apart.
func (c *conn) handleTime(m Time) {
	if m.Transmit == 0 {
		return
	}
	m.Destination = time.Now().UnixNano()
	c.mu.Lock()
	if m.Origin != 0 {
		if m.Origin != c.origin {
			c.mu.Unlock()
			return
		}
		c.measured(max(0, m.Destination-m.Origin))
	}
	transmit := nanoseconds(m.Transmit)
	if transmit == c.transmit {
		c.mu.Unlock()
		return
	}
	c.transmit = transmit
	if m.Origin == 0 {
		c.mu.Unlock()
		c.send(Time{Origin: m.Transmit, Receive: m.Destination, Transmit: time.Now().UnixNano()})
		return
	}
	origin := c.origin
	c.origin = 0
	c.mu.Unlock()
	receive := nanoseconds(m.Receive)
	offset := (float64(receive-origin) + float64(transmit-m.Destination)) / 2
	if math.Abs(offset) > float64(blockInterval) {
		c.warnf("Clock offset is %dus, calculation: (rec %d - org %d + xmt %d - dst %d)/2",
			int64(offset)/1000, receive, origin, transmit, m.Destination)
	}
	if c.received.Load() == nil {
		c.sendHandshake()
	}
}

// measured notes how long the answer to a time message took. While a peer catches
// up from this node it doesn't count: the message waited behind the blocks. Nor does
// it while this node catches up, unless nothing better is known.
func (c *conn) measured(ping int64) {
	if c.syncing.Load() || c.net.sync.absorbed() && c.ping.Load() != math.MaxInt64 {
		return
	}
	c.ping.Store(ping)
}

// nanoseconds takes a time since the epoch in whatever unit a peer has sent it, for
// some that are older than Leap 5 send microseconds.
func nanoseconds(v int64) int64 {
	const recent = 1686211688 // seconds
	for unit := int64(1); unit <= 1e9; unit *= 1000 {
		if v >= recent*(1e9/unit) {
			return v * unit
		}
	}
	return 0
}

// heartbeat ends a connection that has been silent, asks a peer that sent no blocks
// where it is, and measures the latency (Leap: check_heartbeat).
func (c *conn) heartbeat() {
	now, keepAlive := time.Now(), c.net.config.KeepAlive
	if c.delivering.Load() {
		c.lastMessage.Store(now.UnixNano()) // it is us who don't read
	}
	if silent := now.Sub(time.Unix(0, c.lastMessage.Load())); silent > 2*keepAlive {
		c.noRetry.Store(uint32(BenignOther))
		if c.incoming() {
			c.finalf(slog.LevelWarn, "heartbeat timed out")
		} else {
			c.finalf(slog.LevelWarn, "heartbeat timed out for peer address")
		}
		c.close(!c.incoming(), "heartbeat timed out")
		return
	}
	if c.received.Load() != nil && !c.net.sync.absorbed() {
		if now.Sub(time.Unix(0, c.lastBlock.Load())) > max(keepAlive, 2*blockInterval) {
			c.warnf("half heartbeat timed out, sending handshake")
			c.sendHandshake()
			return
		}
	}
	c.mu.Lock()
	c.origin = 0
	c.mu.Unlock()
	c.startPing()
}

func (c *conn) handleNotice(m Notice) error {
	c.connected.Store(true)
	if len(m.Blocks.IDs) > 2 {
		c.retry.Store(false)
		return fmt.Errorf("Invalid notice_message, known_blocks.ids.size %d, closing connection", len(m.Blocks.IDs))
	}
	switch m.Blocks.Mode {
	case ModeNone, ModeNormal:
	case ModeCatchUp, ModeLIBCatchUp:
		if len(m.Blocks.IDs) > 1 {
			c.peerFirst.Store(types.BlockNum(m.Blocks.IDs[1]))
		}
		if len(m.Blocks.IDs) > 0 {
			c.peerHead.Store(types.BlockNum(m.Blocks.IDs[0]))
		} else { // older nodes send the number alone
			c.peerHead.Store(max(c.peerHead.Load(), m.Blocks.Pending))
		}
		c.net.sync.notice(c, &m)
	default:
		c.warnf("bad notice_message : invalid known_blocks.mode %d", m.Blocks.Mode)
	}
	return nil
}

func (c *conn) handleRequest(m Request) error {
	if len(m.Blocks.IDs) > 1 {
		return fmt.Errorf("Invalid request_message, req_blocks.ids.size %d, closing", len(m.Blocks.IDs))
	}
	if len(m.Trx.IDs) > 0 && (m.Trx.Mode == ModeNone || m.Trx.Mode == ModeNormal) {
		return fmt.Errorf("Invalid request_message, req_trx.ids.size %d", len(m.Trx.IDs))
	}
	switch m.Blocks.Mode {
	case ModeCatchUp:
		var id types.Checksum256
		if len(m.Blocks.IDs) > 0 {
			id = m.Blocks.IDs[0]
		}
		c.sendBranch(id)
	case ModeNormal:
		if len(m.Blocks.IDs) > 0 && !c.out.want(m.Blocks.IDs[0]) {
			return errors.New("more blocks asked for than read")
		}
	case ModeNone:
		if m.Trx.Mode == ModeNone {
			c.syncing.Store(false)
		}
	}
	return nil
}

// sendBranch sends the blocks after a peer's head, or if that is not of our branch
// those after its last irreversible block (Leap: blk_send_branch).
func (c *conn) sendBranch(id types.Checksum256) {
	info := c.net.chain.Info()
	if info.HeadNum == 0 {
		c.send(Notice{Blocks: IDs{Mode: ModeNormal}})
		return
	}
	lib := c.peerLIB.Load()
	if lib == 0 {
		return // no handshake yet
	}
	num := types.BlockNum(id)
	if num != 0 {
		ours, err := c.net.chain.BlockID(num)
		switch {
		case exception.Is(err, exception.UnknownBlock):
			c.infof("Peer asked for unknown block %d, sending: benign_other go away", num)
			c.goAway(BenignOther, types.Checksum256{})
			return
		case err != nil || ours != id:
			num = 0
		}
	}
	from, to := c.out.serveBranch(num, lib, info.HeadNum)
	if from <= to {
		c.infof("enqueue %d - %d", from, to)
	} else {
		c.infof("nothing to enqueue")
	}
}

func (c *conn) handleSyncRequest(m SyncRequest) {
	c.debugf("peer requested %d to %d", m.Start, m.End)
	if m.End == 0 {
		c.out.stopServing()
		return
	}
	// What there is not ends the range, and the connection, when it is come to.
	if m.Start == 0 || m.Start > m.End {
		c.infof("enqueue sync, unable to fetch block %d, sending benign_other go away", m.Start)
		c.goAway(BenignOther, types.Checksum256{})
		return
	}
	c.out.serve(m.Start, m.End)
}
