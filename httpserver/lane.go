package httpserver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// lane is a connection on which nothing came yet but plain requests.
type lane struct {
	*connection
	lanes  *lanes
	ctx    context.Context
	cancel context.CancelFunc
	begun  atomic.Int64 // when the request began that is answered, in ns since 1970; 0: none is

	in      []byte    // what came and is not answered
	blanks  int       // how many ends of lines may come before the next request
	ended   bool      // the client sends nothing more
	read    time.Time // until when something has to come
	until   time.Time // until when an answer has to be taken
	remote  string
	request PlainRequest
}

// lanes are those of one listener, and what its net/http gets.
type lanes struct {
	s      *Server
	plain  Plain
	handed *handed
	idle   sync.Pool // of *[]byte, for answers

	mu      sync.Mutex
	all     map[*lane]struct{}
	ending  atomic.Bool
	running sync.WaitGroup
}

// handed is a listener of the connections that lanes hand over.
type handed struct {
	at    net.Addr
	conns chan net.Conn
	once  sync.Once
	ended chan struct{}
}

// Accept implements net.Listener.
func (h *handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.ended:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handed) Close() error {
	h.once.Do(func() { close(h.ended) })
	return nil
}

// Addr implements net.Listener.
func (h *handed) Addr() net.Addr { return h.at }

const (
	laneBytes  = 2 << 10                // of what a connection's buffer begins with
	headBytes  = 384                    // room for an answer's head
	keptAnswer = 256 << 10              // the longest answer whose memory is used again
	uncounted  = 64 << 10               // the longest answer that does not count as in flight: some have room in the kernel
	watchEvery = 100 * time.Millisecond // how often it is looked for clients that have gone
	// lateness is how much a deadline may be before its time, as a part of what it is about:
	// it is not set anew for each request.
	lateness = 8
)

// accept takes connections until the listener is closed.
func (l *lanes) accept(from net.Listener) error {
	const longest = time.Second
	pause := 5 * time.Millisecond
	for {
		c, err := from.Accept()
		switch {
		case err == nil:
			pause = 5 * time.Millisecond
			l.begin(c.(*connection))
		case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) ||
			errors.Is(err, syscall.ENOMEM):
			l.s.opt.Log.Warn("accept an HTTP connection", "error", err)
			time.Sleep(pause)
			pause = min(2*pause, longest)
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			return err
		}
	}
}

func (l *lanes) begin(c *connection) {
	ctx, cancel := context.WithCancel(markContext(context.Background(), c))
	n := &lane{connection: c, lanes: l, ctx: ctx, cancel: cancel, in: make([]byte, 0, laneBytes)}
	n.request.Remote, n.request.Local = n.from, c.LocalAddr()
	l.mu.Lock()
	ending := l.ending.Load()
	if !ending {
		l.all[n] = struct{}{}
		l.running.Add(1)
	}
	l.mu.Unlock()
	if ending { // it came with the last ones, and nobody waits for it any more
		cancel()
		if err := n.Close(); err != nil {
			l.s.opt.Log.Debug("close an HTTP connection", "error", err)
		}
		return
	}
	go n.run()
}

func (n *lane) from() string {
	if n.remote == "" {
		n.remote = n.RemoteAddr().String()
	}
	return n.remote
}

// run answers until something comes that is not plain, or nothing comes any more.
func (n *lane) run() {
	kept := false
	defer func() {
		if p := recover(); p != nil {
			n.s.opt.Log.Error("an HTTP request panicked", "conn", n.from(), "panic", p, "stack", string(debug.Stack()))
			kept = false
		}
		n.cancel()
		n.lanes.mu.Lock()
		delete(n.lanes.all, n)
		n.lanes.mu.Unlock()
		if !kept {
			if err := n.Close(); err != nil {
				n.s.opt.Log.Debug("close an HTTP connection", "error", err)
			}
		}
		n.lanes.running.Done()
	}()
	for first := true; ; first = false {
		size, v := n.next(first)
		switch {
		case v == more:
			return
		case v == plain:
			taken, closes := n.answer()
			if closes {
				return
			}
			if taken {
				n.forget(size)
				continue
			}
		}
		kept = n.hand()
		return
	}
}

