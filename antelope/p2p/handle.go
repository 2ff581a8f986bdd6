package p2p

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

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
		c.blockCame()
		err = c.handleBlock(frame, r)
	case TypeTransaction:
		err = c.handleTransaction(frame, r)
	case TypeVote:
		err = c.handleVote(frame, r)
	case TypeGossip:
		err = c.handleGossip(frame, r)
	default:
		if !c.control.take(1) {
			return errors.New("the peer sent too many messages")
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
	case BlockNack:
		c.handleBlockNack(m)
	case BlockNotice:
		return c.handleBlockNotice(m)
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
		c.setPeerID(m.NodeID)
	}
	c.noRetry.Store(uint32(reason))
	c.close(retry, "the peer said: "+m.Reason.String())
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
	c.ask()
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
