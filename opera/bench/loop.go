package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"tarn/internal/figures"
	"tarn/probe"
)

// loop asks a server as fast as it answers, each connection the next question as soon as its last
// is answered. Clients share the machine's processors with the server, so they cost little: one
// thread has all connections, requests are made beforehand, and of an answer no more is read than
// it takes to find its end.
type loop struct {
	address     string
	connections int
	questions   [][]byte // bodies, asked in turn, again and again
	good        func(answer []byte) error
}

// answered is what a loop came to.
type answered struct {
	took      time.Duration
	count     int
	processor time.Duration // that the clients used
	latencies figures.Latencies
}

func (a *answered) rate() float64 { return float64(a.count) / a.took.Seconds() }

// wire is a request as it is sent.
func wire(address string, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", address, len(body))
	return append(b.Bytes(), body...)
}

// lane is one connection.
type lane struct {
	socket int
	asked  int // index of the question that is not answered yet
	begun  time.Time
	in     []byte // what has come of its answer
}

// run asks for some time. An answer that is not good ends it.
func (l *loop) run(ctx context.Context, length time.Duration) (_ *answered, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("wait for answers: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Close(poll)) }()
	lanes := make([]lane, l.connections)
	defer func() {
		for i := range lanes {
			if lanes[i].socket != 0 {
				err = errors.Join(err, unix.Close(lanes[i].socket))
			}
		}
	}()
	for i := range lanes {
		if lanes[i].socket, err = connect(l.address); err != nil {
			return nil, err
		}
		event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}
		if err := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, lanes[i].socket, &event); err != nil {
			return nil, fmt.Errorf("wait for answers: %w", err)
		}
		lanes[i].in = make([]byte, 0, 64<<10)
	}
	return l.ask(ctx, poll, lanes, length)
}

// connect opens a connection whose reads do not wait.
func connect(address string) (socket int, err error) {
	at, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return 0, err
	}
	if socket, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, fmt.Errorf("connect to %s: %w", address, err)
	}
	err = unix.Connect(socket, &unix.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())})
	if err == nil {
		err = unix.SetsockoptInt(socket, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil {
		err = unix.SetNonblock(socket, true)
	}
	if err != nil {
		return 0, errors.Join(fmt.Errorf("connect to %s: %w", address, err), unix.Close(socket))
	}
	return socket, nil
}

// ask is the loop over connections that are open.
func (l *loop) ask(ctx context.Context, poll int, lanes []lane, length time.Duration) (*answered, error) {
	requests := make([][]byte, len(l.questions))
	for i, body := range l.questions {
		requests[i] = wire(l.address, body)
	}
	a := &answered{}
	next := 0
	before, err := probe.Self()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	send := func(c *lane) error {
		c.asked, c.begun, c.in = next%len(requests), time.Now(), c.in[:0]
		next++
		n, err := unix.Write(c.socket, requests[c.asked])
		if err == nil && n < len(requests[c.asked]) {
			err = errors.New("a request does not fit into what a connection takes at once")
		}
		return err
	}
	for i := range lanes {
		if err := send(&lanes[i]); err != nil {
			return nil, fmt.Errorf("ask %s: %w", l.address, err)
		}
	}
	events := make([]unix.EpollEvent, len(lanes))
	for under := len(lanes); under > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := unix.EpollWait(poll, events, 100)
		if err != nil && err != unix.EINTR {
			return nil, fmt.Errorf("wait for answers: %w", err)
		}
		for i := range max(n, 0) {
			c := &lanes[events[i].Fd]
			whole, err := l.receive(c)
			if err != nil {
				return nil, err
			}
			if !whole {
				continue
			}
			now := time.Now()
			a.latencies.Add(now.Sub(c.begun))
			a.count++
			if now.Sub(begun) > length {
				under--
			} else if err := send(c); err != nil {
				return nil, fmt.Errorf("ask %s: %w", l.address, err)
			}
		}
	}
	a.took = time.Since(begun)
	after, err := probe.Self()
	a.processor = after.CPU() - before.CPU()
	return a, err
}

// receive reads what has come, and tells whether the answer is whole. One that is not good is an
// error.
func (l *loop) receive(c *lane) (whole bool, err error) {
	for {
		if cap(c.in)-len(c.in) < 16<<10 {
			c.in = append(make([]byte, 0, 2*cap(c.in)), c.in...)
		}
		room := c.in[len(c.in):cap(c.in)]
		n, err := unix.Read(c.socket, room)
		if err == unix.EAGAIN || err == unix.EINTR {
			return false, nil
		}
		if err == nil && n == 0 {
			err = errors.New("the server has closed the connection")
		}
		if err != nil {
			return false, fmt.Errorf("read the answer to %.300s: %w", l.questions[c.asked], err)
		}
		c.in = c.in[:len(c.in)+n]
		body, whole, err := answerBody(c.in)
		if err == nil && whole {
			err = l.good(body)
		}
		if err != nil {
			return false, fmt.Errorf("%w: %.300s to %.300s", err, c.in, l.questions[c.asked])
		}
		if whole || n < len(room) {
			return whole, nil
		}
	}
}

// answerBody finds the body of an answer over HTTP, and tells whether it is whole. What comes in
// chunks is put together in place once the last one is there.
func answerBody(in []byte) (body []byte, whole bool, err error) {
	end := bytes.Index(in, []byte("\r\n\r\n"))
	if end < 0 {
		return nil, false, nil
	}
	head, rest := in[:end+2], in[end+4:]
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) {
		return nil, false, errors.New("another status than 200")
	}
	const name = "\r\nContent-Length: "
	if at := bytes.Index(head, []byte(name)); at >= 0 {
		value, _, _ := bytes.Cut(head[at+len(name):], []byte("\r\n"))
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 0 || n < len(rest) {
			return nil, false, fmt.Errorf("a body of %d bytes or more for a length of %q", len(rest), value)
		}
		return rest, n == len(rest), nil
	}
	if !bytes.Contains(head, []byte("\r\nTransfer-Encoding: chunked\r\n")) {
		return nil, false, errors.New("neither a length nor chunks")
	}
	if !bytes.HasSuffix(rest, []byte("0\r\n\r\n")) {
		return nil, false, nil
	}
	return chunked(rest)
}

// chunked puts chunks together where they lie, if the last one is there.
func chunked(rest []byte) (body []byte, whole bool, err error) {
	all, body := rest, rest[:0]
	for at := 0; ; {
		line, _, found := bytes.Cut(all[at:], []byte("\r\n"))
		if !found {
			return nil, false, nil
		}
		n, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil {
			return nil, false, fmt.Errorf("the length of a chunk: %w", err)
		}
		at += len(line) + 2
		if at+int(n)+2 > len(all) {
			if len(body) > 0 {
				return nil, false, errors.New("chunks that end within one")
			}
			return nil, false, nil
		}
		if n == 0 {
			return body, true, nil
		}
		body = append(body, all[at:at+int(n)]...)
		at += int(n) + 2
	}
}