// next reads the next request. More means that there will be none.
func (n *lane) next(first bool) (size int, v verdict) {
	var head, body time.Time // when a request that comes in parts began to, and its body
	if first {
		head = time.Now()
	}
	for {
		n.skip()
		v = more
		if len(n.in) > 0 {
			if size, v = n.request.parse(n.in); v != more && v != rest {
				return size, v
			}
			if n.ended {
				return 0, odd // what is not whole
			}
		}
		now := time.Now()
		patience, until := n.s.opt.IdleTimeout, time.Time{}
		switch {
		case v == rest:
			if body.IsZero() {
				body = now
			}
			until = body.Add(min(bodyGrace, n.s.opt.BodyTimeout))
		case first || len(n.in) > 0:
			if head.IsZero() {
				head = now
			}
			until = head.Add(n.s.opt.HeaderTimeout)
		default:
			if cap(n.in) > laneBytes {
				n.in = make([]byte, 0, laneBytes)
			}
			if left := n.read.Sub(now); left > patience || left < patience-patience/lateness {
				until = now.Add(patience)
			}
		}
		if !n.fill(until) {
			return 0, more
		}
	}
}

// forget forgets a request of so many bytes.
func (n *lane) forget(size int) {
	if n.blanks = 0; n.in[0] == 'P' {
		n.blanks = blanksAfterPOST
	}
	n.in = n.in[:copy(n.in, n.in[size:])]
}

// blanksAfterPOST is how many ends of lines net/http reads over after the body of a POST, which
// some clients send there.
const blanksAfterPOST = 4

// skip reads over ends of lines that come before a request.
func (n *lane) skip() {
	for n.blanks > 0 && len(n.in) > 0 && (n.in[0] == '\r' || n.in[0] == '\n') {
		n.in = n.in[:copy(n.in, n.in[1:])]
		n.blanks--
	}
	if len(n.in) > 0 {
		n.blanks = 0
	}
}

// fill reads what has come, or notes that no more of a request will. A deadline is set unless it is
// zero, which leaves the one before.
func (n *lane) fill(until time.Time) bool {
	if len(n.in) == cap(n.in) {
		n.in = append(make([]byte, 0, 2*cap(n.in)), n.in...)
	}
	for {
		if !until.IsZero() {
			n.read = until
			if n.SetReadDeadline(until) != nil {
				return false
			}
		}
		if len(n.in) == 0 && n.lanes.ending.Load() {
			return false
		}
		read, err := n.Read(n.in[len(n.in):cap(n.in)])
		n.in = n.in[:len(n.in)+read]
		if read > 0 {
			return true
		}
		if n.ended = err == io.EOF && len(n.in) > 0; n.ended {
			return true
		}
		// The end of a listener wakes those who wait. A request that has begun to come is read.
		woken := errors.Is(err, os.ErrDeadlineExceeded) && len(n.in) > 0 && time.Now().Before(until)
		if err != nil && !woken {
			return false
		}
	}
}

// answer has a plain request answered. It has not taken one that is net/http's; the connection ends
// if it closes.
func (n *lane) answer() (taken, closes bool) {
	now := time.Now()
	n.begun.Store(now.UnixNano())
	defer n.begun.Store(0)
	buffer, ok := n.lanes.idle.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	out := append((*buffer)[:0], make([]byte, headBytes)...)
	n.request.Client = n.s.opt.Trusted.forwardedClient(n.of, string(n.request.forwarded))
	a, taken := n.lanes.plain.Answer(n.ctx, &n.request, out)
	if !taken || a.Drop {
		n.lanes.idle.Put(buffer)
		return taken, a.Drop
	}
	n.count(&a)
	n.send(&a, now)
	n.s.Give(n.request.Client, a.Held)
	if cap(a.Body) <= keptAnswer {
		*buffer = a.Body
	}
	n.lanes.idle.Put(buffer)
	return true, false
}

