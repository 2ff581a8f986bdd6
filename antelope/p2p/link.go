package p2p

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// link is the socket of a connection, what waits to be written to it, and the log about it.
// Any goroutine may send; one writes what is more than the kernel takes at once.
type link struct {
	peerLog
	limits *Limits
	socket net.Conn
	raw    syscall.RawConn // of the socket; nil if it has none
	out    outbox
	cancel context.CancelCauseFunc
	ended  context.Context
	retry  atomic.Bool // dial again at once

	bytesOut, lastOut atomic.Int64   // lastOut is in Unix nanoseconds; 0 is never
	total             *atomic.Uint64 // bytes written to all peers
}

// encode makes the frame of a message of this package.
func (l *link) encode(m Message) []byte {
	frame, err := AppendFrame(nil, m)
	if err != nil {
		l.errorf("%v", err) // a fault of ours
	}
	return frame
}

// send queues a message.
func (l *link) send(m Message) { l.enqueue(l.encode(m), controlLane) }

func (l *link) enqueue(frame []byte, to lane) {
	if queued := l.out.add(frame, to); queued > l.limits.HardQueue {
		l.warnf("write_queue full %d bytes, giving up on connection", queued)
		l.close(true, "write queue full")
	}
}

// writeNow writes what is queued as far as the kernel takes it at once, and leaves
// the rest to the writer. With hundreds of peers it costs more to wake a goroutine
// for each of them than to write a few hundred bytes.
func (l *link) writeNow() {
	if l.raw == nil {
		l.out.signal()
		return
	}
	frame := l.out.takeFew()
	if frame == nil {
		return
	}
	n := 0
	err := l.raw.Control(func(fd uintptr) { n, _ = syscall.Write(int(fd), frame) })
	if err != nil || n < 0 {
		n = 0 // the writer finds out why
	}
	l.countOut(int64(n), time.Now())
	l.out.giveBack(frame[n:])
}

// write sends what is queued until the connection ends, or until the last message
// was written. fetch adds the blocks that the peer asked for; wait is how long its limit
// forbids more of them.
func (l *link) write(fetch func(*work) (frames net.Buffers, wait time.Duration)) error {
	var deadline time.Time
	for {
		select {
		case <-l.ended.Done():
			return nil
		case <-l.out.wake:
		}
		for l.ended.Err() == nil {
			w := l.out.take()
			frames, wait := fetch(&w)
			if len(frames) > 0 {
				if err := l.flush(frames, &deadline); err != nil {
					return err
				}
			}
			if w.final {
				return nil
			}
			if wait > 0 {
				l.wakeIn(wait)
			}
			if len(frames) == 0 {
				break
			}
		}
	}
}

// wakeIn makes the writer look again later, when a limit of rate allows more.
func (l *link) wakeIn(d time.Duration) {
	time.AfterFunc(d, l.out.signal)
}

// flush writes frames. deadline is that of the socket, which is moved only when
// there is not much left of it: that costs as much as a small write.
func (l *link) flush(frames net.Buffers, deadline *time.Time) (err error) {
	size := 0
	for _, f := range frames {
		size += len(f)
	}
	now := time.Now()
	need := l.limits.WriteTime + time.Duration(size/l.limits.SlowestPeer)*time.Second
	if deadline.Before(now.Add(need)) {
		*deadline = now.Add(need + l.limits.WriteTime/2)
		_ = l.socket.SetWriteDeadline(*deadline) // closed is found by the write
	}
	var n int64
	if len(frames) == 1 {
		var k int
		k, err = l.socket.Write(frames[0])
		n = int64(k)
	} else {
		n, err = frames.WriteTo(l.socket)
	}
	l.countOut(n, now)
	return err
}

func (l *link) countOut(n int64, now time.Time) {
	l.bytesOut.Add(n)
	l.lastOut.Store(now.UnixNano())
	l.total.Add(uint64(n))
}

// close ends the connection; retry says that a dialled peer is to be dialled again
// at once. It may be called more than once.
func (l *link) close(retry bool, reason string) {
	if !retry {
		l.retry.Store(false)
	}
	l.cancel(errors.New(reason))
}

// partWays gives the peer the time to hear why it is sent away: what it still
// sends is read and dropped, as a socket closed over unread data takes back what
// was written.
func (l *link) partWays(written <-chan struct{}) {
	select {
	case <-written:
	case <-time.After(l.limits.Farewell):
		return
	case <-l.ended.Done():
		return
	}
	if t, ok := l.socket.(interface{ CloseWrite() error }); ok && t.CloseWrite() == nil {
		_ = l.socket.SetReadDeadline(time.Now().Add(l.limits.Farewell / 4))
		_, _ = io.CopyN(io.Discard, l.socket, l.limits.FarewellIn)
	}
}
