package oracle

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Messages of the peer-to-peer protocol that are sent here, and the version.
const (
	messageHandshake   = 0
	messageTransaction = 8
	networkVersion     = 1206
)

// PeerLink is a connection to a node as its peer, over which transactions go fastest.
// The node says nothing about them.
type PeerLink struct {
	conn net.Conn
	out  *bufio.Writer
}

// DialPeer connects and shakes hands, as a peer that has no blocks.
func DialPeer(ctx context.Context, address string, chain types.Checksum256) (*PeerLink, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	l := &PeerLink{conn, bufio.NewWriterSize(conn, 1<<16)}
	b := serial.AppendUint16([]byte{messageHandshake}, networkVersion)
	b = chain.Append(b)
	b = types.Hash([]byte(conn.LocalAddr().String())).Append(b) // node id
	b = types.PublicKey{}.Append(b)
	b = serial.AppendInt64(b, time.Now().UnixNano())
	b = types.Checksum256{}.Append(b)
	b = types.Signature{}.Append(b)
	b = serial.AppendString(b, "tarn:0")
	for range 2 { // last irreversible and head
		b = types.Checksum256{}.Append(serial.AppendUint32(b, 0))
	}
	b = serial.AppendString(serial.AppendString(b, "linux"), "tarn")
	b = serial.AppendUint16(b, 1)
	go io.Copy(io.Discard, conn) // whatever it says, until it is closed
	if err := l.send(b); err != nil {
		return nil, err
	}
	return l, l.out.Flush()
}

// send writes a message, type and all.
func (l *PeerLink) send(message []byte) error {
	var size [4]byte
	binary.LittleEndian.PutUint32(size[:], uint32(len(message)))
	if _, err := l.out.Write(size[:]); err != nil {
		return err
	}
	_, err := l.out.Write(message)
	return err
}

// Transactions sends all that come, most of them at once but not more than rate
// in a second, so that the node drops none. It returns how many that were.
func (l *PeerLink) Transactions(ctx context.Context, from <-chan *types.PackedTransaction, rate int) (sent int, err error) {
	start := time.Now()
	for p := range from {
		if err := l.send(p.Append([]byte{messageTransaction})); err != nil {
			return sent, fmt.Errorf("transaction %d: %w", sent, err)
		}
		sent++
		due := start.Add(time.Duration(sent) * time.Second / time.Duration(rate))
		if ahead := time.Until(due); ahead > 10*time.Millisecond {
			if err := l.out.Flush(); err != nil {
				return sent, err
			}
			time.Sleep(ahead)
		}
		if ctx.Err() != nil {
			return sent, ctx.Err()
		}
	}
	return sent, l.out.Flush()
}

// Close ends the connection.
func (l *PeerLink) Close() error { return l.conn.Close() }