// count counts a long answer as in flight, unless that was done. One for which there is no room
// becomes an error.
func (n *lane) count(a *PlainAnswer) {
	held := int64(len(a.Body))
	if a.Held > 0 || held <= uncounted {
		return
	}
	if err := n.s.Take(n.request.Client, held); err != nil {
		a.Status, a.Body = http.StatusServiceUnavailable, append(a.Body[:headBytes], err.Error()...)
		a.Before, a.After = "Content-Type: text/plain; charset=utf-8\r\n", ""
		return
	}
	a.Held = held
}

// send writes an answer, whose head goes into the room before its body.
func (n *lane) send(a *PlainAnswer, now time.Time) {
	var room [headBytes]byte
	h := append(strconv.AppendInt(append(room[:0], "HTTP/1.1 "...), int64(a.Status), 10), ' ')
	h = append(append(append(h, http.StatusText(a.Status)...), "\r\n"...), a.Before...)
	if a.Dated {
		h = append(now.UTC().AppendFormat(append(h, "Date: "...), http.TimeFormat), "\r\n"...)
	}
	h = append(strconv.AppendInt(append(h, "Content-Length: "...), int64(len(a.Body)-headBytes), 10), "\r\n"...)
	h = append(append(h, a.After...), "\r\n"...)
	if from := headBytes - len(h); from >= 0 {
		copy(a.Body[from:], h)
		n.write(a.Body[from:])
	} else {
		n.write(append(h, a.Body[headBytes:]...))
	}
}

// write writes to a client. Who does not take it is told nothing more: the next read fails.
func (n *lane) write(b []byte) {
	if patience := n.s.opt.TakeTimeout; patience > 0 {
		now := time.Now()
		if left := n.until.Sub(now); left > patience || left < patience-patience/lateness {
			n.until = now.Add(patience)
			if n.SetWriteDeadline(n.until) != nil {
				return
			}
		}
	}
	if _, err := n.Write(b); err != nil {
		n.s.opt.Log.Debug("answer over HTTP", "conn", n.from(), "error", err)
		if err := n.Close(); err != nil {
			n.s.opt.Log.Debug("close an HTTP connection", "error", err)
		}
	}
}

// hand gives the connection to net/http with what came on it, and tells whether it has.
func (n *lane) hand() bool {
	if n.SetDeadline(time.Time{}) != nil {
		return false
	}
	n.unread = n.in
	select {
	case n.lanes.handed.conns <- n.connection:
		return true
	case <-n.lanes.handed.ended:
		return false
	}
}

// watch ends the contexts of those requests whose clients have gone.
func (l *lanes) watch(end <-chan struct{}) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			before := now.Add(-watchEvery).UnixNano()
			l.each(func(n *lane) {
				if begun := n.begun.Load(); begun != 0 && begun < before && isGone(n.Conn) {
					n.cancel()
				}
			})
		case <-end:
			return
		}
	}
}

// isGone tells whether a client has closed its connection, or its half of it.
func isGone(c net.Conn) (is bool) {
	of, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		is = n == 0 && err == nil || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
	})
	return is || err != nil
}

// each calls f for each lane.
func (l *lanes) each(f func(*lane)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range l.all {
		f(n)
	}
}

// end lets what is under way end, and closes everything when the context ends. Nothing is
// accepted any more.
func (l *lanes) end(ctx context.Context) {
	l.mu.Lock()
	l.ending.Store(true)
	l.mu.Unlock()
	past := time.Unix(1, 0)
	l.each(func(n *lane) {
		if err := n.SetReadDeadline(past); err != nil {
			n.cancel()
		}
	})
	ended := make(chan struct{})
	go func() { l.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	l.each(func(n *lane) {
		n.cancel()
		if err := n.Close(); err != nil {
			l.s.opt.Log.Debug("close an HTTP connection", "error", err)
		}
	})
	<-ended
}
